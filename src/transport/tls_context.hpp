// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "crypto/openssl.hpp"
#include "transport/tls_tickets.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::transport {

/// The contents of a TLS context, from options and files.
struct tls_rules {
    crypto::openssl_ptr<SSL_CTX> algorithms; ///< With certificates, keys and ticket keys.
    std::string hostname;    ///< Of the peer: a number, or a name without a dot at its end.
    std::string alpn;        ///< In wire format (RFC 7301, 3.1).
    std::time_t expires = 0; ///< Expiry of the first of our certificates; 0: none.
};

/// Keys, certificates and rules of all TLS connections of one bind or connect call, read from files
/// when it is made; for dialling, also the session that the next connection may resume.
///
/// Only TLS 1.2 and 1.3, forward secrecy, authenticated encryption; no compression, no
/// renegotiation.
///
/// @threads any
class tls_context {
public:
    /// set_error_text() describes the error.
    ///
    /// @error invalid_argument   A file holds no certificate or key in PEM; the key does not match
    ///                           the certificate; an option has an invalid value; an option is
    ///                           missing that another one, or listening, requires.
    /// @error permission_denied  The key's password is wrong or missing. A file may not be read.
    /// @error                    Other errors of the system for a file.
    /// @throws std::bad_alloc
    static result<std::shared_ptr<tls_context>> make(const socket_options& options,
                                                     const endpoint& where, endpoint_use use);

    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;

    /// Reads the files again.
    /// @error  As make().
    result<tls_rules> read(const socket_options& options);

    /// Makes new connections use the rules that were read; existing ones keep theirs.
    void adopt(tls_rules read) noexcept;

    /// A new connection, before its handshake.
    /// @return Null if there is no memory for it.
    crypto::openssl_ptr<SSL> open();

    using clock = std::chrono::system_clock;

    /// The remaining validity of our certificate, if it is less than limits::expiry_notice, or the
    /// time since its expiry. Nothing where it was returned within limits::expiry_pause.
    /// @return Seconds; negative if it has expired.
    std::optional<std::int32_t> take_expiry(clock::time_point now) noexcept;

    // Called by OpenSSL.

    /// Stores `session` for the next connection.
    void keep(crypto::openssl_ptr<SSL_SESSION> session) noexcept;

    /// The first of our protocols that the client offers (RFC 7301).
    /// @param offered  In wire format, not malformed.
    /// @return A part of `offered`; empty if there is none.
    std::string_view choose_alpn(std::string_view offered) noexcept;

private:
    tls_context(endpoint where, endpoint_use use) : where_(std::move(where)), use_(use) {}

    result<tls_rules> read_once(const socket_options& options);
    void say_whom_we_mean(SSL* connection) const noexcept;

    const endpoint where_;
    const endpoint_use use_;
    std::mutex mutex_; ///< Guards the members below.
    tls_rules rules_;
    crypto::openssl_ptr<SSL_SESSION> session_;
    clock::time_point told_expiry_{}; ///< When take_expiry() last returned a value.
};

using tls_context_ptr = std::shared_ptr<tls_context>;

} // namespace zlink::transport
