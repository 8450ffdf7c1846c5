// SPDX-License-Identifier: MPL-2.0
// Input: an octet, of which 1 and 2 choose the mechanism and 4 leaves a client's upgrade to the
// input; then what happens to a session of a pattern over ws (session_play, web_peer).
//
// What it says behind the upgrade has to be frames of ZWS that keep the rules.
#include "web_peer.hpp"
#include "wire/zws_decoder.hpp"

#include <algorithm>
#include <array>

namespace {

using namespace zlink;
using fuzz::require;

/// Claims that a decoder accepts what was written.
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
    const unsigned mechanism = input.octet();
    const unsigned choice = input.octet();
    socket_options options = fuzz::chosen_options(choice);
    constexpr std::array subprotocols{"ZWS2.0", "ZWS2.0/NULL", "ZWS2.0/PLAIN", "ZWS2.0/CURVE"};
    options.mechanism = (mechanism & 3) == 2   ? security_mechanism::plain
                        : (mechanism & 3) == 3 ? security_mechanism::curve
                                               : security_mechanism::null;
    options.as_server = options.as_server && options.mechanism != security_mechanism::null;
    options.plain_username = "joe";
    const bool dials = (choice & 128) != 0;
    fuzz::session_play run{input, options, dials, {}, scheme::ws};
    fuzz::web_peer peer{!dials, run, input,
                        std::string("Sec-WebSocket-Protocol: ") + subprotocols[mechanism & 3] +
                            "\r\n"};
    if (!dials && (mechanism & 4) == 0) {
        peer.upgrade();
    }
    while (!input.is_over()) {
        const unsigned act = std::min(input.octet(), fuzz::web_peer::last_act);
        if (act < fuzz::web_peer::first_act) {
            run.act(act);
        } else {
            peer.act(act);
        }
    }
    run.finish();
    const auto written = fuzz::behind_upgrade(run.stream().written());
    const sender from = dials ? sender::client : sender::server;
    fuzz::require_frames(written, {.from = from});
    require_decodable(std::string(written), from);
    return 0;
}
