// SPDX-License-Identifier: MPL-2.0
// Input: the data of a command, decoded as each of CURVE's commands.
#include "fuzz.hpp"

#include "wire/zmtp/curve.hpp"

#include <algorithm>
#include <string_view>

using namespace zlink::wire::zmtp;
using zlink::fuzz::require;

namespace {

/// Accepted content must equal its own encoding, from `from` on.
void check(byte_view data, std::span<const std::byte> body, std::string_view name,
           std::size_t from = 0) {
    const byte_view again = body.subspan(1 + name.size());
    require(again.size() == data.size());
    require(std::equal(again.begin() + from, again.end(), data.begin() + from));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto content = std::as_bytes(std::span{data, size});
    if (const auto hello = decode_curve_hello(content)) {
        check(content, encode_curve_hello(*hello), hello_name, 74); // After the padding.
    }
    if (const auto welcome = decode_curve_welcome(content)) {
        check(content, encode_curve_welcome(*welcome), welcome_name);
    }
    if (const auto initiate = decode_curve_initiate(content)) {
        require(initiate->box.size() >=
                curve_initiate_content_bytes_min + curve_box_overhead_bytes);
        check(content, encode_curve_initiate(*initiate), initiate_name);
    }
    if (const auto ready = decode_curve_ready(content)) {
        require(ready->box.size() >= curve_box_overhead_bytes);
        check(content, encode_curve_ready(*ready), ready_name);
    }
    return 0;
}
