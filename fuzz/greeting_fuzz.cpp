// SPDX-License-Identifier: MPL-2.0
// Input: a byte that selects the mechanism and the size of pieces, then the bytes that a peer
// sends. The outcome must not depend on how the input is split.
#include "fuzz.hpp"

#include "wire/zmtp/greeting.hpp"

#include <algorithm>
#include <array>
#include <string_view>

using namespace zlink::wire::zmtp;
using zlink::fuzz::require;

namespace {

bool same(std::span<const std::byte> one, std::span<const std::byte> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

void receive(greeting_exchange& exchange, std::span<const std::byte> content,
             std::size_t piece_bytes_max) {
    while (!content.empty()) {
        const std::size_t piece_bytes = std::min(piece_bytes_max, content.size());
        auto piece = content.first(piece_bytes);
        exchange.on_received(piece);
        content = content.subspan(piece_bytes - piece.size());
        if (!piece.empty()) {
            return;
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    constexpr std::array<std::string_view, 4> mechanisms{"NULL", "PLAIN", "CURVE",
                                                         "ABCDEFGHIJKLMNOPQRST"};
    const std::string_view mechanism = mechanisms[data[0] % mechanisms.size()];
    const auto content = std::as_bytes(std::span{data + 1, size - 1});

    greeting_exchange at_once{mechanism, 5, zlink::socket_type::pull};
    receive(at_once, content, content.size() + 1);
    greeting_exchange in_pieces{mechanism, 5, zlink::socket_type::pull};
    receive(in_pieces, content, 1 + data[0] / mechanisms.size());

    require(at_once.state() == in_pieces.state());
    require(same(at_once.received(), in_pieces.received()));
    require(same(at_once.outgoing(), in_pieces.outgoing()));
    require(at_once.peer().version == in_pieces.peer().version);
    require(at_once.peer().mechanism == in_pieces.peer().mechanism);
    require(at_once.peer().type == in_pieces.peer().type);

    require(at_once.received().size() <= greeting_bytes);
    require(same(at_once.received(), content.first(at_once.received().size())));
    const std::size_t staged = at_once.outgoing().size();
    const bool is_older = at_once.peer().version != peer_version::v3;
    require(staged == signature_bytes ||
            (is_older ? staged == signature_bytes + 2
                      : staged == signature_bytes + 1 || staged == greeting_bytes));
    if (at_once.state() == greeting_state::complete) {
        require(at_once.received().size() == greeting_bytes);
        require(at_once.peer().mechanism == mechanism);
        require(at_once.peer().major >= 3);
    }
    return 0;
}
