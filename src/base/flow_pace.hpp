// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/yield.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zlink::tuning {

/// How long a thread that has moved a batch checks for the next one before it parks
/// (flow_pace.hpp): in messages on the application's side, in bytes on an I/O thread, whose
/// checks take longer.
constexpr std::uint32_t batch_messages_min = 32;
constexpr std::uint32_t batch_messages_per_check = 8;
constexpr std::uint32_t message_checks_max = 128;
constexpr std::uint32_t batch_bytes_min = 4096;
constexpr std::uint32_t batch_bytes_per_check = 2048;
constexpr std::uint32_t byte_checks_max = 64;

/// Up to so many idle sessions of an I/O thread, or peers of a socket, a thread yields and checks
/// them again before it parks; with more, nearly always one of them has something.
constexpr std::size_t rechecked_max = 8;

} // namespace zlink::tuning

namespace zlink {

/// Lets a stream flow in large batches. A thread that has moved a whole batch and finds nothing
/// more yields and checks again, about as long as moving the batch took, before it parks. Where the
/// threads of the stream share a processor, the other side prepares the next batch meanwhile
/// instead of waking this thread for one message. Where they do not, the next batch arrives while
/// this thread checks, and neither side pays for a wake-up. Single messages change nothing.
///
/// @threads One at a time.
class flow_pace {
public:
    /// In messages, bytes or another unit.
    struct steps {
        std::uint32_t batch_min; ///< The minimum of a batch.
        std::uint32_t per_check; ///< One more check for each so many of a batch.
        std::uint32_t checks_max;
    };

    explicit flow_pace(const steps& chosen) noexcept : steps_(chosen) {}

    /// Counts units that were moved.
    void count(std::uint32_t moved = 1) noexcept { moved_ += moved; }

    /// Yields once, if another check is worthwhile after that.
    /// @param yields  Yields, and returns whether it did; otherwise the checks end.
    /// @return Whether to check again.
    template<class Yield>
    bool yields_before_parking(Yield&& yields) noexcept {
        if (moved_ >= steps_.batch_min) {
            checks_left_ = std::min(1 + moved_ / steps_.per_check, steps_.checks_max);
        }
        moved_ = 0;
        if (checks_left_ == 0) {
            return false;
        }
        if (!yields()) {
            checks_left_ = 0;
            return false;
        }
        --checks_left_;
        return true;
    }
    bool yields_before_parking() noexcept { return yields_before_parking(yield_processor); }

private:
    steps steps_;
    std::uint32_t moved_ = 0;
    std::uint32_t checks_left_ = 0;
};

} // namespace zlink
