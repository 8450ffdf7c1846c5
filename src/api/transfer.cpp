// SPDX-License-Identifier: MPL-2.0
//
// Sending and receiving.
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/symbols.hpp"
#include "base/byte_order.hpp"
#include "base/error_text.hpp"
#include "base/inline.hpp"
#include "socket/stream_socket.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <sys/uio.h>
#include <utility>

namespace {

using zlink::errc;
using zlink::result;
using zlink::takeable;
using zlink::api::at_boundary;
using zlink::api::called_socket;
using zlink::api::fail;
using zlink::api::fault_of_socket;
using zlink::api::message_from;
using zlink::pipe::message;
using zlink::socket::incoming;
using zlink::socket::outgoing;
using zlink::socket::stream_message;

static_assert(sizeof(stream_message) == sizeof(zlink_stream_message_t) &&
              offsetof(stream_message, flags) == offsetof(zlink_stream_message_t, flags) &&
              offsetof(stream_message, data) == offsetof(zlink_stream_message_t, data) &&
              offsetof(stream_message, bytes) == offsetof(zlink_stream_message_t, size));
static_assert(stream_message::text == ZLINK_SNDTEXT && stream_message::came == ZLINK_PEER_CAME &&
              stream_message::went == ZLINK_PEER_WENT &&
              stream_message::request == ZLINK_HTTP_REQUEST);

int size_for_c(std::size_t bytes) noexcept {
    return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

/// Runs `transfer`, which every message passes through: as at_boundary(), but returns only an int.
/// @return 0, or -1 with errno set.
template<class Transfer>
ZLINK_HOT int at_hot_boundary(Transfer&& transfer) noexcept {
    result<void> outcome;
    try {
        outcome = transfer();
    } catch (const std::bad_alloc&) {
        outcome = errc::no_memory;
    }
    if (outcome) [[likely]] {
        return 0;
    }
    return fail(static_cast<int>(outcome.error())); // None of them sets a text.
}

/// The common case of send_shared(), as pattern::send_at_once().
/// @return Whether it was sent. If not, nothing happened.
ZLINK_HOT bool send_shared_at_once(void* socket, const std::byte* body, std::size_t bytes,
                                   int flags) noexcept {
    if ((flags & (ZLINK_SNDMORE | ZLINK_SNDTEXT)) != 0) {
        return false;
    }
    auto* const target = zlink::socket::socket::lock_shared(socket);
    if (target == nullptr) {
        return false;
    }
    zlink::socket::sharing& shared = *target->shared();
    const bool is_sent =
        shared.may(zlink::socket::awaited::sending) && target->send_at_once(body, bytes, false);
    if (is_sent) {
        shared.note(zlink::socket::awaited::sending, false);
    }
    shared.leave();
    return is_sent;
}

/// For a socket that several threads use, or none.
[[gnu::noinline]] result<void> send_shared(void* socket, outgoing& frame, int flags) {
    const called_socket target{socket};
    return target.get() != nullptr ? target->send_shared(frame, (flags & ZLINK_DONTWAIT) != 0)
                                   : fault_of_socket(socket);
}

[[gnu::noinline]] result<void> recv_shared(void* socket, incoming& into, int flags) {
    const called_socket from{socket};
    return from.get() != nullptr ? from->recv_shared(into, (flags & ZLINK_DONTWAIT) != 0)
                                 : fault_of_socket(socket);
}

[[gnu::noinline]] int send_bytes(void* socket, const void* data, size_t size, int flags) noexcept {
    zlink::socket::socket* const target = zlink::socket::socket::from_handle(socket);
    if (target == nullptr &&
        send_shared_at_once(socket, static_cast<const std::byte*>(data), size, flags)) {
        return size_for_c(size);
    }
    const int failed = at_hot_boundary([&]() -> result<void> {
        outgoing frame{static_cast<const std::byte*>(data), size, (flags & ZLINK_SNDMORE) != 0};
        if ((flags & ZLINK_SNDTEXT) != 0) {
            frame.mark_text();
        }
        return target != nullptr ? target->send(frame, (flags & ZLINK_DONTWAIT) != 0)
                                 : send_shared(socket, frame, flags);
    });
    return failed != 0 ? -1 : size_for_c(size);
}

[[gnu::noinline]] int send_message(void* socket, message& source, int flags) noexcept {
    zlink::socket::socket* const target = zlink::socket::socket::from_handle(socket);
    const std::size_t bytes = source.bytes();
    if (target == nullptr && source.is_plain() &&
        send_shared_at_once(socket, source.data(), bytes, flags)) {
        source.clear();
        return size_for_c(bytes);
    }
    outgoing frame{takeable{source}, (flags & ZLINK_SNDMORE) != 0};
    const int failed = at_hot_boundary([&]() -> result<void> {
        return target != nullptr ? target->send(frame, (flags & ZLINK_DONTWAIT) != 0)
                                 : send_shared(socket, frame, flags);
    });
    if (failed != 0) {
        return -1;
    }
    source.clear();
    return size_for_c(bytes);
}

[[gnu::noinline]] int recv_into(void* socket, incoming& target, int flags) noexcept {
    zlink::socket::socket* const from = zlink::socket::socket::from_handle(socket);
    const int failed = at_hot_boundary([&]() -> result<void> {
        return from != nullptr ? from->recv(target, (flags & ZLINK_DONTWAIT) != 0)
                               : recv_shared(socket, target, flags);
    });
    return failed != 0 ? -1 : size_for_c(target.bytes);
}

ZLINK_HOT int recv_message(void* socket, message& into, int flags) noexcept {
    auto* const from = zlink::socket::socket::from_handle(socket);
    try {
        if (from != nullptr && from->recv_message_at_once(into)) [[likely]] {
            return static_cast<int>(into.bytes());
        }
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM);
    }
    incoming target{.into = &into};
    return recv_into(socket, target, flags);
}

/// Sends to the peer of a STREAM that the 4 bytes at `routing_id` name.
/// @return 0, or -1 with errno set.
ZLINK_HOT int send_to(void* socket, const void* routing_id, outgoing& frame, int flags) noexcept {
    return at_hot_boundary([&]() -> result<void> {
        const called_socket target{socket};
        if (target.get() == nullptr) [[unlikely]] {
            return fault_of_socket(socket);
        }
        if (routing_id == nullptr || (flags & ~(ZLINK_DONTWAIT | ZLINK_SNDTEXT)) != 0)
            [[unlikely]] {
            return errc::invalid_argument;
        }
        if ((flags & ZLINK_SNDTEXT) != 0) {
            frame.mark_text();
        }
        const auto id =
            zlink::load_big_endian<std::uint32_t>(static_cast<const std::byte*>(routing_id));
        zlink::socket::stream_socket* const streams = target->as_stream();
        return streams != nullptr ? streams->send_to(id, frame, (flags & ZLINK_DONTWAIT) != 0)
                                  : errc::not_supported;
    });
}

/// @return The bytes received, or -1 with errno set.
ZLINK_HOT int recv_from(void* socket, void* routing_id, incoming& target, int flags) noexcept {
    const int failed = at_hot_boundary([&]() -> result<void> {
        const called_socket from{socket};
        if (from.get() == nullptr) [[unlikely]] {
            return fault_of_socket(socket);
        }
        if (routing_id == nullptr) [[unlikely]] {
            return errc::invalid_argument;
        }
        zlink::socket::stream_socket* const streams = from->as_stream();
        if (streams == nullptr) [[unlikely]] {
            return errc::not_supported;
        }
        std::uint32_t id = 0;
        const result<void> received = streams->recv_from(id, target, (flags & ZLINK_DONTWAIT) != 0);
        if (received) [[likely]] {
            zlink::store_big_endian(static_cast<std::byte*>(routing_id), id);
        }
        return received;
    });
    return failed != 0 ? -1 : size_for_c(target.bytes);
}

/// @param transfer  Receives the socket, and returns the number of messages sent or received.
/// @return The same, or -1 with errno set.
template<class Transfer>
ZLINK_HOT int transfer_batch(void* socket, const zlink_stream_message_t* messages,
                             std::size_t count, int flags, Transfer&& transfer) noexcept {
    std::size_t done_count = 0;
    const int failed = at_hot_boundary([&]() -> result<void> {
        const called_socket at{socket};
        if (at.get() == nullptr) [[unlikely]] {
            return fault_of_socket(socket);
        }
        if (messages == nullptr || count == 0 || count > INT_MAX || (flags & ~ZLINK_DONTWAIT) != 0)
            [[unlikely]] {
            return errc::invalid_argument;
        }
        zlink::socket::stream_socket* const streams = at->as_stream();
        const result<std::size_t> done =
            streams != nullptr ? transfer(*streams) : errc::not_supported;
        if (!done) {
            return done.error();
        }
        done_count = *done;
        return {};
    });
    return failed != 0 ? -1 : static_cast<int>(done_count);
}

} // namespace

extern "C" int zlink_stream_send(void* socket, const void* routing_id, const void* data,
                                 size_t size, int flags) {
    outgoing frame{static_cast<const std::byte*>(data), size, false};
    return send_to(socket, routing_id, frame, flags) != 0 ? -1 : size_for_c(size);
}

extern "C" int zlink_stream_recv(void* socket, void* routing_id, void* buffer, size_t size,
                                 int flags) {
    incoming target{.buffer = buffer, .capacity = size};
    return recv_from(socket, routing_id, target, flags);
}

extern "C" int zlink_stream_msg_send(zlink_msg_t* msg, void* socket, const void* routing_id,
                                     int flags) {
    message& source = message_from(msg);
    if (!source.is_valid()) [[unlikely]] {
        return fail(EFAULT);
    }
    const std::size_t bytes = source.bytes();
    outgoing frame{takeable{source}, false};
    if (send_to(socket, routing_id, frame, flags) != 0) {
        return -1;
    }
    source.clear();
    return size_for_c(bytes);
}

extern "C" int zlink_stream_msg_recv(zlink_msg_t* msg, void* socket, void* routing_id, int flags) {
    message& into = message_from(msg);
    if (!into.is_valid()) [[unlikely]] {
        return fail(EFAULT);
    }
    incoming target{.into = &into};
    return recv_from(socket, routing_id, target, flags);
}

extern "C" int zlink_stream_send_batch(void* socket, const zlink_stream_message_t* messages,
                                       size_t count, int flags) {
    return transfer_batch(
        socket, messages, count, flags, [&](zlink::socket::stream_socket& target) {
            return target.send_batch({reinterpret_cast<const stream_message*>(messages), count},
                                     (flags & ZLINK_DONTWAIT) != 0);
        });
}

extern "C" int zlink_stream_recv_batch(void* socket, zlink_stream_message_t* messages,
                                       size_t capacity, int flags) {
    bool has_one_thread = true;
    const int count = transfer_batch(
        socket, messages, capacity, flags,
        [&](zlink::socket::stream_socket& from) -> result<std::size_t> {
            has_one_thread = from.whole().shared() == nullptr;
            if (!has_one_thread) {
                return errc::not_supported;
            }
            return from.recv_batch({reinterpret_cast<stream_message*>(messages), capacity},
                                   (flags & ZLINK_DONTWAIT) != 0);
        });
    if (!has_one_thread) {
        zlink::set_error_text("zlink_stream_recv_batch lends its messages to the only thread that "
                              "receives; use zlink_stream_msg_recv on a socket with "
                              "ZLINK_THREAD_SAFE");
    }
    return count;
}

extern "C" int zlink_send(void* socket, const void* data, size_t size, int flags) {
    auto* const target = zlink::socket::socket::from_handle(socket);
    const auto* const content = static_cast<const std::byte*>(data);
    if (target != nullptr && (flags & ZLINK_SNDTEXT) == 0 &&
        target->send_at_once(content, size, (flags & ZLINK_SNDMORE) != 0)) [[likely]] {
        return static_cast<int>(size);
    }
    return send_bytes(socket, data, size, flags);
}
ZLINK_ALSO_ZMQ(send)

extern "C" int zlink_send_const(void* socket, const void* data, size_t size, int flags) {
    if (size < zlink::tuning::external_bytes_min) {
        return zlink_send(socket, data, size, flags);
    }
    return at_boundary([&]() -> result<int> {
        message source;
        source.init_block(zlink::pipe::wrap_block(const_cast<void*>(data), size, nullptr, nullptr),
                          size);
        const int sent = send_message(socket, source, flags);
        const int error = errno;
        source.close();
        return sent < 0 ? result<int>{static_cast<errc>(error)} : result<int>{sent};
    });
}
ZLINK_ALSO_ZMQ(send_const)

extern "C" int zlink_recv(void* socket, void* buffer, size_t size, int flags) {
    if (auto* const from = zlink::socket::socket::from_handle(socket); from != nullptr) [[likely]] {
        const std::size_t bytes = from->recv_at_once(buffer, size);
        if (bytes != zlink::pipe::message_queue::nothing) [[likely]] {
            return static_cast<int>(bytes);
        }
    }
    incoming target{.buffer = buffer, .capacity = size};
    return recv_into(socket, target, flags);
}
ZLINK_ALSO_ZMQ(recv)

extern "C" int zlink_msg_send(zlink_msg_t* msg, void* socket, int flags) {
    message& source = message_from(msg);
    if (!source.is_valid()) [[unlikely]] {
        return fail(EFAULT);
    }
    auto* const target = zlink::socket::socket::from_handle(socket);
    if (target != nullptr && source.is_plain()) [[likely]] {
        const std::size_t bytes = source.bytes();
        if (target->send_at_once(source.data(), bytes, (flags & ZLINK_SNDMORE) != 0)) [[likely]] {
            source.clear();
            return static_cast<int>(bytes);
        }
    }
    return send_message(socket, source, flags);
}
ZLINK_ALSO_ZMQ(msg_send)

extern "C" int zlink_msg_recv(zlink_msg_t* msg, void* socket, int flags) {
    message& into = message_from(msg);
    if (!into.is_valid()) [[unlikely]] {
        return fail(EFAULT);
    }
    return recv_message(socket, into, flags);
}
ZLINK_ALSO_ZMQ(msg_recv)

extern "C" int zlink_sendmsg(void* socket, zlink_msg_t* msg, int flags) {
    return zlink_msg_send(msg, socket, flags);
}
ZLINK_ALSO_ZMQ(sendmsg)

extern "C" int zlink_recvmsg(void* socket, zlink_msg_t* msg, int flags) {
    return zlink_msg_recv(msg, socket, flags);
}
ZLINK_ALSO_ZMQ(recvmsg)

extern "C" int zlink_sendiov(void* socket, iovec* frames, size_t count, int flags) {
    return at_boundary([&]() -> result<int> {
        if (count == 0 || frames == nullptr) {
            return errc::invalid_argument;
        }
        int sent_bytes = 0;
        for (size_t index = 0; index < count; ++index) {
            const bool is_last = index + 1 == count;
            const int frame_flags = is_last ? flags & ~ZLINK_SNDMORE : flags;
            const int sent =
                send_bytes(socket, frames[index].iov_base, frames[index].iov_len, frame_flags);
            if (sent < 0) {
                return static_cast<errc>(errno);
            }
            sent_bytes = sent;
        }
        return sent_bytes;
    });
}
ZLINK_ALSO_ZMQ(sendiov)

extern "C" int zlink_recviov(void* socket, iovec* frames, size_t* count, int flags) {
    return at_boundary([&]() -> result<int> {
        if (count == nullptr || *count == 0 || frames == nullptr) {
            return errc::invalid_argument;
        }
        if (const auto from = zlink::api::socket_from(socket); !from) {
            return from.error();
        }
        const size_t room = *count;
        *count = 0;
        bool more = true;
        for (size_t index = 0; more && index < room; ++index) {
            message received;
            received.init_empty();
            incoming target{.into = &received};
            if (recv_into(socket, target, flags) < 0) {
                return static_cast<errc>(errno);
            }
            void* const copy = std::malloc(std::max<std::size_t>(target.bytes, 1));
            if (copy == nullptr) {
                received.close();
                return errc::no_memory;
            }
            std::memcpy(copy, received.data(), target.bytes);
            received.close();
            frames[index] = {copy, target.bytes};
            ++*count;
            more = target.more;
        }
        return static_cast<int>(*count);
    });
}
ZLINK_ALSO_ZMQ(recviov)
