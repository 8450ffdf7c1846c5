// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string>

namespace zlink_tool {

/// The arguments of `zlink top`.
struct top_arguments {
    std::string target;  ///< A process id or http://HOST:PORT.
    double interval = 1; ///< Seconds.
    int count = 0;       ///< Tables to show; 0: no limit.
    std::string sort = "sent";
    bool json = false; ///< An object per line instead of a table.
};

/// The orders that `zlink top` can sort by, separated by commas, for --help.
extern const char* const top_orders;
bool is_top_order(const std::string& name);

/// Shows the sockets of a process, until q, SIGINT or SIGTERM; tables one below the other if
/// standard output is no terminal.
/// @return The exit status: 1 if the metrics cannot be read, and 2 if the target is malformed, with
///         the reason on standard error.
int top(const top_arguments& asked);

} // namespace zlink_tool
