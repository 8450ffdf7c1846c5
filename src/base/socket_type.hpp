// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace zlink {

/// The pattern that a socket follows. The numbers are those of zmq.h and of ZMTP 2.0.
enum class socket_type : int {
    pair = 0,
    pub = 1,
    sub = 2,
    req = 3,
    rep = 4,
    dealer = 5,
    router = 6,
    pull = 7,
    push = 8,
    xpub = 9,
    xsub = 10,
    raw_stream = 11, ///< ZMQ_STREAM, raw bytes: has a name but speaks no ZMTP.
    stream = 12,     ///< ZLINK_STREAM: messages of peers that speak no ZMTP. Not on the wire.
};

/// The names of the types on the wire, by number.
inline constexpr std::array<std::string_view, 12> socket_type_names{
    "PAIR",   "PUB",  "SUB",  "REQ",  "REP",  "DEALER",
    "ROUTER", "PULL", "PUSH", "XPUB", "XSUB", "STREAM"};

/// Returns the name of `type` on the wire.
/// @return Text that lives as long as the program; "" for a number that is not a type.
constexpr std::string_view socket_type_name(socket_type type) noexcept {
    const auto index = static_cast<std::size_t>(type);
    return index < socket_type_names.size() ? socket_type_names[index] : std::string_view{};
}

/// Finds the type with the name `name`, compared exactly; nothing if there is none.
constexpr std::optional<socket_type> socket_type_named(std::string_view name) noexcept {
    for (std::size_t index = 0; index < socket_type_names.size(); ++index) {
        if (socket_type_names[index] == name) {
            return static_cast<socket_type>(index);
        }
    }
    return std::nullopt;
}

/// Whether a socket of type `own` may talk to one of type `peer`. Symmetric, as 28/REQREP,
/// 29/PUBSUB, 30/PIPELINE and 31/EXPAIR define.
constexpr bool may_talk(socket_type own, socket_type peer) noexcept {
    using enum socket_type;
    switch (own) {
    case pair:
        return peer == pair;
    case pub:
    case xpub:
        return peer == sub || peer == xsub;
    case sub:
    case xsub:
        return peer == pub || peer == xpub;
    case req:
        return peer == rep || peer == router;
    case rep:
        return peer == req || peer == dealer;
    case dealer:
        return peer == rep || peer == dealer || peer == router;
    case router:
        return peer == req || peer == dealer || peer == router;
    case pull:
        return peer == push;
    case push:
        return peer == pull;
    case raw_stream:
    case stream:
        break;
    }
    return false;
}

} // namespace zlink
