// SPDX-License-Identifier: MPL-2.0
#include "session/translation.hpp"

#include "base/limits.hpp"
#include "wire/zmtp/command.hpp"
#include "wire/zmtp/v1_frame.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace zlink::session {

using namespace wire::zmtp;

translation::translation(const needs& of_peer)
    : subscriptions_as_messages_(of_peer.subscriptions_as_messages), v1_frames_(of_peer.v1_frames) {
    if (of_peer.sealer != nullptr) {
        sealer_ = *of_peer.sealer;
    }
}

void translation::fill(outbound& from) {
    if (!buffer_.empty()) {
        return;
    }
    source_bytes_ = from.visit_frames([&](const frame_head& head, std::span<const std::byte> body) {
        const std::uint64_t most = curve_sealer::frame_bytes(head.body_bytes);
        if (!buffer_.empty() && buffer_.size() + most > limits::translated_bytes_max) {
            return false;
        }
        translate(head, body);
        return true;
    });
}

void translation::translate(const frame_head& head, std::span<const std::byte> body) {
    const auto subscription = head.command() && subscriptions_as_messages_
                                  ? decode_subscription_command(body)
                                  : std::nullopt;
    if (!subscription) {
        return append_frame(head.flags & (flag_more | flag_command), body);
    }
    std::vector<std::byte> message{std::byte{subscription->subscribe}};
    message.insert(message.end(), subscription->topic.begin(), subscription->topic.end());
    append_frame(0, message);
}

void translation::append_frame(unsigned flags, std::span<const std::byte> body) {
    if (sealer_) {
        const std::uint64_t bytes = curve_sealer::frame_bytes(body.size());
        sealer_->seal(flags, body, buffer_.reserve(bytes));
        return buffer_.commit(bytes);
    }
    std::byte* const out = buffer_.reserve(v1_header_bytes_max + body.size());
    buffer_.commit(v1_frames_ ? write_v1_header(out, body.size(), flags)
                              : write_header(out, body.size(), flags));
    buffer_.append(body);
}

void translation::append_command(std::span<const std::byte> body) {
    append_frame(flag_command, body);
    command_bytes_ += body.size();
}

std::uint64_t translation::on_sent(std::size_t bytes) noexcept {
    sent_bytes_ += bytes;
    if (sent_bytes_ < buffer_.size()) {
        return 0;
    }
    sent_bytes_ = 0;
    command_bytes_ = 0;
    if (buffer_.capacity() > 2 * limits::translated_bytes_max) {
        buffer_.release(); // A large message has passed.
    }
    buffer_.clear();
    return std::exchange(source_bytes_, 0);
}

std::uint64_t translation::abandon() noexcept {
    // Frames tell what they were made of. Translated subscriptions do not, but a new connection is
    // told all of them anyway.
    std::uint64_t done = 0;
    std::size_t at = 0;
    while (!subscriptions_as_messages_ && done < source_bytes_) {
        const sent_frame next = frame_at(at);
        at += next.bytes;
        if (at > sent_bytes_) {
            break;
        }
        done += next.source_bytes;
    }
    buffer_.release();
    sent_bytes_ = 0;
    source_bytes_ = 0;
    return done;
}

translation::sent_frame translation::frame_at(std::size_t offset) const noexcept {
    const std::byte* const frame = buffer_.view().data() + offset;
    const frame_head head = v1_frames_ ? read_v1_head_trusted(frame) : read_head_trusted(frame);
    const std::uint64_t body_bytes = head.body_bytes - (sealer_ ? curve_message_overhead_bytes : 0);
    return {head.frame_bytes(), header_bytes(body_bytes) + body_bytes};
}

void translation::trim() noexcept {
    if (buffer_.empty()) {
        buffer_.release();
    }
}

} // namespace zlink::session
