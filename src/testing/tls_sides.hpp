// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "testing/certificates.hpp"
#include "transport/tls_context.hpp"

#include <doctest/doctest.h>

namespace zlink::testing {

/// The TLS settings of the two ends of connections.
struct tls_sides {
    transport::tls_context_ptr dialing;
    transport::tls_context_ptr accepting;
};

/// Two ends; the dialling one trusts the other.
/// @param of_dialing, of_accepting  Further options.
inline tls_sides make_tls_sides(socket_options of_dialing = {}, socket_options of_accepting = {}) {
    const temporary_folder folder;
    authority issuer{folder, "issuer"};
    const identity shown = issuer.issue();
    endpoint where;
    where.via = scheme::tls;
    where.address.host = "localhost";
    of_dialing.tls_ca = issuer.path();
    of_accepting.tls_certificate = shown.certificate;
    of_accepting.tls_key = shown.key;
    const auto dialing = transport::tls_context::make(of_dialing, where, endpoint_use::dial);
    const auto accepting = transport::tls_context::make(of_accepting, where, endpoint_use::listen);
    REQUIRE(dialing);
    REQUIRE(accepting);
    return {*dialing, *accepting};
}

} // namespace zlink::testing
