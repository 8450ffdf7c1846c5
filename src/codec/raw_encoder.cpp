// SPDX-License-Identifier: MPL-2.0
#include "codec/raw_encoder.hpp"

#include <utility>

namespace zlink::codec {

using body_view = std::span<const std::byte>;
using wire::zmtp::frame_head;

std::size_t raw_encoder::gather(outbound& from, std::span<iovec> parts) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::uint64_t begun_bytes = begun_bytes_;
    from.visit_frames([&](const frame_head&, body_view body) {
        if (count == parts.size() || bytes >= tuning::gather_bytes_max) {
            return false;
        }
        const body_view rest = body.subspan(std::exchange(begun_bytes, 0));
        parts[count++] = {const_cast<std::byte*>(rest.data()), rest.size()};
        bytes += rest.size();
        return true;
    });
    return count;
}

bool raw_encoder::advance(outbound& from, std::size_t bytes) {
    begun_bytes_ += bytes;
    const std::uint64_t done = from.visit_frames([this](const frame_head&, body_view body) {
        if (body.size() > begun_bytes_) {
            return false;
        }
        begun_bytes_ -= body.size();
        return true;
    });
    return done != 0 && from.advance(done);
}

} // namespace zlink::codec
