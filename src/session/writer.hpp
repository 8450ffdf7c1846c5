// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "codec/encoder.hpp"
#include "files/open_file.hpp"
#include "pipe/block.hpp"
#include "pipe/inline_writer.hpp"
#include "session/wiring.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace zlink::tuning {

/// Bytes of a file that are written before other connections have their turn.
constexpr std::size_t file_turn_bytes_max = std::size_t{256} * 1024;

} // namespace zlink::tuning

namespace zlink::session {

/// The sending direction of a connection: the connection's own bytes (handshake, control frames, a
/// region of a file), which go between two frames, and the messages in the socket's rope, unchanged
/// or through an encoder. Parks when there is nothing to send: it marks the pipe, and the socket
/// wakes the thread.
///
/// @threads The connection's.
class writer {
public:
    /// The result of write().
    enum class outcome : std::uint8_t {
        waits,             ///< Continues on an event of the stream or the socket.
        turn_over,         ///< Another call should follow the queued tasks.
        drained,           ///< Everything is written, or nothing was queued.
        own_bytes_written, ///< The connection's own bytes are written, and no frame may follow.
        control, ///< The next item is a control object: call take_control(), then write() again.
        awaits_disk, ///< disk_region() has to be read from a disk; then call write() again.
        failed,      ///< The stream accepts no more; see error().
    };

    /// @param is_one_of_many  One of many peers of a STREAM: freed memory is passed on.
    void start_frames(std::unique_ptr<codec::encoder> encoder, bool is_one_of_many) noexcept {
        encoder_ = std::move(encoder);
        is_one_of_many_ = is_one_of_many;
    }

    /// Bytes of the connection's own are appended here.
    std::vector<std::byte>& own() noexcept { return own_; }
    bool has_own() const noexcept { return !own_.empty() || holds_file(); }
    bool holds_file() const noexcept { return file_ != nullptr; }
    std::size_t own_bytes() const noexcept { return own_.size(); }
    /// Of own bytes and of a file, those that are not written.
    std::uint64_t unsent_bytes() const noexcept {
        const std::uint64_t of_file =
            file_ ? file_->head.size() - file_->head_sent_bytes + file_->rest.bytes : 0;
        return of_file + own_.size() - own_sent_bytes_;
    }
    /// Whether a region of a file had to be read from a disk since the last call.
    bool take_awaited_disk() noexcept {
        const bool has_awaited = awaited_disk_;
        awaited_disk_ = false;
        return has_awaited;
    }

    /// A region of a file follows the bytes that were appended to own() so far. Only where no other
    /// region is left.
    /// @throws std::bad_alloc  Nothing changed.
    void append_file(files::file_region region);

    /// Sends a ZMTP command before the next message, unless too many are queued.
    /// @param body  At most 255 bytes.
    /// @throws std::bad_alloc
    void append_command(std::span<const std::byte> body);

    /// Sends a message of one frame before everything from the pipe; after start_frames().
    /// @throws std::bad_alloc
    void append_message(std::span<const std::byte> body);

    /// Writes as much as the stream accepts, or until the turn is over.
    /// @param is_last_word  No frame may follow the connection's own bytes.
    /// @throws std::bad_alloc
    outcome write(const wiring& on, bool is_last_word);

    /// Writes only the connection's own bytes, unless a frame is partly written.
    /// @return As write(); `drained` if none are left, or none may be written now.
    outcome write_own(const wiring& on);

    /// After outcome::control.
    std::unique_ptr<pipe::block, void (*)(pipe::block*)> take_control(const wiring& on) noexcept;

    /// After outcome::awaits_disk: the region to read.
    files::file_region disk_region() const {
        return {file_->rest.file, file_->rest.offset,
                std::min<std::uint64_t>(file_->rest.bytes, tuning::file_turn_bytes_max)};
    }

    errc error() const noexcept { return error_; }

    /// Whether no write has failed.
    bool is_writable() const noexcept { return is_writable_; }

    /// Whether encoded bytes are not yet written.
    bool holds_encoded() const noexcept { return encoder_ && !encoder_->is_empty(); }

    /// Whether the last frame is only partly written.
    bool is_inside_frame(const wiring& on) noexcept;

    /// Whether bytes of frames were written since the last call.
    bool take_moved() noexcept {
        const bool has_moved = has_moved_;
        has_moved_ = false;
        return has_moved;
    }
    /// The same with a flag of its own: whether the peer was answered.
    bool take_answered() noexcept {
        const bool has_answered = has_answered_;
        has_answered_ = false;
        return has_answered;
    }

    /// Records that write() will be called behind the queued tasks.
    /// @return Whether it was not recorded already.
    bool post() noexcept {
        const bool was_posted = is_posted_;
        is_posted_ = true;
        return !was_posted;
    }
    void on_posted() noexcept { is_posted_ = false; }

    /// The connection is over; the stream is still open.
    /// @return Whether a frame was partly written.
    bool abandon(const wiring& on) noexcept;

    /// Frees unused memory.
    void trim() noexcept {
        if (encoder_) {
            encoder_->trim();
        }
    }

    // At the end of the thread's turn (runtime::event_handler), or after the mark is removed.

    bool has_news(const codec::outbound& rope) const noexcept {
        return parks_soon_ && rope.has_work();
    }
    /// Marks the pipe if there still is nothing to write.
    /// @param needs_fence  Set if the mark takes effect only after the heavy fence.
    /// @return Whether there is something to write instead: write() is due.
    bool park(const wiring& on, bool& needs_fence);
    /// The socket has removed the mark.
    void on_woken(const wiring& on) noexcept;
    /// Removes the mark if there is something to write. While the mark is set, the socket owns the
    /// memory of the rope and can free it.
    /// @return Whether the mark was removed; if not, there is nothing to do, or an event will come.
    bool wake(const wiring& on) noexcept;

    /// Whether much was written since the last call, so that the socket should reuse the memory.
    bool has_written_much() const noexcept { return has_written_much_; }
    /// Whether the sender's thread writes past this (pipe::inline_writer).
    bool is_direct() const noexcept { return direct_is_open_; }
    bool take_written_much() noexcept {
        const bool has_written_much = has_written_much_;
        has_written_much_ = false;
        return has_written_much;
    }

    /// Revokes the sender thread's right to write, which it has while this is parked.
    void close_direct(const wiring& on) noexcept;

private:
    static pipe::inline_writer* direct(const wiring& on) noexcept {
        return on.end != nullptr ? on.end->whole().inline_writing.get() : nullptr;
    }
    outcome await_room(const wiring& on);
    outcome fails_with(int error) noexcept;
    outcome write_file(const wiring& on);
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

    /// A region of a file, and the bytes before it.
    struct outgoing_file {
        std::vector<std::byte> head;
        std::size_t head_sent_bytes = 0;
        unsigned disk_attempts = 0; ///< In a row.
        files::file_region rest;
    };

    std::unique_ptr<outgoing_file> file_;     ///< Written first; null if there is none.
    std::vector<std::byte> own_;              ///< Written before the next frame.
    std::unique_ptr<codec::encoder> encoder_; ///< Null if the rope is written unchanged.
    std::uint32_t own_sent_bytes_ = 0;
    errc error_{};
    bool is_writable_ : 1 = true;
    bool is_posted_ : 1 = false;
    bool parks_soon_ : 1 = false; ///< Checks once more at the end of the thread's turn.
    bool direct_is_open_ : 1 = false;
    bool has_moved_ : 1 = false;
    bool has_answered_ : 1 = false;
    bool awaited_disk_ : 1 = false;
    bool has_written_much_ : 1 = false; ///< Since freed memory was last passed on.
    bool is_one_of_many_ : 1 = false;
};

} // namespace zlink::session
