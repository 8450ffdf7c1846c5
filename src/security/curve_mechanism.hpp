// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "crypto/curve_box.hpp"
#include "security/mechanism.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace zlink::security {

/// The client of CURVE (26/CURVEZMQ): knows the server's key beforehand.
class curve_client_mechanism final : public mechanism {
public:
    explicit curve_client_mechanism(conversation& about) noexcept : about_(about) {}

    result<void> start() override;
    result<void> on_command(const wire::zmtp::command_view& command) override;
    result<void> on_admitted() override { return {}; }
    bool is_complete() const noexcept override { return state_ == state::complete; }
    std::unique_ptr<crypto::curve_ciphers> take_ciphers() const override;

private:
    enum class state : std::uint8_t { awaiting_welcome, awaiting_ready, complete };

    result<void> on_welcome(std::span<const std::byte> data);
    result<void> on_ready(std::span<const std::byte> data);

    conversation& about_;
    state state_ = state::awaiting_welcome;
    crypto::curve_keys transient_;
    crypto::shared_key
        key_; ///< First between transient and server's key, then between both transients.
    std::uint64_t sent_nonce_ = 0;
    std::uint64_t received_nonce_ = 0;
};

/// The server of CURVE. Between WELCOME and INITIATE it keeps only the cookie's key; the client
/// returns the rest of the state in the cookie. A ZAP handler, if any, decides on the client's key;
/// without one every client is admitted, unless the domain is enforced.
class curve_server_mechanism final : public mechanism {
public:
    explicit curve_server_mechanism(conversation& about) noexcept : about_(about) {}

    result<void> start() override { return {}; }
    result<void> on_command(const wire::zmtp::command_view& command) override;
    result<void> on_admitted() override;
    bool is_complete() const noexcept override { return state_ == state::complete; }
    std::unique_ptr<crypto::curve_ciphers> take_ciphers() const override;

private:
    enum class state : std::uint8_t { awaiting_hello, awaiting_initiate, asking, complete };

    result<void> on_hello(std::span<const std::byte> data);
    result<void> on_initiate(std::span<const std::byte> data);
    bool is_vouched_for(std::span<const std::byte> vouch, std::span<const std::byte> client_key,
                        std::span<const std::byte> client_transient,
                        const curve_secret_key& own_transient) const noexcept;

    conversation& about_;
    state state_ = state::awaiting_hello;
    crypto::shared_key key_; ///< First the cookie's, then between both transient keys.
    std::uint64_t sent_nonce_ = 0;
    std::uint64_t received_nonce_ = 0;
};

} // namespace zlink::security
