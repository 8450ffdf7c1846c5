// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "raw_peer.hpp"

#include <string>

namespace api_test {

/// The tcp endpoint below `endpoint`, of tls, ws or wss.
inline std::string tcp_of(const std::string& endpoint) {
    const std::size_t begin = endpoint.find("://");
    return "tcp" + endpoint.substr(begin, endpoint.find('/', begin + 3) - begin);
}

/// The bytes that `by` receives up to the end of an HTTP header.
inline std::string recv_header(raw_peer& by) {
    std::string header;
    while (!header.ends_with("\r\n\r\n")) {
        header += by.recv(1);
    }
    return header;
}

} // namespace api_test
