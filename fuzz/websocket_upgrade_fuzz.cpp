// SPDX-License-Identifier: MPL-2.0
// Input: two bytes that select the parameters wanted, then the value of a header field of an
// upgrade request, which is decoded as each field that the library reads.
#include "fuzz.hpp"

#include "wire/websocket/deflate_negotiation.hpp"
#include "wire/websocket/upgrade.hpp"

#include <algorithm>
#include <array>

using namespace zlink::wire::websocket;
using zlink::fuzz::require;

namespace {

deflate_parameters wanted_by(std::uint8_t one, std::uint8_t other) {
    const auto bits = [](std::uint8_t pick) { return static_cast<std::uint8_t>(9 + pick % 7); };
    return {.server = {bits(one), (one & 0x80) != 0}, .client = {bits(other), (other & 0x80) != 0}};
}

/// A server accepts no more than it wants, and its answer says so.
void check_offer(std::string_view offered, const deflate_parameters& wanted) {
    const auto answer = accept_deflate(offered, wanted);
    if (!answer) {
        return;
    }
    const deflate_parameters& agreed = answer->agreed;
    require(agreed.server.window_bits >= 9 &&
            agreed.server.window_bits <= wanted.server.window_bits);
    require(agreed.client.window_bits >= 8 && agreed.client.window_bits <= 15);
    require(!agreed.server.keeps_context || wanted.server.keeps_context);
    require(!agreed.client.keeps_context || wanted.client.keeps_context);

    const auto read = decode_deflate_answer(answer->field, {});
    require(read ? **read == agreed : agreed.client.window_bits == 8);
}

/// A client accepts no answer with more than it wants.
void check_answer(std::string_view answer, const deflate_parameters& wanted) {
    const auto read = decode_deflate_answer(answer, wanted);
    if (!read || !*read) {
        return;
    }
    const deflate_parameters& agreed = **read;
    require(agreed.server.window_bits >= 8 &&
            agreed.server.window_bits <= wanted.server.window_bits);
    require(agreed.client.window_bits >= 9 &&
            agreed.client.window_bits <= wanted.client.window_bits);
    require(!agreed.server.keeps_context || wanted.server.keeps_context);
    require(!agreed.client.keeps_context || wanted.client.keeps_context);
}

void check_subprotocols(std::string_view offered) {
    const std::array<std::string, 3> ours{"chat.v2", "ZWS2.0", "ZWS2.0/NULL"};
    const std::string_view preferred = preferred_subprotocol(offered, ours);
    const std::string_view first = first_subprotocol(offered, ours);
    require(preferred.empty() == first.empty());
    require(preferred.empty() || offered.find(preferred) <= offered.size());
    require(first.empty() || std::ranges::find(ours, first) != ours.end());
}

void check_origin(std::string_view origin) {
    const std::array<std::string, 2> wildcards{"*.example.org", "https://*.example.org:8443"};
    const bool is_below = is_origin_allowed(origin, std::span{wildcards}.first(1));
    const bool is_that_port = is_origin_allowed(origin, std::span{wildcards}.subspan(1));
    require(!is_that_port || is_below);
    // No character that ends the host in a URL may come before the domain.
    const std::size_t host_at = origin.find("://");
    const std::size_t host_end = origin.find_first_of("/?#\\@", host_at + 3);
    require(!is_below || (host_at < origin.size() && host_end >= origin.rfind('.')));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const deflate_parameters wanted = wanted_by(data[0], data[1]);
    const std::string_view field{reinterpret_cast<const char*>(data + 2), size - 2};
    check_offer(field, wanted);
    check_answer(field, wanted);
    check_subprotocols(field);
    check_origin(field);
    require(is_path(field, path_of(field)));
    require(path_of(field).find('?') == std::string_view::npos);
    return 0;
}
