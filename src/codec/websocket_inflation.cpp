// SPDX-License-Identifier: MPL-2.0
//
// The part of websocket_scanner for compressed messages (RFC 7692).
#include "codec/websocket_scanner.hpp"

#include "base/limits.hpp"
#include "codec/inbound.hpp"

#include <algorithm>
#include <utility>

namespace zlink::codec {

namespace {

/// The initial size of the block for an inflated message.
constexpr std::uint64_t assembly_bytes_min = 2048;

} // namespace

result<void> websocket_scanner::scan_apart(inbound& from) {
    pipe::byte_buffer& held = inflation_->held;
    const std::span<const std::byte> fresh = from.unscanned();
    held.append(fresh);
    from.remove(0, fresh.size());
    inflation_->made_bytes = 0;
    result<void> outcome;
    std::size_t done_bytes = 0;
    bool goes_on = !is_over_;
    while (goes_on) {
        progress at{held.data() + done_bytes, held.size() - done_bytes};
        const result<step> next = take_frames(from, at);
        if (at.count != 0) {
            from.append({}, {at.begin, at.kept}, at.count);
        }
        done_bytes += at.kept + at.gap;
        if (!next) {
            outcome = next.error();
            break;
        }
        goes_on = *next == step::ends_message;
        if (goes_on) {
            deliver(from);
        }
        goes_on = goes_on && !is_turn_over();
    }
    held.drop_front(is_over_ ? held.size() : done_bytes);
    from.publish(0, 0); // Updates from.is_blocked().
    if (is_turn_over()) {
        from.pause();
    }
    if (held.empty()) {
        held.release();
    }
    inflation_->by.rest();
    return outcome;
}

/// Publishes the assembled message.
void websocket_scanner::deliver(inbound& to) {
    std::byte header[wire::websocket::header_bytes_max];
    const std::uint64_t body_bytes = assembly_.filled_bytes();
    const std::size_t header_bytes = write_header(header, body_bytes);
    if (body_bytes >= tuning::external_bytes_min) {
        return to.insert({header, header_bytes}, assembly_.take(), body_bytes);
    }
    to.append({header, header_bytes}, {assembly_.data(), body_bytes}, 1);
    assembly_.drop();
}

/// Inflates bytes of a message, and appends the result.
result<void> websocket_scanner::inflate(std::span<const std::byte> data) {
    inflation_->came_bytes += data.size();
    inflation_->by.begin_part(data);
    return inflate_all();
}

/// Completes an inflated message with the bytes that senders omit.
result<void> websocket_scanner::end_inflated() {
    inflation_->by.end_message();
    const result<void> outcome = inflate_all();
    inflation_->came_bytes = 0;
    if (outcome && !inflation_->by.is_whole()) {
        is_over_ = true;
        return corrupt_data;
    }
    return outcome;
}

result<void> websocket_scanner::inflate_all() {
    while (true) {
        const std::span<std::byte> room = make_assembly_room();
        if (room.empty()) {
            is_over_ = true;
            return too_much_inflated;
        }
        const std::size_t made = inflation_->by.inflate(room);
        if (const auto refusal = tracker_.on_inflated(room.first(made))) {
            return refuse(*refusal);
        }
        if (inflation_->by.is_corrupt()) {
            is_over_ = true;
            return corrupt_data;
        }
        assembly_.advance(made);
        inflation_->made_bytes += made;
        if (made < room.size()) {
            return {};
        }
    }
}

/// Memory for `bytes` bytes of a message. Growth beyond the limit is charged to the account.
/// @return Null if the account has no room.
pipe::block* websocket_scanner::make_inflated_block(std::size_t bytes) {
    const std::uint64_t paid_bytes = std::max<std::uint64_t>(
        limits::inflated_free_bytes, inflation_->came_bytes * limits::inflated_growth);
    return inflation_->account == nullptr || bytes <= paid_bytes
               ? pipe::make_block(bytes)
               : pipe::make_counted_block(bytes, *inflation_->account);
}

/// Room for at least one more byte of a message; empty if its memory limit is reached.
std::span<std::byte> websocket_scanner::make_assembly_room() {
    // One byte beyond the limit reveals a message that is too large.
    const std::uint64_t most = inflation_->message_bytes_max + 1;
    const std::uint64_t filled_bytes = assembly_.filled_bytes();
    if (assembly_.capacity() == filled_bytes) {
        pipe::block* const larger = make_inflated_block(static_cast<std::size_t>(
            std::min(std::max(assembly_bytes_min, filled_bytes * 2), most)));
        if (larger == nullptr) {
            return {};
        }
        assembly_.move_to(larger);
    }
    const std::uint64_t end = std::min<std::uint64_t>(assembly_.capacity(), most);
    return {assembly_.data() + filled_bytes,
            std::min<std::size_t>(end - filled_bytes, limits::inflated_piece_bytes_max)};
}

} // namespace zlink::codec
