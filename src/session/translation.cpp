// SPDX-License-Identifier: MPL-2.0
#include "session/translation.hpp"

#include "base/limits.hpp"
#include "wire/zmtp/command.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace zlink::session {

using namespace wire::zmtp;

translation::translation(const curve_sealer* sealer, bool subscriptions_as_messages)
    : subscriptions_as_messages_(subscriptions_as_messages) {
    if (sealer != nullptr) {
        sealer_ = *sealer;
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
    std::byte* const out = buffer_.reserve(header_bytes(body.size()) + body.size());
    buffer_.commit(write_header(out, body.size(), flags));
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
    // Sealed frames tell what they were made of. Translated subscriptions do not, but a new
    // connection is told all of them anyway.
    std::uint64_t done = 0;
    std::size_t at = 0;
    while (sealer_ && !subscriptions_as_messages_ && done < source_bytes_) {
        const frame_head head = read_head_trusted(buffer_.view().data() + at);
        at += head.frame_bytes();
        if (at > sent_bytes_) {
            break;
        }
        const std::uint64_t body_bytes = head.body_bytes - curve_message_overhead_bytes;
        done += header_bytes(body_bytes) + body_bytes;
    }
    buffer_.release();
    sent_bytes_ = 0;
    source_bytes_ = 0;
    return done;
}

void translation::trim() noexcept {
    if (buffer_.empty()) {
        buffer_.release();
    }
}

} // namespace zlink::session
