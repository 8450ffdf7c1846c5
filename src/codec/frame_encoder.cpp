// SPDX-License-Identifier: MPL-2.0
#include "codec/frame_encoder.hpp"

#include "base/limits.hpp"
#include "base/random_bytes.hpp"
#include "wire/zmtp/command.hpp"
#include "wire/zmtp/v1_frame.hpp"
#include "wire/zws_frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace zlink::codec {

using namespace wire::zmtp;

frame_encoder::frame_encoder(needs of_peer) noexcept
    : sealer_(std::move(of_peer.sealer)),
      subscriptions_as_messages_(of_peer.subscriptions_as_messages), framing_(of_peer.frames) {}

void frame_encoder::fill(outbound& from) {
    if (!buffer_.empty()) {
        return;
    }
    source_bytes_ = from.visit_frames([&](const frame_head& head, std::span<const std::byte> body) {
        const std::uint64_t most = crypto::curve_sealer::frame_bytes(head.body_bytes);
        if (!buffer_.empty() && buffer_.size() + most > tuning::translated_bytes_max) {
            return false;
        }
        encode(head, body);
        return true;
    });
}

void frame_encoder::encode(const frame_head& head, std::span<const std::byte> body) {
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

void frame_encoder::append_frame(unsigned flags, std::span<const std::byte> body) {
    return sealer_ ? append_sealed(flags, body) : append_framed(flags, body);
}

void frame_encoder::append_sealed(unsigned flags, std::span<const std::byte> body) {
    const std::uint64_t bytes = crypto::curve_sealer::frame_bytes(body.size());
    if (framing_ == framing::zmtp) {
        sealer_->seal(flags, body, buffer_.reserve(bytes));
        return buffer_.commit(bytes);
    }
    std::byte* const frame = sealed_.reserve(bytes);
    sealer_->seal(flags, body, frame);
    const frame_head head = read_head_trusted(frame);
    append_framed(head.flags, {frame + head.header_bytes, head.body_bytes});
}

void frame_encoder::append_framed(unsigned flags, std::span<const std::byte> body) {
    std::byte* const out = buffer_.reserve(wire::zws::header_bytes_max + body.size());
    switch (framing_) {
    case framing::zmtp:
        buffer_.commit(write_header(out, body.size(), flags));
        break;
    case framing::v1:
        buffer_.commit(write_v1_header(out, body.size(), flags));
        break;
    case framing::zws:
        return buffer_.commit(wire::zws::write_frame(out, flags, body));
    case framing::masked_zws:
        return buffer_.commit(wire::zws::write_masked_frame(out, flags, body, random_bytes()));
    }
    buffer_.append(body);
}

void frame_encoder::append_command(std::span<const std::byte> body) {
    if (command_bytes_ < limits::unread_answers_bytes_max) {
        append_frame(flag_command, body);
        command_bytes_ += body.size();
    }
}

std::size_t frame_encoder::gather(outbound& from, std::span<iovec> parts) {
    fill(from);
    if (buffer_.empty()) {
        return 0;
    }
    const auto data = unsent();
    parts[0] = {const_cast<std::byte*>(data.data()), data.size()};
    return 1;
}

bool frame_encoder::advance(outbound& from, std::size_t bytes) {
    const std::uint64_t done = on_sent(bytes);
    return done != 0 && from.advance(done);
}

std::uint64_t frame_encoder::on_sent(std::size_t bytes) noexcept {
    sent_bytes_ += bytes;
    if (sent_bytes_ < buffer_.size()) {
        return 0;
    }
    sent_bytes_ = 0;
    command_bytes_ = 0;
    if (buffer_.capacity() > 2 * tuning::translated_bytes_max) {
        buffer_.release(); // A large message was sent.
        sealed_.release();
    }
    buffer_.clear();
    return std::exchange(source_bytes_, 0);
}

bool frame_encoder::abandon(outbound& from, bool& wake_writer) noexcept {
    const remains left = count_sent();
    // The newest message of a conflating queue counts as one byte there, whatever its size.
    const std::uint64_t done = std::min(left.done_bytes, std::exchange(source_bytes_, 0));
    buffer_.release();
    sent_bytes_ = 0;
    wake_writer = done != 0 && from.advance(done);
    return left.is_cut_off;
}

frame_encoder::remains frame_encoder::count_sent() const noexcept {
    // A frame reveals the size of its source. Translated subscriptions do not, but a new connection
    // receives all of them anyway.
    std::uint64_t done = 0;
    std::size_t at = 0;
    bool is_cut_off = false;
    while (!subscriptions_as_messages_ && done < source_bytes_) {
        const sent_frame next = frame_at(at);
        if (at + next.bytes > sent_bytes_) {
            is_cut_off = at < sent_bytes_;
            break;
        }
        at += next.bytes;
        done += next.source_bytes;
    }
    return {done, is_cut_off};
}

frame_encoder::sent_frame frame_encoder::frame_at(std::size_t offset) const noexcept {
    const std::byte* const frame = buffer_.view().data() + offset;
    sent_frame found{};
    std::uint64_t body_bytes = 0;
    if (is_zws()) {
        const auto head = wire::websocket::read_head_trusted(frame);
        found.bytes = head.frame_bytes();
        body_bytes = head.payload_bytes - wire::zws::flags_bytes;
    } else {
        const frame_head head =
            framing_ == framing::v1 ? read_v1_head_trusted(frame) : read_head_trusted(frame);
        found.bytes = head.frame_bytes();
        body_bytes = head.body_bytes;
    }
    body_bytes -= sealer_ ? curve_message_overhead_bytes : 0;
    found.source_bytes = header_bytes(body_bytes) + body_bytes;
    return found;
}

void frame_encoder::trim() noexcept {
    if (buffer_.empty()) {
        buffer_.release();
        sealed_.release();
    }
}

} // namespace zlink::codec
