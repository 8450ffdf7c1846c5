// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/io_thread.hpp"
#include "testing/bytes.hpp"
#include "transport/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::testing {

/// The deviations of a scripted stream from moving all bytes at once.
struct stream_script {
    static constexpr std::size_t never = SIZE_MAX;

    std::size_t read_bytes_max = SIZE_MAX;  ///< The most that one read takes.
    std::size_t write_bytes_max = SIZE_MAX; ///< The most that one write takes.
    std::size_t room_bytes = SIZE_MAX;      ///< The most that is taken in all until make_room() is
                                            ///< called.

    // Operations, which are reads and writes, counted from 0.
    std::size_t blocks_at = never; ///< This one would block; the stream is ready right afterwards.
    std::size_t trickles_at = never; ///< This one moves one byte.
    std::size_t fails_at = never;    ///< This one and all after it fail.
    int failure = ECONNRESET;        ///< With this error; 0: reads as if the peer had closed.
};

/// A stream in memory. The test is the peer.
///
/// @threads The thread that drives `thread`.
class scripted_stream final : public transport::stream {
public:
    explicit scripted_stream(runtime::io_thread& thread, const stream_script& script = {})
        : thread_(thread), script_(script) {}

    // The peer.

    void peer_sends(std::string_view data) {
        arriving_.append(data);
        tell_reader();
    }

    /// The peer closes, or the connection is reset. Bytes that it sent before can still be read.
    void peer_ends() {
        has_ended_ = true;
        tell_reader();
    }
    void peer_resets() {
        script_.fails_at = 0;
        tell_reader();
        tell_writer();
    }

    /// The peer takes `bytes` more bytes.
    void make_room(std::size_t bytes) {
        script_.room_bytes = bytes;
        tell_writer();
    }

    /// Whether the operation that was to fail, block or trickle has been reached.
    bool has_erred() const noexcept {
        return operation_count_ >
               std::min({script_.blocks_at, script_.trickles_at, script_.fails_at});
    }

    /// All bytes written.
    const std::string& written() const noexcept { return written_; }
    std::size_t operation_count() const noexcept { return operation_count_; }
    /// Bytes that the peer sent and that were not read.
    std::size_t unread_bytes() const noexcept { return arriving_.size(); }
    /// How the session waited to read, one letter each: s before others, w behind them.
    const std::string& read_waits() const noexcept { return read_waits_; }
    bool is_closed() const noexcept { return is_closed_; }
    bool has_ended_writing() const noexcept { return has_ended_writing_; }

    // The session.

    transport::io_outcome try_read(std::span<const iovec> room) noexcept override {
        if (auto refused = begin_operation(); refused.what != status::moved) {
            if (refused.what == status::failed && script_.failure == 0) {
                refused = {status::ended};
            }
            return refused;
        }
        if (arriving_.empty()) {
            return {has_ended_ ? status::ended : status::would_block};
        }
        const std::size_t bytes_max = is_trickling() ? 1 : script_.read_bytes_max;
        const std::size_t bytes = fill_parts(room, arriving_, bytes_max);
        arriving_.erase(0, bytes);
        return {status::moved, bytes};
    }

    transport::io_outcome try_write(std::span<const iovec> data) noexcept override {
        if (const auto refused = begin_operation(); refused.what != status::moved) {
            return refused;
        }
        std::size_t left = std::min(script_.room_bytes, script_.write_bytes_max);
        if (left == 0) {
            return {status::would_block};
        }
        if (is_trickling()) {
            left = 1;
        }
        std::size_t bytes = 0;
        for (const iovec& part : data) {
            const std::size_t taken = std::min(part.iov_len, left);
            written_.append(static_cast<const char*>(part.iov_base), taken);
            left -= taken;
            bytes += taken;
        }
        script_.room_bytes -= script_.room_bytes == SIZE_MAX ? 0 : bytes;
        return {status::moved, bytes};
    }

    void wait_readable(transport::stream_user& user) override {
        read_waits_ += 'w';
        await_bytes(user);
    }

    bool stay_readable(transport::stream_user& user) noexcept override {
        read_waits_ += 's';
        await_bytes(user);
        return true;
    }

    void wait_end(transport::stream_user& user, transport::end_of_input least) override {
        reader_.user.reset(&user);
        awaited_end_ = least;
        tell_reader();
    }

    transport::end_of_input end_ahead() const noexcept override {
        using transport::end_of_input;
        return is_reset()   ? end_of_input::lost
               : has_ended_ ? end_of_input::ended
                            : end_of_input::none;
    }

    void wait_writable(transport::stream_user& user) override {
        writer_.user.reset(&user);
        if (script_.room_bytes != 0 || is_reset()) {
            tell_writer();
        }
    }

    void end_writing() noexcept override { has_ended_writing_ = true; }

    void close() noexcept override {
        is_closed_ = true;
        reader_.user.reset();
        writer_.user.reset();
    }

    int descriptor() const noexcept override { return -1; }

private:
    using status = transport::io_outcome::status;

    /// The user that waits until the stream is ready.
    struct waiter {
        boost::intrusive_ptr<transport::stream_user> user;
        bool is_told = false;
    };

    void await_bytes(transport::stream_user& user) {
        reader_.user.reset(&user);
        awaited_end_ = transport::end_of_input::none;
        tell_reader();
    }

    /// Whether the user that waits to read, or for the end, is to be called.
    bool is_reader_due() const noexcept {
        using transport::end_of_input;
        return awaited_end_ != end_of_input::none ? end_ahead() >= awaited_end_
                                                  : !arriving_.empty() || has_ended_ || is_reset();
    }

    transport::io_outcome begin_operation() noexcept {
        const std::size_t index = operation_count_++;
        if (index >= script_.fails_at) {
            tell_reader();
            tell_writer();
            return {status::failed, 0, script_.failure != 0 ? script_.failure : EPIPE};
        }
        return {index == script_.blocks_at ? status::would_block : status::moved};
    }

    /// Valid during the operation begun last.
    bool is_trickling() const noexcept { return operation_count_ == script_.trickles_at + 1; }
    bool is_reset() const noexcept { return operation_count_ >= script_.fails_at; }

    /// Calls the waiting user, from the I/O thread, unless the stream is closed before.
    void tell_reader() {
        if (is_reader_due()) {
            tell(reader_, awaited_end_ == transport::end_of_input::none
                              ? &transport::stream_user::on_readable
                              : &transport::stream_user::on_end);
        }
    }
    void tell_writer() { tell(writer_, &transport::stream_user::on_writable); }

    void tell(waiter& who, void (transport::stream_user::*ready)() noexcept) {
        if (who.user == nullptr || std::exchange(who.is_told, true)) {
            return;
        }
        thread_.post([this, self = transport::stream_ptr(this), &who, ready] {
            who.is_told = false;
            if (&who == &reader_ && !is_reader_due()) {
                return; // It no longer waits to read, but for the end.
            }
            if (const auto user = std::exchange(who.user, nullptr); user != nullptr) {
                (*user.*ready)();
            }
        });
    }

    runtime::io_thread& thread_;
    stream_script script_;
    std::string arriving_; ///< Sent by the peer and not read.
    std::string written_;
    waiter reader_;
    waiter writer_;
    std::size_t operation_count_ = 0;
    std::string read_waits_;
    transport::end_of_input awaited_end_ = transport::end_of_input::none; ///< By the reader.
    bool has_ended_ = false;
    bool is_closed_ = false;
    bool has_ended_writing_ = false;
};

} // namespace zlink::testing
