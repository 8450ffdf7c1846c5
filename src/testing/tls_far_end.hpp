// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "testing/scripted_stream.hpp"
#include "testing/session_harness.hpp"

#include <array>
#include <doctest/doctest.h>
#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string>
#include <string_view>

namespace zlink::testing {

/// The other end of a session's TLS: OpenSSL itself, in memory. It verifies no certificates.
class tls_far_end {
public:
    /// @param is_server  Has a certificate that is not trusted.
    /// @param version    The only TLS version that it supports; 0: OpenSSL's default.
    explicit tls_far_end(bool is_server, int version = 0)
        : rules_(SSL_CTX_new(TLS_method()), &SSL_CTX_free) {
        SSL_CTX_set_security_level(rules_.get(), 0);
        SSL_CTX_set_min_proto_version(rules_.get(), version);
        SSL_CTX_set_max_proto_version(rules_.get(), version);
        SSL_CTX_set_mode(rules_.get(), SSL_MODE_AUTO_RETRY);
        if (is_server) {
            make_certificate();
        }
        ssl_.reset(SSL_new(rules_.get()));
        in_ = BIO_new(BIO_s_mem());
        out_ = BIO_new(BIO_s_mem());
        SSL_set_bio(ssl_.get(), in_, out_);
        is_server ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
        SSL_do_handshake(ssl_.get());
    }

    /// Carries bytes over until both sides have none left to send.
    void converse(session_harness& with, scripted_stream& stream) {
        with.run();
        hear_rest(stream);
        for (std::string said = take_said(); !said.empty(); said = take_said()) {
            with.peer_sends(said);
            hear_rest(stream);
        }
    }

    /// Takes the bytes that it has to send.
    std::string take_said() {
        char* data = nullptr;
        const long bytes = BIO_get_mem_data(out_, &data);
        const std::string said{data, static_cast<std::size_t>(bytes)};
        static_cast<void>(BIO_reset(out_));
        return said;
    }

    /// Receives the bytes written to `stream` that it has not received yet.
    void hear_rest(const scripted_stream& stream) {
        const std::string_view rest = std::string_view{stream.written()}.substr(heard_bytes_);
        heard_bytes_ += rest.size();
        hear(rest);
    }

    void hear(std::string_view data) {
        BIO_write(in_, data.data(), static_cast<int>(data.size()));
        std::array<char, 20'000> content;
        while (true) {
            const int bytes = SSL_read(ssl_.get(), content.data(), content.size());
            if (bytes <= 0) {
                has_failed_ = has_failed_ || SSL_get_error(ssl_.get(), bytes) == SSL_ERROR_SSL;
                return;
            }
            heard_.append(content.data(), static_cast<std::size_t>(bytes));
        }
    }

    void say(std::string_view data) {
        SSL_write(ssl_.get(), data.data(), static_cast<int>(data.size()));
    }
    void send_close_notify() { SSL_shutdown(ssl_.get()); }

    bool may_ask_for_new_keys() const {
        return is_established() && SSL_version(ssl_.get()) == TLS1_3_VERSION &&
               SSL_get_shutdown(ssl_.get()) == 0 &&
               SSL_get_key_update_type(ssl_.get()) == SSL_KEY_UPDATE_NONE;
    }
    /// TLS 1.3: changes its own keys and asks us to change ours.
    void ask_for_new_keys() {
        REQUIRE(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
        REQUIRE(SSL_do_handshake(ssl_.get()) == 1);
    }
    /// TLS 1.3: changes its own keys `count` times.
    void announce_new_keys(int count) {
        for (; count > 0; --count) {
            REQUIRE(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
            REQUIRE(SSL_do_handshake(ssl_.get()) == 1);
        }
    }
    /// TLS 1.2: begins another handshake.
    void renegotiate() {
        REQUIRE(SSL_renegotiate(ssl_.get()) == 1);
        SSL_do_handshake(ssl_.get());
    }

    bool is_established() const { return !has_failed_ && SSL_is_init_finished(ssl_.get()) == 1; }
    const std::string& heard() const noexcept { return heard_; }
    bool has_heard_goodbye() const {
        return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    }

private:
    void make_certificate() {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"),
                                                                      &EVP_PKEY_free};
        const std::unique_ptr<X509, decltype(&X509_free)> made{X509_new(), &X509_free};
        X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
        X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
        X509_set_pubkey(made.get(), key.get());
        X509_sign(made.get(), key.get(), EVP_sha256());
        REQUIRE(SSL_CTX_use_certificate(rules_.get(), made.get()) == 1);
        REQUIRE(SSL_CTX_use_PrivateKey(rules_.get(), key.get()) == 1);
    }

    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> rules_;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
    BIO* in_ = nullptr;  ///< Bytes to it. Belongs to `ssl_`.
    BIO* out_ = nullptr; ///< Bytes from it. Likewise.
    std::string heard_;
    std::size_t heard_bytes_ = 0; ///< Of the bytes written to the stream.
    bool has_failed_ = false;
};

} // namespace zlink::testing
