// SPDX-License-Identifier: MPL-2.0
//
// What only a STREAM does.
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/utf8.hpp"

#include <string_view>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_boundary;
using zlink::api::socket_from;
namespace websocket = zlink::wire::websocket;

constexpr std::size_t id_bytes = 4;

} // namespace

extern "C" int zlink_stream_close(void* socket, const void* routing_id, int code,
                                  const char* reason) {
    return at_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        const std::string_view text = reason != nullptr ? reason : "";
        const auto why = static_cast<websocket::close_code>(code);
        if (routing_id == nullptr || code < 0 || code > 4999 || !websocket::may_be_sent(why) ||
            text.size() > websocket::close_reason_bytes_max || !websocket::is_utf8(text)) {
            return errc::invalid_argument;
        }
        return (*target)->close_peer({static_cast<const std::byte*>(routing_id), id_bytes},
                                     static_cast<std::uint16_t>(code), text);
    });
}
