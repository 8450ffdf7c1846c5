// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/assert.hpp"
#include "session/transitions.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zlink::session {

/// The close handshake of a connection (RFC 6455, 7.1; RFC 9293, 3.6). The object exists from the
/// first sign of the end on, and not before.
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
        peer_ended, ///< The peer has ended its direction, but still reads queued messages.
        announced,  ///< This side has announced the end. Messages still count until the answer.
        declared,   ///< This side has announced the end, and expects no answer.
        shut,       ///< `declared`, and this side has ended its direction.
        answered,   ///< Both sides have announced the end.
        over,       ///< `answered`, and this side has ended its direction.
        discarding, ///< No more output, and input is discarded until the peer closes, too.
    };

    close_handshake() noexcept : state_(state::peer_ended) {}
    /// @param begin   announced, declared or answered.
    /// @param code    As in a WebSocket close frame.
    close_handshake(state begin, std::uint16_t code, std::string reason) noexcept
        : reason_(std::move(reason)), code_(code), state_(begin) {}

    std::uint16_t code() const noexcept { return code_; }
    const std::string& reason() const noexcept { return reason_; }

    /// Whether the peer has ended its direction, and no side has announced the end.
    bool is_half_closed() const noexcept { return state_ == state::peer_ended; }
    /// Whether the peer has announced its end: it reads no more.
    bool is_answered() const noexcept { return state_ == state::answered || state_ == state::over; }
    bool is_discarding() const noexcept { return state_ == state::discarding; }
    /// Whether the peer is sent no reason: it knows the reason, or broke the protocol.
    bool is_without_reason() const noexcept { return state_ != state::announced; }

    /// This side announces the end, after the peer has ended its direction.
    void announce(std::uint16_t code, std::string reason) noexcept {
        advance(state::announced);
        code_ = code;
        reason_ = std::move(reason);
    }

    /// The peer has announced the end, first or as an answer.
    void on_answer() noexcept {
        if (state_ == state::announced || state_ == state::declared) {
            advance(state::answered);
        } else if (state_ == state::shut) {
            advance(state::over);
        }
    }

    /// Everything queued has been written.
    /// @return Whether this side must end its direction now: true once.
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

    /// From now on everything the peer sends is discarded.
    /// @return As on_written().
    bool discard() noexcept {
        const bool has_ended =
            state_ == state::shut || state_ == state::over || state_ == state::discarding;
        if (state_ != state::discarding) {
            advance(state::discarding);
        }
        return !has_ended;
    }

    /// Counts bytes that the peer sends after the close handshake began.
    /// @return The total so far.
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
