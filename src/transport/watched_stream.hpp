// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/own_descriptors.hpp"
#include "runtime/readiness.hpp"
#include "transport/stream.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

namespace zlink::transport {

/// The result of a system call that has moved nothing, by its errno.
inline io_outcome outcome_of_failure() noexcept {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        return {io_outcome::status::would_block};
    }
    return {io_outcome::status::failed, 0, errno};
}

/// A stream over a descriptor: waits for its readiness, and owns it.
///
/// Readiness is reported when it changes. Readiness that was reported while there was no wait, or
/// that was not used up, is requested again by the next wait.
class watched_stream : public stream, private runtime::watched {
public:
    watched_stream(runtime::readiness& watch, int descriptor) noexcept
        : watch_(watch), descriptor_(descriptor) {}
    ~watched_stream() override { watched_stream::close(); }

    /// @return Whether the system allows it.
    bool open() noexcept {
        is_watched_ = watch_.add(descriptor_, *this, events_);
        return is_watched_;
    }

    void wait_readable(stream_user& user) override {
        if (reader_ && awaited_end_ == end_of_input::none) {
            return;
        }
        reader_.reset(&user);
        awaited_end_ = end_of_input::none;
        if (may_read_) {
            watch_.check_again(descriptor_, *this, events_);
        }
    }

    bool stay_readable(stream_user& user) noexcept override {
        if (reader_ || !watch_.repeat(*this)) {
            return false;
        }
        reader_.reset(&user);
        awaited_end_ = end_of_input::none;
        return true;
    }

    /// The system reports an end although nothing is read, and once: this does not run in circles.
    void wait_end(stream_user& user, end_of_input least) override {
        reader_.reset(&user);
        awaited_end_ = least;
        if (end_ahead_ >= least) {
            watch_.check_again(descriptor_, *this, events_);
        }
    }

    end_of_input end_ahead() const noexcept override { return end_ahead_; }

    void wait_writable(stream_user& user) override {
        if (writer_) {
            return;
        }
        writer_.reset(&user);
        // Watched for writing only after the first wait: a unix socket becomes ready again and
        // again.
        if (may_write_ || (events_ & EPOLLOUT) == 0) {
            events_ |= EPOLLOUT;
            watch_.check_again(descriptor_, *this, events_);
        }
    }

    void close() noexcept override {
        const int closed = std::exchange(descriptor_, -1);
        if (closed < 0) {
            return;
        }
        if (is_watched_) {
            watch_.remove(closed, *this);
        }
        close_descriptor(closed);
        reader_.reset();
        writer_.reset();
    }

    int descriptor() const noexcept override { return descriptor_; }

protected:
    /// After an attempt to read, or to write.
    /// @param may_go_on  Whether the system may have more, or take more, now.
    void note_read(bool may_go_on) noexcept {
        may_read_ = end_ahead_ != end_of_input::none || may_go_on;
    }
    void note_written(bool may_go_on) noexcept { may_write_ = may_go_on; }

private:
    void on_ready(std::uint32_t events) noexcept override {
        const stream_ptr keep{this};
        const bool is_over = (events & (EPOLLERR | EPOLLHUP)) != 0;
        if ((events & EPOLLERR) != 0) {
            end_ahead_ = end_of_input::lost;
        } else if (is_over || (events & EPOLLRDHUP) != 0) {
            end_ahead_ = std::max(end_ahead_, end_of_input::ended);
        }
        may_read_ = may_read_ || is_over || (events & EPOLLIN) != 0;
        may_write_ = may_write_ || is_over || (events & EPOLLOUT) != 0;
        if (!is_over) {
            tell_writer(); // First: reading may have to wait for queued replies.
        }
        tell_reader();
        tell_writer(); // After the last bytes of a peer that has gone.
    }

    void tell_reader() noexcept {
        const bool is_due =
            awaited_end_ == end_of_input::none ? may_read_ : end_ahead_ >= awaited_end_;
        if (!reader_ || !is_due) {
            return;
        }
        const auto told = std::exchange(reader_, nullptr);
        if (std::exchange(awaited_end_, end_of_input::none) == end_of_input::none) {
            told->on_readable();
        } else {
            told->on_end();
        }
    }

    void tell_writer() noexcept {
        if (may_write_ && writer_) {
            const auto told = std::exchange(writer_, nullptr);
            told->on_writable();
        }
    }

    runtime::readiness& watch_;
    boost::intrusive_ptr<stream_user> reader_;    ///< Waits to read, or for the end.
    boost::intrusive_ptr<stream_user> writer_;    ///< Waits to write.
    std::uint32_t events_ = EPOLLIN | EPOLLRDHUP; ///< The watched events.
    int descriptor_;
    bool is_watched_ = false;
    bool may_read_ = false;                       ///< Was ready, and has not been exhausted since.
    bool may_write_ = false;                      ///< Likewise.
    end_of_input end_ahead_ = end_of_input::none; ///< It is not reported again.
    end_of_input awaited_end_ = end_of_input::none; ///< By reader_; none: it waits to read.
};

/// A stream of class Stream over `descriptor`, which is taken over.
/// @return Null if the reactor refused it (out of descriptors or memory); it is closed then.
template<class Stream, class... Arguments>
stream_ptr make_watched(boost::asio::io_context& reactor, int descriptor,
                        Arguments&&... arguments) noexcept {
    try {
        boost::intrusive_ptr<Stream> made{new Stream(runtime::readiness::of(reactor), descriptor,
                                                     std::forward<Arguments>(arguments)...)};
        return made->open() ? stream_ptr(std::move(made)) : nullptr;
    } catch (const std::bad_alloc&) {
    } catch (const boost::system::system_error&) {
    }
    close_descriptor(descriptor);
    return nullptr;
}

} // namespace zlink::transport
