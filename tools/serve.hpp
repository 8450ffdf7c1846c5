// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string>
#include <vector>

namespace zlink_tool {

/// The arguments of `zlink serve`.
struct serve_arguments {
    std::string folder;
    std::vector<std::string> roots;     ///< "/prefix/=folder".
    std::vector<std::string> endpoints; ///< "http://host:port", "https://host:port".
    std::string index = "index.html";
    std::string cors;
    std::string cache;
    std::string certificate;
    std::string key;
    std::string access_log; ///< A file; "-": standard output; empty: none.
    bool logs_json = false;
    std::string admin; ///< The endpoint of /metrics and /healthz; empty: none.
    int grace_seconds = 10;
    int max_connections = 0; ///< 0: no limit.
    int max_connections_per_address = 0;
    bool proxied = false;
    std::vector<std::string> trusted_proxies; ///< Parts of ZLINK_TRUSTED_PROXIES.
    int drain_delay_seconds = 0;
    bool lists = false;
    bool uncompressed = false;
    bool portable_etags = false;
    int threads = 1;
};

/// Serves files until SIGINT or SIGTERM, and then for the delay, or until the next of them; SIGHUP
/// reloads the certificates and reopens the access log. Prints the endpoints, then errors only.
/// @return The exit status: 0 after a signal; 1 if it could not begin, and 2 if an argument is
///         wrong, with the reason on standard error.
int serve(const serve_arguments& asked);

} // namespace zlink_tool
