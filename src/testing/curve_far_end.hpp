// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "crypto/curve_box.hpp"
#include "crypto/curve_cipher.hpp"
#include "security/handshake.hpp"
#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::testing {

/// The keys of both sides of CURVE.
struct key_ring {
    crypto::curve_keys server = crypto::make_curve_keys();
    crypto::curve_keys client = crypto::make_curve_keys();
};

inline socket_options server_of(const key_ring& keys) {
    socket_options made = session_options(socket_type::pair);
    made.mechanism = security_mechanism::curve;
    made.as_server = true;
    made.curve_secret = keys.server.hidden;
    return made;
}

inline socket_options client_of(const key_ring& keys) {
    socket_options made = session_options(socket_type::pair);
    made.mechanism = security_mechanism::curve;
    made.curve_public = keys.client.open;
    made.curve_secret = keys.client.hidden;
    made.curve_server = keys.server.open;
    return made;
}

/// A peer of CURVE at the other end of a session's stream. The test carries its bytes over, and may
/// change them.
class far_end {
public:
    far_end(session_harness& near, scripted_stream& stream, const socket_options& options)
        : near_(near), stream_(stream), options_(options), shake_(options_) {
        shake_.start(unsent_);
        std::string greeting(wire::zmtp::greeting_bytes, '\0');
        greeting.replace(0, 12, std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\1", 12));
        greeting.replace(12, 5, "CURVE");
        near_.peer_sends(greeting);
    }

    /// Its next bytes: the answer to all bytes received since.
    std::string next() {
        if (!is_well_ || ciphers_) {
            return {};
        }
        const std::string_view written = stream_.written();
        auto data = bytes_of(written).subspan(taken_);
        const result<void> taken = shake_.on_received(data, unsent_);
        taken_ = written.size() - data.size();
        is_well_ = is_well_ && taken;
        if (shake_.take_question()) {
            is_well_ = is_well_ && shake_.on_no_zap_handler(unsent_);
        }
        if (is_complete()) {
            ciphers_ = shake_.take_ciphers();
        }
        std::string said(text(unsent_));
        unsent_.clear();
        const std::size_t said_before =
            std::min(said.size(), wire::zmtp::greeting_bytes - greeted_bytes_);
        greeted_bytes_ += said_before;
        return said.substr(said_before);
    }

    /// Exchanges bytes until both sides have none left to send.
    void converse() {
        for (std::string said = next(); !said.empty(); said = next()) {
            near_.peer_sends(said);
        }
    }

    /// Sends its next command `count` times: HELLO, then INITIATE for a client.
    void say(int count) {
        for (; count > 0; --count) {
            near_.peer_sends(next());
        }
    }

    std::string sealed(std::string_view body, unsigned flags = 0) {
        std::string frame(crypto::curve_sealer::frame_bytes(body.size()), '\0');
        ciphers_->sealer->seal(flags, bytes_of(body), reinterpret_cast<std::byte*>(frame.data()));
        return frame;
    }

    /// The messages received.
    std::vector<std::string> received() {
        std::vector<std::string> bodies;
        auto rest = bytes_of(stream_.written()).subspan(taken_);
        wire::zmtp::frame_head head;
        while (wire::zmtp::read_head(rest.data(), rest.size(), UINT32_MAX, head) ==
                   wire::zmtp::head_status::complete &&
               rest.size() >= head.frame_bytes()) {
            std::string body(head.body_bytes - wire::zmtp::curve_message_overhead_bytes, '\0');
            const auto message = rest.subspan(head.header_bytes, head.body_bytes);
            const auto flags = ciphers_->opener.open(
                message.data(), message.subspan(wire::zmtp::curve_message_overhead_bytes),
                reinterpret_cast<std::byte*>(body.data()));
            bodies.push_back(flags ? spelled(*flags, body) : "not genuine");
            rest = rest.subspan(head.frame_bytes());
            taken_ += head.frame_bytes();
        }
        return bodies;
    }

    bool is_complete() const { return is_well_ && shake_.is_complete(); }
    bool is_well() const { return is_well_; }

private:
    session_harness& near_;
    scripted_stream& stream_;
    socket_options options_;
    security::handshake shake_;
    std::vector<std::byte> unsent_;
    std::size_t taken_ = 0;
    std::size_t greeted_bytes_ = 0; ///< Bytes of the greeting, which is sent at once.
    bool is_well_ = true;
    std::unique_ptr<crypto::curve_ciphers> ciphers_;
};

} // namespace zlink::testing
