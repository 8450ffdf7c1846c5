// SPDX-License-Identifier: MPL-2.0
// Input: the acts of a session of a STREAM (session_play, web_peer), over ws or, if the second byte
// is odd, over tcp. In that byte 2 says that messages may be compressed, 4 that windows are kept, 8
// that they are the smallest, and 16 that short messages are compressed, too.
//
//   249   nothing, where it dials
//   253   the socket ends the connection, with the code in the next two bytes
//   254   the socket sends as many letters as the next byte says, as text
//
// The bytes it sends after the upgrade must be valid frames.
#include "web_peer.hpp"

#include <algorithm>

using namespace zlink;

namespace {

constexpr unsigned close_act = 253;
constexpr unsigned text_act = 254;

void choose_compression(unsigned choice, socket_options& options) {
    options.web_deflate = (choice & 2) != 0;
    options.web_deflate_context = (choice & 4) != 0;
    options.web_deflate_window = (choice & 8) != 0 ? 9 : 15;
    options.web_deflate_bytes_min = (choice & 16) != 0 ? 0 : 256;
    options.web_deflate_level = 1;
}

/// The extension header of a peer that wants the same as this socket.
std::string extension_field(const socket_options& options) {
    std::string field;
    if (options.web_deflate) {
        field = "Sec-WebSocket-Extensions: permessage-deflate";
        field += options.web_deflate_context
                     ? ""
                     : "; server_no_context_takeover; client_no_context_takeover";
        field += options.web_deflate_window == 15
                     ? ""
                     : "; server_max_window_bits=9; client_max_window_bits=9";
        field += "\r\n";
    }
    return field;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using wire::websocket::sender;
    fuzz::script input{data, size};
    const unsigned choice = input.byte();
    const unsigned transport = input.byte();
    const bool dials = (choice & 128) != 0;
    const scheme via = (transport & 1) != 0 ? scheme::tcp : scheme::ws;
    socket_options options = fuzz::chosen_options(choice);
    options.type = socket_type::stream;
    options.as_server = false;
    choose_compression(transport, options);
    fuzz::session_play run{input, options, dials, {}, via};
    fuzz::web_peer peer{!dials, run, input, extension_field(options)};
    while (!input.is_over()) {
        const unsigned act = std::min(input.byte(), text_act);
        if (act == text_act) {
            run.send_text(input.byte());
        } else if (act == close_act) {
            const unsigned high = input.byte();
            run.close_peer(static_cast<std::uint16_t>(high << 8 | input.byte()));
        } else if (act >= fuzz::web_peer::first_act) {
            peer.act(act);
        } else if (act != 249 || !dials) {
            run.act(act);
        }
    }
    run.finish();
    if (via == scheme::ws) {
        fuzz::require_frames(
            fuzz::behind_upgrade(run.stream().written()),
            {.from = dials ? sender::client : sender::server, .may_compress = options.web_deflate});
    }
    return 0;
}
