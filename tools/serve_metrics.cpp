// SPDX-License-Identifier: MPL-2.0
#include "serve_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace zlink_tool {

namespace {

constexpr double nanoseconds_per_second = 1e9;

std::uint64_t value_of(const std::atomic<std::uint64_t>& of) noexcept {
    return of.load(std::memory_order_relaxed);
}

void count(std::atomic<std::uint64_t>& in, std::uint64_t added = 1) noexcept {
    in.fetch_add(added, std::memory_order_relaxed);
}

std::string number_text(double number) {
    std::array<char, 32> text{};
    return {text.data(),
            static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.9g", number))};
}

void append_head(std::string& to, std::string_view name, std::string_view kind,
                 std::string_view help) {
    to.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    to.append(name).append(" ").append(kind).append("\n");
}

void append_line(std::string& to, std::string_view name, std::string_view labels,
                 const std::string& value) {
    to.append(name).append(labels).append(" ").append(value).append("\n");
}

void append_counter(std::string& to, std::string_view name, std::string_view help,
                    std::uint64_t value) {
    append_head(to, name, "counter", help);
    append_line(to, name, "", std::to_string(value));
}

} // namespace

void serve_metrics::add(const zlink_http_record_t& record) noexcept {
    if (record.status >= first_status && record.status <= last_status) {
        count(by_status_[static_cast<std::size_t>(record.status - first_status)]);
    }
    const double seconds = static_cast<double>(record.nanoseconds) / nanoseconds_per_second;
    const auto bucket = std::ranges::lower_bound(bounds, seconds) - bounds.begin();
    count(by_duration_[static_cast<std::size_t>(bucket)]);
    count(nanoseconds_, record.nanoseconds);
    count(sent_bytes_, record.sent_bytes);
    count(incomplete_count_, record.incomplete != 0 ? 1 : 0);
    count(kept_count_, record.kept != 0 ? 1 : 0);
    count(cold_count_, record.cold != 0 ? 1 : 0);
}

std::string serve_metrics::text(std::uint64_t dropped_line_count) const {
    std::string made;
    append_head(made, "zlink_http_requests_total", "counter", "Requests, by status.");
    for (std::size_t index = 0; index < by_status_.size(); ++index) {
        if (const std::uint64_t requests = value_of(by_status_[index]); requests != 0) {
            append_line(made, "zlink_http_requests_total",
                        "{code=\"" + std::to_string(first_status + static_cast<int>(index)) + "\"}",
                        std::to_string(requests));
        }
    }
    constexpr std::string_view duration = "zlink_http_request_duration_seconds";
    append_head(made, duration, "histogram",
                "Time from the end of a request's head to the last byte of the answer.");
    std::uint64_t total = 0;
    for (std::size_t index = 0; index < by_duration_.size(); ++index) {
        total += value_of(by_duration_[index]);
        const std::string bound = index < bounds.size() ? number_text(bounds[index]) : "+Inf";
        append_line(made, std::string(duration) + "_bucket", "{le=\"" + bound + "\"}",
                    std::to_string(total));
    }
    append_line(made, std::string(duration) + "_sum", "",
                number_text(static_cast<double>(value_of(nanoseconds_)) / nanoseconds_per_second));
    append_line(made, std::string(duration) + "_count", "", std::to_string(total));
    append_counter(made, "zlink_http_sent_bytes_total", "Bytes of answers, with their heads.",
                   value_of(sent_bytes_));
    append_counter(made, "zlink_http_incomplete_answers_total",
                   "Answers whose connection ended before them.", value_of(incomplete_count_));
    append_counter(made, "zlink_http_file_cache_hits_total", "Files that were open already.",
                   value_of(kept_count_));
    append_counter(made, "zlink_http_cold_reads_total", "Requests that had to wait for a disk.",
                   value_of(cold_count_));
    const std::uint64_t ended = value_of(ended_count_); // First: it is never ahead.
    const std::uint64_t accepted = value_of(accepted_count_);
    append_counter(made, "zlink_http_accepted_connections_total", "Connections accepted.",
                   accepted);
    append_head(made, "zlink_http_connections", "gauge", "Open connections.");
    append_line(made, "zlink_http_connections", "", std::to_string(accepted - ended));
    append_counter(made, "zlink_http_dropped_log_lines_total",
                   "Lines that the access log did not take.", dropped_line_count);
    return made;
}

} // namespace zlink_tool
