// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/conflation.hpp"
#include "codec/decoder.hpp"
#include "codec/inbound.hpp"
#include "codec/scanner.hpp"
#include "pipe/pipe.hpp"
#include "session/wiring.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::tuning {

/// The same for bytes from a STREAM's peer: about as much as the system accepts of the answers at
/// once.
constexpr std::size_t stream_turn_bytes_max = std::size_t{512} * 1024;

/// The same for a peer whose frames are translated, above all decrypted: a small frame costs as
/// much work as many bytes.
constexpr std::size_t translated_turn_bytes_max = std::size_t{128} * 1024;

/// The cost of a command or a ping in a turn, in bytes besides its own.
constexpr std::size_t control_frame_bytes = 64;

/// Turns of driven_bytes_max that a STREAM's peer gets in a row where a caller drives, answers in
/// each, and the system accepts the answers.
constexpr unsigned turns_in_a_row_max = 8;

/// A read that leaves nothing within a large payload, in a turn that brought at least so many
/// bytes, has probably emptied a full window: the peer goes on at once, so the turn counts as over,
/// and another one can follow in a row.
constexpr std::size_t full_window_bytes_min = std::size_t{48} * 1024;

} // namespace zlink::tuning

namespace zlink::session {

/// Is notified of each batch that a reader received.
class batch_sink {
public:
    /// @param bytes  Bytes read from the stream.
    /// @return Whether to continue reading.
    virtual bool on_batch(std::size_t bytes) = 0;

protected:
    ~batch_sink() = default;
};

/// The connection's protocol chooses these settings for incoming bytes.
struct reading {
    std::unique_ptr<codec::scanner> frames{};  ///< Null: ZMTP frames.
    std::unique_ptr<codec::decoder> decoder{}; ///< Null: bytes are queued unchanged.
    codec::command_sink* commands = nullptr;   ///< Not null if the frames are ZMTP.
    std::uint64_t body_bytes_max = 0;          ///< Of one frame.
    std::uint64_t unfinished_bytes_max = 0;    ///< Of a message whose last frame has not arrived.
    bool is_one_of_many = false; ///< One of many peers of a STREAM, which are served in turn.
};

/// The receiving direction of a connection, from its first message on: how much it reads before it
/// yields to others, and how it continues after back-pressure from the socket.
///
/// It reads before it waits for readiness: bytes already in the kernel raise no event.
///
/// @threads The connection's.
class reader {
public:
    /// The result of a turn.
    enum class outcome : std::uint8_t {
        waits,     ///< Continues on an event of the stream or the socket.
        turn_over, ///< Others run next: finish_turn() must be called.
        far_ahead, ///< The socket is far behind: another turn should follow the queued tasks.
        stopped,   ///< The batch_sink asked to stop.
        ended,     ///< The peer has ended its direction.
        failed,    ///< The connection is gone.
        refused,   ///< The input breaks the protocol, or a limit.
    };
    struct turn {
        outcome came_to;
        errc error{}; ///< For `failed` and `refused`.
    };

    /// @param to  The session's end of its pipe. Outlives this object.
    reader(pipe::pipe_end& to, reading how);

    /// Takes the bytes received with the handshake, behind the first frame for the socket.
    /// @error  As codec::inbound::received().
    result<void> begin(std::span<const std::byte> first, std::span<const std::byte> behind);

    /// Reads until no more bytes are available or the turn is over.
    turn read(const wiring& on, batch_sink& sink);

    /// Ends a turn, after outcome::turn_over.
    /// @param is_answered  Something was written to the peer since its last turn.
    void finish_turn(const wiring& on, bool is_answered);

    /// The socket has room again: processes the bytes that are held back.
    /// @error  As codec::inbound::received().
    result<void> resume();

    /// The stream has an end behind a finite rest of input: from now on reads that rest although
    /// the socket has no room for it. resume() must follow.
    void take_rest(pipe::pipe_end& end) noexcept;

    /// Publishes received messages to the socket.
    void deliver(const wiring& on);

    /// Counts a command or ping, which costs work beyond its bytes.
    void count_control() noexcept { ++control_count_; }

    /// Whether reading is blocked for lack of room.
    bool is_blocked() const noexcept { return inbound_.is_blocked(); }
    /// Whether this is one of many peers of a STREAM.
    bool is_one_of_many() const noexcept { return is_one_of_many_; }
    /// Whether only whole messages are held.
    bool is_idle() const noexcept { return inbound_.is_idle(); }

    /// Delivers the wake-up that is due to the socket, if one is.
    void wake_socket(const wiring& on) noexcept;

    /// Drops an incomplete message.
    void drop_unfinished() noexcept { inbound_.reset(); }
    /// Frees unused memory.
    void trim() noexcept;

    // At the end of the thread's turn (runtime::event_handler).

    /// Whether room has appeared before the end of the turn in which it was lacking.
    bool has_news() noexcept { return rest_ == rest::parks_soon && inbound_.has_room(); }
    /// Marks the pipe if there still is no room.
    /// @return Whether there is room instead: resume() is due.
    bool park(pipe::pipe_end& end) noexcept;
    bool is_parked() const noexcept { return rest_ == rest::parked; }
    /// The mark is in effect. @return Whether room appeared before that: resume() is due.
    bool check_again(pipe::pipe_end& end) noexcept;

private:
    enum class rest : std::uint8_t {
        none,
        parks_soon, ///< No room; checks once more at the end of the thread's turn.
        parked,     ///< The pipe is marked; an event will come.
    };

    std::size_t turn_bytes_max(const wiring& on) const noexcept;
    std::size_t take_control_cost() noexcept;
    void wait_behind_others(const wiring& on);
    turn pause(const wiring& on);
    void park_soon(const wiring& on);

    std::unique_ptr<codec::conflation> conflation_; ///< If only the newest message is kept.
    std::unique_ptr<codec::decoder> decoder_;
    codec::inbound inbound_;
    std::uint16_t control_count_ = 0; ///< Not yet added to the turn.
    const bool is_one_of_many_;
    rest rest_ = rest::none;
    std::uint8_t turns_in_a_row_ = 0;
};

} // namespace zlink::session
