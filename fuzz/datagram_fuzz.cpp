// SPDX-License-Identifier: MPL-2.0
// Input: a datagram for a DISH.
#include "fuzz.hpp"

#include "wire/datagram.hpp"

using zlink::fuzz::require;
using zlink::fuzz::touch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto datagram = std::as_bytes(std::span{data, size});
    const auto parts = zlink::wire::decode_group_datagram(datagram);
    require(parts.has_value() == (size != 0 && size > data[0]));
    if (parts) {
        require(1 + parts->group.size() + parts->body.size() == size);
        require(parts->group.size() == data[0]);
        touch(parts->group);
        touch(parts->body);
    }
    return 0;
}
