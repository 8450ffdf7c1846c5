// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "testing/temporary_folder.hpp"

#include <cstdio>
#include <doctest/doctest.h>
#include <filesystem>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string>

namespace zlink::testing {

/// The contents of a certificate.
struct certificate_request {
    std::string common_name = "server";
    std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1"; ///< subjectAltName; empty: none.
    int valid_from_day = -1;                                 ///< Relative to today.
    int valid_to_day = 30;
    std::string password{}; ///< Of the key; empty: the key is not encrypted.
};

/// Paths of a certificate and its key, in PEM.
struct identity {
    std::string certificate;
    std::string key;
};

/// An issuer of certificates.
class authority {
public:
    /// @param folder  For its files; must outlive it.
    authority(const temporary_folder& folder, const std::string& name)
        : folder_(folder), name_(name), key_(EVP_EC_gen("P-256"), &EVP_PKEY_free),
          certificate_(make({.common_name = name, .names = {}}, *key_, nullptr)) {
        write(path(), [&](std::FILE* to) { return PEM_write_X509(to, certificate_.get()); });
    }

    /// Its own certificate.
    std::string path() const { return folder_.file(name_ + ".pem"); }

    /// Makes a key and a certificate for it.
    identity issue(const certificate_request& asked = {}) {
        const key_ptr key{EVP_EC_gen("P-256"), &EVP_PKEY_free};
        const certificate_ptr made = make(asked, *key, certificate_.get());
        const std::string stem = name_ + std::to_string(++serial_);
        identity issued{folder_.file(stem + ".crt"), folder_.file(stem + ".key")};
        write(issued.certificate, [&](std::FILE* to) { return PEM_write_X509(to, made.get()); });
        write(issued.key, [&](std::FILE* to) {
            const bool is_encrypted = !asked.password.empty();
            return PEM_write_PKCS8PrivateKey(
                to, key.get(), is_encrypted ? EVP_aes_128_cbc() : nullptr,
                is_encrypted ? asked.password.data() : nullptr,
                static_cast<int>(asked.password.size()), nullptr, nullptr);
        });
        return issued;
    }

private:
    using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
    using certificate_ptr = std::unique_ptr<X509, decltype(&X509_free)>;

    template<class Write>
    static void write(const std::string& path, Write&& content) {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "w"),
                                                                   &std::fclose};
        REQUIRE(file);
        REQUIRE(content(file.get()) == 1);
    }

    /// @param issuer  Null: the certificate is self-signed.
    certificate_ptr make(const certificate_request& asked, EVP_PKEY& key, X509* issuer) {
        constexpr long day = 24 * 3600;
        certificate_ptr made{X509_new(), &X509_free};
        X509_set_version(made.get(), X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1000 + serial_);
        X509_gmtime_adj(X509_getm_notBefore(made.get()), asked.valid_from_day * day);
        X509_gmtime_adj(X509_getm_notAfter(made.get()), asked.valid_to_day * day);
        X509_NAME_add_entry_by_txt(
            X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
            reinterpret_cast<const unsigned char*>(asked.common_name.c_str()), -1, -1, 0);
        X509_set_issuer_name(made.get(),
                             X509_get_subject_name(issuer != nullptr ? issuer : made.get()));
        X509_set_pubkey(made.get(), &key);
        X509V3_CTX about;
        X509V3_set_ctx_nodb(&about);
        X509V3_set_ctx(&about, issuer != nullptr ? issuer : made.get(), made.get(), nullptr,
                       nullptr, 0);
        const auto add = [&](int kind, const char* value) {
            X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &about, kind, value);
            REQUIRE(extension != nullptr);
            X509_add_ext(made.get(), extension, -1);
            X509_EXTENSION_free(extension);
        };
        add(NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE");
        add(NID_subject_key_identifier, "hash");
        if (!asked.names.empty()) {
            add(NID_subject_alt_name, asked.names.c_str());
        }
        REQUIRE(X509_sign(made.get(), issuer != nullptr ? key_.get() : &key, EVP_sha256()) > 0);
        return made;
    }

    const temporary_folder& folder_;
    std::string name_;
    int serial_ = 0;
    key_ptr key_;
    certificate_ptr certificate_;
};

} // namespace zlink::testing
