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

namespace zlink::session {

/// Is told of each batch that a reader took in.
class batch_sink {
public:
    /// @param bytes  So many came off the stream.
    /// @return Whether to read on.
    virtual bool on_batch(std::size_t bytes) = 0;

protected:
    ~batch_sink() = default;
};

/// What a connection's protocol chooses for what it receives.
struct reading {
    std::unique_ptr<codec::scanner> frames{};  ///< Null: they are ZMTP's.
    std::unique_ptr<codec::decoder> decoder{}; ///< Null: they are received as they are kept.
    codec::command_sink* commands = nullptr;   ///< Not null where frames are ZMTP's.
    std::uint64_t body_bytes_max = 0;          ///< Of one frame.
    std::uint64_t unfinished_bytes_max = 0;    ///< Of a message that has no end yet.
    bool serves_many = false; ///< One of many peers of a STREAM, which are heard in turn.
};

/// The receiving direction of a connection, from its first message on: how much is read before
/// others have their turn, and how it goes on where the socket takes no more for a while.
///
/// Reading comes before waiting: what the kernel holds already is announced to nobody.
///
/// @threads The connection's.
class reader {
public:
    /// What a turn came to.
    enum class outcome : std::uint8_t {
        waits,     ///< It goes on by itself: the stream, or the socket, will say when.
        turn_over, ///< Others have their turn: finish_turn() is to be called.
        far_ahead, ///< The socket is far behind: another turn should follow the tasks that wait.
        stopped,   ///< The batch_sink wanted no more.
        ended,     ///< The peer sends nothing any more.
        failed,    ///< The connection is gone.
        refused,   ///< What came breaks the protocol, or a limit.
    };
    struct turn {
        outcome came_to;
        errc error{}; ///< Of `failed` and `refused`.
    };

    /// @param to  The session's end of its pipe. Outlives this.
    reader(pipe::pipe_end& to, reading how);

    /// Takes in what came with the handshake, behind what the socket is told first.
    /// @error  As codec::inbound::received().
    result<void> begin(std::span<const std::byte> first, std::span<const std::byte> behind);

    /// Reads, until there is no more or others have their turn.
    /// @param is_stalled  The peer does not take what is sent to it.
    turn read(const wiring& on, bool is_stalled, batch_sink& sink);

    /// The end of a turn, after outcome::turn_over.
    /// @param is_answered  Something was written to the peer since its last turn.
    void finish_turn(const wiring& on, bool is_answered);

    /// The socket has room again: takes in what came before.
    /// @error  As codec::inbound::received().
    result<void> resume();

    /// Shows the socket what was taken in.
    void deliver(const wiring& on);

    /// Counts a command or ping, which is work beyond its bytes.
    void count_control() noexcept { ++control_count_; }

    /// Whether there is no room for what comes.
    bool is_blocked() const noexcept { return inbound_.is_blocked(); }
    /// Whether the last turn was left to others, since the peer did not take what is sent to it.
    bool has_missed_turn() const noexcept { return missed_turns_ != 0; }
    /// Whether nothing is held but whole messages.
    bool is_idle() const noexcept { return inbound_.is_idle(); }

    /// Drops what is no whole message.
    void drop_unfinished() noexcept { inbound_.reset(); }
    /// Gives memory back that holds nothing.
    void trim() noexcept;
    /// Fetches into the caches what finds the frames.
    void fetch_ahead() const noexcept { inbound_.fetch_ahead(); }

    // At the end of the thread's turn (runtime::event_handler).

    /// Whether there is room, and the turn is not over for which it was not.
    bool has_news(const pipe::pipe_end& end) const noexcept {
        return rest_ == rest::parks_soon && end.out.has_credit();
    }
    /// Marks the pipe, if there still is no room.
    /// @return Whether there is room instead: resume() is due.
    bool park(pipe::pipe_end& end) noexcept;
    bool is_parked() const noexcept { return rest_ == rest::parked; }
    /// The mark counts. @return Whether there was room before it did: resume() is due.
    bool look_again(pipe::pipe_end& end) noexcept;

private:
    enum class rest : std::uint8_t {
        none,
        parks_soon, ///< There is no room; will look once more at the end of the thread's turn.
        parked,     ///< The pipe is marked; a letter will come.
    };

    std::size_t turn_bytes_max(const wiring& on) const noexcept;
    std::size_t take_control_cost() noexcept;
    bool misses_turn(const wiring& on, bool is_stalled) noexcept;
    void wait_behind_others(const wiring& on);
    void wake_socket(const wiring& on) noexcept;
    void park_soon(const wiring& on);

    std::unique_ptr<codec::conflation> conflation_; ///< Where only the newest message is wanted.
    std::unique_ptr<codec::decoder> decoder_;
    codec::inbound inbound_;
    std::uint16_t control_count_ = 0; ///< Not counted yet.
    const bool serves_many_;
    rest rest_ = rest::none;
    std::uint8_t missed_turns_ = 0; ///< In a row.
    std::uint8_t turns_in_a_row_ = 0;
};

} // namespace zlink::session
