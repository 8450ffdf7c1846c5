// SPDX-License-Identifier: MPL-2.0
// Input: eight bytes, the size of a representation; then the value of a Range field.
#include "fuzz.hpp"

#include "wire/http/range.hpp"

#include <algorithm>
#include <cstring>

using namespace zlink::wire::http;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::uint64_t representation_bytes = 0;
    if (size < sizeof representation_bytes) {
        return 0;
    }
    std::memcpy(&representation_bytes, data, sizeof representation_bytes);
    const std::string_view field{reinterpret_cast<const char*>(data) + sizeof representation_bytes,
                                 size - sizeof representation_bytes};
    constexpr std::string_view media_type = "video/mp4";
    const auto selection = range_selection::decode(field, representation_bytes, media_type);
    const auto parts = selection.parts();
    require(parts.empty() == (selection.what() != range_selection::kind::parts));
    require(parts.size() <= zlink::limits::http_parts_max);
    for (const byte_range& part : parts) {
        require(part.first <= part.last && part.last < representation_bytes);
        require(1 == std::ranges::count_if(parts, [&](const byte_range& other) {
                    return part.first <= other.last + 1 && other.first <= part.last + 1;
                }));
    }
    if (parts.size() > 1) {
        const std::string boundary(boundary_bytes, 'b');
        std::string heads;
        std::uint64_t bytes = 0;
        for (const byte_range& part : parts) {
            append_part_head(heads, part, representation_bytes, media_type, boundary);
            bytes += part.bytes();
        }
        append_multipart_end(heads, boundary);
        const std::uint64_t total = multipart_bytes(parts, representation_bytes, media_type);
        require(total == heads.size() + bytes);
        require(total <= representation_bytes);
    }
    return 0;
}
