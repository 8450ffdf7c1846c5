// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/brief_pause.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink::tuning {

/// A consumer is right behind its producer if it has found something in so many checks in a row,
/// and less than so many bytes each time. Then it pauses after each check,
/// for so long and so often, as long as the producer writes so many messages in each pause. If it
/// does not, the consumer pauses only after twice as many checks, up to 2^10 times as many.
constexpr unsigned short_checks_max = 8;
constexpr std::uint64_t short_check_bytes = std::uint64_t{256} * 1024;
constexpr unsigned brief_pauses_max = 8;
constexpr std::uint64_t brief_pause_messages_min = 4;
constexpr unsigned vain_pauses_max = 10;

} // namespace zlink::tuning

namespace zlink {

/// How far the producer of a queue is ahead of its consumer.
struct writer_lead {
    std::uint64_t bytes;
    std::uint64_t message_count; ///< Slightly low while it publishes; arbitrary if `bytes` is 0.
    bool is_long; ///< As many messages as the consumer takes before it returns credit.
};

/// Keeps a consumer from staying right behind its producer, where both access the same cache lines
/// at the same time: the consumer then pauses now and then until more has arrived. (docs/adr/0025.)
///
/// @threads One at a time.
class reader_distance {
public:
    /// Called when the consumer has read everything that it had seen. Checks for more, and pauses
    /// to let more arrive if there was little each time.
    /// @param look  Returns a `writer_lead`.
    template<class Look>
    void keep(Look&& look, void (*pause)() noexcept = brief_pause) noexcept {
        writer_lead found = look();
        if (found.bytes == 0 || is_enough(found)) {
            return lose();
        }
        if (++short_checks_ <= tuning::short_checks_max << vain_pauses_) {
            return;
        }
        for (unsigned pauses = 0; pauses < tuning::brief_pauses_max && !is_enough(found);
             ++pauses) {
            pause();
            const std::uint64_t seen_count = found.message_count;
            found = look();
            if (found.message_count - seen_count < tuning::brief_pause_messages_min) {
                // The producer is slow, waits for answers or credit, or is this thread.
                vain_pauses_ = std::min(vain_pauses_ + 1, tuning::vain_pauses_max);
                return lose();
            }
        }
        vain_pauses_ = 0;
        short_checks_ = tuning::short_checks_max;
    }

    /// The consumer is not right behind one producer: the count of checks starts again.
    void lose() noexcept { short_checks_ = 0; }

private:
    static bool is_enough(const writer_lead& found) noexcept {
        return found.is_long || found.bytes >= tuning::short_check_bytes;
    }

    unsigned short_checks_ = 0; ///< In a row.
    unsigned vain_pauses_ = 0;  ///< In a row.
};

} // namespace zlink
