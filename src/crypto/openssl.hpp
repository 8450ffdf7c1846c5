// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/fork_gate.hpp"
#include "base/result.hpp"

#include <memory>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <string>

namespace zlink::crypto {

/// Allows the thread to use OpenSSL during its lifetime, if it converts to true. Meanwhile fork(2)
/// waits, so that no child inherits an OpenSSL lock that one of our threads held. OpenSSL's
/// clean-up waits, too: it comes at exit, before the application's static objects are destroyed and
/// while our threads run, if other code was the first to use OpenSSL. After that no OpenSSL object
/// may be touched, and ours are left to the system.
///
/// OpenSSL's data of the thread is freed in the same way when the thread ends.
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

// OpenSSL types with ownership.

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
    static void free(BIO* each) noexcept { BIO_free(each); }
    static void free(EVP_PKEY* each) noexcept { EVP_PKEY_free(each); }
    static void free(EVP_CIPHER* each) noexcept { EVP_CIPHER_free(each); }
    static void free(EVP_MAC* each) noexcept { EVP_MAC_free(each); }
    static void free(EVP_MAC_CTX* each) noexcept { EVP_MAC_CTX_free(each); }
};
template<class Kind>
using openssl_ptr = std::unique_ptr<Kind, openssl_deleter>;

/// Whether OpenSSL ran out of memory while it initialised itself. It does that once in each
/// process, so that TLS is unusable until the process is started again.
bool is_openssl_incomplete() noexcept;

/// Initialises OpenSSL, once in a process. Before its first use, under an openssl_use.
/// @return Whether there was memory for it. If OpenSSL's own initialisation failed for lack of
///         memory, it fails for ever: OpenSSL does not repeat it.
/// @threads any
bool start_openssl() noexcept;

/// The OpenSSL library context for functions that take one: null, the default one, except in a
/// child process that fork(2) made. There the locks of the default one may be held for ever by
/// threads of the parent, ours or the application's; so we use our own one, configured from
/// OpenSSL's file.
/// @threads any, after start_openssl()
OSSL_LIB_CTX* openssl_algorithms() noexcept;

/// Whether OpenSSL was cleaned up: no more TLS connections are possible.
/// @threads any
bool is_openssl_cleaned_up() noexcept;

/// Whether the last call of this thread failed, at any level, because there was no memory. Leaves
/// the error queue unchanged.
bool is_openssl_short_of_memory() noexcept;

/// The subject of a certificate in RFC 2253's format, "CN=example.org,O=Example".
/// @throws std::bad_alloc
std::string subject_of(const X509* certificate);

/// The errno value for a failed connection, from OpenSSL's error queue, which is emptied.
///
///   EKEYEXPIRED, EKEYREVOKED  The peer's certificate.
///   EKEYREJECTED              A certificate was rejected, by us or by the peer.
///   ENOKEY                    There was none where one is required.
///   ENOMEM
///   EPROTO                    All else: the peer does not speak TLS, violates it, or has no
///   version
///                             or algorithm in common with us.
int take_connection_error(const SSL* connection) noexcept;

} // namespace zlink::crypto
