// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"
#include "testing/certificates.hpp"
#include "testing/web_upgrade.hpp"
#include "web_peer.hpp"

#include <array>
#include <string>

/// Helpers of the tests of listeners.
namespace api_test {

/// An endpoint to bind for each transport of a STREAM over tcp.
inline constexpr std::array edge_endpoints{"tcp://127.0.0.1:*", "tls://127.0.0.1:*",
                                           "ws://127.0.0.1:*/", "wss://127.0.0.1:*/"};

/// A certificate, and an authority that is trusted for it.
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

/// The request that a WebSocket client begins with.
inline const std::string edge_upgrade = zlink::testing::upgrade_request();

} // namespace api_test
