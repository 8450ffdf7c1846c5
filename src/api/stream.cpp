// SPDX-License-Identifier: MPL-2.0
//
// Functions for STREAM only.
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "socket/stream_socket.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/utf8.hpp"

#include <climits>
#include <string_view>
#include <utility>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::api::stream_from;
namespace websocket = zlink::wire::websocket;

constexpr std::size_t id_bytes = 4;

/// Closes the connection to a peer, by the socket's member function `how`.
template<class How>
int end_connection(void* socket, const void* routing_id, int code, const char* reason, How how) {
    return at_system_boundary([&]() -> result<void> {
        const auto streams = stream_from(socket);
        if (!streams) {
            return streams.error();
        }
        const std::string_view text = reason != nullptr ? reason : "";
        const auto why = static_cast<websocket::close_code>(code);
        if (routing_id == nullptr || code < 0 || code > 4999 || !websocket::may_be_sent(why) ||
            text.size() > websocket::close_reason_bytes_max || !websocket::is_utf8(text)) {
            return errc::invalid_argument;
        }
        return ((**streams).*how)({static_cast<const std::byte*>(routing_id), id_bytes},
                                  static_cast<std::uint16_t>(code), text);
    });
}

/// @param outcomes  As in stream::send_many().
int send_to_many(void* socket, const void* routing_ids, size_t count, zlink_msg_t* msg, int flags,
                 int* outcomes) {
    return at_system_boundary([&]() -> result<int> {
        zlink::pipe::message& source = zlink::api::message_from(msg);
        if (!source.is_valid()) {
            return errc::bad_address;
        }
        const auto streams = stream_from(socket);
        if (!streams) {
            return streams.error();
        }
        if ((routing_ids == nullptr && count != 0) || count > INT_MAX ||
            (flags & ~(ZLINK_DONTWAIT | ZLINK_SNDTEXT)) != 0) {
            return errc::invalid_argument;
        }
        zlink::socket::outgoing frame{std::as_const(source), false};
        if ((flags & ZLINK_SNDTEXT) != 0) {
            frame.mark_text();
        }
        const auto sent = (*streams)->send_many(
            {static_cast<const std::byte*>(routing_ids), count * id_bytes}, frame, outcomes);
        if (!sent) {
            return sent.error();
        }
        source.clear();
        return static_cast<int>(*sent);
    });
}

} // namespace

extern "C" int zlink_stream_close(void* socket, const void* routing_id, int code,
                                  const char* reason) {
    return end_connection(socket, routing_id, code, reason,
                          &zlink::socket::stream_socket::close_peer);
}

extern "C" int zlink_stream_abort(void* socket, const void* routing_id, int code,
                                  const char* reason) {
    return end_connection(socket, routing_id, code, reason,
                          &zlink::socket::stream_socket::cut_off_peer);
}

extern "C" int zlink_stream_send_many(void* socket, const void* routing_ids, size_t count,
                                      zlink_msg_t* msg, int flags) {
    return send_to_many(socket, routing_ids, count, msg, flags, nullptr);
}

extern "C" int zlink_stream_send_each(void* socket, const void* routing_ids, size_t count,
                                      zlink_msg_t* msg, int flags, int* outcomes) {
    return send_to_many(socket, routing_ids, count, msg, flags, outcomes);
}
