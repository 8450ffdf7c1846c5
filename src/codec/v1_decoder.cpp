// SPDX-License-Identifier: MPL-2.0
#include "codec/v1_decoder.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace zlink::codec {

std::size_t v1_decoder::prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) {
    scratch_ = scratch.data();
    std::copy_n(held_.begin(), held_bytes_, scratch_);
    parts[0] = {scratch_ + held_bytes_, scratch.size() - held_bytes_};
    return 1;
}

result<void> v1_decoder::received(std::size_t bytes, inbound& into) {
    return consume({scratch_, std::exchange(held_bytes_, 0) + bytes}, into);
}

result<void> v1_decoder::feed(std::span<const std::byte> data, inbound& into) {
    std::vector<std::byte> all{held_.begin(), held_.begin() + held_bytes_};
    held_bytes_ = 0;
    all.insert(all.end(), data.begin(), data.end());
    return consume(all, into);
}

/// @param data  Overwritten.
result<void> v1_decoder::consume(std::span<std::byte> data, inbound& into) {
    const auto decoded = decoder_.decode(data);
    if (const result<void> fed = into.feed(decoded.frames); !fed) {
        return fed.error();
    }
    if (decoded.is_violation) {
        return errc::protocol_violation;
    }
    held_bytes_ = decoded.rest.size();
    std::copy(decoded.rest.begin(), decoded.rest.end(), held_.begin());
    return {};
}

} // namespace zlink::codec
