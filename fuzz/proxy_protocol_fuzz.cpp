// SPDX-License-Identifier: MPL-2.0
// Input: an octet that says how many octets come at a time at most, then what a proxy sends.
#include "fuzz.hpp"

#include "wire/proxy_protocol.hpp"

#include <algorithm>

using namespace zlink::wire;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t bytes_max = 1000;
    if (size == 0) {
        return 0;
    }
    auto rest = std::as_bytes(std::span{data + 1, size - 1});
    const std::size_t piece_bytes = data[0] == 0 ? SIZE_MAX : data[0];
    proxy_header header{bytes_max};
    std::size_t taken_bytes = 0;
    while (header.wanted_bytes() != 0) {
        require(taken_bytes + header.wanted_bytes() <= bytes_max);
        const std::size_t bytes = std::min({header.wanted_bytes(), piece_bytes, rest.size()});
        if (bytes == 0 || !header.on_received(rest.first(bytes))) {
            return 0;
        }
        taken_bytes += bytes;
        rest = rest.subspan(bytes);
    }
    constexpr std::size_t shortest_bytes = 15; // "PROXY UNKNOWN\r\n"
    require(taken_bytes >= shortest_bytes);
    const proxied_peer& peer = header.peer();
    require((peer.what == proxied_peer::kind::unix_socket) || peer.path.empty());
    require(peer.path.size() <= 108);
    require(peer.what != proxied_peer::kind::unknown || peer.port == 0);
    return 0;
}
