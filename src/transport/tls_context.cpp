// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_context.hpp"

#include "base/error_text.hpp"
#include "base/limits.hpp"
#include "transport/tls_files.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <memory>
#include <new>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string_view>
#include <utility>

namespace zlink::transport {

namespace {

// Forward secrecy and authenticated encryption, the fastest first on processors with AES
// instructions.
constexpr const char* default_ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* default_ciphersuites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* groups = "X25519:P-256:P-384";
constexpr const char* signature_algorithms =
    "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:"
    "RSA+SHA256:RSA+SHA384:RSA+SHA512";
constexpr int security_level = 2; ///< 112 bits: RSA from 2048 bits up, no SHA-1.
constexpr std::size_t alpn_name_bytes_max = 255;

errc refuse(std::string_view text) {
    set_error_text(text);
    ERR_clear_error();
    return errc::invalid_argument;
}

errc refuse_for_memory() {
    refuse("not enough memory for TLS");
    return errc::no_memory;
}

/// Encodes comma-separated names in wire format: each behind a byte with its length.
/// @error invalid_argument  A name is empty or too long.
result<std::string> encode_alpn(std::string_view names) {
    std::string encoded;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(','), names.size());
        const bool is_followed = end < names.size();
        if (end == 0 || end > alpn_name_bytes_max || (is_followed && end + 1 == names.size())) {
            return refuse("ZLINK_TLS_ALPN: a name is empty or above 255 bytes");
        }
        encoded.push_back(static_cast<char>(end));
        encoded.append(names.substr(0, end));
        names.remove_prefix(end + (is_followed ? 1 : 0));
    }
    return encoded;
}

bool is_number(const std::string& host) noexcept {
    in6_addr ignored;
    return inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

/// Converts an IPv4 address that the resolver accepts, "127.1" or "0x7f000001", to its usual form.
std::optional<std::string> usual_number(const std::string& host) {
    in_addr number;
    char text[INET_ADDRSTRLEN];
    if (inet_aton(host.c_str(), &number) == 0 ||
        inet_ntop(AF_INET, &number, text, sizeof text) == nullptr) {
        return std::nullopt;
    }
    return text;
}

/// Whether it is a name that certificates and SNI (RFC 6066, 3) may contain: labels of ASCII
/// letters, digits and hyphens; underscores are in use, too.
bool is_host_name(std::string_view name) noexcept {
    constexpr std::size_t name_bytes_max = 253;
    constexpr std::size_t label_bytes_max = 63;
    if (name.empty() || name.size() > name_bytes_max) {
        return false;
    }
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        const std::string_view label = name.substr(begin, end - begin);
        const bool is_label = !label.empty() && label.size() <= label_bytes_max &&
                              std::ranges::all_of(label, [](unsigned char each) {
                                  return (each >= 'a' && each <= 'z') ||
                                         (each >= 'A' && each <= 'Z') ||
                                         (each >= '0' && each <= '9') || each == '-' || each == '_';
                              });
        if (!is_label) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

/// The peer's name for SNI and for the comparison with certificates.
/// @param given  From the option or the endpoint.
/// @error invalid_argument  It is neither an address nor a name.
result<std::string> wanted_host(std::string_view given) {
    std::string_view text = given;
    if (text.size() >= 2 && text.starts_with('[') && text.ends_with(']')) {
        text = text.substr(1, text.size() - 2);
    }
    const bool has_scope = text.find(':') != std::string_view::npos;
    std::string host{has_scope ? text.substr(0, text.find('%')) : text};
    if (is_number(host)) {
        return host;
    }
    if (host.ends_with('.')) { // The root's dot, which neither SNI nor certificates have.
        host.pop_back();
    }
    if (auto number = usual_number(host)) {
        return *number;
    }
    if (!is_host_name(host)) {
        return refuse("ZLINK_TLS_HOSTNAME \"" + std::string{given} +
                      "\": neither an address nor the name of a host; a name with other letters "
                      "than those of ASCII is given as its certificate has it, \"xn--...\"");
    }
    return host;
}

std::time_t expiry_of(const X509* certificate) noexcept {
    std::tm until{};
    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until) == 1 ? ::timegm(&until) : 0;
}

/// Expiry of the first of our certificates; 0 if there is none.
std::time_t expiry_of(SSL_CTX* rules) noexcept {
    const X509* const own = SSL_CTX_get0_certificate(rules);
    std::time_t first = own != nullptr ? expiry_of(own) : 0;
    STACK_OF(X509)* chain = nullptr;
    if (own == nullptr || SSL_CTX_get0_chain_certs(rules, &chain) != 1) {
        return first;
    }
    for (int index = 0; index < sk_X509_num(chain); ++index) {
        first = std::min(first, expiry_of(sk_X509_value(chain, index)));
    }
    return first;
}

// Callbacks from OpenSSL.

tls_context& owner_of(const SSL_CTX* rules) noexcept {
    return *static_cast<tls_context*>(SSL_CTX_get_app_data(rules));
}

/// The ex_data index of an SSL_CTX's ticket keys. A ticket is valid only with the files and rules
/// that its connection began with, even if the handshake ends after they were read again.
/// @return Negative: there is no memory for it now.
int place_of_tickets() noexcept {
    static constinit std::mutex making;
    static constinit int place = -1;
    const std::lock_guard lock{making};
    if (place < 0) {
        place = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr,
                                         [](void*, void* keys, CRYPTO_EX_DATA*, int, long, void*) {
                                             delete static_cast<ticket_keys*>(keys);
                                         });
    }
    return place;
}

ticket_keys& tickets_of(const SSL_CTX* rules) noexcept {
    return *static_cast<ticket_keys*>(SSL_CTX_get_ex_data(rules, place_of_tickets()));
}

/// @error no_memory
result<void> make_tickets(SSL_CTX* rules) {
    auto keys = std::make_unique<ticket_keys>();
    if (place_of_tickets() < 0 || SSL_CTX_set_ex_data(rules, place_of_tickets(), keys.get()) != 1) {
        return refuse_for_memory();
    }
    static_cast<void>(keys.release()); // The SSL_CTX owns it now.
    return {};
}

int on_new_session(SSL* connection, SSL_SESSION* session) noexcept {
    owner_of(SSL_get_SSL_CTX(connection)).keep(crypto::openssl_ptr<SSL_SESSION>(session));
    return 1; // Taken over.
}

/// The server's choice: the first of our protocols that the client offers; without a common one the
/// handshake fails (RFC 7301, 3.2).
int choose_alpn(SSL* connection, const unsigned char** chosen, unsigned char* chosen_bytes,
                const unsigned char* offered, unsigned offered_bytes, void*) noexcept {
    const auto found = owner_of(SSL_get_SSL_CTX(connection))
                           .choose_alpn({reinterpret_cast<const char*>(offered), offered_bytes});
    if (found.empty()) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = reinterpret_cast<const unsigned char*>(found.data());
    *chosen_bytes = static_cast<unsigned char>(found.size());
    return SSL_TLSEXT_ERR_OK;
}

int cipher_ticket(SSL* connection, unsigned char* name, unsigned char* vector,
                  EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* authenticator, int makes) noexcept {
    ticket_keys& keys = tickets_of(SSL_get_SSL_CTX(connection));
    const auto now = ticket_keys::clock::now();
    ticket_key key;
    auto how = ticket_keys::found::fresh;
    if (makes != 0) {
        if (!keys.current(now, key) ||
            RAND_bytes_ex(crypto::openssl_algorithms(), vector, EVP_MAX_IV_LENGTH, 0) != 1) {
            return -1;
        }
        std::copy(key.name.begin(), key.name.end(), name);
    } else {
        how = keys.find(
            std::span<const unsigned char, ticket_key::name_bytes>(name, ticket_key::name_bytes),
            now, key);
        if (how == ticket_keys::found::none) {
            return 0;
        }
    }
    char digest[] = "SHA256";
    const OSSL_PARAM rules[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.authenticator.raw(),
                                          key.authenticator.bytes),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_END};
    const crypto::openssl_ptr<EVP_CIPHER> method{
        EVP_CIPHER_fetch(crypto::openssl_algorithms(), "AES-256-CBC", nullptr)};
    if (!method || EVP_MAC_CTX_set_params(authenticator, rules) != 1 ||
        EVP_CipherInit_ex2(cipher, method.get(), key.cipher.raw(), vector, makes, nullptr) != 1) {
        return -1;
    }
    return how == ticket_keys::found::fresh ? 1 : 2;
}

// Settings from options.

result<void> set_algorithms(SSL_CTX* rules, const socket_options& options) {
    const std::string& ciphers = options.tls_ciphers;
    if (SSL_CTX_set_cipher_list(rules, ciphers.empty() ? default_ciphers : ciphers.c_str()) != 1) {
        return refuse("ZLINK_TLS_CIPHERS: none of \"" + ciphers +
                      "\" is a cipher of TLS 1.2; openssl ciphers -tls1_2 lists them");
    }
    const std::string& suites = options.tls_ciphersuites;
    if (SSL_CTX_set_ciphersuites(rules, suites.empty() ? default_ciphersuites : suites.c_str()) !=
        1) {
        return refuse("ZLINK_TLS_CIPHERSUITES: not all of \"" + suites +
                      "\" are suites of TLS 1.3, with colons between them");
    }
    SSL_CTX_set_security_level(rules, security_level);
    if (SSL_CTX_set1_groups_list(rules, groups) != 1 ||
        SSL_CTX_set1_sigalgs_list(rules, signature_algorithms) != 1 ||
        SSL_CTX_set_min_proto_version(rules, options.tls_min_version == 13 ? TLS1_3_VERSION
                                                                           : TLS1_2_VERSION) != 1) {
        return refuse("the OpenSSL of this system, as it is configured, lacks the groups, the "
                      "signatures or the version of TLS that ZLINK_TLS_MIN_VERSION asks for");
    }
    return {};
}

void set_behaviour(SSL_CTX* rules) noexcept {
    // The reader of the stream below reports a peer's end without a close_notify; OpenSSL would
    // also prevent the resumption of the session.
    SSL_CTX_set_options(rules, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(rules, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_read_ahead(rules, 1);
    SSL_CTX_set_timeout(rules, static_cast<long>(limits::tls_session_life.count()));
}

/// Clients keep the sessions: with tickets a server keeps none.
void set_resumption(SSL_CTX* rules, bool is_wanted, endpoint_use use) noexcept {
    SSL_CTX_set_session_cache_mode(rules, SSL_SESS_CACHE_OFF);
    if (!is_wanted) {
        SSL_CTX_set_options(rules, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(rules, 0);
    } else if (use == endpoint_use::listen) {
        SSL_CTX_set_num_tickets(rules, 1);
        SSL_CTX_set_tlsext_ticket_key_evp_cb(rules, &cipher_ticket);
    } else {
        SSL_CTX_set_session_cache_mode(rules, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(rules, &on_new_session);
    }
}

result<void> set_server_side(SSL_CTX* rules, const socket_options& options) {
    if (options.tls_certificate.empty()) {
        return refuse(
            "ZLINK_TLS_CERTIFICATE is not set: an endpoint that listens needs a certificate");
    }
    // A session is resumed only under the same rules: those of one listener.
    constexpr unsigned char anything[] = "zlink";
    SSL_CTX_set_session_id_context(rules, anything, sizeof anything);
    if (options.tls_client_certificates == tls_client_certificates::none) {
        return {};
    }
    if (options.tls_ca.empty()) {
        return refuse(
            "ZLINK_TLS_CLIENT_CERTIFICATES: set ZLINK_TLS_CA to the authority that signs them");
    }
    const bool is_required = options.tls_client_certificates == tls_client_certificates::required;
    SSL_CTX_set_verify(rules, SSL_VERIFY_PEER | (is_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
    if (const result<void> loaded = load_authorities(rules, options); !loaded) {
        return loaded;
    }
    return announce_authorities(rules, options);
}

result<void> set_client_side(SSL_CTX* rules, const socket_options& options) {
    if (!options.tls_verify) {
        return {};
    }
    SSL_CTX_set_verify(rules, SSL_VERIFY_PEER, nullptr);
    return load_authorities(rules, options);
}

} // namespace

result<tls_context_ptr> tls_context::make(const socket_options& options, const endpoint& where,
                                          endpoint_use use) {
    const crypto::openssl_use library;
    if (!library) {
        set_error_text("OpenSSL has been cleaned up, because the process exits");
        return static_cast<errc>(ESHUTDOWN);
    }
    if (!crypto::start_openssl()) {
        set_error_text(crypto::is_openssl_incomplete()
                           ? "OpenSSL ran out of memory while it initialised itself, which it does "
                             "once in each process; TLS can be used after a restart"
                           : "OpenSSL: not enough memory");
        return errc::no_memory;
    }
    const tls_context_ptr made{new tls_context(where, use)};
    result<tls_rules> rules = made->read(options);
    if (!rules) {
        return rules.error();
    }
    made->adopt(std::move(*rules));
    return made;
}

result<tls_rules> tls_context::read(const socket_options& options) {
    const crypto::openssl_use library;
    if (!library) {
        return static_cast<errc>(ESHUTDOWN);
    }
    result<tls_rules> rules = read_once(options);
    if (!rules && rules.error() != errc::no_memory) {
        // After a failed allocation for an algorithm, OpenSSL continues without it, and then
        // reports it as unknown. If that was not the reason, this attempt fails, too.
        rules = read_once(options);
    }
    return rules;
}

result<tls_rules> tls_context::read_once(const socket_options& options) {
    const bool listens = use_ == endpoint_use::listen;
    crypto::openssl_ptr<SSL_CTX> made{
        SSL_CTX_new_ex(crypto::openssl_algorithms(), nullptr,
                       listens ? TLS_server_method() : TLS_client_method())};
    if (!made) {
        return refuse_for_memory();
    }
    SSL_CTX* const rules = made.get();
    SSL_CTX_set_app_data(rules, this);
    if (const result<void> made_tickets = make_tickets(rules); !made_tickets) {
        return made_tickets.error();
    }
    set_behaviour(rules);
    set_resumption(rules, options.tls_session_resumption, use_);
    for (const auto step :
         {&set_algorithms, listens ? &set_server_side : &set_client_side, &load_identity}) {
        if (const result<void> done = step(rules, options); !done) {
            return done.error();
        }
    }
    result<std::string> alpn = encode_alpn(options.tls_alpn);
    if (!alpn) {
        return alpn.error();
    }
    if (!listens) {
        // NOLINTNEXTLINE(clang-analyzer-cplusplus.InnerPointer): operator-> moves nothing.
        SSL_CTX_set_alpn_protos(rules, reinterpret_cast<const unsigned char*>(alpn->data()),
                                static_cast<unsigned>(alpn->size()));
    } else if (!alpn->empty()) {
        SSL_CTX_set_alpn_select_cb(rules, &transport::choose_alpn, nullptr);
    }
    const std::string& named = options.tls_hostname;
    result<std::string> host =
        listens ? std::string{} : wanted_host(named.empty() ? where_.address.host : named);
    if (!host) {
        return host.error();
    }
    const std::time_t expires = expiry_of(rules);
    return tls_rules{std::move(made), std::move(*host), std::move(*alpn), expires};
}

void tls_context::adopt(tls_rules read) noexcept {
    const std::lock_guard lock{mutex_};
    std::swap(rules_, read);
    session_.reset();
    told_expiry_ = {};
}

std::optional<std::int32_t> tls_context::take_expiry(clock::time_point now) noexcept {
    using std::chrono::seconds;
    const std::lock_guard lock{mutex_};
    if (rules_.expires == 0 || now - told_expiry_ < limits::expiry_pause) {
        return std::nullopt;
    }
    const auto rest = std::chrono::duration_cast<seconds>(clock::from_time_t(rules_.expires) - now);
    if (rest > limits::expiry_notice) {
        return std::nullopt;
    }
    told_expiry_ = now;
    return static_cast<std::int32_t>(std::max(rest, seconds{INT32_MIN}).count());
}

crypto::openssl_ptr<SSL> tls_context::open() {
    const crypto::openssl_use library;
    if (!library) {
        return nullptr;
    }
    const std::lock_guard lock{mutex_};
    crypto::openssl_ptr<SSL> made{SSL_new(rules_.algorithms.get())};
    if (!made) {
        return made;
    }
    if (use_ == endpoint_use::listen) {
        SSL_set_accept_state(made.get());
        return made;
    }
    SSL_set_connect_state(made.get());
    say_whom_we_mean(made.get());
    if (session_) {
        SSL_set_session(made.get(), session_.get());
    }
    return made;
}

void tls_context::say_whom_we_mean(SSL* connection) const noexcept {
    const bool is_address = is_number(rules_.hostname);
    if (!is_address) {
        SSL_set_tlsext_host_name(connection, rules_.hostname.c_str());
    }
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(connection);
    // The name must be in the subject alternative names, not in a subject's common name (RFC 9525,
    // 6.3).
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const int is_set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, rules_.hostname.c_str())
                                  : X509_VERIFY_PARAM_set1_host(wanted, rules_.hostname.c_str(),
                                                                rules_.hostname.size());
    if (is_set != 1) {
        // A name that no certificate can have, so that none matches.
        X509_VERIFY_PARAM_set1_host(wanted, "invalid.", 0);
    }
}

void tls_context::keep(crypto::openssl_ptr<SSL_SESSION> session) noexcept {
    const std::lock_guard lock{mutex_};
    session_ = std::move(session);
}

std::string_view tls_context::choose_alpn(std::string_view offered) noexcept {
    const std::lock_guard lock{mutex_};
    const auto each_name = [](std::string_view list, auto&& is_it) -> std::string_view {
        while (!list.empty()) {
            const auto name = list.substr(1, static_cast<unsigned char>(list[0]));
            if (is_it(name)) {
                return name;
            }
            list.remove_prefix(name.size() + 1);
        }
        return {};
    };
    std::string_view chosen;
    each_name(rules_.alpn, [&](std::string_view ours) {
        chosen = each_name(offered, [&](std::string_view theirs) { return theirs == ours; });
        return !chosen.empty();
    });
    return chosen;
}

} // namespace zlink::transport
