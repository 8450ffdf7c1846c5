// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_library.hpp"

#include <cerrno>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace zlink::transport {

namespace {

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

void start_tls_library() noexcept {
    // What OpenSSL would free at exit, threads of contexts that were not terminated still use.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
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
