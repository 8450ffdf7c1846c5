// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace zlink {

/// The pattern that a socket follows. The numbers are those of zmq.h and of ZMTP 2.0; those from
/// 12 to 20 belong to libzmq's draft types.
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
    server = 12,
    client = 13,
    radio = 14,
    dish = 15,
    gather = 16,
    scatter = 17,
    dgram = 18,
    peer = 19,
    channel = 20,
    stream = 21, ///< ZLINK_STREAM: messages of peers that speak no ZMTP. Not on the wire.
};

/// The names of the types on the wire, by number.
inline constexpr std::array<std::string_view, 21> socket_type_names{
    "PAIR",  "PUB",  "SUB",    "REQ",     "REP",    "DEALER", "ROUTER",
    "PULL",  "PUSH", "XPUB",   "XSUB",    "STREAM", "SERVER", "CLIENT",
    "RADIO", "DISH", "GATHER", "SCATTER", "DGRAM",  "PEER",   "CHANNEL"};

/// Whether several threads may use a socket of this type without further ado, as libzmq promises
/// for its draft types, except DGRAM, whose messages have two frames.
constexpr bool is_for_several_threads(socket_type type) noexcept {
    return type >= socket_type::server && type <= socket_type::channel &&
           type != socket_type::dgram;
}

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

/// Whether a socket of type `own` may talk to one of type `other`. Symmetric, as 28/REQREP,
/// 29/PUBSUB, 30/PIPELINE, 31/EXPAIR, 41/CLISRV, 48/RADIO-DISH, 49/SCATTER-GATHER and
/// 51/P2P-CHANNEL define.
constexpr bool may_talk(socket_type own, socket_type other) noexcept {
    using enum socket_type;
    switch (own) {
    case pair:
    case peer:
    case channel:
        return other == own;
    case pub:
    case xpub:
        return other == sub || other == xsub;
    case sub:
    case xsub:
        return other == pub || other == xpub;
    case req:
        return other == rep || other == router;
    case rep:
        return other == req || other == dealer;
    case dealer:
        return other == rep || other == dealer || other == router;
    case router:
        return other == req || other == dealer || other == router;
    case pull:
        return other == push;
    case push:
        return other == pull;
    case server:
        return other == client;
    case client:
        return other == server;
    case radio:
        return other == dish;
    case dish:
        return other == radio;
    case gather:
        return other == scatter;
    case scatter:
        return other == gather;
    case dgram:
    case raw_stream:
    case stream:
        break;
    }
    return false;
}

} // namespace zlink
