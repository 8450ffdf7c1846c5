// SPDX-License-Identifier: MPL-2.0
// Input: a byte that selects the limit, then frames as a STREAM peer sends them over tcp.
#include "fuzz.hpp"

#include "wire/length/frame.hpp"

#include <array>

using namespace zlink::wire::length;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::array<std::uint64_t, 5> limits{0, 16, 255, 65536, body_bytes_limit};
    const std::uint64_t body_bytes_max = limits[data[0] % limits.size()];
    auto content = std::as_bytes(std::span{data + 1, size - 1});
    while (true) {
        frame_head head;
        const head_status status = read_head(content.data(), content.size(), body_bytes_max, head);
        require((status == head_status::incomplete) == (content.size() < header_bytes));
        if (status != head_status::complete) {
            return 0;
        }
        require(head.body_bytes <= body_bytes_max);

        std::array<std::byte, header_bytes> written;
        write_header(written.data(), head.body_bytes);
        require(read_head_trusted(written.data()).body_bytes == head.body_bytes);
        if (head.frame_bytes() > content.size()) {
            return 0;
        }
        content = content.subspan(static_cast<std::size_t>(head.frame_bytes()));
    }
}
