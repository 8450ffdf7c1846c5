// SPDX-License-Identifier: MPL-2.0
#include "codec/datagram_decoder.hpp"

#include "wire/datagram.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>

namespace zlink::codec {

using namespace wire::zmtp;

std::size_t datagram_decoder::prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) {
    scratch_ = scratch.data();
    std::size_t count = 0;
    if (!address_.empty()) {
        parts[count++] = {address_.data(), address_.size()};
    }
    parts[count++] = {scratch_, scratch.size()};
    return count;
}

result<void> datagram_decoder::received(std::size_t bytes, inbound& into) {
    const std::span<const std::byte> datagram{scratch_, bytes - address_.size()};
    if (address_.empty()) {
        const auto parts = wire::decode_group_datagram(datagram);
        return parts ? append(parts->group, parts->body, into) : drop();
    }
    const auto end = std::find(address_.begin(), address_.end(), std::byte{0});
    const auto text_bytes = static_cast<std::size_t>(end - address_.begin()) + 1;
    return append(std::span{address_}.first(text_bytes), datagram, into);
}

result<void> datagram_decoder::drop() noexcept {
    if (counters_) {
        counters_->on_malformed();
    }
    return {};
}

result<void> datagram_decoder::append(std::span<const std::byte> first,
                                      std::span<const std::byte> body, inbound& into) {
    if (body.size() > body_bytes_max_) {
        return drop();
    }
    const std::span<std::byte> room =
        into.make_room(2 * header_bytes_max + first.size() + body.size());
    std::byte* end = room.data();
    end += write_header(end, first.size(), flag_more);
    end = std::copy(first.begin(), first.end(), end);
    end += write_header(end, body.size(), 0);
    end = std::copy(body.begin(), body.end(), end);
    return into.received_in_room(static_cast<std::size_t>(end - room.data()));
}

} // namespace zlink::codec
