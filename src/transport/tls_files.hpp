// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "crypto/openssl.hpp"

namespace zlink::transport {

// Loads the files of a TLS context, or what the options have instead: the contents of a file, which
// have a "-----BEGIN ". Errors are those of tls_context::make(), with an error text.

/// Loads our certificate and its key, if the options name one.
result<void> load_identity(SSL_CTX* rules, const socket_options& options);

/// Loads the authorities that must have issued peers' certificates; the system's if the options
/// name none.
result<void> load_authorities(SSL_CTX* rules, const socket_options& options);

/// Tells clients which authorities must have issued their certificates.
/// @param options  They name authorities, which load_authorities() has read.
result<void> announce_authorities(SSL_CTX* rules, const socket_options& options);

} // namespace zlink::transport
