// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "crypto/openssl.hpp"

namespace zlink::transport {

// What a TLS context takes from files. Errors are those of tls_context::make(), and said in words.

/// Reads our certificate and its key, if the options name one.
result<void> load_identity(SSL_CTX* rules, const socket_options& options);

/// Reads whom peers' certificates have to come from; the system's authorities if the options name
/// none.
result<void> load_authorities(SSL_CTX* rules, const socket_options& options);

/// Tells clients from whom their certificates have to come.
/// @param options  They name authorities, which load_authorities() has read.
result<void> announce_authorities(SSL_CTX* rules, const socket_options& options);

} // namespace zlink::transport
