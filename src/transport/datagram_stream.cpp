// SPDX-License-Identifier: MPL-2.0
#include "transport/datagram_stream.hpp"

#include "runtime/post.hpp"
#include "transport/watched_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace zlink::transport {

namespace {

/// Errors of earlier datagrams that one call of try_read() passes over.
constexpr int passed_errors_max = 16;

std::size_t bytes_of(std::span<const iovec> parts) noexcept {
    std::size_t bytes = 0;
    for (const iovec& each : parts) {
        bytes += each.iov_len;
    }
    return bytes;
}

class datagram_stream final : public watched_stream {
public:
    datagram_stream(runtime::readiness& watch, int descriptor, boost::asio::io_context& reactor,
                    datagram_use use) noexcept
        : watched_stream(watch, descriptor), reactor_(reactor), use_(std::move(use)),
          family_(family_of(descriptor)) {}

    io_outcome try_read(std::span<const iovec> room) noexcept override {
        for (int attempt = 0; attempt < passed_errors_max; ++attempt) {
            socket_address from;
            msghdr into{};
            into.msg_name = use_.is_addressed ? from.get() : nullptr;
            into.msg_namelen = use_.is_addressed ? sizeof from.storage : 0;
            const auto data = room.subspan(use_.is_addressed ? 1 : 0);
            into.msg_iov = const_cast<iovec*>(data.data());
            into.msg_iovlen = data.size();
            const ssize_t got = ::recvmsg(descriptor(), &into, 0);
            if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
                break;
            }
            if (got < 0) {
                continue;
            }
            if ((into.msg_flags & MSG_TRUNC) != 0) {
                count(&connection_counters::on_malformed);
                continue;
            }
            has_more_ = true;
            if (!use_.is_addressed) {
                return {io_outcome::status::moved, static_cast<std::size_t>(got)};
            }
            from.bytes = into.msg_namelen;
            write_address(from, room.front());
            return {io_outcome::status::moved,
                    room.front().iov_len + static_cast<std::size_t>(got)};
        }
        has_more_ = false;
        note_read(false);
        return {io_outcome::status::would_block};
    }

    io_outcome try_write(std::span<const iovec> data) noexcept override {
        const io_outcome done{io_outcome::status::moved, bytes_of(data)};
        if (done.bytes == 0) {
            return done; // Nothing was to be sent.
        }
        socket_address to = use_.to;
        auto sent = data;
        if (use_.is_addressed) {
            to = read_address(data.front());
            sent = data.subspan(1);
        }
        if (to.bytes == 0) {
            count(&connection_counters::on_unsendable);
            return done;
        }
        msghdr from{};
        from.msg_name = to.get();
        from.msg_namelen = to.bytes;
        from.msg_iov = const_cast<iovec*>(sent.data());
        from.msg_iovlen = sent.size();
        if (::sendmsg(descriptor(), &from, MSG_NOSIGNAL) < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                note_written(false);
                return {io_outcome::status::would_block};
            }
            count(&connection_counters::on_unsendable);
        }
        note_written(true);
        return done;
    }

    /// Many calls follow each other while there is more: without asking the system each time.
    void wait_readable(stream_user& user) override {
        if (!has_more_) {
            return watched_stream::wait_readable(user);
        }
        if (!stay_readable(user) && !is_posted_) {
            runtime::post(reactor_, [self = boost::intrusive_ptr<datagram_stream>(this),
                                     told = boost::intrusive_ptr<stream_user>(&user)] {
                self->is_posted_ = false;
                if (self->descriptor() >= 0) {
                    told->on_readable();
                }
            });
            is_posted_ = true;
        }
    }

    /// Datagrams have no end: an error concerns one that was sent.
    void wait_end(stream_user&, end_of_input) override {}
    end_of_input end_ahead() const noexcept override { return end_of_input::none; }

    socket_address peer() const noexcept override { return use_.to; }

private:
    void count(void (connection_counters::*event)() noexcept) const noexcept {
        if (use_.counters) {
            (*use_.counters.*event)();
        }
    }

    static void write_address(const socket_address& from, const iovec& into) noexcept {
        std::memset(into.iov_base, 0, into.iov_len);
        write_host_and_port(from, std::span<char, host_and_port_bytes_max>{
                                      static_cast<char*>(into.iov_base), into.iov_len});
    }

    /// @return Of no family if it is none.
    socket_address read_address(const iovec& text) const noexcept {
        try {
            return read_host_and_port({static_cast<const char*>(text.iov_base), text.iov_len},
                                      family_)
                .value_or(socket_address{});
        } catch (const std::bad_alloc&) {
            return {};
        }
    }

    static int family_of(int descriptor) noexcept {
        int found = AF_INET;
        socklen_t bytes = sizeof found;
        ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &found, &bytes);
        return found;
    }

    boost::asio::io_context& reactor_;
    const datagram_use use_;
    const int family_;
    bool has_more_ = false; ///< The last read brought a datagram.
    bool is_posted_ = false;
};

} // namespace

stream_ptr make_datagram_stream(boost::asio::io_context& reactor, int descriptor,
                                datagram_use use) noexcept {
    return make_watched<datagram_stream>(reactor, descriptor, reactor, std::move(use));
}

} // namespace zlink::transport
