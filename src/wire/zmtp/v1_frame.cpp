// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/v1_frame.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::wire::zmtp {

namespace {

constexpr std::byte long_length{0xff};

} // namespace

std::size_t write_v1_header(std::byte* out, std::uint64_t body_bytes, unsigned flags) noexcept {
    const std::size_t header = v1_header_bytes(body_bytes);
    if (header == v1_header_bytes_min) {
        out[0] = static_cast<std::byte>(body_bytes + 1);
    } else {
        out[0] = long_length;
        store_big_endian(out + 1, body_bytes + 1);
    }
    out[header - 1] = static_cast<std::byte>(flags);
    return header;
}

head_status read_v1_head(std::span<const std::byte> in, frame_head& out) noexcept {
    if (in.empty()) {
        return head_status::incomplete;
    }
    if (in[0] == std::byte{0}) {
        return head_status::violation;
    }
    if (in.size() < (in[0] == long_length ? v1_header_bytes_max : v1_header_bytes_min)) {
        return head_status::incomplete;
    }
    const frame_head head = read_v1_head_trusted(in.data());
    if (head.body_bytes > body_bytes_limit) {
        return head_status::violation; // A length of zero, too.
    }
    out = head;
    return head_status::complete;
}

frame_head read_v1_head_trusted(const std::byte* in) noexcept {
    const bool is_long = in[0] == long_length;
    const std::size_t header = is_long ? v1_header_bytes_max : v1_header_bytes_min;
    const std::uint64_t length =
        is_long ? load_big_endian<std::uint64_t>(in + 1) : std::to_integer<std::uint64_t>(in[0]);
    return {length - 1, static_cast<std::uint8_t>(header),
            static_cast<std::uint8_t>(std::to_integer<unsigned>(in[header - 1]) & flag_more)};
}

v1_decoder::outcome v1_decoder::decode(std::span<std::byte> data) noexcept {
    std::byte* const begin = data.data();
    std::byte* end = begin;
    while (true) {
        const std::size_t body = std::min<std::uint64_t>(body_rest_bytes_, data.size());
        if (end != data.data()) {
            std::memmove(end, data.data(), body);
        }
        end += body;
        data = data.subspan(body);
        body_rest_bytes_ -= body;

        frame_head head;
        const head_status status =
            body_rest_bytes_ != 0 ? head_status::incomplete : read_v1_head(data, head);
        if (status != head_status::complete) {
            return {{begin, end}, data, status == head_status::violation};
        }
        end += write_header(end, head.body_bytes, head.flags);
        data = data.subspan(head.header_bytes);
        body_rest_bytes_ = head.body_bytes;
    }
}

} // namespace zlink::wire::zmtp
