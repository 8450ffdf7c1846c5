// SPDX-License-Identifier: MPL-2.0
#include "transport/descriptor_stream.hpp"

#include "base/own_descriptors.hpp"
#include "base/write_parts.hpp"
#include "runtime/readiness.hpp"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <utility>

namespace zlink::tuning {

/// Regions of files from this size on are moved within the system; smaller ones are cheaper to read
/// and write.
constexpr std::size_t sendfile_bytes_min = std::size_t{16} * 1024;

} // namespace zlink::tuning

namespace zlink::transport {

namespace {

io_outcome failure() noexcept {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        return {io_outcome::status::would_block};
    }
    return {io_outcome::status::failed, 0, errno};
}

/// Whether there may be more to move where `moved` bytes just were.
bool is_unexhausted(ssize_t moved, std::span<const iovec> parts) noexcept {
    if (moved < 0) {
        return errno != EAGAIN && errno != EWOULDBLOCK;
    }
    for (const iovec& each : parts) {
        moved -= static_cast<ssize_t>(each.iov_len);
    }
    return moved >= 0;
}

/// The maximum size of a packet in the system, without its headers.
constexpr std::uint32_t packet_bytes_max = 65215;

/// Calls after which the unit is queried again: TCP packets grow with the window that the peer
/// opens.
constexpr std::uint16_t unit_asked_after = 64;

/// The bytes of a TCP packet inside the system: many segments of the network, or one as large as
/// they are on loopback. 0 for other sockets.
std::uint32_t ask_unit(int descriptor) noexcept {
    int segment_bytes = 0;
    socklen_t size = sizeof segment_bytes;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, &size) != 0 ||
        segment_bytes <= 0) {
        return 0;
    }
    const auto segment = static_cast<std::uint32_t>(segment_bytes);
    return std::max(segment, packet_bytes_max / segment * segment);
}

/// Readiness is reported when it changes. Readiness that was reported while there was no wait, or
/// that was not used up, is requested again by the next wait.
class descriptor_stream final : public stream, private runtime::watched {
public:
    descriptor_stream(runtime::readiness& watch, int descriptor) noexcept
        : watch_(watch), descriptor_(descriptor) {}
    ~descriptor_stream() override { close(); }

    /// @return Whether the system allows it.
    bool open() noexcept {
        is_watched_ = watch_.add(descriptor_, *this, events_);
        return is_watched_;
    }

    io_outcome try_read(std::span<const iovec> room) noexcept override {
        // One part costs the system fewer instructions than several.
        const ssize_t got =
            room.size() == 1 ? ::recv(descriptor_, room.front().iov_base, room.front().iov_len, 0)
                             : ::readv(descriptor_, room.data(), static_cast<int>(room.size()));
        may_read_ = has_end_ || is_unexhausted(got, room);
        if (got > 0) {
            return {io_outcome::status::moved, static_cast<std::size_t>(got)};
        }
        return got == 0 ? io_outcome{io_outcome::status::ended} : failure();
    }

    io_outcome try_write(std::span<const iovec> data) noexcept override {
        const ssize_t put = write_parts(descriptor_, data);
        may_write_ = is_unexhausted(put, data);
        return put >= 0 ? io_outcome{io_outcome::status::moved, static_cast<std::size_t>(put)}
                        : failure();
    }

    io_outcome try_write_file(std::span<const std::byte> head, const files::file_region& part,
                              std::span<std::byte> scratch) noexcept override {
        if (part.bytes < tuning::sendfile_bytes_min) {
            return stream::try_write_file(head, part, scratch);
        }
        if (!part.file->is_resident(part.offset, part.bytes)) {
            return {io_outcome::status::failed, 0, EAGAIN};
        }
        if (!head.empty()) {
            const ssize_t put = ::send(descriptor_, head.data(), head.size(),
                                       MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
            may_write_ = put == static_cast<ssize_t>(head.size());
            if (!may_write_) {
                return put >= 0
                           ? io_outcome{io_outcome::status::moved, static_cast<std::size_t>(put)}
                           : failure();
            }
        }
        auto offset = static_cast<off_t>(part.offset);
        const ssize_t put = ::sendfile(descriptor_, part.file->descriptor(), &offset, part.bytes);
        may_write_ = put == static_cast<ssize_t>(part.bytes);
        if (put > 0 || (put < 0 && !head.empty() && errno == EAGAIN)) {
            return {io_outcome::status::moved,
                    head.size() + static_cast<std::size_t>(std::max<ssize_t>(put, 0))};
        }
        return put == 0 ? io_outcome{io_outcome::status::failed, 0, ENODATA} : failure();
    }

    std::size_t unit_bytes() noexcept override {
        if (unit_is_good_for_ == 0) {
            unit_is_good_for_ = unit_asked_after;
            unit_bytes_ = ask_unit(descriptor_);
        }
        --unit_is_good_for_;
        return unit_bytes_;
    }

    void wait_readable(stream_user& user) override {
        if (reader_) {
            return;
        }
        reader_.reset(&user);
        if (may_read_) {
            watch_.check_again(descriptor_, *this, events_);
        }
    }

    bool stay_readable(stream_user& user) noexcept override {
        if (reader_ || !watch_.repeat(*this)) {
            return false;
        }
        reader_.reset(&user);
        return true;
    }

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

    void end_writing() noexcept override { ::shutdown(descriptor_, SHUT_WR); }

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

    bool is_plain() const noexcept override { return true; }

    int descriptor() const noexcept override { return descriptor_; }

private:
    void on_ready(std::uint32_t events) noexcept override {
        const stream_ptr keep{this};
        const bool is_over = (events & (EPOLLERR | EPOLLHUP)) != 0;
        has_end_ = has_end_ || is_over || (events & EPOLLRDHUP) != 0;
        may_read_ = may_read_ || is_over || (events & EPOLLIN) != 0;
        may_write_ = may_write_ || is_over || (events & EPOLLOUT) != 0;
        if (!is_over) {
            tell_writer(); // First: reading may have to wait for queued replies.
        }
        tell_reader();
        tell_writer(); // After the last bytes of a peer that has gone.
    }

    void tell_reader() noexcept {
        if (may_read_ && reader_) {
            const auto told = std::exchange(reader_, nullptr);
            told->on_readable();
        }
    }

    void tell_writer() noexcept {
        if (may_write_ && writer_) {
            const auto told = std::exchange(writer_, nullptr);
            told->on_writable();
        }
    }

    runtime::readiness& watch_;
    boost::intrusive_ptr<stream_user> reader_;    ///< Waits to read.
    boost::intrusive_ptr<stream_user> writer_;    ///< Waits to write.
    std::uint32_t events_ = EPOLLIN | EPOLLRDHUP; ///< The watched events.
    int descriptor_;
    std::uint32_t unit_bytes_ = 0;
    std::uint16_t unit_is_good_for_ = 0; ///< Calls until it is queried again.
    bool is_watched_ = false;
    bool may_read_ = false;  ///< Was ready, and has not been exhausted since.
    bool may_write_ = false; ///< Likewise.
    bool has_end_ = false;   ///< The end follows the last bytes, and is not reported again.
};

} // namespace

stream_ptr make_descriptor_stream(boost::asio::io_context& reactor, int descriptor) noexcept {
    try {
        boost::intrusive_ptr<descriptor_stream> made{
            new descriptor_stream(runtime::readiness::of(reactor), descriptor)};
        return made->open() ? stream_ptr(std::move(made)) : nullptr;
    } catch (const std::bad_alloc&) {
    } catch (const boost::system::system_error&) {
    }
    close_descriptor(descriptor);
    return nullptr;
}

} // namespace zlink::transport
