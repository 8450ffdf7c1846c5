// SPDX-License-Identifier: MPL-2.0
#include "socket/stream_encoding.hpp"

#include "base/random_bytes.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/websocket/utf8.hpp"

namespace zlink::socket {

namespace {

std::uint8_t flags_of(const outgoing& source) noexcept {
    return static_cast<std::uint8_t>((source.is_text() ? pipe::flag_text : 0) |
                                     (source.is_compressed() ? pipe::flag_compressed : 0));
}

/// Appends a payload whose bytes are not changed.
/// @tparam Takes  Whether it is taken over; otherwise it stays for other peers.
template<class Layout, bool Takes>
void push_plain(pipe::message_queue& out, outgoing& source, std::size_t referenced_bytes_min) {
    if (source.bytes() < referenced_bytes_min) {
        return out.push_copy<Layout>(source.data(), source.bytes(), flags_of(source));
    }
    const auto append = [&](pipe::block* payload) {
        out.push_reference<Layout>(payload, source.bytes(), flags_of(source));
    };
    if constexpr (Takes) {
        source.give(append);
    } else {
        source.share(append);
    }
}

/// Appends a masked payload. A large one is copied, too, into its own block.
void push_masked(pipe::message_queue& out, const outgoing& source) {
    const std::uint8_t flags = flags_of(source);
    if (source.bytes() < tuning::external_bytes_min) {
        return out.push_copy<pipe::masked_websocket_layout>(source.data(), source.bytes(), flags);
    }
    pipe::block* const masked = pipe::make_block(source.bytes());
    try {
        const wire::websocket::mask_key key = random_bytes();
        wire::websocket::copy_masked(masked->data, {source.data(), source.bytes()}, key);
        out.push_reference<pipe::masked_websocket_layout>(masked, source.bytes(), flags, key);
    } catch (...) {
        masked->drop();
        throw;
    }
}

/// @tparam Takes  As for push_plain().
template<bool Takes>
void push_framed(peer& to, outgoing& source, std::size_t referenced_bytes_min) {
    pipe::message_queue& out = to.end().out;
    switch (to.frames()) {
    case pipe::layout::length:
        push_plain<pipe::length_layout, Takes>(out, source, referenced_bytes_min);
        break;
    case pipe::layout::masked_websocket:
        push_masked(out, source);
        break;
    case pipe::layout::zmtp:
    case pipe::layout::websocket:
        push_plain<pipe::websocket_layout, Takes>(out, source, referenced_bytes_min);
        break;
    }
}

} // namespace

std::uint64_t wire_bytes_max(const peer& to, std::size_t body_bytes) noexcept {
    return body_bytes + (to.frames() == pipe::layout::length
                             ? pipe::length_layout::header_bytes_max
                             : pipe::websocket_layout::header_bytes_max);
}

std::uint64_t body_bytes_max(const peer& to) noexcept {
    return to.frames() == pipe::layout::length ? wire::length::body_bytes_limit
                                               : wire::websocket::payload_bytes_limit;
}

bool is_valid_text(const outgoing& source) noexcept {
    return !source.is_text() ||
           wire::websocket::is_utf8({reinterpret_cast<const char*>(source.data()), source.bytes()});
}

void push_payload(peer& to, takeable<outgoing> source, std::size_t referenced_bytes_min) {
    push_framed<true>(to, *source, referenced_bytes_min);
}

void push_payload(peer& to, outgoing& source, std::size_t referenced_bytes_min) {
    push_framed<false>(to, source, referenced_bytes_min);
}

void push_short_payload(peer& to, const std::byte* body, std::size_t bytes) noexcept {
    pipe::message_queue& out = to.end().out;
    switch (to.frames()) {
    case pipe::layout::length:
        out.push_copy<pipe::length_layout>(body, bytes, 0);
        break;
    case pipe::layout::masked_websocket:
        out.push_copy<pipe::masked_websocket_layout>(body, bytes, 0);
        break;
    case pipe::layout::zmtp:
    case pipe::layout::websocket:
        out.push_copy<pipe::websocket_layout>(body, bytes, 0);
        break;
    }
}

} // namespace zlink::socket
