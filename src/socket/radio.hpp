// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/xpub.hpp"

#include <string>
#include <string_view>

namespace zlink::socket {

/// Sends each message, which has one frame, to the peers that joined its group (48/RADIO-DISH), and
/// to those that cannot join: the destinations of datagrams.
///
/// On the wire the group is a frame before the message. Groups are compared whole: here they are
/// topics that end with a zero byte, which occurs in no group.
class radio final : public xpub {
public:
    using xpub::xpub;

    void on_attached(peer& added) override;

    /// @error invalid_argument  Another frame is to follow.
    /// @error again             With ZMQ_XPUB_NODROP: one of the receivers is full.
    result<void> send(outgoing& source) override;
    result<void> recv(incoming&) override { return errc::not_supported; }
    bool can_recv() override { return false; }
    std::optional<std::size_t> topic_count() const override { return {}; }
    result<void> change_subscription(std::span<const std::byte>, bool) override {
        return errc::invalid_argument;
    }

private:
    std::optional<wire::zmtp::subscription_view> subscription_in(std::span<const std::byte> body,
                                                                 bool is_command) override;

    std::string key_; ///< Of the group that is looked up, joined or left.
};

} // namespace zlink::socket
