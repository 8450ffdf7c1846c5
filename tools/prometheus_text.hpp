// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace zlink_tool {

/// One line of Prometheus' text format.
struct sample {
    std::map<std::string, std::string, std::less<>> labels;
    double value = 0;

    /// Empty if there is no such label.
    std::string_view label(std::string_view name) const;
};

/// The samples of a text in Prometheus' text format 0.0.4, by the name of the metric.
using samples = std::map<std::string, std::vector<sample>, std::less<>>;

/// @throws std::runtime_error  A line is malformed; the text says which.
samples parse_samples(std::string_view text);

} // namespace zlink_tool
