// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "web/request_observer.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace zlink::web {

/// Totals of HTTP requests and their answers.
struct http_totals {
    static constexpr int first_status = 100;
    static constexpr int last_status = 599;
    /// Upper limits of the histogram's buckets, in seconds.
    static constexpr std::array<double, 14> bounds{
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30};

    std::array<std::uint64_t, last_status - first_status + 1> by_status{};
    std::array<std::uint64_t, bounds.size() + 1> by_duration{};
    std::uint64_t nanoseconds = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t incomplete_count = 0;
    std::uint64_t kept_count = 0;
    std::uint64_t cold_count = 0;

    void add(const http_totals& other) noexcept;
};

/// Counts HTTP requests.
///
/// @threads Any.
class http_counters {
public:
    void add(const request_record& done) noexcept;
    http_totals totals() const noexcept;

private:
    using counter = std::atomic<std::uint64_t>;

    std::array<counter, http_totals::last_status - http_totals::first_status + 1> by_status_{};
    std::array<counter, http_totals::bounds.size() + 1> by_duration_{};
    counter nanoseconds_{0};
    counter sent_bytes_{0};
    counter incomplete_count_{0};
    counter kept_count_{0};
    counter cold_count_{0};
};
using http_counters_ptr = std::shared_ptr<http_counters>;

} // namespace zlink::web
