// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "security/mechanism.hpp"

#include <cstdint>

namespace zlink::security {

/// The client of PLAIN (24/ZMTP-PLAIN).
class plain_client_mechanism final : public mechanism {
public:
    explicit plain_client_mechanism(conversation& about) noexcept : about_(about) {}

    result<void> start() override;
    result<void> on_command(const wire::zmtp::command_view& command) override;
    result<void> on_admitted() override { return {}; }
    bool is_complete() const noexcept override { return state_ == state::complete; }

private:
    enum class state : std::uint8_t { awaiting_welcome, awaiting_ready, complete };

    conversation& about_;
    state state_ = state::awaiting_welcome;
};

/// The server of PLAIN. ZAP checks names and passwords: without a handler every peer is rejected.
class plain_server_mechanism final : public mechanism {
public:
    explicit plain_server_mechanism(conversation& about) noexcept : about_(about) {}

    result<void> start() override { return {}; }
    result<void> on_command(const wire::zmtp::command_view& command) override;
    result<void> on_admitted() override;
    bool is_complete() const noexcept override { return state_ == state::complete; }

private:
    enum class state : std::uint8_t { awaiting_hello, asking, awaiting_initiate, complete };

    conversation& about_;
    state state_ = state::awaiting_hello;
};

} // namespace zlink::security
