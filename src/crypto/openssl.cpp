// SPDX-License-Identifier: MPL-2.0
#include "crypto/openssl.hpp"

#include "base/limits.hpp"
#include "base/thread_end.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <span>
#include <string_view>
#include <thread>

namespace zlink::crypto {

namespace {

// Neither constructed nor destroyed: threads read these while the process ends. The lock is taken
// under an openssl_use only, so that no child inherits it held.
using clock = std::chrono::steady_clock;
constinit std::atomic<bool> is_over{false};
constinit std::atomic<clock::time_point> over_since{clock::time_point{}};
constinit std::mutex starting;
constinit bool is_registered = false;
/// OpenSSL ran out of memory in one of its functions that it runs once in each process.
constinit std::atomic<bool> is_incomplete{false};
constinit OSSL_LIB_CTX* own_algorithms = nullptr;
constinit std::uint32_t own_generation = 0; ///< Of the process that made `own_algorithms`.
/// Generation of the process in which OpenSSL is initialised.
constinit std::atomic<std::uint32_t> started_in{UINT32_MAX};

/// The number of missing algorithms that TLS may need. OpenSSL enumerates its providers' algorithms
/// at the first request of each kind. If it runs out of memory in the middle, it omits one, reports
/// nothing, and never looks for it again.
std::size_t count_missing(OSSL_LIB_CTX* where) noexcept {
    std::size_t count = 0;
    const auto look_for = [&](auto* fetch, auto* release, auto names,
                              const char* properties = nullptr) {
        for (const char* const name : names) {
            auto* const fetched = fetch(where, name, properties);
            release(fetched);
            count += fetched == nullptr ? 1 : 0;
        }
    };
    look_for(&EVP_MD_fetch, &EVP_MD_free,
             std::array{"SHA1", "SHA256", "SHA384", "SHA512", "MD5-SHA1"});
    look_for(&EVP_CIPHER_fetch, &EVP_CIPHER_free,
             std::array{"AES-128-GCM", "AES-256-GCM", "AES-128-CBC", "AES-256-CBC", "AES-128-CCM",
                        "AES-256-CCM", "ChaCha20-Poly1305"});
    look_for(&EVP_MAC_fetch, &EVP_MAC_free, std::array{"HMAC", "POLY1305"});
    look_for(&EVP_KDF_fetch, &EVP_KDF_free, std::array{"TLS13-KDF", "TLS1-PRF", "HKDF"});
    look_for(&EVP_KEYMGMT_fetch, &EVP_KEYMGMT_free,
             std::array{"EC", "RSA", "RSA-PSS", "DH", "X25519", "X448", "ED25519", "ED448"});
    look_for(&EVP_KEYEXCH_fetch, &EVP_KEYEXCH_free, std::array{"ECDH", "DH", "X25519", "X448"});
    look_for(&EVP_SIGNATURE_fetch, &EVP_SIGNATURE_free,
             std::array{"ECDSA", "RSA", "ED25519", "ED448"});
    for (const char* const form :
         {"input=der,structure=SubjectPublicKeyInfo", "input=der,structure=PrivateKeyInfo"}) {
        look_for(&OSSL_DECODER_fetch, &OSSL_DECODER_free,
                 std::array{"EC", "RSA", "ED25519", "ED448"}, form);
    }
    look_for(&OSSL_DECODER_fetch, &OSSL_DECODER_free, std::array{"EC", "RSA"},
             "input=der,structure=type-specific");
    look_for(&OSSL_DECODER_fetch, &OSSL_DECODER_free, std::array{"DER"}, "input=pem");
    std::array<unsigned char, 1> byte;
    count += RAND_bytes_ex(where, byte.data(), byte.size(), 0) == 1 ? 0 : 1;
    ERR_clear_error();
    return count;
}

/// Whether OpenSSL's own provider is the default. If not, the application has chosen others, by its
/// calls or by a configuration, and algorithms are missing on purpose.
bool has_usual_provider(OSSL_LIB_CTX* where) noexcept {
    for (const char* const name : {"SHA256", "SHA384"}) { // One of them may be missing.
        EVP_MD* const fetched = EVP_MD_fetch(where, name, nullptr);
        if (fetched != nullptr) {
            const std::string_view from = OSSL_PROVIDER_get0_name(EVP_MD_get0_provider(fetched));
            const bool is_usual = from == "default";
            EVP_MD_free(fetched);
            return is_usual;
        }
    }
    ERR_clear_error();
    return false;
}

/// @return A context configured like the default one; null: there is no memory for it.
OSSL_LIB_CTX* make_algorithms() noexcept {
    OSSL_LIB_CTX* const made = OSSL_LIB_CTX_new();
    if (made != nullptr) {
        // Without the file it uses its own providers.
        CONF_modules_load_file_ex(made, nullptr, nullptr,
                                  CONF_MFLAGS_DEFAULT_SECTION | CONF_MFLAGS_IGNORE_MISSING_FILE |
                                      CONF_MFLAGS_IGNORE_RETURN_CODES);
    }
    ERR_clear_error();
    return made;
}

/// Whether the system has the memory that OpenSSL takes to initialise itself, several times. If it
/// fails in between it is unusable for ever; so it is not started then.
bool has_memory_to_start() noexcept {
    constexpr std::size_t trial_bytes = std::size_t{1} * 1024 * 1024;
    const std::unique_ptr<void, decltype(&std::free)> trial{std::malloc(trial_bytes), &std::free};
    return trial != nullptr;
}

/// Enters the hash functions of certificates' signatures under their names, as far as OpenSSL had
/// no memory to do so. It would refuse those certificates for a hash that is too weak.
/// @return Whether all are entered now.
bool complete_digest_names() noexcept {
    bool are_all_known = true;
    for (const EVP_MD* const each :
         {EVP_md5_sha1(), EVP_sha1(), EVP_sha224(), EVP_sha256(), EVP_sha384(), EVP_sha512()}) {
        const char* const name = EVP_MD_get0_name(each);
        if (EVP_get_digestbyname(name) == nullptr) {
            EVP_add_digest(each);
            are_all_known = are_all_known && EVP_get_digestbyname(name) != nullptr;
        }
    }
    ERR_clear_error();
    return are_all_known;
}

/// Whether OpenSSL can note errors. It cannot if it had no memory for what it keeps of its threads,
/// and then it makes no connections either.
bool can_note_errors() noexcept {
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    const bool is_noted = ERR_peek_error() != 0;
    ERR_clear_error();
    return is_noted;
}

/// OpenSSL calls this before it frees anything.
void end() noexcept {
    over_since.store(clock::now(), std::memory_order_relaxed);
    is_over.store(true, std::memory_order_seq_cst);
    fork_gate::pass(); // Every earlier use has ended now.
}

/// When a thread ends, OpenSSL frees the thread's data under a lock that a child would inherit; so
/// it is done here, before. OpenSSL's clean-up destroys that lock: a thread that ends meanwhile
/// waits until OpenSSL has no more callbacks for it.
thread_end leaves_library{[](void*) {
    if (const openssl_use library; library) {
        OPENSSL_thread_stop();
        return;
    }
    std::this_thread::sleep_until(over_since.load(std::memory_order_relaxed) +
                                  limits::tls_cleanup_max);
}};

/// The base of OpenSSL's reason codes for the peer's alerts (RFC 8446, 6).
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

constinit thread_local bool openssl_use::is_thread_known_ = false;

bool openssl_use::is_allowed() noexcept {
    return !is_openssl_cleaned_up();
}

void openssl_use::know_thread() noexcept {
    is_thread_known_ = leaves_library.arm(&leaves_library);
}

bool is_openssl_cleaned_up() noexcept {
    return is_over.load(std::memory_order_acquire);
}

bool is_openssl_incomplete() noexcept {
    return is_incomplete.load(std::memory_order_relaxed);
}

bool start_openssl() noexcept {
    const std::uint32_t generation = fork_gate::generation();
    if (started_in.load(std::memory_order_acquire) == generation) [[likely]] {
        return true;
    }
    const std::lock_guard lock{starting};
    if (is_openssl_incomplete()) {
        return false;
    }
    if (!is_registered) {
        if (!has_memory_to_start()) {
            return false;
        }
        // No clean-up at exit: threads of contexts that were not terminated still use OpenSSL's
        // objects. If other code used OpenSSL before us, it is cleaned up nevertheless.
        if (OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1) {
            ERR_clear_error();
            is_incomplete.store(true, std::memory_order_relaxed);
            return false;
        }
        if (OPENSSL_atexit(&end) != 1) {
            ERR_clear_error();
            return false;
        }
        is_registered = true;
    }
    // Without its default context OpenSSL's functions crash, also some of those for another one.
    const bool is_whole = OSSL_LIB_CTX_get0_global_default() != nullptr &&
                          complete_digest_names() && can_note_errors();
    if (!is_whole) {
        // With memory for another attempt these would have succeeded.
        is_incomplete.store(has_memory_to_start(), std::memory_order_relaxed);
        return false;
    }
    const auto is_parents = [=] { return generation != 0 && own_generation != generation; };
    std::size_t missing = is_parents() ? SIZE_MAX : count_missing(own_algorithms);
    const bool may_replace = is_parents() || (missing != 0 && has_usual_provider(own_algorithms));
    for (int trial = 0; trial < 2 && missing != 0 && may_replace; ++trial) {
        OSSL_LIB_CTX* const made = make_algorithms();
        if (made == nullptr) {
            return false;
        }
        const std::size_t missing_there = count_missing(made);
        if (missing_there >= missing) {
            OSSL_LIB_CTX_free(made);
            continue;
        }
        missing = missing_there;
        if (!is_parents()) {
            OSSL_LIB_CTX_free(own_algorithms);
        }
        own_algorithms = made;
        own_generation = generation;
    }
    started_in.store(generation, std::memory_order_release);
    return true;
}

OSSL_LIB_CTX* openssl_algorithms() noexcept {
    return own_algorithms;
}

bool is_openssl_short_of_memory() noexcept {
    // The entries between the first and the last cannot be examined without removing them.
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

} // namespace zlink::crypto
