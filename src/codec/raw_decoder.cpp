// SPDX-License-Identifier: MPL-2.0
#include "codec/raw_decoder.hpp"

#include "base/limits.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>

namespace zlink::codec {

using namespace wire::zmtp;

std::size_t raw_decoder::prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) {
    scratch_ = scratch.data();
    parts[0] = {scratch_, scratch.size()};
    return 1;
}

result<void> raw_decoder::received(std::size_t bytes, inbound& into) {
    return feed({scratch_, bytes}, into);
}

result<void> raw_decoder::feed(std::span<const std::byte> data, inbound& into) {
    const std::size_t frame_count = data.size() / limits::raw_message_bytes_max + 1;
    std::byte* const room = into.make_room(data.size() + frame_count * header_bytes_max).data();
    std::byte* end = room;
    while (!data.empty()) {
        const auto body = data.first(std::min(data.size(), limits::raw_message_bytes_max));
        end += write_header(end, body.size(), 0);
        end = std::copy(body.begin(), body.end(), end);
        data = data.subspan(body.size());
    }
    return into.received_in_room(static_cast<std::size_t>(end - room));
}

} // namespace zlink::codec
