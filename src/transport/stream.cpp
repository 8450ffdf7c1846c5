// SPDX-License-Identifier: MPL-2.0
#include "transport/stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace zlink::transport {

io_outcome stream::try_write_file(std::span<const std::byte> head, const files::file_region& part,
                                  std::span<std::byte> scratch) noexcept {
    const std::size_t wanted = std::min<std::uint64_t>(part.bytes, scratch.size());
    const ssize_t got = part.file->read_resident(scratch.data(), wanted, part.offset);
    if (got <= 0) {
        return {io_outcome::status::failed, 0, got == 0 ? ENODATA : errno};
    }
    const std::array<iovec, 2> parts{
        iovec{const_cast<std::byte*>(head.data()), head.size()},
        iovec{scratch.data(), static_cast<std::size_t>(got)},
    };
    return try_write(std::span{parts}.subspan(head.empty() ? 1 : 0));
}

} // namespace zlink::transport
