// SPDX-License-Identifier: MPL-2.0
#include "codec/datagram_encoder.hpp"

#include <utility>

namespace zlink::codec {

using wire::zmtp::frame_head;

std::size_t datagram_encoder::gather(outbound& from, std::span<iovec> parts) {
    std::size_t count = 0;
    bool is_whole = false;
    const auto add = [&](const void* data, std::size_t bytes) {
        parts[count++] = {const_cast<void*>(data), bytes};
    };
    source_bytes_ = from.visit_frames([&](const frame_head& head, std::span<const std::byte> body) {
        if (is_whole) {
            return false;
        }
        if (head.command()) {
            return true;
        }
        if (count == 0 && !is_addressed_) {
            group_bytes_ = static_cast<std::uint8_t>(body.size());
            add(&group_bytes_, sizeof group_bytes_);
        }
        add(body.data(), body.size());
        is_whole = !head.more();
        return true;
    });
    if (count == 0 && source_bytes_ != 0) {
        add(nullptr, 0);
    }
    return count;
}

bool datagram_encoder::advance(outbound& from, std::size_t) {
    const std::uint64_t done = std::exchange(source_bytes_, 0);
    return done != 0 && from.advance(done);
}

} // namespace zlink::codec
