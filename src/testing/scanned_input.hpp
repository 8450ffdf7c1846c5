// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "codec/inbound.hpp"
#include "codec/length_scanner.hpp"
#include "codec/websocket_scanner.hpp"
#include "testing/bytes.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::testing {

/// The bytes of a STREAM's peer, read as a session does, and the results, in order: messages behind
/// "b:" (binary) or "t:" (text), pings and their payloads behind "ping:", and "close:" with code
/// and reason.
class scanned_input final : codec::websocket_sink {
public:
    /// @param frames      length; websocket: of a client; masked_websocket: of a server.
    /// @param compressed  How messages over WebSocket may be compressed.
    scanned_input(pipe::layout frames, std::uint64_t message_bytes_max,
                  const pipe::queue_limits& allowed,
                  const std::optional<codec::peer_deflation>& compressed = {})
        : frames_(frames), queue_(allowed), in_(queue_, make(message_bytes_max, compressed)),
          scratch_(limits::scratch_bytes) {}

    /// Reads `data`, at most `read_bytes_max` at a time, and receives the messages.
    result<void> read(std::string_view data, std::size_t read_bytes_max = SIZE_MAX) {
        while (!data.empty()) {
            std::array<iovec, 2> parts;
            const std::size_t count = in_.prepare(scratch_, parts);
            const std::size_t bytes =
                fill_parts(std::span{parts}.first(count), data, read_bytes_max);
            data.remove_prefix(bytes);
            result<void> outcome = in_.received(bytes);
            receive();
            while (outcome && in_.is_blocked()) {
                ++pause_count_;
                outcome = in_.scan();
                receive();
            }
            if (!outcome) {
                return outcome;
            }
        }
        return {};
    }

    /// From now on messages stay in the queue; receive_now() ends that.
    void receive_later() noexcept { receives_ = false; }
    void receive_now() {
        receives_ = true;
        receive();
    }

    /// Everything but pings: their place among the messages depends on the size of reads.
    const std::vector<std::string>& arrived() const noexcept { return arrived_; }
    const std::vector<std::string>& pings() const noexcept { return pings_; }
    bool is_idle() const noexcept { return in_.is_idle(); }
    /// How often scan() was called again before all bytes that were read were taken.
    std::size_t pause_count() const noexcept { return pause_count_; }

private:
    std::unique_ptr<codec::scanner> make(std::uint64_t message_bytes_max,
                                         const std::optional<codec::peer_deflation>& compressed) {
        using wire::websocket::sender;
        if (frames_ == pipe::layout::length) {
            return std::make_unique<codec::length_scanner>(message_bytes_max);
        }
        return std::make_unique<codec::websocket_scanner>(
            frames_ == pipe::layout::websocket ? sender::client : sender::server, message_bytes_max,
            static_cast<codec::websocket_sink&>(*this), compressed);
    }

    void receive() {
        while (receives_ && queue_.has_frame()) {
            const pipe::frame front = frames_ == pipe::layout::length
                                          ? queue_.front<pipe::length_layout>()
                                          : queue_.front<pipe::websocket_layout>();
            const bool is_text = (front.flags & pipe::flag_text) != 0;
            arrived_.emplace_back(is_text ? "t:" : "b:");
            arrived_.back().append(reinterpret_cast<const char*>(front.body), front.body_bytes);
            front.drop_reference();
            static_cast<void>(queue_.pop(front));
        }
        if (!close_.empty()) {
            arrived_.push_back(std::move(close_));
            close_.clear();
        }
    }

    void on_websocket_ping(std::span<const std::byte> payload) override {
        pings_.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
    }
    void on_websocket_close(const wire::websocket::close_view& said) override {
        close_ =
            "close:" + std::to_string(static_cast<int>(said.code)) + " " + std::string(said.reason);
    }

    pipe::layout frames_;
    pipe::message_queue queue_;
    codec::inbound in_;
    std::vector<std::byte> scratch_;
    std::vector<std::string> arrived_;
    std::vector<std::string> pings_;
    std::string close_;
    bool receives_ = true;
    std::size_t pause_count_ = 0;
};

} // namespace zlink::testing
