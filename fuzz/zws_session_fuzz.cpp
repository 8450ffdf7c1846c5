// SPDX-License-Identifier: MPL-2.0
// Input: a byte, of which 1 and 2 select the mechanism and 4 leaves a client's upgrade to the
// input; the byte that selects the session's socket and, with CURVE, a byte that selects the type
// of the peer's; then the acts of a session of a pattern over ws (session_play, web_peer).
//
//   253   a peer of CURVE sends the next command of the handshake
//   254   a peer of CURVE seals a message of as many bytes as the square of the next byte, and
//         sends it in pieces: 1 to 8, by the byte after that
//   255   a peer of CURVE sends a sealed frame: its flags, its length, its bytes
//
// The bytes that the session sends after the upgrade must be valid ZWS frames.
#include "testing/curve_far_end.hpp"
#include "zws_curve_peer.hpp"

#include <algorithm>
#include <array>

namespace {

using namespace zlink;
using fuzz::require;

constexpr unsigned curve_handshake_act = 253;
constexpr unsigned curve_message_act = 254;

security_mechanism chosen_mechanism(unsigned choice) noexcept {
    return (choice & 3) == 2   ? security_mechanism::plain
           : (choice & 3) == 3 ? security_mechanism::curve
                               : security_mechanism::null;
}

/// Gives both sides matching keys.
void share_keys(socket_options& own, socket_options& others) {
    static const testing::key_ring keys;
    for (socket_options* const each : {&own, &others}) {
        each->curve_secret = each->as_server ? keys.server.hidden : keys.client.hidden;
        each->curve_public = keys.client.open;
        each->curve_server = keys.server.open;
    }
}

void act_as_curve_peer(unsigned choice, fuzz::zws_curve_peer& peer, fuzz::script& input) {
    if (choice == curve_handshake_act) {
        peer.go_on();
    } else if (choice == curve_message_act) {
        const unsigned side = input.byte();
        const std::string body = testing::pattern(std::size_t{side} * side);
        peer.seal(0, body, 1 + input.byte() % 8);
    } else {
        const unsigned flags = input.byte();
        peer.seal(flags, input.bytes(input.byte()));
    }
}

/// Requires that a decoder accepts the bytes written.
void require_decodable(std::string written, wire::websocket::sender from) {
    using piece = wire::zws::decoder::piece;
    wire::zws::decoder by{from, wire::zws::body_bytes_limit};
    auto rest = std::as_writable_bytes(std::span{written});
    for (piece found = by.next(rest); found != piece::nothing; found = by.next(rest)) {
        require(found != piece::refused);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using wire::websocket::sender;
    fuzz::script input{data, size};
    const unsigned mechanism = input.byte();
    const unsigned choice = input.byte();
    socket_options options = fuzz::chosen_options(choice);
    options.mechanism = chosen_mechanism(mechanism);
    options.as_server = options.as_server && options.mechanism != security_mechanism::null;
    options.plain_username = "joe";
    socket_options others = options;
    if (options.mechanism == security_mechanism::curve) {
        others.type = fuzz::chosen_options(input.byte()).type;
        others.as_server = !options.as_server;
        share_keys(options, others);
    }
    const bool dials = (choice & 128) != 0;
    constexpr std::array subprotocols{"ZWS2.0", "ZWS2.0/NULL", "ZWS2.0/PLAIN", "ZWS2.0/CURVE"};
    fuzz::session_play run{input, options, dials, {}, scheme::ws};
    fuzz::web_peer peer{!dials, run, input,
                        std::string("Sec-WebSocket-Protocol: ") + subprotocols[mechanism & 3] +
                            "\r\n"};
    fuzz::zws_curve_peer curve_peer{!dials, run, others};
    if (!dials && (mechanism & 4) == 0) {
        peer.upgrade();
    }
    while (!input.is_over()) {
        const unsigned act = input.byte();
        if (act < fuzz::web_peer::first_act) {
            run.act(act);
        } else if (act < curve_handshake_act) {
            peer.act(act);
        } else if (options.mechanism == security_mechanism::curve) {
            act_as_curve_peer(act, curve_peer, input);
        }
    }
    run.finish();
    const auto written = fuzz::behind_upgrade(run.stream().written());
    const sender from = dials ? sender::client : sender::server;
    fuzz::require_frames(written, {.from = from});
    require_decodable(std::string(written), from);
    return 0;
}
