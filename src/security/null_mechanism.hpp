// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "security/mechanism.hpp"

namespace zlink::security {

/// NULL (37/ZMTP): both sides send READY at once. A side with a ZAP domain asks its application
/// first.
class null_mechanism final : public mechanism {
public:
    explicit null_mechanism(conversation& about) noexcept : about_(about) {}

    result<void> start() override;
    result<void> on_command(const wire::zmtp::command_view& command) override;
    result<void> on_admitted() override;
    bool is_complete() const noexcept override { return said_ready_ && heard_ready_; }

private:
    conversation& about_;
    bool said_ready_ = false;
    bool heard_ready_ = false;
};

} // namespace zlink::security
