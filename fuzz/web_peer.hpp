// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "session_fuzz.hpp"
#include "testing/web_upgrade.hpp"
#include "wire/websocket/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <openssl/evp.h>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::fuzz {

constexpr std::string_view header_end = "\r\n\r\n";

/// The proof that a server has read the request.
inline std::string accept_of(const std::string& request) {
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

/// The peer of a session over ws. Fixed bytes cannot play it: a server has to know the key, and a
/// client masks.
///
///   250   it requests the upgrade, or accepts it, correctly
///   251   the same, with one byte changed: its position, the bits that change
///   252   it sends a frame: its first byte, its length, its payload
class web_peer {
public:
    static constexpr unsigned first_act = 250;
    static constexpr unsigned last_act = 252;

    /// @param fields  Further header fields of its request or response, each with its end of line.
    web_peer(bool is_client, session_play& run, script& input, std::string fields)
        : is_client_(is_client), run_(run), input_(input), fields_(std::move(fields)) {}

    void act(unsigned choice) {
        if (choice == last_act) {
            say_frame();
        } else {
            upgrade(choice != first_act);
        }
    }

    void upgrade(bool is_changed = false) {
        if (!is_client_ && run_.stream().written().find(header_end) == std::string::npos) {
            return;
        }
        std::string said = is_client_ ? testing::upgrade_request("/", fields_) : answer();
        if (is_changed) {
            char& changed = said[input_.byte() % said.size()];
            changed = static_cast<char>(changed ^ static_cast<char>(input_.byte()));
        }
        run_.session().peer_sends(said);
    }

private:
    std::string answer() const {
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: " +
               accept_of(run_.stream().written()) + "\r\n" + fields_ + "\r\n";
    }

    void say_frame() {
        constexpr std::string_view key = "\1\2\3\4";
        std::string said(1, static_cast<char>(input_.byte()));
        const std::string_view payload = input_.bytes(input_.byte() % 126);
        said += static_cast<char>(payload.size() | (is_client_ ? 0x80 : 0));
        said += is_client_ ? key : "";
        for (std::size_t index = 0; index < payload.size(); ++index) {
            said += static_cast<char>(payload[index] ^ (is_client_ ? key[index % 4] : 0));
        }
        run_.session().peer_sends(said);
    }

    bool is_client_;
    session_play& run_;
    script& input_;
    std::string fields_;
};

/// The part of `written` after the upgrade: empty if the session has refused it.
inline std::string_view behind_upgrade(std::string_view written) {
    const std::size_t end = written.find(header_end);
    const bool is_upgrade = written.starts_with("HTTP/1.1 101 ") || written.starts_with("GET ");
    return is_upgrade && end != std::string_view::npos ? written.substr(end + header_end.size())
                                                       : std::string_view{};
}

/// Checks that a session over ws has written valid frames, and nothing after a close frame. The
/// last frame may be truncated.
inline void require_frames(std::string_view written, const wire::websocket::frame_rules& rules) {
    using namespace wire::websocket;
    for (bool has_closed = false; !written.empty();) {
        frame_head head;
        const auto found = read_head(reinterpret_cast<const std::byte*>(written.data()),
                                     written.size(), rules, head);
        require(!has_closed && found != head_status::violation && found != head_status::too_large);
        if (found == head_status::incomplete || head.frame_bytes() > written.size()) {
            return;
        }
        require(head.is_final() && head.kind != opcode::continuation);
        has_closed = head.kind == opcode::close;
        written.remove_prefix(static_cast<std::size_t>(head.frame_bytes()));
    }
}

} // namespace zlink::fuzz
