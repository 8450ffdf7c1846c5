// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/brief_pause.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink {

/// How far the writer of a queue is ahead of its reader.
struct writer_lead {
    std::uint64_t bytes;
    std::uint64_t message_count; ///< Some fewer while it publishes; anything if `bytes` is 0.
    bool is_long; ///< As many messages as the reader lets come before it returns credit.
};

/// Keeps a reader from staying right behind its writer, so that both want the same cache lines at
/// the same time: then it pauses now and then, until there is more. (docs/adr/0016.)
///
/// @threads One at a time.
class reader_distance {
public:
    /// For a reader that has read all that it had seen: looks at what there is now, and lets more
    /// come where that is little each time.
    /// @param look  Gives a `writer_lead`.
    template<class Look>
    void keep(Look&& look, void (*pause)() noexcept = brief_pause) noexcept {
        writer_lead found = look();
        if (found.bytes == 0 || is_enough(found)) {
            return lose();
        }
        if (++short_looks_ <= limits::short_looks_max << vain_pauses_) {
            return;
        }
        for (unsigned pauses = 0; pauses < limits::brief_pauses_max && !is_enough(found);
             ++pauses) {
            pause();
            const std::uint64_t seen_count = found.message_count;
            found = look();
            if (found.message_count - seen_count < limits::brief_pause_messages_min) {
                // It is slow, waits for answers or credit, or is this thread.
                vain_pauses_ = std::min(vain_pauses_ + 1, limits::vain_pauses_max);
                return lose();
            }
        }
        vain_pauses_ = 0;
        short_looks_ = limits::short_looks_max;
    }

    /// It is not right behind one writer: the looks count from the beginning.
    void lose() noexcept { short_looks_ = 0; }

private:
    static bool is_enough(const writer_lead& found) noexcept {
        return found.is_long || found.bytes >= limits::short_look_bytes;
    }

    unsigned short_looks_ = 0; ///< In a row.
    unsigned vain_pauses_ = 0; ///< In a row.
};

} // namespace zlink
