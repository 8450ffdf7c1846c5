// SPDX-License-Identifier: MPL-2.0
//
// Sending and receiving.
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/symbols.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <sys/uio.h>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_boundary;
using zlink::api::message_from;
using zlink::api::socket_from;
using zlink::pipe::message;
using zlink::socket::incoming;
using zlink::socket::outgoing;

int size_for_c(std::size_t bytes) noexcept {
    return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
}

result<int> send_octets(void* socket, const void* data, size_t size, int flags) {
    const auto target = socket_from(socket);
    if (!target) [[unlikely]] {
        return target.error();
    }
    outgoing frame{static_cast<const std::byte*>(data), size, (flags & ZLINK_SNDMORE) != 0};
    if (const result<void> sent = (*target)->send(frame, (flags & ZLINK_DONTWAIT) != 0); !sent)
        [[unlikely]] {
        return sent.error();
    }
    return size_for_c(size);
}

result<int> send_message(void* socket, message& source, int flags) {
    const auto target = socket_from(socket);
    if (!target) [[unlikely]] {
        return target.error();
    }
    const std::size_t bytes = source.bytes();
    {
        outgoing frame{source, (flags & ZLINK_SNDMORE) != 0};
        if (const result<void> sent = (*target)->send(frame, (flags & ZLINK_DONTWAIT) != 0); !sent)
            [[unlikely]] {
            return sent.error();
        }
    }
    source.close();
    source.init_empty();
    return size_for_c(bytes);
}

result<int> recv_into(void* socket, incoming& target, int flags) {
    const auto from = socket_from(socket);
    if (!from) [[unlikely]] {
        return from.error();
    }
    if (const result<void> got = (*from)->recv(target, (flags & ZLINK_DONTWAIT) != 0); !got)
        [[unlikely]] {
        return got.error();
    }
    return size_for_c(target.bytes);
}

} // namespace

extern "C" int zlink_send(void* socket, const void* data, size_t size, int flags) {
    return at_boundary([&] { return send_octets(socket, data, size, flags); });
}
ZLINK_ALSO_ZMQ(send)

extern "C" int zlink_send_const(void* socket, const void* data, size_t size, int flags) {
    return at_boundary([&]() -> result<int> {
        if (size < zlink::limits::external_bytes_min) {
            return send_octets(socket, data, size, flags);
        }
        message source;
        source.init_block(zlink::pipe::wrap_block(const_cast<void*>(data), size, nullptr, nullptr),
                          size);
        const result<int> sent = send_message(socket, source, flags);
        source.close();
        return sent;
    });
}
ZLINK_ALSO_ZMQ(send_const)

extern "C" int zlink_recv(void* socket, void* buffer, size_t size, int flags) {
    return at_boundary([&] {
        incoming target{.buffer = buffer, .capacity = size};
        return recv_into(socket, target, flags);
    });
}
ZLINK_ALSO_ZMQ(recv)

extern "C" int zlink_msg_send(zlink_msg_t* msg, void* socket, int flags) {
    return at_boundary([&]() -> result<int> {
        message& source = message_from(msg);
        if (!source.is_valid()) [[unlikely]] {
            return errc::bad_address;
        }
        return send_message(socket, source, flags);
    });
}
ZLINK_ALSO_ZMQ(msg_send)

extern "C" int zlink_msg_recv(zlink_msg_t* msg, void* socket, int flags) {
    return at_boundary([&]() -> result<int> {
        message& into = message_from(msg);
        if (!into.is_valid()) [[unlikely]] {
            return errc::bad_address;
        }
        incoming target{.into = &into};
        return recv_into(socket, target, flags);
    });
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
            const int frame_flags = is_last ? flags & ~ZLINK_SNDMORE : flags | ZLINK_SNDMORE;
            const result<int> sent =
                send_octets(socket, frames[index].iov_base, frames[index].iov_len, frame_flags);
            if (!sent) {
                return sent.error();
            }
            sent_bytes = *sent;
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
        const size_t room = *count;
        *count = 0;
        bool more = true;
        for (size_t index = 0; more && index < room; ++index) {
            message received;
            received.init_empty();
            incoming target{.into = &received};
            const result<int> got = recv_into(socket, target, flags);
            if (!got) {
                return got.error();
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
