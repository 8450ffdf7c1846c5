// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/meter.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace zlink::socket {

enum class metric_kind : std::uint8_t { counter, gauge, histogram };

struct metric_label {
    const char* name;
    std::string value; ///< UTF-8.
};

/// One value of a metric. The texts are valid during the call that gets it.
struct metric {
    const char* name;   ///< Of a histogram: its family's with _bucket, _sum or _count.
    const char* family; ///< The name that `help` and `kind` belong to.
    const char* help;
    metric_kind kind;
    std::span<const metric_label> labels;
    double value;
};

/// Calls `visit` with everything that is known, in Prometheus' names. The values of a family follow
/// each other.
/// @throws std::bad_alloc, and what `visit` throws
void for_each_metric(const context_sample& known, const std::function<void(const metric&)>& visit);

/// The same in Prometheus' text format 0.0.4.
/// @throws std::bad_alloc
std::string metrics_text(const context_sample& known);

/// The media type of that format.
constexpr const char* metrics_media_type = "text/plain; version=0.0.4; charset=utf-8";

} // namespace zlink::socket
