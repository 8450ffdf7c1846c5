// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"
#include "testing/certificates.hpp"

#include <array>
#include <string>
#include <string_view>

/// What the tests of listeners share.
namespace api_test {

/// An endpoint to bind for each transport over tcp that a STREAM has.
inline constexpr std::array edge_endpoints{"tcp://127.0.0.1:*", "tls://127.0.0.1:*",
                                           "ws://127.0.0.1:*/", "wss://127.0.0.1:*/"};

/// The tcp endpoint below an endpoint that was bound.
inline std::string tcp_of(const std::string& endpoint) {
    const std::size_t begin = endpoint.find("://");
    return "tcp" + endpoint.substr(begin, endpoint.find('/', begin + 3) - begin);
}

/// A certificate, and what trusts it.
class edge_trust {
public:
    void let_listen(socket& by) const {
        by.set(ZLINK_TLS_CERTIFICATE, shown_.certificate).set(ZLINK_TLS_KEY, shown_.key);
    }
    void let_dial(socket& by) const { by.set(ZLINK_TLS_CA, issuer_.path()); }

private:
    zlink::testing::temporary_folder folder_;
    zlink::testing::authority issuer_{folder_, "issuer"};
    zlink::testing::identity shown_ = issuer_.issue();
};

/// What a WebSocket client begins with.
inline constexpr std::string_view edge_upgrade =
    "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

} // namespace api_test
