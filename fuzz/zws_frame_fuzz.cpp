// SPDX-License-Identifier: MPL-2.0
// The bytes of a ZWS peer must decode the same however they are split.
//
// Input: a byte, of which 1 says that the peer is a client and 2 that bodies are limited to 300
// bytes; a byte for the size of the pieces; then the bytes that the peer sends.
#include "fuzz.hpp"

#include "wire/zws_decoder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace zlink::wire;
using piece = zws::decoder::piece;
using zlink::fuzz::require;

namespace {

struct outcome {
    std::vector<std::string> found; ///< Flags or kind, then the bytes.
    int refusal = 0;

    bool operator==(const outcome&) const = default;
};

outcome decode(std::string content, websocket::sender from, std::uint64_t body_bytes_max,
               std::size_t piece_bytes) {
    zws::decoder by{from, body_bytes_max};
    outcome made;
    std::uint64_t rest = 0;
    std::string fragments;
    auto all = std::as_writable_bytes(std::span{content});
    while (!all.empty()) {
        auto input = all.first(std::min(all.size(), piece_bytes));
        all = all.subspan(input.size());
        for (piece next = by.next(input); next != piece::nothing; next = by.next(input)) {
            if (next == piece::refused) {
                made.refusal = static_cast<int>(by.refusal());
                require(by.next(input) == piece::refused);
                return made;
            }
            if (next == piece::header) {
                require(rest == 0);
                require(by.body_bytes() <= body_bytes_max);
                rest = by.body_bytes();
                made.found.push_back(std::to_string(by.flags()) + ":");
                continue;
            }
            if (next == piece::fragment) {
                zlink::fuzz::touch(by.body());
                fragments.append(reinterpret_cast<const char*>(by.body().data()), by.body().size());
                require(fragments.size() <= body_bytes_max);
                continue;
            }
            if (next == piece::end) {
                made.found.push_back(std::to_string(by.flags()) + ":" + fragments);
                fragments.clear();
                continue;
            }
            const bool is_body = next == piece::body;
            const auto seen = is_body ? by.body() : by.control_payload();
            zlink::fuzz::touch(seen);
            if (is_body) {
                require(!seen.empty() && seen.size() <= rest);
                rest -= seen.size();
            } else {
                require(rest == 0);
                made.found.push_back(std::to_string(static_cast<int>(by.control_kind())) + "!");
            }
            made.found.back().append(reinterpret_cast<const char*>(seen.data()), seen.size());
            require(by.is_inside() == (rest != 0));
        }
        require(input.empty());
    }
    return made;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const auto from = (data[0] & 1) != 0 ? websocket::sender::client : websocket::sender::server;
    const std::uint64_t body_bytes_max = (data[0] & 2) != 0 ? 300 : zws::body_bytes_limit;
    const std::string sent{reinterpret_cast<const char*>(data) + 2, size - 2};
    require(decode(sent, from, body_bytes_max, SIZE_MAX) ==
            decode(sent, from, body_bytes_max, 1 + std::size_t{data[1]}));
    return 0;
}
