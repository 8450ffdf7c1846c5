// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <memory>
#include <openssl/ssl.h>
#include <string>

namespace zlink::transport {

// What we use of OpenSSL, with owners.

struct tls_deleter {
    void operator()(SSL_CTX* each) const noexcept { SSL_CTX_free(each); }
    void operator()(SSL* each) const noexcept { SSL_free(each); }
    void operator()(SSL_SESSION* each) const noexcept { SSL_SESSION_free(each); }
    void operator()(BIO_METHOD* each) const noexcept { BIO_meth_free(each); }
    void operator()(X509* each) const noexcept { X509_free(each); }
};
template<class Kind>
using tls_ptr = std::unique_ptr<Kind, tls_deleter>;

/// Readies OpenSSL, once.
/// @threads any
void start_tls_library() noexcept;

/// The subject of a certificate as RFC 2253 writes names, "CN=example.org,O=Example".
/// @throws std::bad_alloc
std::string subject_of(const X509* certificate);

/// Why a connection failed, by OpenSSL's queue of errors, which is empty then.
///
///   EKEYEXPIRED, EKEYREVOKED  The peer's certificate.
///   EKEYREJECTED              A certificate was refused, by us or by the peer.
///   ENOKEY                    There was none where one is required.
///   ENOMEM
///   EPROTO                    All else: the peer speaks no TLS, breaks it, or has no version or
///                             algorithm in common with us.
int take_connection_error(const SSL* connection) noexcept;

} // namespace zlink::transport
