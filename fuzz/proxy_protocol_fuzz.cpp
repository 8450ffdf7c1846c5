// SPDX-License-Identifier: MPL-2.0
// A proxy's header gives the same result however it is split. Only a line that will be too long may
// be refused earlier in smaller pieces.
//
// Input: a byte with the size of the pieces in the second pass, then the bytes that a proxy sends.
#include "fuzz.hpp"

#include "wire/proxy_protocol.hpp"

#include <algorithm>

using namespace zlink::wire;
using zlink::fuzz::require;

namespace {

constexpr std::size_t bytes_max = 1000;

/// @return Whether the header is whole.
bool is_accepted(std::span<const std::byte> rest, std::size_t piece_bytes, proxy_header& header) {
    std::size_t taken_bytes = 0;
    while (header.wanted_bytes() != 0) {
        require(taken_bytes + header.wanted_bytes() <= bytes_max);
        const std::size_t bytes = std::min({header.wanted_bytes(), piece_bytes, rest.size()});
        if (bytes == 0 || !header.on_received(rest.first(bytes))) {
            return false;
        }
        taken_bytes += bytes;
        rest = rest.subspan(bytes);
    }
    constexpr std::size_t shortest_bytes = 15; // "PROXY UNKNOWN\r\n"
    require(taken_bytes >= shortest_bytes);
    return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const auto sent = std::as_bytes(std::span{data + 1, size - 1});
    proxy_header at_once{bytes_max};
    proxy_header in_pieces{bytes_max};
    const bool is_whole = is_accepted(sent, SIZE_MAX, at_once);
    require(is_whole == is_accepted(sent, std::max<std::size_t>(data[0], 1), in_pieces));
    if (!is_whole) {
        return 0;
    }
    const proxied_peer& peer = at_once.peer();
    require((peer.what == proxied_peer::kind::unix_socket) || peer.path.empty());
    require(peer.path.size() <= 108);
    for (const unsigned char byte : peer.path.substr(peer.path.starts_with('\0') ? 1 : 0)) {
        require(byte >= 0x20 && byte != 0x7f);
    }
    require(!peer.path.starts_with('@'));
    require(peer.what != proxied_peer::kind::unknown || peer.port == 0);
    const proxied_peer& other = in_pieces.peer();
    require(peer.what == other.what && peer.host == other.host && peer.port == other.port &&
            peer.path == other.path);
    return 0;
}
