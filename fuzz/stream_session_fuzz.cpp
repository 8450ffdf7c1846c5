// SPDX-License-Identifier: MPL-2.0
// Input: what happens to a session of a STREAM (session_play), over ws or, if the second octet is
// odd, over tcp.
//
//   249   nothing, where it dials
//   250   the peer asks for the upgrade, or agrees to it, as it should
//   251   the same, with one octet changed: where it is, by what
//   252   the peer says a frame: its first octet, how long it is, its payload
//   253   the socket ends the connection, for the reason that the next two octets say
//   254   the socket sends as many letters as the next octet says, as text
//
// What a server says after it has agreed has to be frames that keep the rules.
#include "session_fuzz.hpp"

#include "wire/websocket/frame.hpp"

#include <openssl/evp.h>
#include <string>

using namespace zlink;
using fuzz::require;
using fuzz::script;

namespace {

constexpr std::string_view header_end = "\r\n\r\n";

/// What a server proves with that it has read the request.
std::string accept_of(const std::string& request) {
    constexpr std::string_view field = "Sec-WebSocket-Key: ";
    const std::string text = request.substr(request.find(field) + field.size(), 24) +
                             "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest;
    unsigned bytes = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &bytes, EVP_sha1(), nullptr);
    std::array<std::uint8_t, EVP_MAX_MD_SIZE * 2> encoded;
    EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(bytes));
    return reinterpret_cast<const char*>(encoded.data());
}

class web_peer {
public:
    web_peer(bool is_client, fuzz::session_play& run, script& input)
        : is_client_(is_client), run_(run), input_(input) {}

    void act(unsigned choice) {
        switch (choice) {
        case 250:
        case 251:
            upgrade(choice == 251);
            return;
        case 252:
            say_frame();
            return;
        case 253:
            end_connection();
            return;
        default:
            run_.send_text(input_.octet());
        }
    }

private:
    void upgrade(bool is_changed) {
        std::string said =
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        if (!is_client_) {
            if (run_.stream().written().find(header_end) == std::string::npos) {
                return;
            }
            said = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Accept: " +
                   accept_of(run_.stream().written()) + "\r\n\r\n";
        }
        if (is_changed) {
            char& changed = said[input_.octet() % said.size()];
            changed = static_cast<char>(changed ^ static_cast<char>(input_.octet()));
        }
        run_.session().peer_sends(said);
    }

    void say_frame() {
        constexpr std::string_view key = "\1\2\3\4";
        std::string said(1, static_cast<char>(input_.octet()));
        const std::string_view payload = input_.octets(input_.octet() % 126);
        said += static_cast<char>(payload.size() | (is_client_ ? 0x80 : 0));
        said += is_client_ ? key : "";
        for (std::size_t index = 0; index < payload.size(); ++index) {
            said += static_cast<char>(payload[index] ^ (is_client_ ? key[index % 4] : 0));
        }
        run_.session().peer_sends(said);
    }

    void end_connection() {
        const unsigned high = input_.octet();
        run_.close_peer(static_cast<std::uint16_t>(high << 8 | input_.octet()));
    }

    bool is_client_;
    fuzz::session_play& run_;
    script& input_;
};

/// Looks at what a server has written.
void check_written(std::string_view written) {
    using namespace wire::websocket;
    if (!written.starts_with("HTTP/1.1 101 ")) {
        return;
    }
    const std::size_t end = written.find(header_end);
    if (end == std::string_view::npos) {
        return; // The rest did not go out.
    }
    written.remove_prefix(end + header_end.size());
    for (bool has_closed = false; !written.empty();) {
        frame_head head;
        const auto found = read_head(reinterpret_cast<const std::byte*>(written.data()),
                                     written.size(), {.from = sender::server}, head);
        require(!has_closed && found != head_status::violation && found != head_status::too_large);
        if (found == head_status::incomplete || head.frame_bytes() > written.size()) {
            return;
        }
        require(head.is_final() && head.kind != opcode::continuation);
        has_closed = head.kind == opcode::close;
        written.remove_prefix(static_cast<std::size_t>(head.frame_bytes()));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    script input{data, size};
    const unsigned choice = input.octet();
    const bool dials = (choice & 128) != 0;
    const scheme via = (input.octet() & 1) != 0 ? scheme::tcp : scheme::ws;
    socket_options options = fuzz::chosen_options(choice);
    options.type = socket_type::stream;
    options.as_server = false;
    fuzz::session_play run{input, options, dials, {}, via};
    web_peer peer{!dials, run, input};
    while (!input.is_over()) {
        const unsigned act = std::min(input.octet(), 254u);
        if (act >= 250) {
            peer.act(act);
        } else if (act != 249 || !dials) {
            run.act(act);
        }
    }
    run.finish();
    if (!dials && via == scheme::ws) {
        check_written(run.stream().written());
    }
    return 0;
}
