// SPDX-License-Identifier: MPL-2.0
#include "wire/zws_decoder.hpp"

#include <algorithm>
#include <utility>

namespace zlink::wire::zws {

using websocket::close_code;
using websocket::head_status;
using websocket::opcode;

decoder::decoder(websocket::sender from, std::uint64_t body_bytes_max) noexcept
    : rules_{.from = from,
             .payload_bytes_max = std::min(body_bytes_max, body_bytes_limit) + flags_bytes} {}

decoder::piece decoder::next(std::span<std::byte>& input) noexcept {
    if (refusal_ != close_code::none) {
        return piece::refused;
    }
    if (is_last_fragment_ && body_rest_ == 0) {
        return end_fragments();
    }
    if (input.empty()) {
        return piece::nothing;
    }
    if (body_rest_ != 0) {
        return take_body(input);
    }
    std::size_t taken = 0;
    if (held_bytes_ == 0) {
        const piece found = look(input, taken);
        if (found == piece::nothing) {
            std::copy(input.begin(), input.end(), held_.begin());
            held_bytes_ = taken = input.size();
        }
        input = input.subspan(taken);
        return found;
    }
    const std::size_t before = held_bytes_;
    const std::size_t added = std::min(input.size(), held_.size() - before);
    std::copy_n(input.begin(), added, held_.begin() + static_cast<std::ptrdiff_t>(before));
    held_bytes_ = before + added;
    const piece found = look({held_.data(), held_bytes_}, taken);
    if (found == piece::nothing) {
        input = input.subspan(added);
        return found;
    }
    held_bytes_ = 0;
    if (found != piece::refused) {
        input = input.subspan(taken - before); // The held octets were incomplete.
    }
    return found;
}

decoder::piece decoder::take_body(std::span<std::byte>& input) noexcept {
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(body_rest_, input.size()));
    if (rules_.from == websocket::sender::client) {
        phase_ = websocket::mask(input.first(there), head_.key, phase_);
    }
    body_ = input.first(there);
    body_rest_ -= there;
    input = input.subspan(there);
    if (!is_fragmented_) {
        return piece::body;
    }
    if (std::exchange(awaits_flags_, false)) {
        if (!take_flags(body_.front())) {
            return refuse(close_code::protocol_error);
        }
        body_ = body_.subspan(flags_bytes);
    }
    return piece::fragment;
}

/// Reads the item that begins with a header.
/// @param taken  Set to the size of the item, unless the result is nothing or refused.
decoder::piece decoder::look(std::span<const std::byte> data, std::size_t& taken) noexcept {
    websocket::frame_head head;
    switch (websocket::read_head(data.data(), data.size(), rules_, head)) {
    case head_status::complete:
        break;
    case head_status::incomplete:
        return piece::nothing;
    case head_status::violation:
        return refuse(close_code::protocol_error);
    case head_status::too_large:
        return refuse(close_code::too_large);
    }
    head_ = head;
    if (!head.is_control()) {
        return look_at_message(data, taken);
    }
    if (data.size() < head.frame_bytes()) {
        return piece::nothing;
    }
    taken = static_cast<std::size_t>(head.frame_bytes());
    const auto payload = data.first(taken).subspan(head.header_bytes);
    websocket::copy_masked(control_.data(), payload, head.key);
    return piece::control;
}

decoder::piece decoder::look_at_message(std::span<const std::byte> data,
                                        std::size_t& taken) noexcept {
    if (head_.kind == opcode::text) {
        return refuse(close_code::unsupported_data);
    }
    const bool is_continuation = head_.kind == opcode::continuation;
    if (is_continuation != is_fragmented_) {
        return refuse(close_code::protocol_error);
    }
    if (is_continuation || !head_.is_final()) {
        return begin_fragment(taken);
    }
    if (head_.payload_bytes == 0) {
        return refuse(close_code::protocol_error);
    }
    if (data.size() < head_.header_bytes + flags_bytes) {
        return piece::nothing;
    }
    if (!take_flags(data[head_.header_bytes] ^ head_.key[0])) {
        return refuse(close_code::protocol_error);
    }
    taken = head_.header_bytes + flags_bytes;
    body_bytes_ = body_rest_ = head_.payload_bytes - flags_bytes;
    phase_ = flags_bytes;
    return piece::header;
}

decoder::piece decoder::begin_fragment(std::size_t& taken) noexcept {
    if (!std::exchange(is_fragmented_, true)) {
        fragments_bytes_ = 0;
        awaits_flags_ = true;
    }
    if (head_.payload_bytes > rules_.payload_bytes_max - fragments_bytes_) {
        return refuse(close_code::too_large);
    }
    fragments_bytes_ += head_.payload_bytes;
    taken = head_.header_bytes;
    is_last_fragment_ = head_.is_final();
    body_rest_ = head_.payload_bytes;
    body_ = {};
    phase_ = 0;
    return piece::fragment;
}

decoder::piece decoder::end_fragments() noexcept {
    is_fragmented_ = is_last_fragment_ = false;
    return awaits_flags_ ? refuse(close_code::protocol_error) : piece::end;
}

/// @return Whether the flags are valid: a command with more is not, as in ZMTP.
bool decoder::take_flags(std::byte byte) noexcept {
    const auto flags = std::to_integer<unsigned>(byte);
    flags_ = flags == flag_command ? zmtp::flag_command : flags;
    return flags <= flag_command;
}

decoder::piece decoder::refuse(close_code code) noexcept {
    refusal_ = code;
    return piece::refused;
}

} // namespace zlink::wire::zws
