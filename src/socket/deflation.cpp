// SPDX-License-Identifier: MPL-2.0
#include "socket/deflation.hpp"

#include <span>

namespace zlink::socket {

namespace {

std::size_t deflate(deflater& by, const outgoing& plain, pipe::byte_buffer& into) {
    // Compression may stop as soon as the result is not smaller.
    const std::size_t room = plain.bytes() - 1 + deflater::spare_bytes;
    std::byte* const out = into.reserve(room);
    return by.deflate({plain.data(), plain.bytes()}, {out, room});
}

} // namespace

deflated::deflated(const outgoing& plain, std::uint8_t window_bits, int level, deflater* by) {
    if (plain.bytes() == 0) {
        return;
    }
    std::size_t bytes = 0;
    if (by != nullptr) {
        bytes = deflate(*by, plain, data_);
    } else {
        deflater only{window_bits, level};
        bytes = deflate(only, plain, data_);
    }
    if (bytes == 0) {
        data_.release();
        return;
    }
    compressed_.emplace(data_.data(), bytes, false);
    compressed_->mark_compressed();
    if (plain.is_text()) {
        compressed_->mark_text();
    }
}

void deflation::push_deflated(peer& to, outgoing& source) {
    try {
        deflated made = for_one(to, source);
        if (made.compressed() != nullptr) {
            return push_payload(to, takeable{*made.compressed()}, tuning::external_bytes_min);
        }
    } catch (...) {
        forget(to);
        throw;
    }
    forget(to);
    push_payload(to, takeable{source}, tuning::external_bytes_min);
}

/// Compresses a payload for one peer. It must then be sent, or forget() called.
deflated deflation::for_one(peer& to, const outgoing& plain) {
    const auto& agreed = *to.end().deflation;
    if (agreed.keeps_context && to.own_deflater == nullptr) {
        to.own_deflater =
            std::make_unique<deflater>(agreed.window_bits, options_.web_deflate_level);
    }
    ++count_;
    return {plain, agreed.window_bits, options_.web_deflate_level, to.own_deflater.get()};
}

outgoing* deflation::broadcast::for_peer(peer& to) {
    if (!by_.is_for(to, plain_.bytes())) {
        return nullptr;
    }
    const std::uint8_t window_bits = to.end().deflation->window_bits;
    std::optional<deflated>& shared =
        by_window_[window_bits - wire::websocket::compressing_window_bits_min];
    if (!shared) {
        shared.emplace(plain_, window_bits, by_.options_.web_deflate_level);
        ++by_.count_;
    }
    if (shared->compressed() != nullptr) {
        forget(to); // Its deflater no longer matches the peer's window.
    }
    return shared->compressed();
}

} // namespace zlink::socket
