// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/assert.hpp"
#include "session/transitions.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zlink::session {

/// The end of a connection, from the first sign of it on: how far the two sides have come with
/// telling each other (RFC 6455, 7.1; RFC 9293, 3.6). There is none before that.
///
///   from \ to    announced  declared  shut  answered  over  discarding
///   peer_ended       x                                          x
///   announced                                  x                x
///   declared                           x       x                x
///   shut                                              x         x
///   answered                                          x         x
///   over                                                        x
class close_handshake {
public:
    enum class state : std::uint8_t {
        peer_ended, ///< The peer sends nothing any more, and still takes what waits for it.
        announced,  ///< We have said that it ends. What the peer sends until it answers counts.
        declared,   ///< We have said so, and await no answer.
        shut,       ///< `declared`, and we send nothing any more.
        answered,   ///< Both have said so.
        over,       ///< Both have, and we send nothing any more.
        discarding, ///< We send nothing any more, and read until the peer goes, too.
    };

    close_handshake() noexcept : state_(state::peer_ended) {}
    /// @param begin   announced, declared or answered.
    /// @param code    As in a WebSocket close frame.
    close_handshake(state begin, std::uint16_t code, std::string reason) noexcept
        : reason_(std::move(reason)), code_(code), state_(begin) {}

    std::uint16_t code() const noexcept { return code_; }
    const std::string& reason() const noexcept { return reason_; }

    /// Whether the peer sends nothing any more, and nobody has said that the connection ends.
    bool is_half_closed() const noexcept { return state_ == state::peer_ended; }
    /// Whether the peer has said that it goes: it reads nothing any more.
    bool is_answered() const noexcept { return state_ == state::answered || state_ == state::over; }
    bool is_discarding() const noexcept { return state_ == state::discarding; }
    /// Whether the peer is to be told no reason: it knows, or broke the protocol.
    bool is_without_reason() const noexcept { return state_ != state::announced; }

    /// We say that the connection ends, though the peer sends nothing any more.
    void announce(std::uint16_t code, std::string reason) noexcept {
        advance(state::announced);
        code_ = code;
        reason_ = std::move(reason);
    }

    /// The peer has said that it goes, first or as its answer.
    void on_answer() noexcept {
        if (state_ == state::announced || state_ == state::declared) {
            advance(state::answered);
        } else if (state_ == state::shut) {
            advance(state::over);
        }
    }

    /// All that we have to say is written.
    /// @return Whether the peer is to learn that nothing follows: once.
    bool on_written() noexcept {
        if (state_ == state::declared) {
            advance(state::shut);
            return true;
        }
        if (state_ == state::answered) {
            advance(state::over);
            return true;
        }
        return false;
    }

    /// From now on all that the peer sends is discarded.
    /// @return As on_written().
    bool discard() noexcept {
        const bool has_ended =
            state_ == state::shut || state_ == state::over || state_ == state::discarding;
        if (state_ != state::discarding) {
            advance(state::discarding);
        }
        return !has_ended;
    }

    /// Counts what the peer sends behind what ended the connection.
    /// @return How much it is by now.
    std::size_t count_dropped(std::size_t bytes) noexcept { return dropped_bytes_ += bytes; }

private:
    void advance(state next) noexcept {
        using enum state;
        static constexpr state_set<state> followers[] = {
            {announced, discarding},      // peer_ended
            {answered, discarding},       // announced
            {shut, answered, discarding}, // declared
            {over, discarding},           // shut
            {over, discarding},           // answered
            {discarding},                 // over
            {},                           // discarding
        };
        ZLINK_ASSERT(followers[static_cast<std::size_t>(state_)].has(next));
        state_ = next;
    }

    std::string reason_;
    std::size_t dropped_bytes_ = 0;
    std::uint16_t code_ = 0;
    state state_;
};

} // namespace zlink::session
