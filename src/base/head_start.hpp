// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/yield.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink::tuning {

/// How far the producer of large payloads may be ahead of its consumer before it yields, in bytes,
/// or in payloads where these are larger; how much of that the consumer has to take then, the time
/// limit for it, and the maximum number of payloads until the next attempt if it does not.
constexpr std::uint64_t head_start_bytes_max = std::uint64_t{1} * 1024 * 1024;
constexpr std::uint64_t head_start_payloads_max = 4;
constexpr std::uint64_t head_start_step_bytes = std::uint64_t{256} * 1024;
constexpr std::chrono::microseconds head_start_pause_max{50};
constexpr std::uint32_t head_start_skips_max = 1023;

} // namespace zlink::tuning

namespace zlink {

/// Keeps the producer of large payloads close to the consumer, so that the memory that both touch
/// next is still in the processor's caches, and comes from the pools. A producer that is further
/// ahead yields until the consumer has taken some of it. If the consumer does not do so soon, the
/// stream is limited by something else: then the producer continues, and is held back less and less
/// often.
///
/// @threads The producer's.
class head_start {
public:
    /// Called before a large payload is written. Yields if the producer is to check again instead.
    /// @param ahead_bytes    Bytes that the consumer has not taken yet.
    /// @param payload_bytes  Of this one, or of the largest so far.
    /// @param yields      Yields; if it returns false the producer is not held back.
    bool holds_back(std::uint64_t ahead_bytes, std::uint64_t payload_bytes,
                    bool (*yields)() noexcept = yield_processor) noexcept {
        if (goal_bytes_ == 0) {
            const std::uint64_t allowed_bytes = std::max(
                tuning::head_start_bytes_max, tuning::head_start_payloads_max * payload_bytes);
            if (ahead_bytes <= allowed_bytes || ++skipped_count_ <= to_skip_count_) {
                return false;
            }
            goal_bytes_ = ahead_bytes - tuning::head_start_step_bytes;
            end_ = clock::now() + tuning::head_start_pause_max;
        } else if (ahead_bytes <= goal_bytes_) {
            to_skip_count_ = 0;
            return go_on();
        } else if (clock::now() >= end_) {
            to_skip_count_ = std::min(2 * to_skip_count_ + 1, tuning::head_start_skips_max);
            return go_on();
        }
        return yields() || go_on();
    }

private:
    using clock = std::chrono::steady_clock;

    bool go_on() noexcept {
        goal_bytes_ = 0;
        skipped_count_ = 0;
        return false;
    }

    std::uint64_t goal_bytes_ = 0; ///< 0: not held back.
    clock::time_point end_{};      ///< When the producer is held back no longer.
    std::uint32_t skipped_count_ = 0;
    std::uint32_t to_skip_count_ = 0;
};

} // namespace zlink
