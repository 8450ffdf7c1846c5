// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "zlink.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace zlink_tool {

/// What `zlink serve` has done, in Prometheus' text format.
///
/// @threads Any.
class serve_metrics {
public:
    void add(const zlink_http_record_t& record) noexcept;
    void on_accepted() noexcept { accepted_count_.fetch_add(1, std::memory_order_relaxed); }
    void on_disconnected() noexcept { ended_count_.fetch_add(1, std::memory_order_relaxed); }

    /// @param dropped_line_count  Of the access log.
    /// @throws std::bad_alloc
    std::string text(std::uint64_t dropped_line_count) const;

private:
    using counter = std::atomic<std::uint64_t>;

    static constexpr int first_status = 100;
    static constexpr int last_status = 599;
    /// Upper limits of the histogram's buckets, in seconds.
    static constexpr std::array<double, 14> bounds{
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30};

    std::array<counter, last_status - first_status + 1> by_status_{};
    std::array<counter, bounds.size() + 1> by_duration_{};
    counter nanoseconds_{0};
    counter sent_bytes_{0};
    counter incomplete_count_{0};
    counter kept_count_{0};
    counter cold_count_{0};
    counter accepted_count_{0};
    counter ended_count_{0};
};

} // namespace zlink_tool
