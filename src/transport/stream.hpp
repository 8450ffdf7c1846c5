// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "files/open_file.hpp"
#include "pipe/property_list.hpp"
#include "transport/address.hpp"

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::transport {

/// The result of an attempt to move bytes.
struct io_outcome {
    enum class status : unsigned char {
        moved,       ///< `bytes` bytes, at least one.
        would_block, ///< None now; wait for readiness.
        ended,       ///< Reading: the peer has ended its direction.
        failed,      ///< The connection is gone; `error` is the reason.
    };

    status what;
    std::size_t bytes = 0;
    int error = 0; ///< errno.
};

/// The end behind the input that was not read yet, as far as the system has reported it.
enum class end_of_input : unsigned char {
    none,
    ended, ///< The peer has ended its direction.
    lost,  ///< The connection is gone, in both directions.
};

/// Is notified when a stream may be read or written. Kept alive by the stream while it waits.
class stream_user : public ref_counted<stream_user> {
public:
    virtual ~stream_user() = default;

    virtual void on_readable() noexcept = 0;
    virtual void on_writable() noexcept = 0;
    /// The stream has the awaited end, behind a finite amount of unread input.
    virtual void on_end() noexcept { on_readable(); }
};

/// Ordered bytes to and from one peer; the contract of every transport except inproc.
///
/// Reading and writing never block. Each wait is answered by one notification, on the I/O thread,
/// and not after close().
///
/// @threads The I/O thread that it lives on.
class stream : public ref_counted<stream> {
public:
    virtual ~stream() = default;

    /// Completes the opening exchange, if there is one: the handshake of TLS, or a proxy's header
    /// with the peer's address.
    /// @return `moved` once that is done; `would_block` while it waits for the peer: try again when
    /// reading would not block.
    virtual io_outcome try_open() noexcept { return {io_outcome::status::moved}; }

    /// Reads the available bytes into `room`, in order.
    virtual io_outcome try_read(std::span<const iovec> room) noexcept = 0;

    /// Writes as many bytes as fit, in order.
    virtual io_outcome try_write(std::span<const iovec> data) noexcept = 0;

    /// Writes as many bytes as fit of `head` and then of a region of a file, in order.
    ///
    /// Does not wait for a disk, as far as the system can tell.
    /// @param part     Not empty.
    /// @param scratch  Memory for the file's bytes where they cannot be moved within the system.
    /// @return As try_write(). `failed` with ENODATA if the file ends before the region does, and
    /// with EAGAIN if the region has to be read from a disk first: the stream is unchanged then.
    virtual io_outcome try_write_file(std::span<const std::byte> head,
                                      const files::file_region& part,
                                      std::span<std::byte> scratch) noexcept;

    /// The size of the units in which the system sends; writes of multiples of it cost least: a
    /// remainder costs nearly as much as a whole unit. 0: no preferred size.
    virtual std::size_t unit_bytes() noexcept { return 0; }

    /// Whether close() would lose bytes that try_write() took. Then user.on_writable() is called
    /// when it no longer would.
    virtual bool holds_unsent() const noexcept { return false; }

    /// Adds the properties that the two ends have negotiated. After try_open(), until close().
    /// @throws std::bad_alloc
    virtual void describe(pipe::property_list&) const {}

    /// Calls user.on_readable() when reading would not block. Does nothing while such a wait is
    /// pending; replaces one for the end.
    virtual void wait_readable(stream_user& user) = 0;

    /// The same from within user.on_readable(), soon and before other ready streams, whether or not
    /// there is more to read.
    /// @return Whether that is possible. If not, nothing changed.
    virtual bool stay_readable(stream_user&) noexcept { return false; }

    /// For a user that does not read now: calls user.on_end() when end_ahead() is at least `least`,
    /// also if it already is. Replaces a wait to read. Costs nothing until then.
    /// @param least  Not `none`.
    virtual void wait_end(stream_user& user, end_of_input least) = 0;

    virtual end_of_input end_ahead() const noexcept = 0;

    /// Calls user.on_writable() when writing would not block. Does nothing while a wait is pending.
    virtual void wait_writable(stream_user& user) = 0;

    /// Tells whether the connection may end in favour of a new one, where a listener limits them:
    /// nothing is under way on it. The one that has been so for the longest time ends first, as if
    /// the peer had ended it.
    virtual void offer_place(bool /*is_offered*/) noexcept {}

    /// Ends this direction, where the transport supports that; bytes of the peer can still be read.
    virtual void end_writing() noexcept {}

    /// Ends the connection. Bytes that the kernel has taken are still sent.
    virtual void close() noexcept = 0;

    /// Whether try_write() does nothing but write to descriptor().
    virtual bool is_plain() const noexcept { return false; }

    /// The descriptor, or -1.
    virtual int descriptor() const noexcept = 0;

    /// The address of the peer, from the system, or from a proxy in between. After try_open().
    virtual socket_address peer() const noexcept { return peer_address(descriptor()); }

    /// A trusted proxy has told whose connection this is: peer() is the client from now on, where
    /// connections are counted.
    /// @error too_many_of_address  The client has too many connections.
    /// @throws std::bad_alloc
    virtual result<void> adopt_client(const socket_address& client) {
        static_cast<void>(client);
        return {};
    }
};

using stream_ptr = boost::intrusive_ptr<stream>;

} // namespace zlink::transport
