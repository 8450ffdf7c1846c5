// SPDX-License-Identifier: MPL-2.0
#include "wire/zws/decoder.hpp"

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
    if (input.empty()) {
        return piece::nothing;
    }
    if (is_inside()) {
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
        input = input.subspan(taken - before); // What was held was not whole.
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
    return piece::body;
}

/// Looks at what begins with a header.
/// @param taken  Set to the octets of what was found, unless that is nothing or refused.
decoder::piece decoder::look(std::span<const std::byte> octets, std::size_t& taken) noexcept {
    websocket::frame_head head;
    switch (websocket::read_head(octets.data(), octets.size(), rules_, head)) {
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
        return look_at_message(octets, taken);
    }
    if (octets.size() < head.frame_bytes()) {
        return piece::nothing;
    }
    taken = static_cast<std::size_t>(head.frame_bytes());
    const auto payload = octets.first(taken).subspan(head.header_bytes);
    websocket::copy_masked(control_.data(), payload, head.key);
    return piece::control;
}

decoder::piece decoder::look_at_message(std::span<const std::byte> octets,
                                        std::size_t& taken) noexcept {
    if (head_.kind == opcode::text) {
        return refuse(close_code::unsupported_data);
    }
    if (head_.kind != opcode::binary || !head_.is_final() || head_.payload_bytes == 0) {
        return refuse(close_code::protocol_error);
    }
    if (octets.size() < head_.header_bytes + flags_bytes) {
        return piece::nothing;
    }
    const auto flags = std::to_integer<unsigned>(octets[head_.header_bytes] ^ head_.key[0]);
    if (flags > flag_command) { // A command with more is none, as in ZMTP.
        return refuse(close_code::protocol_error);
    }
    taken = head_.header_bytes + flags_bytes;
    flags_ = flags == flag_command ? zmtp::flag_command : flags;
    body_bytes_ = body_rest_ = head_.payload_bytes - flags_bytes;
    phase_ = flags_bytes;
    return piece::header;
}

decoder::piece decoder::refuse(close_code code) noexcept {
    refusal_ = code;
    return piece::refused;
}

} // namespace zlink::wire::zws
