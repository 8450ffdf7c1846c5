// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "pipe/property_list.hpp"
#include "transport/address.hpp"

#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::transport {

/// What an attempt to move bytes came to.
struct io_outcome {
    enum class status : unsigned char {
        moved,       ///< `bytes` bytes, more than none.
        would_block, ///< None now; wait for readiness.
        ended,       ///< Reading: the peer sends no more.
        failed,      ///< The connection is gone; `error` says why.
    };

    status what;
    std::size_t bytes = 0;
    int error = 0; ///< errno.
};

/// Is told when a stream may be read or written. Kept alive by the stream while it waits.
class stream_user : public ref_counted<stream_user> {
public:
    virtual ~stream_user() = default;

    virtual void on_readable() noexcept = 0;
    virtual void on_writable() noexcept = 0;

    /// Fetches into the caches what on_readable() will touch beyond the first `fetched_bytes`
    /// bytes of this: runtime::watched::fetch_ahead().
    virtual void fetch_ahead(int step) const noexcept { static_cast<void>(step); }
    static constexpr std::size_t fetched_bytes = 512;
};

/// Ordered bytes to and from one peer; the contract of every transport but inproc.
///
/// Reading and writing never wait. Readiness is told once for each wait that was asked for, on the
/// I/O thread, and not after close().
///
/// @threads The I/O thread that it lives on.
class stream : public ref_counted<stream> {
public:
    virtual ~stream() = default;

    /// Agrees with the peer on what bytes need to pass: nothing, but with TLS, or behind a proxy
    /// that has to say first whom it speaks for.
    /// @return `moved` once that is done; `would_block` while it waits for the peer: try again when
    ///         reading would not block.
    virtual io_outcome try_open() noexcept { return {io_outcome::status::moved}; }

    /// Reads what is there into `room`, in order.
    virtual io_outcome try_read(std::span<const iovec> room) noexcept = 0;

    /// Writes what fits, in order.
    virtual io_outcome try_write(std::span<const iovec> data) noexcept = 0;

    /// Bytes that the system sends at once, and so takes with the least effort in multiples of
    /// them: what is left over costs nearly as much as a whole unit. 0: it does not matter.
    virtual std::size_t unit_bytes() noexcept { return 0; }

    /// Whether bytes that try_write() took would be lost by close(). Then user.on_writable() is
    /// called when they would not be any more.
    virtual bool holds_unsent() const noexcept { return false; }

    /// Tells what the two ends have agreed on. After try_open(), until close().
    /// @throws std::bad_alloc
    virtual void describe(pipe::property_list&) const {}

    /// Calls user.on_readable() when reading would not block. Does nothing while it waits already.
    virtual void wait_readable(stream_user& user) = 0;

    /// The same from within user.on_readable(), soon and before others that are ready, whether or
    /// not there is more to read.
    /// @return Whether that can be arranged. If not, nothing changed.
    virtual bool stay_readable(stream_user&) noexcept { return false; }

    /// Calls user.on_writable() when writing would not block. Does nothing while it waits already.
    virtual void wait_writable(stream_user& user) = 0;

    /// Tells the peer that no more bytes will come, where the transport can tell that; what it
    /// sends can still be read.
    virtual void end_writing() noexcept {}

    /// Ends the connection. Bytes that the kernel has taken are still sent.
    virtual void close() noexcept = 0;

    /// Whether try_write() does nothing but write to descriptor().
    virtual bool is_plain() const noexcept { return false; }

    /// The descriptor, or -1.
    virtual int descriptor() const noexcept = 0;

    /// Where the peer is, as the system says, or a proxy in between. After try_open().
    virtual socket_address peer() const noexcept { return peer_address(descriptor()); }
};

using stream_ptr = boost::intrusive_ptr<stream>;

} // namespace zlink::transport
