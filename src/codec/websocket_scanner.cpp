// SPDX-License-Identifier: MPL-2.0
#include "codec/websocket_scanner.hpp"

#include "base/limits.hpp"
#include "codec/inbound.hpp"
#include "wire/websocket/mask.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace zlink::codec {

using namespace wire::websocket;

const errc websocket_scanner::invalid_text = static_cast<errc>(EILSEQ);
const errc websocket_scanner::corrupt_data = static_cast<errc>(EBADMSG);
const errc websocket_scanner::too_much_inflated = static_cast<errc>(ENOBUFS);

websocket_scanner::websocket_scanner(sender from, std::uint64_t message_bytes_max,
                                     websocket_sink& controls,
                                     const std::optional<peer_deflation>& compressed)
    : controls_(controls), rules_{.from = from, .payload_bytes_max = message_bytes_max},
      tracker_(message_bytes_max, compressed ? compressed->message_bytes_max : message_bytes_max),
      plain_bytes_max_(
          static_cast<std::uint8_t>(std::min(message_bytes_max, short_payload_bytes_max))) {
    if (compressed) {
        rules_.may_compress = true;
        rules_.payload_bytes_max =
            std::max(message_bytes_max, compressed_bytes_max(compressed->message_bytes_max));
        inflation_.reset(new inflation{.by = inflater{compressed->how},
                                       .message_bytes_max = compressed->message_bytes_max,
                                       .account = compressed->account});
    }
}

result<void> websocket_scanner::scan(inbound& from) {
    return inflation_ ? scan_apart(from) : scan_in_place(from);
}

result<void> websocket_scanner::scan_in_place(inbound& from) {
    while (true) {
        const std::span<std::byte> data = from.unscanned();
        if (is_over_) {
            from.remove(0, data.size());
            from.publish(0, 0);
            return {};
        }
        progress at{data.data(), data.size()};
        const result<step> next = take_frames(from, at);
        if (at.gap != 0) {
            from.remove(at.kept, at.gap);
        }
        from.publish(at.kept, at.count);
        if (!next) {
            return next.error();
        }
        if (*next == step::begins_body) {
            return from.begin_body(head_.header_bytes, head_.payload_bytes);
        }
        if (*next != step::ends_message) {
            return {};
        }
        std::byte header[header_bytes_max];
        const std::uint64_t body_bytes = assembly_.filled_bytes();
        const std::size_t header_bytes = write_header(header, body_bytes);
        from.insert({header, header_bytes}, assembly_.take(), body_bytes);
    }
}

/// Takes frames, if there is credit, until one needs further action.
result<websocket_scanner::step> websocket_scanner::take_frames(inbound& from, progress& at) {
    result<step> next = step::waits;
    if (from.has_credit()) {
        do {
            while (take_plain(at)) {
            }
            next = take_frame(at);
        } while (next && *next == step::onward && !is_turn_over());
    }
    return next;
}

/// Takes a short binary message in one frame, the most common case.
/// @return Whether there was one.
bool websocket_scanner::take_plain(progress& at) const noexcept {
    constexpr auto first = static_cast<std::byte>(flag_fin | unsigned{2});
    const bool is_masked = rules_.from == sender::client;
    const std::size_t header_bytes = header_bytes_min + (is_masked ? mask_key_bytes : 0);
    std::byte* const frame = at.next();
    if (at.gap != 0 || at.rest() < header_bytes || frame[0] != first ||
        tracker_.state() != message_state::between) {
        return false;
    }
    const unsigned length = std::to_integer<unsigned>(frame[1]) ^ (is_masked ? length_mask_bit : 0);
    if (length > plain_bytes_max_ || at.rest() - header_bytes < length) {
        return false;
    }
    if (is_masked) {
        mask_key key;
        std::memcpy(key.data(), frame + header_bytes_min, key.size());
        mask({frame + header_bytes, length}, key);
    }
    at.kept += header_bytes + length;
    ++at.count;
    return true;
}

result<websocket_scanner::step> websocket_scanner::take_frame(progress& at) {
    if (is_in_fragment_) {
        return take_fragment(at);
    }
    switch (read_head(at.next(), at.rest(), rules_, head_)) {
    case head_status::complete:
        break;
    case head_status::incomplete:
        return step::waits;
    case head_status::violation:
        return refuse(close_code::protocol_error);
    case head_status::too_large:
        return refuse(close_code::too_large);
    }
    if (head_.is_control()) {
        return take_control(at);
    }
    const bool is_whole = head_.frame_bytes() <= at.rest();
    if (head_.is_final() && head_.kind != opcode::continuation && !head_.is_compressed() &&
        (is_whole || !inflation_)) {
        return take_message(at);
    }
    if (const auto refusal = tracker_.on_head(head_)) {
        return refuse(*refusal);
    }
    at.gap += head_.header_bytes;
    is_in_fragment_ = true;
    fragment_rest_ = head_.payload_bytes;
    phase_ = 0;
    return take_fragment(at);
}

result<websocket_scanner::step> websocket_scanner::take_control(progress& at) {
    if (head_.frame_bytes() > at.rest()) {
        return step::waits;
    }
    std::array<std::byte, control_payload_bytes_max> payload;
    const std::span<std::byte> data{payload.data(), static_cast<std::size_t>(head_.payload_bytes)};
    copy_masked(payload.data(), {at.next() + head_.header_bytes, data.size()}, head_.key);
    at.gap += head_.frame_bytes();
    if (head_.kind == opcode::ping) {
        controls_.on_websocket_ping(data);
    } else if (head_.kind == opcode::close) {
        close_view said;
        if (const auto refusal = decode_close(data, said)) {
            return refuse(*refusal);
        }
        is_over_ = true;
        at.gap += at.rest();
        controls_.on_websocket_close(said);
        return step::waits;
    }
    return step::onward;
}

/// Takes a message in one frame.
result<websocket_scanner::step> websocket_scanner::take_message(progress& at) {
    const bool is_whole = head_.frame_bytes() <= at.rest();
    if (!is_whole && head_.payload_bytes < tuning::external_bytes_min &&
        tracker_.state() == message_state::between) {
        return step::waits;
    }
    if (const auto refusal = tracker_.on_head(head_)) {
        return refuse(*refusal);
    }
    phase_ = 0;
    if (!is_whole) {
        return step::begins_body;
    }
    const auto frame_bytes = static_cast<std::size_t>(head_.frame_bytes());
    std::byte* const frame = at.begin + at.kept;
    if (at.gap != 0) {
        std::memmove(frame, at.next(), frame_bytes);
    }
    if (const result<void> taken =
            on_body({frame + head_.header_bytes, frame_bytes - head_.header_bytes});
        !taken) {
        return taken.error();
    }
    at.kept += frame_bytes;
    ++at.count;
    return step::onward;
}

result<websocket_scanner::step> websocket_scanner::take_fragment(progress& at) {
    const std::size_t most =
        tracker_.is_compressed() ? std::min(at.rest(), limits::inflated_at_once_max) : at.rest();
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(fragment_rest_, most));
    const std::span<std::byte> data{at.next(), there};
    phase_ = static_cast<std::uint8_t>(mask(data, head_.key, phase_));
    if (const auto refusal = tracker_.on_payload(data)) {
        return refuse(*refusal);
    }
    if (!tracker_.is_compressed()) {
        assembly_.append(data);
    } else if (const result<void> inflated = inflate(data); !inflated) {
        return inflated.error();
    }
    at.gap += there;
    fragment_rest_ -= there;
    if (fragment_rest_ != 0) {
        return at.rest() != 0 ? step::onward : step::waits;
    }
    is_in_fragment_ = false;
    if (inflation_) {
        inflation_->made_bytes += limits::inflated_frame_bytes;
    }
    if (tracker_.is_compressed() && head_.is_final()) {
        if (const result<void> ended = end_inflated(); !ended) {
            return ended.error();
        }
    }
    if (const auto refusal = tracker_.on_frame_end()) {
        return refuse(*refusal);
    }
    if (tracker_.state() != message_state::between) {
        return step::onward;
    }
    const std::uint64_t body_bytes = assembly_.filled_bytes();
    if (header_bytes(body_bytes) + body_bytes > at.gap) {
        return step::ends_message;
    }
    // The fragments' space has room for the whole message, so later bytes need not move.
    std::byte* const frame = at.begin + at.kept;
    const std::size_t written = write_header(frame, body_bytes);
    if (body_bytes != 0) {
        std::memcpy(frame + written, assembly_.data(), body_bytes);
    }
    const std::size_t frame_bytes = written + body_bytes;
    at.kept += frame_bytes;
    at.gap -= frame_bytes;
    ++at.count;
    assembly_.drop();
    return step::onward;
}

result<void> websocket_scanner::on_body(std::span<std::byte> data) noexcept {
    phase_ = static_cast<std::uint8_t>(mask(data, head_.key, phase_));
    if (const auto refusal = tracker_.on_payload(data)) {
        return refuse(*refusal);
    }
    head_.payload_bytes -= data.size();
    if (head_.payload_bytes == 0) {
        if (const auto refusal = tracker_.on_frame_end()) {
            return refuse(*refusal);
        }
    }
    return {};
}

std::size_t websocket_scanner::write_header(std::byte* out, std::uint64_t body_bytes) noexcept {
    return wire::websocket::write_header(out, tracker_.is_text() ? opcode::text : opcode::binary,
                                         body_bytes);
}

errc websocket_scanner::refuse(close_code code) noexcept {
    is_over_ = true;
    switch (code) {
    case close_code::too_large:
        return errc::message_too_large;
    case close_code::invalid_payload:
        return invalid_text;
    default:
        return errc::protocol_violation;
    }
}

} // namespace zlink::codec
