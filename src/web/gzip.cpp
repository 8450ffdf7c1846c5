// SPDX-License-Identifier: MPL-2.0
#include "web/gzip.hpp"

#include <zlib.h>

namespace zlink::web {

std::optional<std::string> gzip(std::string_view content) {
    constexpr int window_bits = 15;
    constexpr int gzip_format = 16;
    constexpr int memory_level = 8;
    z_stream z{};
    if (::deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits + gzip_format,
                       memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
        return std::nullopt;
    }
    struct ends {
        z_stream& of;
        ~ends() { ::deflateEnd(&of); }
    } const at_end{z};
    std::string packed(::deflateBound(&z, content.size()), '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    z.avail_in = static_cast<unsigned>(content.size());
    z.next_out = reinterpret_cast<Bytef*>(packed.data());
    z.avail_out = static_cast<unsigned>(packed.size());
    if (::deflate(&z, Z_FINISH) != Z_STREAM_END) {
        return std::nullopt;
    }
    packed.resize(z.total_out);
    return packed;
}

} // namespace zlink::web
