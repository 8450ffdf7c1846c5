// SPDX-License-Identifier: MPL-2.0
// Input: decoded as Z85 text, and encoded as bytes.
#include "fuzz.hpp"

#include "api/z85.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace zlink::api;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    std::vector<std::uint8_t> content(size / 5 * 4);
    if (decode_z85(text, content.data())) {
        require(size % 5 == 0 && size > 0);
        std::string again(size, '\0');
        require(static_cast<bool>(encode_z85(content, again.data())));
        require(again == text);
    }

    std::string written(size / 4 * 5, '\0');
    const bool is_written = static_cast<bool>(encode_z85({data, size}, written.data()));
    require(is_written == (size % 4 == 0));
    if (is_written && size > 0) {
        std::vector<std::uint8_t> back(size);
        require(static_cast<bool>(decode_z85(written, back.data())));
        require(std::equal(back.begin(), back.end(), data));
    }
    return 0;
}
