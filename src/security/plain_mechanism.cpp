// SPDX-License-Identifier: MPL-2.0
#include "security/plain_mechanism.hpp"

#include "wire/zmtp/plain.hpp"

#include <utility>

namespace zlink::security {

using namespace wire::zmtp;

result<void> plain_client_mechanism::start() {
    std::vector<std::byte> hello =
        encode_plain_hello({about_.options.plain_username, about_.options.plain_password.text()});
    about_.say(hello);
    wipe(hello);
    return {};
}

result<void> plain_client_mechanism::on_command(const command_view& command) {
    if (state_ == state::awaiting_welcome && command.name == welcome_name) {
        if (!command.data.empty()) {
            return about_.record_fault(protocol_fault::malformed_welcome);
        }
        about_.say(encode_command(initiate_name, about_.own_metadata()));
        state_ = state::awaiting_ready;
        return {};
    }
    if (state_ == state::awaiting_ready && command.name == ready_name) {
        state_ = state::complete;
        return about_.take_metadata(command.data);
    }
    return about_.record_fault(protocol_fault::unexpected_command);
}

result<void> plain_server_mechanism::on_command(const command_view& command) {
    if (state_ == state::awaiting_hello && command.name == hello_name) {
        const result<plain_hello> hello = decode_plain_hello(command.data);
        if (!hello) {
            return about_.record_fault(protocol_fault::malformed_hello);
        }
        zap_question asked{std::vector<secret_text>(2), true};
        asked.credentials[0].assign(hello->username);
        asked.credentials[1].assign(hello->password);
        about_.question = std::move(asked);
        state_ = state::asking;
        return {};
    }
    if (state_ == state::awaiting_initiate && command.name == initiate_name) {
        if (const result<void> taken = about_.take_metadata(command.data); !taken) {
            return taken.error();
        }
        about_.say(encode_command(ready_name, about_.own_metadata()));
        state_ = state::complete;
        return {};
    }
    return about_.record_fault(protocol_fault::unexpected_command);
}

result<void> plain_server_mechanism::on_admitted() {
    about_.say(encode_command(welcome_name));
    state_ = state::awaiting_initiate;
    return {};
}

} // namespace zlink::security
