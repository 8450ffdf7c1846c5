// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_files.hpp"

#include "base/error_text.hpp"
#include "base/own_descriptors.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509err.h>
#include <openssl/x509v3.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace zlink::transport {

namespace {

using crypto::openssl_ptr;

/// Whether an option holds what would be in a file, and not the file's path.
bool is_pem(std::string_view given) noexcept {
    return given.find("-----BEGIN ") != std::string_view::npos; // Text may come before it.
}

errc refuse(errc error, std::string_view option, std::string_view given,
            const std::string& reason) {
    std::string text{option};
    if (!is_pem(given)) {
        text.append(" \"").append(given).append("\"");
    }
    set_error_text(text.append(": ").append(reason));
    return error;
}

/// The contents of a file.
enum class content : std::uint8_t { certificate, key };

/// Why OpenSSL rejected the contents of a file, from the code of its first error.
std::string_view fault_of(unsigned long code, content wanted) noexcept {
    const bool is_key = wanted == content::key;
    const int library = ERR_GET_LIB(code);
    const int reason = ERR_GET_REASON(code);
    const bool is_empty =
        (library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE) ||
        (library == ERR_LIB_X509 && reason == X509_R_NO_CERTIFICATE_OR_CRL_FOUND) ||
        (library == ERR_LIB_OSSL_DECODER && reason == ERR_R_UNSUPPORTED);
    if (is_empty) {
        return is_key ? "no private key is in it, as PEM" : "no certificate is in it, as PEM";
    }
    if (library == ERR_LIB_SSL &&
        (reason == SSL_R_EE_KEY_TOO_SMALL || reason == SSL_R_CA_KEY_TOO_SMALL)) {
        return "the key of a certificate in it is too short: an RSA key needs 2048 bits";
    }
    if (library == ERR_LIB_SSL && reason == SSL_R_CA_MD_TOO_WEAK) {
        return "a certificate in it is signed with a hash that is too weak";
    }
    return is_key ? "what is in it is no private key that can be used"
                  : "what is in it is no certificate that can be used";
}

/// Reports why OpenSSL rejected a file that can be read, or PEM.
errc refuse_content(std::string_view option, std::string_view given, content wanted) {
    const bool is_short = crypto::is_openssl_short_of_memory();
    const std::string_view fault =
        is_short ? "there is no memory to read it" : fault_of(ERR_peek_error(), wanted);
    ERR_clear_error();
    return refuse(is_short ? errc::no_memory : errc::invalid_argument, option, given,
                  std::string{fault});
}

/// The kinds of files that an option may name.
enum class place : std::uint8_t { file, file_or_folder };

/// Checks that a file can be read without waiting for somebody to write it, as with a FIFO, and
/// comes to an end, unlike /dev/zero.
result<void> check_readable(std::string_view option, const std::string& path, place wanted) {
    if (is_pem(path)) {
        return {};
    }
    const int descriptor =
        open_descriptor([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
    struct stat found;
    const int error = descriptor < 0 || ::fstat(descriptor, &found) != 0 ? errno : 0;
    if (descriptor >= 0) {
        close_descriptor(descriptor);
    }
    if (error != 0) {
        return refuse(static_cast<errc>(error), option, path, std::strerror(error));
    }
    if (S_ISREG(found.st_mode) || (wanted == place::file_or_folder && S_ISDIR(found.st_mode))) {
        return {};
    }
    return refuse(errc::invalid_argument, option, path,
                  wanted == place::file ? "it is not a regular file"
                                        : "it is neither a regular file nor a folder");
}

bool is_folder(const std::string& path) noexcept {
    struct stat found;
    return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// Checks that OpenSSL can read all files of a folder without waiting.
result<void> check_files(std::string_view option, const std::string& path) {
    std::error_code failed;
    for (std::filesystem::directory_iterator each{path, failed}, end; !failed && each != end;
         each.increment(failed)) {
        std::error_code unknown; // A link that leads nowhere.
        if (each->is_other(unknown)) {
            return refuse(errc::invalid_argument, option, path,
                          each->path().filename().string() + " in it is not a regular file");
        }
    }
    return failed ? refuse(static_cast<errc>(failed.value()), option, path, failed.message())
                  : result<void>{};
}

/// OpenSSL's request for the password of a key.
struct password_request {
    std::string_view password;
    bool was_made = false;
};

int give_password(char* to, int room, int, void* asked) noexcept {
    auto& request = *static_cast<password_request*>(asked);
    request.was_made = true;
    const auto bytes = static_cast<int>(request.password.size());
    if (bytes == 0 || bytes > room) {
        return -1;
    }
    std::memcpy(to, request.password.data(), request.password.size());
    return bytes;
}

openssl_ptr<BIO> reader_of(std::string_view pem) noexcept {
    return openssl_ptr<BIO>{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}

/// Passes each certificate in `pem` to `take`, until it returns false.
/// @return Whether there was one, and each was taken.
template<class Take>
bool read_certificates(std::string_view pem, Take&& take) noexcept {
    const openssl_ptr<BIO> in = reader_of(pem);
    for (int count = 0; in; ++count) {
        openssl_ptr<X509> room{X509_new_ex(crypto::openssl_algorithms(), nullptr)};
        X509* next = room.get();
        if (next == nullptr || PEM_read_bio_X509(in.get(), &next, nullptr, nullptr) == nullptr) {
            static_cast<void>(next == nullptr ? room.release() : nullptr); // Freed when it fails.
            const bool is_end = count != 0 && ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_PEM &&
                                ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
            if (is_end) {
                ERR_clear_error();
            }
            return is_end;
        }
        if (!take(std::move(room))) {
            return false;
        }
    }
    return false;
}

bool use_certificates(SSL_CTX* rules, const std::string& given) noexcept {
    if (!is_pem(given)) {
        return SSL_CTX_use_certificate_chain_file(rules, given.c_str()) == 1;
    }
    bool is_own = true;
    return read_certificates(given, [&](openssl_ptr<X509> each) {
        if (std::exchange(is_own, false)) {
            return SSL_CTX_use_certificate(rules, each.get()) == 1;
        }
        const bool is_added = SSL_CTX_add0_chain_cert(rules, each.get()) == 1;
        static_cast<void>(is_added ? each.release() : nullptr); // Taken over.
        return is_added;
    });
}

bool use_key(SSL_CTX* rules, const std::string& given, password_request& request) noexcept {
    if (!is_pem(given)) {
        return SSL_CTX_use_PrivateKey_file(rules, given.c_str(), SSL_FILETYPE_PEM) == 1;
    }
    const openssl_ptr<BIO> in = reader_of(given);
    const openssl_ptr<EVP_PKEY> key{
        in ? PEM_read_bio_PrivateKey_ex(in.get(), nullptr, &give_password, &request,
                                        crypto::openssl_algorithms(), nullptr)
           : nullptr};
    return key && SSL_CTX_use_PrivateKey(rules, key.get()) == 1;
}

result<void> load_key(SSL_CTX* rules, const std::string& given, std::string_view password) {
    if (const result<void> readable = check_readable("ZLINK_TLS_KEY", given, place::file);
        !readable) {
        return readable;
    }
    password_request request{password};
    SSL_CTX_set_default_passwd_cb(rules, &give_password);
    SSL_CTX_set_default_passwd_cb_userdata(rules, &request);
    const bool is_loaded = use_key(rules, given, request);
    SSL_CTX_set_default_passwd_cb_userdata(rules, nullptr);
    SSL_CTX_set_default_passwd_cb(rules, nullptr);
    const bool is_mismatch = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
    if (!is_loaded && request.was_made && !is_mismatch) {
        ERR_clear_error();
        return refuse(errc::permission_denied, "ZLINK_TLS_KEY", given,
                      password.empty() ? "it is encrypted and ZLINK_TLS_KEY_PASSWORD is not set"
                                       : "ZLINK_TLS_KEY_PASSWORD does not open it");
    }
    if (is_loaded && SSL_CTX_check_private_key(rules) == 1) {
        return {};
    }
    if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509) {
        ERR_clear_error();
        return refuse(errc::invalid_argument, "ZLINK_TLS_KEY", given,
                      "it is not the key of the certificate in ZLINK_TLS_CERTIFICATE");
    }
    return refuse_content("ZLINK_TLS_KEY", given, content::key);
}

/// Whether the keys and extensions of all authorities were decoded. If there was no memory for one,
/// OpenSSL keeps the certificate without it, reports nothing, and does not try again; the same
/// where the algorithm is unknown.
bool is_all_decoded(SSL_CTX* rules) noexcept {
    const STACK_OF(X509_OBJECT)* const all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(rules));
    for (int index = 0; index < sk_X509_OBJECT_num(all); ++index) {
        X509* const each = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, index));
        if (each == nullptr) {
            continue; // A revocation list.
        }
        if (X509_get0_pubkey(each) == nullptr ||
            (X509_get_extension_flags(each) & EXFLAG_INVALID) != 0) {
            ERR_clear_error();
            return false;
        }
    }
    return true;
}

bool add_subjects(std::string_view pem, STACK_OF(X509_NAME) * names) noexcept {
    return read_certificates(pem, [&](const openssl_ptr<X509>& each) {
        X509_NAME* const subject = X509_NAME_dup(X509_get_subject_name(each.get()));
        const bool is_added = subject != nullptr && sk_X509_NAME_push(names, subject) > 0;
        if (!is_added) {
            X509_NAME_free(subject);
        }
        return is_added;
    });
}

} // namespace

result<void> load_identity(SSL_CTX* rules, const socket_options& options) {
    const std::string& certificate = options.tls_certificate;
    if (certificate.empty()) {
        if (!options.tls_key.empty()) {
            return refuse(errc::invalid_argument, "ZLINK_TLS_KEY", options.tls_key,
                          "ZLINK_TLS_CERTIFICATE is not set");
        }
        return {};
    }
    if (const result<void> readable =
            check_readable("ZLINK_TLS_CERTIFICATE", certificate, place::file);
        !readable) {
        return readable;
    }
    if (!use_certificates(rules, certificate)) {
        return refuse_content("ZLINK_TLS_CERTIFICATE", certificate, content::certificate);
    }
    return load_key(rules, options.tls_key.empty() ? certificate : options.tls_key,
                    options.tls_key_password.text());
}

result<void> load_authorities(SSL_CTX* rules, const socket_options& options) {
    const std::string& path = options.tls_ca;
    if (path.empty()) {
        SSL_CTX_set_default_verify_paths(rules);
        ERR_clear_error(); // Without authorities every peer is rejected.
        return {};
    }
    if (const result<void> readable = check_readable("ZLINK_TLS_CA", path, place::file_or_folder);
        !readable) {
        return readable;
    }
    if (!is_pem(path) && is_folder(path)) {
        if (const result<void> readable = check_files("ZLINK_TLS_CA", path); !readable) {
            return readable;
        }
    }
    const auto load = [&] {
        if (is_pem(path)) {
            X509_STORE* const store = SSL_CTX_get_cert_store(rules);
            return static_cast<int>(read_certificates(path, [&](const openssl_ptr<X509>& each) {
                return X509_STORE_add_cert(store, each.get()) == 1;
            }));
        }
        return is_folder(path) ? SSL_CTX_load_verify_dir(rules, path.c_str())
                               : SSL_CTX_load_verify_file(rules, path.c_str());
    };
    int loaded = load();
    if (loaded == 1 && !is_all_decoded(rules)) {
        X509_STORE* const fresh = X509_STORE_new();
        if (fresh != nullptr) {
            SSL_CTX_set_cert_store(rules, fresh);
        }
        loaded = fresh != nullptr ? load() : 0;
    }
    return loaded == 1 ? result<void>{}
                       : refuse_content("ZLINK_TLS_CA", path, content::certificate);
}

result<void> announce_authorities(SSL_CTX* rules, const socket_options& options) {
    const std::string& path = options.tls_ca;
    STACK_OF(X509_NAME)* const names = sk_X509_NAME_new_null();
    const int added = names == nullptr  ? 0
                      : is_pem(path)    ? static_cast<int>(add_subjects(path, names))
                      : is_folder(path) ? SSL_add_dir_cert_subjects_to_stack(names, path.c_str())
                                        : SSL_add_file_cert_subjects_to_stack(names, path.c_str());
    SSL_CTX_set_client_CA_list(rules, names);
    return added == 1 ? result<void>{} : refuse_content("ZLINK_TLS_CA", path, content::certificate);
}

} // namespace zlink::transport
