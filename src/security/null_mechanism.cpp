// SPDX-License-Identifier: MPL-2.0
#include "security/null_mechanism.hpp"

namespace zlink::security {

using namespace wire::zmtp;

result<void> null_mechanism::start() {
    if (!about_.options.zap_domain.empty()) {
        about_.question = zap_question{{}, about_.options.zap_enforce_domain};
        return {};
    }
    return on_admitted();
}

result<void> null_mechanism::on_admitted() {
    about_.say(encode_command(ready_name, about_.own_metadata()));
    said_ready_ = true;
    return {};
}

result<void> null_mechanism::on_command(const command_view& command) {
    if (command.name != ready_name || heard_ready_) {
        return about_.record_fault(protocol_fault::unexpected_command);
    }
    heard_ready_ = true;
    return about_.take_metadata(command.data);
}

} // namespace zlink::security
