// SPDX-License-Identifier: MPL-2.0
#include "codec/curve_decoder.hpp"

#include "base/limits.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink::codec {

using namespace wire::zmtp;

namespace {

/// Incomplete frames are held up to this size, so that they and the next read fit into the scratch
/// block; larger ones get their own block.
constexpr std::size_t held_frame_bytes_max = limits::scratch_bytes / 4;

} // namespace

curve_decoder::curve_decoder(const crypto::curve_opener& opener,
                             std::uint64_t body_bytes_max) noexcept
    : opener_(opener),
      sealed_bytes_max_(std::min(body_bytes_max, body_bytes_limit - curve_message_overhead_bytes) +
                        curve_message_overhead_bytes) {}

std::size_t curve_decoder::prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) {
    scratch_ = scratch.data();
    if (large_.sealed.is_begun()) {
        const std::span<std::byte> room = large_.sealed.room();
        offered_bytes_ = room.size();
        parts[0] = {room.data(), room.size()};
        parts[1] = {scratch_, std::min(scratch.size(), tuning::lookahead_bytes)};
        return 2;
    }
    std::copy(held_.view().begin(), held_.view().end(), scratch_);
    offered_bytes_ = 0;
    parts[0] = {scratch_ + held_.size(), scratch.size() - held_.size()};
    return 1;
}

result<void> curve_decoder::received(std::size_t bytes, inbound& into) {
    const std::size_t direct = std::min(bytes, offered_bytes_);
    large_.sealed.advance(direct);
    const std::size_t scratch_bytes = held_.size() + bytes - direct;
    held_.clear();
    return consume({scratch_, scratch_bytes}, into);
}

result<void> curve_decoder::feed(std::span<const std::byte> data, inbound& into) {
    if (held_.empty()) {
        return consume(data, into);
    }
    held_.append(data);
    return resume(into);
}

result<void> curve_decoder::resume(inbound& into) {
    const pipe::byte_buffer data = std::move(held_);
    return consume(data.view(), into);
}

result<void> curve_decoder::consume(std::span<const std::byte> data, inbound& into) {
    result<void> outcome;
    while (outcome) {
        if (large_.sealed.is_begun()) {
            while (!data.empty() && !large_.sealed.is_whole()) {
                large_.sealed.fill(data);
            }
            if (!large_.sealed.is_whole()) {
                return {};
            }
            outcome = finish_large(into);
            if (outcome && large_.sealed.is_begun()) {
                break; // Blocked.
            }
            continue;
        }
        const std::size_t before = data.size();
        const bool was_blocked = into.is_blocked();
        outcome = open_run(data, into);
        const bool has_come_free = was_blocked && !into.is_blocked();
        if (data.size() == before && !large_.sealed.is_begun() && !has_come_free) {
            break;
        }
    }
    held_.append(data);
    return outcome;
}

/// Decrypts the whole frames at the front of `data`, and checks the first incomplete one.
result<void> curve_decoder::open_run(std::span<const std::byte>& data, inbound& into) {
    std::span<std::byte> room;
    std::size_t used = 0;
    errc failure{};
    while (!into.is_blocked()) {
        frame_head head;
        const head_status status = read_head(data.data(), data.size(), sealed_bytes_max_, head);
        if (status == head_status::incomplete) {
            break;
        }
        if (status == head_status::too_large) {
            failure = errc::message_too_large;
            break;
        }
        if (status == head_status::violation || head.body_bytes < curve_message_overhead_bytes) {
            failure = errc::protocol_violation;
            break;
        }
        if (data.size() < head.frame_bytes()) {
            const bool has_start = data.size() >= head.header_bytes + message_head{}.size();
            if (has_start && head.frame_bytes() > held_frame_bytes_max) {
                begin_large(data, head);
                data = {};
            }
            break;
        }
        const std::uint64_t payload_bytes = head.body_bytes - curve_message_overhead_bytes;
        const std::size_t plain_bytes = header_bytes(payload_bytes) + payload_bytes;
        if (room.size() - used < plain_bytes) {
            const result<void> taken = into.received_in_room(std::exchange(used, 0));
            room = {};
            if (!taken || into.is_blocked()) {
                return taken;
            }
            room = into.make_room(plain_bytes);
        }
        const std::span<const std::byte> body = data.subspan(head.header_bytes, head.body_bytes);
        const auto flags = opener_.open(body.data(), body.subspan(curve_message_overhead_bytes),
                                        room.data() + used + header_bytes(payload_bytes));
        if (!flags) {
            failure = errc::protocol_violation;
            break;
        }
        write_header(room.data() + used, payload_bytes, *flags);
        used += plain_bytes;
        data = data.subspan(head.frame_bytes());
    }
    const result<void> taken = into.received_in_room(used);
    return taken && failure != errc{} ? result<void>{failure} : taken;
}

void curve_decoder::begin_large(std::span<const std::byte> frame, const frame_head& head) {
    const std::span<const std::byte> body = frame.subspan(head.header_bytes);
    large_.sealed.begin(head.body_bytes - large_.head.size(), body.subspan(large_.head.size()),
                        proven_bytes_);
    large_.is_open = false;
    std::copy_n(body.begin(), large_.head.size(), large_.head.begin());
}

/// Decrypts the complete payload, and delivers it. Keeps it if there is no credit.
result<void> curve_decoder::finish_large(inbound& into) {
    std::byte* const payload = large_.sealed.data();
    const std::uint64_t bytes = large_.sealed.bytes();
    if (!large_.is_open) {
        const auto flags = opener_.open(large_.head.data(), {payload, bytes}, payload);
        if (!flags) {
            return errc::protocol_violation;
        }
        large_.is_open = true;
        large_.flags = *flags;
        proven_bytes_ = std::max(proven_bytes_, bytes);
    }
    if (into.is_blocked()) {
        return {};
    }
    if ((large_.flags & flag_command) != 0) {
        const std::size_t plain_bytes = header_bytes(bytes) + bytes;
        if (bytes > limits::handshake_command_bytes_max) {
            return errc::message_too_large;
        }
        std::byte* const room = into.make_room(plain_bytes).data();
        const std::size_t header = write_header(room, bytes, large_.flags);
        std::memcpy(room + header, payload, bytes);
        large_.sealed.drop();
        return into.received_in_room(plain_bytes);
    }
    if (!into.may_append()) {
        return {};
    }
    return into.append(large_.sealed.take(), bytes, (large_.flags & flag_more) != 0);
}

void curve_decoder::trim() noexcept {
    if (held_.empty()) {
        held_.release();
    }
}

} // namespace zlink::codec
