// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_library.hpp"

#include "base/limits.hpp"
#include "base/thread_end.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <span>
#include <thread>

namespace zlink::transport {

namespace {

// Neither constructed nor destroyed: threads look here while the process ends. The lock is taken
// under a tls_use only, so that no child inherits it held.
constinit std::atomic<bool> is_over{false};
constinit std::mutex starting;
constinit bool is_registered = false;
constinit OSSL_LIB_CTX* own_algorithms = nullptr;
constinit std::uint32_t own_generation = 0; ///< Of the process that `own_algorithms` was made in.
/// Of the process in which all is ready.
constinit std::atomic<std::uint32_t> started_in{UINT32_MAX};

template<class Kind>
bool is_found(Kind* fetched, void (*release)(Kind*)) noexcept {
    release(fetched);
    return fetched != nullptr;
}

/// Has OpenSSL take note of what its providers have. Refused memory in the midst of that, it never
/// asks again, and the algorithms stay unknown: so it is done where failing is an error for the
/// caller. Those that are asked for are such that TLS needs.
bool know_algorithms(OSSL_LIB_CTX* where) noexcept {
    std::array<unsigned char, 1> octet;
    return is_found(EVP_MD_fetch(where, "SHA256", nullptr), &EVP_MD_free) &&
           is_found(EVP_CIPHER_fetch(where, "AES-128-GCM", nullptr), &EVP_CIPHER_free) &&
           is_found(EVP_MAC_fetch(where, "HMAC", nullptr), &EVP_MAC_free) &&
           is_found(EVP_KDF_fetch(where, "TLS13-KDF", nullptr), &EVP_KDF_free) &&
           is_found(EVP_KEYMGMT_fetch(where, "EC", nullptr), &EVP_KEYMGMT_free) &&
           is_found(EVP_KEYEXCH_fetch(where, "ECDH", nullptr), &EVP_KEYEXCH_free) &&
           is_found(EVP_SIGNATURE_fetch(where, "ECDSA", nullptr), &EVP_SIGNATURE_free) &&
           is_found(OSSL_DECODER_fetch(where, "EC", nullptr), &OSSL_DECODER_free) &&
           RAND_bytes_ex(where, octet.data(), octet.size(), 0) == 1;
}

/// OpenSSL calls this before it frees anything.
void end() noexcept {
    is_over.store(true, std::memory_order_seq_cst);
    fork_gate::pass(); // Who had entered before has left now.
}

/// OpenSSL gives back what it keeps for a thread when that ends, under a lock that a child would
/// inherit; so it is done here before. Its clean-up destroys that lock: a thread that ends
/// meanwhile waits until nothing of OpenSSL's is called for it any more.
thread_end leaves_library{[](void*) {
    if (const tls_use library; library) {
        OPENSSL_thread_stop();
        return;
    }
    std::this_thread::sleep_for(limits::tls_cleanup_max);
}};

/// The reasons of OpenSSL that stand for an alert of the peer begin here (RFC 8446, 6).
constexpr int alert_reason(int alert) noexcept {
    return SSL_AD_REASON_OFFSET + alert;
}

int errno_of_reason(int reason) noexcept {
    switch (reason) {
    case ERR_R_MALLOC_FAILURE:
        return ENOMEM;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case alert_reason(SSL_AD_CERTIFICATE_REQUIRED):
        return ENOKEY;
    case alert_reason(SSL_AD_BAD_CERTIFICATE):
    case alert_reason(SSL_AD_UNSUPPORTED_CERTIFICATE):
    case alert_reason(SSL_AD_CERTIFICATE_REVOKED):
    case alert_reason(SSL_AD_CERTIFICATE_EXPIRED):
    case alert_reason(SSL_AD_CERTIFICATE_UNKNOWN):
    case alert_reason(SSL_AD_UNKNOWN_CA):
        return EKEYREJECTED;
    default:
        return EPROTO;
    }
}

} // namespace

constinit thread_local bool tls_use::is_thread_known_ = false;

bool tls_use::is_allowed() noexcept {
    return !is_tls_over();
}

void tls_use::know_thread() noexcept {
    is_thread_known_ = leaves_library.arm(&leaves_library);
}

bool is_tls_over() noexcept {
    return is_over.load(std::memory_order_acquire);
}

bool start_tls_library() noexcept {
    const std::uint32_t generation = fork_gate::generation();
    if (started_in.load(std::memory_order_acquire) == generation) [[likely]] {
        return true;
    }
    const std::lock_guard lock{starting};
    if (!is_registered) {
        // What OpenSSL would free at exit, threads of contexts that were not terminated still use.
        // Who used it before us has it freed all the same.
        if (OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1 || OPENSSL_atexit(&end) != 1) {
            ERR_clear_error();
            return false;
        }
        is_registered = true;
    }
    if (generation != 0 && own_generation != generation) {
        OSSL_LIB_CTX* const made = OSSL_LIB_CTX_new();
        if (made == nullptr) {
            ERR_clear_error();
            return false;
        }
        // As OpenSSL does for the one that all have; without the file it takes its own providers.
        CONF_modules_load_file_ex(made, nullptr, nullptr,
                                  CONF_MFLAGS_DEFAULT_SECTION | CONF_MFLAGS_IGNORE_MISSING_FILE |
                                      CONF_MFLAGS_IGNORE_RETURN_CODES);
        if (!know_algorithms(made)) {
            OSSL_LIB_CTX_free(made);
            ERR_clear_error();
            return false;
        }
        ERR_clear_error();
        own_algorithms = made; // The parent's stays as it was.
        own_generation = generation;
    } else if (generation == 0 && !know_algorithms(nullptr)) {
        ERR_clear_error();
        return false;
    }
    started_in.store(generation, std::memory_order_release);
    return true;
}

OSSL_LIB_CTX* tls_algorithms() noexcept {
    return own_algorithms;
}

bool is_tls_short_of_memory() noexcept {
    // There is no way to look at what lies between the first and the last without taking it.
    bool is_short = false;
    std::array<unsigned long, ERR_NUM_ERRORS> taken;
    std::size_t count = 0;
    for (unsigned long code = 0; count < taken.size() && (code = ERR_get_error()) != 0; ++count) {
        taken[count] = code;
        is_short = is_short || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
    }
    for (const unsigned long code : std::span{taken}.first(count)) {
        ERR_raise(ERR_GET_LIB(code), ERR_GET_REASON(code));
    }
    return is_short;
}

std::string subject_of(const X509* certificate) {
    BIO* const memory = BIO_new(BIO_s_mem());
    if (memory == nullptr) {
        ERR_clear_error();
        return {};
    }
    const std::unique_ptr<BIO, decltype(&BIO_free)> owner{memory, &BIO_free};
    X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const long bytes = BIO_get_mem_data(memory, &text);
    return {text, static_cast<std::size_t>(bytes)};
}

int take_connection_error(const SSL* connection) noexcept {
    const unsigned long code = ERR_peek_error();
    ERR_clear_error();
    switch (SSL_get_verify_mode(connection) == SSL_VERIFY_NONE
                ? X509_V_OK
                : SSL_get_verify_result(connection)) {
    case X509_V_OK:
        return errno_of_reason(ERR_GET_REASON(code));
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return EKEYEXPIRED;
    case X509_V_ERR_CERT_REVOKED:
        return EKEYREVOKED;
    default:
        return EKEYREJECTED;
    }
}

} // namespace zlink::transport
