// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/encoder.hpp"
#include "pipe/block.hpp"
#include "pipe/inline_writer.hpp"
#include "session/wiring.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace zlink::session {

/// The sending direction of a connection: bytes of the connection's own (a handshake, control
/// frames), which go between two frames, and what waits in the socket's rope, as it lies or through
/// an encoder. Parks when there is nothing to send: the pipe is marked, and the socket wakes the
/// thread.
///
/// @threads The connection's.
class writer {
public:
    /// What a call of write() came to.
    enum class outcome : std::uint8_t {
        waits,     ///< It goes on by itself: the stream, or the socket, will say when.
        turn_over, ///< Another call should follow the tasks that wait.
        drained,   ///< Everything is written, or nothing was there.
        said_all,  ///< The bytes of the connection's own are written, and no frame may follow.
        control,   ///< An object lies between the messages: take_control(), then go on.
        failed,    ///< The stream takes nothing any more; error() says why.
    };

    /// @param serves_many  One of many peers of a STREAM: memory is passed on.
    void start_frames(std::unique_ptr<codec::encoder> encoder, bool serves_many) noexcept {
        encoder_ = std::move(encoder);
        serves_many_ = serves_many;
    }

    /// Bytes of the connection's own are appended here.
    std::vector<std::byte>& own() noexcept { return own_; }
    bool has_own() const noexcept { return !own_.empty(); }
    std::size_t own_bytes() const noexcept { return own_.size(); }

    /// Sends a command of ZMTP before the next message, unless too many wait already.
    /// @param body  At most 255 bytes.
    /// @throws std::bad_alloc
    void append_command(std::span<const std::byte> body);

    /// Writes as much as the stream takes, or until others should have their turn.
    /// @param is_last_word  No frame may follow the bytes of the connection's own.
    /// @throws std::bad_alloc
    outcome write(const wiring& on, bool is_last_word);

    /// Writes the bytes of the connection's own only, unless a frame has begun.
    /// @return As write(); `drained` if none are left, or none may go now.
    outcome write_own(const wiring& on);

    /// After outcome::control.
    std::unique_ptr<pipe::block, void (*)(pipe::block*)> take_control(const wiring& on) noexcept;

    errc error() const noexcept { return error_; }

    /// Whether no write has failed.
    bool is_writable() const noexcept { return is_writable_; }

    /// Whether the stream took no more when it was written to last.
    bool awaits_room() const noexcept { return awaits_room_; }

    /// Whether something is encoded that is not written.
    bool holds_encoded() const noexcept { return encoder_ && !encoder_->is_empty(); }

    /// Whether the peer has the beginning of a frame, and not its end.
    bool is_inside_frame(const wiring& on) noexcept;

    /// Whether bytes of frames were written since this was asked last.
    bool take_moved() noexcept {
        const bool has_moved = has_moved_;
        has_moved_ = false;
        return has_moved;
    }
    /// The same, for another purpose: whether the peer was answered.
    bool take_answered() noexcept {
        const bool has_answered = has_answered_;
        has_answered_ = false;
        return has_answered;
    }

    /// Notes that write() is going to be called behind the tasks that wait.
    /// @return Whether that was not so already.
    bool post() noexcept {
        const bool was_posted = is_posted_;
        is_posted_ = true;
        return !was_posted;
    }
    void on_posted() noexcept { is_posted_ = false; }

    /// The connection is gone, the stream not yet.
    /// @return Whether a frame was written in part.
    bool abandon(const wiring& on) noexcept;

    /// Gives memory back that holds nothing.
    void trim() noexcept {
        if (encoder_) {
            encoder_->trim();
        }
    }

    // At the end of the thread's turn (runtime::event_handler), and when the pipe's mark is gone.

    bool has_news(const codec::outbound& rope) const noexcept {
        return parks_soon_ && rope.has_work();
    }
    /// Marks the pipe, if there still is nothing to write.
    /// @param needs_fence  Set if the mark counts only behind the heavy fence.
    /// @return Whether there is something instead: write() is due.
    bool park(const wiring& on, bool& needs_fence);
    /// The socket has taken the mark away.
    void on_woken(const wiring& on) noexcept;
    /// Takes the mark away, if there is something to write. While it stands the memory of the rope
    /// is the socket's to give back.
    /// @return Whether that was so; if not, there is nothing to do, or a letter will come.
    bool wake(const wiring& on) noexcept;

    /// Whether much was written since this was asked last, of whose memory the socket is to learn.
    bool has_written_much() const noexcept { return has_written_much_; }
    bool take_written_much() noexcept {
        const bool has_written_much = has_written_much_;
        has_written_much_ = false;
        return has_written_much;
    }

    /// Takes the right to write away that the sender's thread has while this is parked.
    void close_direct(const wiring& on) noexcept;

private:
    static pipe::inline_writer* direct(const wiring& on) noexcept {
        return on.end != nullptr ? on.end->whole().inline_writing.get() : nullptr;
    }
    outcome await_room(const wiring& on);
    outcome fails_with(int error) noexcept;
    std::optional<outcome> write_frames(const wiring& on);
    std::optional<outcome> write_rope(const wiring& on, std::span<iovec> parts);
    std::optional<outcome> write_encoded(const wiring& on, std::span<iovec> parts);
    std::optional<outcome> finish_rope(const wiring& on);
    bool skip_to_mark(const wiring& on);
    void count_written(const wiring& on, std::size_t bytes);
    std::size_t unit_bytes(const wiring& on) const noexcept;
    void drop_own() noexcept;
    void open_direct(const wiring& on) noexcept;
    void park_soon(const wiring& on);
    static void wake_socket(const wiring& on) noexcept {
        on.end->other().deliver(pipe::event::writable);
    }

    std::vector<std::byte> own_;              ///< To be written before the next frame.
    std::unique_ptr<codec::encoder> encoder_; ///< Null where the rope is written as it is.
    std::uint32_t own_sent_bytes_ = 0;
    errc error_{};
    bool is_writable_ : 1 = true;
    bool awaits_room_ : 1 = false;
    bool is_posted_ : 1 = false;
    bool parks_soon_ : 1 = false; ///< Will look once more at the end of the thread's turn.
    bool direct_is_open_ : 1 = false;
    bool has_moved_ : 1 = false;
    bool has_answered_ : 1 = false;
    bool has_written_much_ : 1 = false; ///< Since the memory going out was passed on.
    bool serves_many_ : 1 = false;
};

} // namespace zlink::session
