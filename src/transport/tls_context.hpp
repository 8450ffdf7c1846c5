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

/// What a TLS context was told by options and files.
struct tls_rules {
    crypto::openssl_ptr<SSL_CTX> algorithms; ///< Certificates and keys, too, and those of tickets.
    std::string hostname;    ///< Whom we dial: a number, or a name without a dot at its end.
    std::string alpn;        ///< As the wire has it (RFC 7301, 3.1).
    std::time_t expires = 0; ///< When the first of our certificates does; 0: there is none.
};

/// Keys, certificates and rules of all TLS connections of one bind or connect call, read from files
/// when it is made; to dial, also the session that the next connection may resume.
///
/// Modern only: TLS 1.2 and 1.3, forward secrecy, authenticated encryption; no compression, no
/// renegotiation.
///
/// @threads any
class tls_context {
public:
    /// set_error_text() says what is wrong.
    ///
    /// @error invalid_argument   A file holds no certificate or key in PEM; the key does not go
    /// with
    ///                           the certificate; an option's value is none; one is missing that
    ///                           another one, or to listen, needs.
    /// @error permission_denied  The key's password is wrong or missing. A file may not be read.
    /// @error                    Else what the system says of a file.
    /// @throws std::bad_alloc
    static result<std::shared_ptr<tls_context>> make(const socket_options& options,
                                                     const endpoint& where, endpoint_use use);

    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;

    /// Reads the files again.
    /// @error  As make().
    result<tls_rules> read(const socket_options& options);

    /// Has connections that come from now on use what was read; those that stand keep what they
    /// have.
    void adopt(tls_rules read) noexcept;

    /// A connection that has not begun.
    /// @return Null if there is no memory for it.
    crypto::openssl_ptr<SSL> open();

    using clock = std::chrono::system_clock;

    /// How long a certificate of ours holds yet, if that is less than limits::expiry_notice, or how
    /// long it does not any more. Nothing where it has been told within limits::expiry_pause.
    /// @return Seconds; negative if it has expired.
    std::optional<std::int32_t> take_expiry(clock::time_point now) noexcept;

    // For OpenSSL.

    /// Keeps `session` for the next connection.
    void keep(crypto::openssl_ptr<SSL_SESSION> session) noexcept;

    /// The first of our protocols that the client offers (RFC 7301).
    /// @param offered  As the wire has it, not malformed.
    /// @return A part of `offered`; empty if there is none.
    std::string_view choose_alpn(std::string_view offered) noexcept;

private:
    tls_context(endpoint where, endpoint_use use) : where_(std::move(where)), use_(use) {}

    result<tls_rules> read_once(const socket_options& options);
    void say_whom_we_mean(SSL* connection) const noexcept;

    const endpoint where_;
    const endpoint_use use_;
    std::mutex mutex_; ///< Guards what follows.
    tls_rules rules_;
    crypto::openssl_ptr<SSL_SESSION> session_;
    clock::time_point told_expiry_{}; ///< When take_expiry() gave something.
};

using tls_context_ptr = std::shared_ptr<tls_context>;

} // namespace zlink::transport
