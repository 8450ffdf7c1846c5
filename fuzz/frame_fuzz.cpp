// SPDX-License-Identifier: MPL-2.0
// Input: a byte that picks the limit, then frames as a peer sends them.
#include "fuzz.hpp"

#include "wire/zmtp/frame.hpp"

#include <array>

using namespace zlink::wire::zmtp;
using zlink::fuzz::require;

namespace {

/// The status of a partial header is final unless it is "incomplete".
void check_each_prefix(std::span<const std::byte> content, std::uint64_t body_bytes_max) {
    frame_head whole;
    const head_status outcome = read_head(content.data(), content.size(), body_bytes_max, whole);
    for (std::size_t available = 0; available <= content.size() && available <= 10; ++available) {
        frame_head head;
        const head_status status = read_head(content.data(), available, body_bytes_max, head);
        require(status == head_status::incomplete || status == outcome);
        require((status == head_status::complete) == (head.header_bytes != 0));
    }
}

void check_complete(std::span<const std::byte> content, const frame_head& head,
                    std::uint64_t body_bytes_max) {
    require(head.header_bytes <= content.size());
    require(head.body_bytes <= body_bytes_max);
    require((head.flags & flags_reserved) == 0);
    require(!(head.more() && head.command()));

    const frame_head trusted = read_head_trusted(content.data());
    require(trusted.body_bytes == head.body_bytes && trusted.flags == head.flags &&
            trusted.header_bytes == head.header_bytes);

    std::array<std::byte, header_bytes_max> written;
    const std::size_t written_bytes =
        write_header(written.data(), head.body_bytes, head.flags & ~flag_long);
    require(written_bytes == header_bytes(head.body_bytes));
    const frame_head again = read_head_trusted(written.data());
    require(again.body_bytes == head.body_bytes && again.more() == head.more() &&
            again.command() == head.command() && again.header_bytes == written_bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::array<std::uint64_t, 6> limits{0, 16, 255, 256, 65536, ~std::uint64_t{0}};
    const std::uint64_t body_bytes_max = limits[data[0] % limits.size()];
    auto content = std::as_bytes(std::span{data + 1, size - 1});
    while (true) {
        check_each_prefix(content, body_bytes_max);
        frame_head head;
        if (read_head(content.data(), content.size(), body_bytes_max, head) !=
            head_status::complete) {
            return 0;
        }
        check_complete(content, head, body_bytes_max);
        if (head.frame_bytes() > content.size()) {
            return 0;
        }
        content = content.subspan(static_cast<std::size_t>(head.frame_bytes()));
    }
}
