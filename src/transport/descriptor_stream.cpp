// SPDX-License-Identifier: MPL-2.0
#include "transport/descriptor_stream.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cerrno>
#include <new>
#include <sys/socket.h>
#include <unistd.h>

namespace zlink::transport {

namespace {

/// With the executor's own type, which takes a fraction of the memory of any other.
using stream_descriptor =
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

io_outcome failure() noexcept {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        return {io_outcome::status::would_block};
    }
    return {io_outcome::status::failed, 0, errno};
}

class descriptor_stream final : public stream {
public:
    descriptor_stream(boost::asio::io_context& reactor, int descriptor,
                      boost::system::error_code& refused)
        : socket_(reactor) {
        socket_.assign(descriptor, refused);
    }

    io_outcome try_read(std::span<const iovec> room) noexcept override {
        const ssize_t got =
            ::readv(socket_.native_handle(), room.data(), static_cast<int>(room.size()));
        if (got > 0) {
            return {io_outcome::status::moved, static_cast<std::size_t>(got)};
        }
        return got == 0 ? io_outcome{io_outcome::status::ended} : failure();
    }

    io_outcome try_write(std::span<const iovec> octets) noexcept override {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(octets.data());
        message.msg_iovlen = octets.size();
        const ssize_t put = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
        return put >= 0 ? io_outcome{io_outcome::status::moved, static_cast<std::size_t>(put)}
                        : failure();
    }

    void wait_readable(stream_user& user) override {
        if (waits_to_read_) {
            return;
        }
        waits_to_read_ = true;
        socket_.async_wait(
            stream_descriptor::wait_read,
            [this, self = stream_ptr(this),
             told = boost::intrusive_ptr<stream_user>(&user)](const boost::system::error_code&) {
                waits_to_read_ = false;
                if (socket_.is_open()) {
                    told->on_readable();
                }
            });
    }

    void wait_writable(stream_user& user) override {
        if (waits_to_write_) {
            return;
        }
        waits_to_write_ = true;
        socket_.async_wait(
            stream_descriptor::wait_write,
            [this, self = stream_ptr(this),
             told = boost::intrusive_ptr<stream_user>(&user)](const boost::system::error_code&) {
                waits_to_write_ = false;
                if (socket_.is_open()) {
                    told->on_writable();
                }
            });
    }

    void close() noexcept override {
        boost::system::error_code ignored;
        socket_.close(ignored);
    }

    int descriptor() const noexcept override {
        return const_cast<stream_descriptor&>(socket_).native_handle();
    }

private:
    stream_descriptor socket_;
    bool waits_to_read_ = false;
    bool waits_to_write_ = false;
};

} // namespace

stream_ptr make_descriptor_stream(boost::asio::io_context& reactor, int descriptor) noexcept {
    boost::system::error_code refused;
    stream_ptr made;
    try {
        made.reset(new descriptor_stream(reactor, descriptor, refused));
    } catch (const std::bad_alloc&) {
    }
    if (made == nullptr || refused) {
        ::close(descriptor);
        return nullptr;
    }
    return made;
}

} // namespace zlink::transport
