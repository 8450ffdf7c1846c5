// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/fork_gate.hpp"
#include "base/result.hpp"

#include <memory>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <string>

namespace zlink::crypto {

/// Lets the thread use OpenSSL while it lives, if it says so. Meanwhile fork(2) waits, so that no
/// child inherits a lock of OpenSSL's that one of our threads held; and so does OpenSSL's clean-up,
/// which comes at exit, before the application's static objects are destroyed and while our threads
/// run, if anybody but us was the first to use OpenSSL. After that nothing of OpenSSL's may be
/// touched, and what we have of it is left to the system.
///
/// What OpenSSL keeps for the thread is given back in the same way when the thread ends.
///
/// @threads Any.
class openssl_use {
public:
    openssl_use() noexcept {
        if (!is_thread_known_) [[unlikely]] {
            know_thread();
        }
    }
    explicit operator bool() const noexcept { return is_allowed_; }

private:
    static bool is_allowed() noexcept;
    static void know_thread() noexcept;

    static constinit thread_local bool is_thread_known_;

    fork_gate::hold hold_;
    bool is_allowed_ = is_allowed(); ///< After the gate was entered.
};

// What we use of OpenSSL, with owners.

struct openssl_deleter {
    template<class Kind>
    void operator()(Kind* each) const noexcept {
        if (const openssl_use library; library) {
            free(each);
        }
    }

private:
    static void free(SSL_CTX* each) noexcept { SSL_CTX_free(each); }
    static void free(SSL* each) noexcept { SSL_free(each); }
    static void free(SSL_SESSION* each) noexcept { SSL_SESSION_free(each); }
    static void free(BIO_METHOD* each) noexcept { BIO_meth_free(each); }
    static void free(X509* each) noexcept { X509_free(each); }
    static void free(EVP_CIPHER* each) noexcept { EVP_CIPHER_free(each); }
    static void free(EVP_MAC* each) noexcept { EVP_MAC_free(each); }
    static void free(EVP_MAC_CTX* each) noexcept { EVP_MAC_CTX_free(each); }
};
template<class Kind>
using openssl_ptr = std::unique_ptr<Kind, openssl_deleter>;

/// Readies OpenSSL, once in a process. Before its first use, under a openssl_use.
/// @return Whether there was memory for it. Where OpenSSL itself was refused memory when it was
///         first used, there never is: it does not begin again.
/// @threads any
bool start_openssl() noexcept;

/// Where OpenSSL has its algorithms and random numbers for us, for functions that take it: null,
/// the one that all have, but in a child process that fork(2) made. There that one's locks may be
/// held for ever by threads that only the parent has, of ours or the application's; so we have one
/// of our own, which is configured as OpenSSL's file says.
/// @threads any, after start_openssl()
OSSL_LIB_CTX* openssl_algorithms() noexcept;

/// Whether OpenSSL was cleaned up: no connection over TLS will ever be made again.
/// @threads any
bool is_openssl_over() noexcept;

/// Whether the last call of this thread failed because memory was refused, on the way. Leaves the
/// queue of errors as it is.
bool is_openssl_short_of_memory() noexcept;

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

} // namespace zlink::crypto
