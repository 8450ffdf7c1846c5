// SPDX-License-Identifier: MPL-2.0
#include "security/curve_mechanism.hpp"

#include "crypto/curve_cipher.hpp"
#include "wire/zmtp/curve.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace zlink::security {

using namespace wire::zmtp;

namespace {

constexpr std::string_view hello_purpose = "CurveZMQHELLO---";
constexpr std::string_view welcome_purpose = "WELCOME-";
constexpr std::string_view cookie_purpose = "COOKIE--";
constexpr std::string_view vouch_purpose = "VOUCH---";
constexpr std::string_view initiate_purpose = "CurveZMQINITIATE";
constexpr std::string_view ready_purpose = "CurveZMQREADY---";

using long_nonce = std::array<std::byte, curve_long_nonce_bytes>;
using two_keys = secret<2 * curve_key_bytes>;

long_nonce make_long_nonce() noexcept {
    long_nonce made;
    crypto::randomise(made);
    return made;
}

std::vector<std::byte> joined(std::initializer_list<byte_view> parts) {
    std::vector<std::byte> whole;
    for (const byte_view& part : parts) {
        whole.insert(whole.end(), part.begin(), part.end());
    }
    return whole;
}

bool same(byte_view one, byte_view other) noexcept {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

} // namespace

// The client.

result<void> curve_client_mechanism::start() {
    transient_ = crypto::make_curve_keys();
    const std::optional<crypto::shared_key> common =
        crypto::agree(about_.options.curve_server, transient_.hidden);
    if (!common) {
        return errc::invalid_argument; // The application's server key is invalid.
    }
    key_ = *common;
    const std::array<std::byte, curve_hello_content_bytes> zeros{};
    ++sent_nonce_;
    const auto box = crypto::seal(zeros, {hello_purpose, sent_nonce_}, key_);
    about_.say(encode_curve_hello({transient_.open, sent_nonce_, box}));
    return {};
}

result<void> curve_client_mechanism::on_command(const command_view& command) {
    if (state_ == state::awaiting_welcome && command.name == welcome_name) {
        return on_welcome(command.data);
    }
    if (state_ == state::awaiting_ready && command.name == ready_name) {
        return on_ready(command.data);
    }
    return about_.record_fault(protocol_fault::unexpected_command);
}

result<void> curve_client_mechanism::on_welcome(byte_view data) {
    const result<curve_welcome> welcome = decode_curve_welcome(data);
    if (!welcome) {
        return about_.record_fault(protocol_fault::malformed_welcome);
    }
    std::array<std::byte, curve_welcome_content_bytes> content;
    if (!crypto::open(welcome->box, {welcome_purpose, welcome->nonce}, key_, content)) {
        return about_.record_fault(protocol_fault::cryptographic);
    }
    const byte_view server_transient = byte_view{content}.first(curve_key_bytes);
    const byte_view cookie = byte_view{content}.subspan(curve_key_bytes);

    const std::optional<crypto::shared_key> common =
        crypto::agree(server_transient, transient_.hidden);
    const std::optional<crypto::shared_key> vouching =
        crypto::agree(server_transient, about_.options.curve_secret);
    if (!common || !vouching) {
        return about_.record_fault(protocol_fault::key_exchange);
    }
    key_ = *common;

    const long_nonce vouch_nonce = make_long_nonce();
    const auto vouch = crypto::seal(joined({transient_.open, about_.options.curve_server}),
                                    {vouch_purpose, vouch_nonce}, *vouching);
    const auto identity =
        joined({about_.options.curve_public, vouch_nonce, vouch, about_.own_metadata()});
    ++sent_nonce_;
    const auto box = crypto::seal(identity, {initiate_purpose, sent_nonce_}, key_);
    about_.say(encode_curve_initiate({cookie, sent_nonce_, box}));
    state_ = state::awaiting_ready;
    return {};
}

result<void> curve_client_mechanism::on_ready(byte_view data) {
    const result<curve_ready> ready = decode_curve_ready(data);
    if (!ready) {
        return about_.record_fault(protocol_fault::malformed_ready);
    }
    std::vector<std::byte> metadata(ready->box.size() - curve_box_overhead_bytes);
    if (!crypto::open(ready->box, {ready_purpose, ready->nonce}, key_, metadata)) {
        return about_.record_fault(protocol_fault::cryptographic);
    }
    received_nonce_ = ready->nonce;
    state_ = state::complete;
    return about_.take_metadata(metadata);
}

std::unique_ptr<crypto::curve_ciphers> curve_client_mechanism::take_ciphers() const {
    return std::make_unique<crypto::curve_ciphers>(crypto::curve_ciphers{
        std::make_unique<crypto::curve_sealer>(key_, crypto::curve_role::client, sent_nonce_),
        {key_, crypto::curve_role::server, received_nonce_}});
}

// The server.

result<void> curve_server_mechanism::on_command(const command_view& command) {
    if (state_ == state::awaiting_hello && command.name == hello_name) {
        return on_hello(command.data);
    }
    if (state_ == state::awaiting_initiate && command.name == initiate_name) {
        return on_initiate(command.data);
    }
    return about_.record_fault(protocol_fault::unexpected_command);
}

result<void> curve_server_mechanism::on_hello(byte_view data) {
    const result<curve_hello> hello = decode_curve_hello(data);
    if (!hello) {
        return about_.record_fault(protocol_fault::malformed_hello);
    }
    const std::optional<crypto::shared_key> common =
        crypto::agree(hello->client_key, about_.options.curve_secret);
    if (!common) {
        return about_.record_fault(protocol_fault::key_exchange);
    }
    std::array<std::byte, curve_hello_content_bytes> content;
    if (!crypto::open(hello->box, {hello_purpose, hello->nonce}, *common, content)) {
        return about_.record_fault(protocol_fault::cryptographic);
    }
    received_nonce_ = hello->nonce;

    const crypto::curve_keys transient = crypto::make_curve_keys();
    two_keys remembered;
    std::copy(hello->client_key.begin(), hello->client_key.end(), remembered.data());
    std::copy_n(transient.hidden.data(), curve_key_bytes, remembered.data() + curve_key_bytes);
    crypto::randomise({key_.data(), crypto::shared_key::bytes});
    const long_nonce cookie_nonce = make_long_nonce();
    const auto cookie =
        crypto::seal({remembered.data(), two_keys::bytes}, {cookie_purpose, cookie_nonce}, key_);

    const long_nonce nonce = make_long_nonce();
    const auto box = crypto::seal(joined({transient.open, cookie_nonce, cookie}),
                                  {welcome_purpose, nonce}, *common);
    about_.say(encode_curve_welcome({nonce, box}));
    state_ = state::awaiting_initiate;
    return {};
}

result<void> curve_server_mechanism::on_initiate(byte_view data) {
    const result<curve_initiate> initiate = decode_curve_initiate(data);
    if (!initiate) {
        return about_.record_fault(protocol_fault::malformed_initiate);
    }
    two_keys remembered;
    const auto [cookie_nonce, cookie] = std::pair{initiate->cookie.first(curve_long_nonce_bytes),
                                                  initiate->cookie.subspan(curve_long_nonce_bytes)};
    if (!crypto::open(cookie, {cookie_purpose, cookie_nonce}, key_,
                      {remembered.data(), two_keys::bytes})) {
        return about_.record_fault(protocol_fault::cryptographic);
    }
    const byte_view client_transient{remembered.data(), curve_key_bytes};
    curve_secret_key own_transient;
    std::copy_n(remembered.data() + curve_key_bytes, curve_key_bytes, own_transient.data());

    const std::optional<crypto::shared_key> common = crypto::agree(client_transient, own_transient);
    if (!common) {
        return about_.record_fault(protocol_fault::key_exchange);
    }
    key_ = *common;
    secret_bytes content(initiate->box.size() - curve_box_overhead_bytes);
    if (initiate->nonce <= received_nonce_ ||
        !crypto::open(initiate->box, {initiate_purpose, initiate->nonce}, key_, content)) {
        return about_.record_fault(protocol_fault::cryptographic);
    }
    received_nonce_ = initiate->nonce;

    const byte_view client_key = byte_view{content}.first(curve_key_bytes);
    const byte_view vouch = byte_view{content}.subspan(curve_key_bytes, curve_vouch_bytes);
    if (!is_vouched_for(vouch, client_key, client_transient, own_transient)) {
        return about_.record_fault(protocol_fault::cryptographic);
    }
    const byte_view metadata = byte_view{content}.subspan(curve_initiate_content_bytes_min);
    if (const result<void> taken = about_.take_metadata(metadata); !taken) {
        return taken.error();
    }
    state_ = state::asking;
    const socket_options& options = about_.options;
    if (options.zap_enforce_domain && options.zap_domain.empty()) {
        return on_admitted();
    }
    zap_question asked{std::vector<secret_text>(1), options.zap_enforce_domain};
    asked.credentials[0].assign(
        {reinterpret_cast<const char*>(client_key.data()), client_key.size()});
    about_.question = std::move(asked);
    return {};
}

/// Whether the owner of `client_key` vouches for the transient key, towards this server.
bool curve_server_mechanism::is_vouched_for(byte_view vouch, byte_view client_key,
                                            byte_view client_transient,
                                            const curve_secret_key& own_transient) const noexcept {
    const std::optional<crypto::shared_key> common = crypto::agree(client_key, own_transient);
    two_keys content;
    const std::span<std::byte> both{content.data(), two_keys::bytes};
    return common &&
           crypto::open(vouch.subspan(curve_long_nonce_bytes),
                        {vouch_purpose, vouch.first(curve_long_nonce_bytes)}, *common, both) &&
           same(both.first(curve_key_bytes), client_transient) &&
           same(both.subspan(curve_key_bytes), crypto::public_key_of(about_.options.curve_secret));
}

result<void> curve_server_mechanism::on_admitted() {
    ++sent_nonce_;
    const auto box = crypto::seal(about_.own_metadata(), {ready_purpose, sent_nonce_}, key_);
    about_.say(encode_curve_ready({sent_nonce_, box}));
    state_ = state::complete;
    return {};
}

std::unique_ptr<crypto::curve_ciphers> curve_server_mechanism::take_ciphers() const {
    return std::make_unique<crypto::curve_ciphers>(crypto::curve_ciphers{
        std::make_unique<crypto::curve_sealer>(key_, crypto::curve_role::server, sent_nonce_),
        {key_, crypto::curve_role::client, received_nonce_}});
}

} // namespace zlink::security
