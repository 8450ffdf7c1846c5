// SPDX-License-Identifier: MPL-2.0
#include "web/http_counters.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

namespace zlink::web {

namespace {

void count(std::atomic<std::uint64_t>& in, std::uint64_t added) noexcept {
    in.fetch_add(added, std::memory_order_relaxed);
}

} // namespace

void http_totals::add(const http_totals& other) noexcept {
    std::ranges::transform(by_status, other.by_status, by_status.begin(), std::plus{});
    std::ranges::transform(by_duration, other.by_duration, by_duration.begin(), std::plus{});
    nanoseconds += other.nanoseconds;
    sent_bytes += other.sent_bytes;
    incomplete_count += other.incomplete_count;
    kept_count += other.kept_count;
    cold_count += other.cold_count;
}

void http_counters::add(const request_record& done) noexcept {
    if (done.status >= http_totals::first_status && done.status <= http_totals::last_status) {
        count(by_status_[static_cast<std::size_t>(done.status - http_totals::first_status)], 1);
    }
    const double seconds = std::chrono::duration<double>(done.took).count();
    const auto bucket =
        std::ranges::lower_bound(http_totals::bounds, seconds) - http_totals::bounds.begin();
    count(by_duration_[static_cast<std::size_t>(bucket)], 1);
    count(nanoseconds_, static_cast<std::uint64_t>(done.took.count()));
    count(sent_bytes_, done.sent_bytes);
    count(incomplete_count_, done.is_complete ? 0 : 1);
    count(kept_count_, done.was_kept ? 1 : 0);
    count(cold_count_, done.awaited_disk ? 1 : 0);
}

http_totals http_counters::totals() const noexcept {
    http_totals made;
    std::ranges::copy(by_status_, made.by_status.begin());
    std::ranges::copy(by_duration_, made.by_duration.begin());
    made.nanoseconds = nanoseconds_;
    made.sent_bytes = sent_bytes_;
    made.incomplete_count = incomplete_count_;
    made.kept_count = kept_count_;
    made.cold_count = cold_count_;
    return made;
}

} // namespace zlink::web
