// SPDX-License-Identifier: MPL-2.0
#include "codec/length_scanner.hpp"

#include "codec/inbound.hpp"
#include "wire/length/frame.hpp"

namespace zlink::codec {

using namespace wire::length;

result<void> length_scanner::scan(inbound& from) {
    const std::span<std::byte> data = from.unscanned();
    std::size_t boundary = 0; // Behind the last message found.
    std::uint64_t count = 0;
    head_status status = head_status::incomplete;
    frame_head head;
    if (from.has_credit()) {
        while (true) {
            const std::size_t available = data.size() - boundary;
            status = read_head(data.data() + boundary, available, body_bytes_max_, head);
            if (status != head_status::complete || head.frame_bytes() > available) {
                break;
            }
            // The following messages of the same size: the next position is known before the
            // current header is loaded from memory.
            do {
                boundary += head.frame_bytes();
                ++count;
            } while (data.size() - boundary >= head.frame_bytes() &&
                     read_head_trusted(data.data() + boundary) == head);
        }
    }
    from.publish(boundary, count);
    if (status == head_status::too_large) {
        return errc::message_too_large;
    }
    if (status == head_status::complete && head.body_bytes >= tuning::external_bytes_min) {
        return from.begin_body(header_bytes, head.body_bytes);
    }
    return {};
}

result<void> length_scanner::on_body(std::span<std::byte>) noexcept {
    return {};
}

std::size_t length_scanner::write_header(std::byte* out, std::uint64_t body_bytes) noexcept {
    wire::length::write_header(out, body_bytes);
    return header_bytes;
}

} // namespace zlink::codec
