// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "crypto/curve_cipher.hpp"
#include "security/handshake.hpp"
#include "session/zws.hpp"
#include "testing/bytes.hpp"
#include "web_peer.hpp"
#include "wire/zmtp/frame.hpp"
#include "wire/zws_decoder.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::fuzz {

/// A peer of CURVE over ZWS, after the upgrade, whose keys are valid.
class zws_curve_peer {
public:
    zws_curve_peer(bool is_client, session_play& run, const socket_options& options)
        : is_client_(is_client), run_(run), options_(options) {}

    /// Sends the next command of the handshake: the answer to all bytes received since.
    void go_on() {
        begin_on_new_stream();
        if (!is_well_ || ciphers_) {
            return;
        }
        const std::vector<std::byte> came = take_written();
        std::span<const std::byte> data{came};
        is_well_ = is_well_ && shake_->on_received(data, unsent_);
        if (shake_->take_question()) {
            is_well_ = is_well_ && shake_->on_no_zap_handler(unsent_);
        }
        if (is_well_ && shake_->is_complete()) {
            ciphers_ = shake_->take_ciphers();
        }
        say(std::exchange(unsent_, {}));
    }

    /// Sends a frame, once the handshake is over.
    void seal(unsigned flags, std::string_view body, std::size_t piece_count = 1) {
        begin_on_new_stream();
        if (!ciphers_) {
            return;
        }
        std::vector<std::byte> frame(crypto::curve_sealer::frame_bytes(body.size()));
        ciphers_->sealer->seal(flags, testing::bytes_of(body), frame.data());
        say(frame, piece_count);
    }

private:
    void begin_on_new_stream() {
        if (stream_ == &run_.stream()) {
            return;
        }
        stream_ = &run_.stream();
        taken_ = 0;
        ciphers_.reset();
        unsent_.clear();
        decoder_.emplace(is_client_ ? wire::websocket::sender::server
                                    : wire::websocket::sender::client,
                         wire::zws::body_bytes_limit);
        shake_.emplace(options_);
        is_well_ = static_cast<bool>(shake_->start_upgraded(true, unsent_));
    }

    /// The bytes that the session has written since, as ZMTP.
    std::vector<std::byte> take_written() {
        using piece = wire::zws::decoder::piece;
        std::vector<std::byte> frames;
        std::string written{behind_upgrade(stream_->written())};
        auto rest = std::as_writable_bytes(std::span{written}).subspan(taken_);
        taken_ = written.size();
        for (piece found = decoder_->next(rest); found != piece::nothing;
             found = decoder_->next(rest)) {
            require(found != piece::refused);
            if (found == piece::header) {
                std::array<std::byte, wire::zmtp::header_bytes_max> header;
                const std::size_t bytes = wire::zmtp::write_header(
                    header.data(), decoder_->body_bytes(), decoder_->flags());
                frames.insert(frames.end(), header.begin(), header.begin() + bytes);
            } else if (found == piece::body) {
                frames.insert(frames.end(), decoder_->body().begin(), decoder_->body().end());
            }
        }
        return frames;
    }

    void say(std::span<const std::byte> frames, std::size_t piece_count = 1) {
        std::vector<std::byte> said;
        session::append_as_zws(frames, is_client_, said);
        std::string_view rest = testing::text(said);
        for (; piece_count > 0; --piece_count) {
            const std::size_t bytes = rest.size() / piece_count;
            run_.session().peer_sends(rest.substr(0, bytes));
            rest.remove_prefix(bytes);
        }
    }

    bool is_client_;
    session_play& run_;
    socket_options options_;
    const testing::scripted_stream* stream_ = nullptr;
    std::size_t taken_ = 0; ///< Bytes taken of those that the session wrote after the upgrade.
    std::optional<wire::zws::decoder> decoder_;
    std::optional<security::handshake> shake_;
    std::vector<std::byte> unsent_;
    bool is_well_ = true;
    std::unique_ptr<crypto::curve_ciphers> ciphers_;
};

} // namespace zlink::fuzz
