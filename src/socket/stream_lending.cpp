// SPDX-License-Identifier: MPL-2.0
#include "socket/stream_lending.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <type_traits>

namespace zlink::socket {

namespace {

/// Fills in `out` member by member: a processor stalls when it loads a whole that was just stored
/// in parts.
void fill_message(stream_message& out, const std::array<std::byte, 4>& from, const std::byte* body,
                  std::size_t bytes, std::uint8_t flags) noexcept {
    out.routing_id = from;
    out.flags = (flags & pipe::flag_text) != 0 ? stream_message::text : 0;
    out.data = body;
    out.bytes = bytes;
}

} // namespace

void stream_lending::begin(std::size_t message_count_max) {
    lenders_.reserve(std::min(message_count_max, tuning::batch_peers_max));
    runs_.reserve(std::min(message_count_max, tuning::batch_peers_max));
}

bool stream_lending::is_full() const noexcept {
    return lenders_.size() == tuning::batch_peers_max;
}

std::size_t stream_lending::lend(peer& from, const pipe::frame& front,
                                 std::span<stream_message> messages) {
    pipe::pipe_end& end = from.end();
    if (!end.in.is_lending()) {
        lenders_.push_back({pipe::pipe_ptr(&end.whole()), &end});
        end.in.begin_lending();
        lends_ = true;
    }
    if (front.reference == nullptr) {
        return from.frames() == pipe::layout::length
                   ? lend_run<pipe::length_layout>(from, messages)
                   : lend_run<pipe::websocket_layout>(from, messages);
    }
    note({nullptr, *front.reference, front.body, front.body + front.body_bytes});
    fill_message(messages.front(), routing_id_bytes(from.stream_id), front.body, front.body_bytes,
                 front.flags);
    end.in.lend(front);
    return 1;
}

/// As lend(), for messages in a segment.
template<class Layout>
std::size_t stream_lending::lend_run(peer& from, std::span<stream_message> messages) noexcept {
    pipe::message_queue& in = from.end().in;
    pipe::message_queue::chunk* const segment = in.front_segment();
    const std::array<std::byte, 4> id = routing_id_bytes(from.stream_id);
    auto to = messages.begin();
    const std::size_t count = in.lend_run<Layout>(
        messages.size(), [&](const std::byte* body, std::size_t bytes, std::uint8_t flags) {
            fill_message(*to++, id, body, bytes, flags);
        });
    if constexpr (std::is_same_v<Layout, pipe::length_layout>) {
        const std::byte* const begin = messages.front().data - wire::length::header_bytes;
        const std::byte* const end = to[-1].data + to[-1].bytes;
        if (!runs_.empty() && runs_.back().end == begin) {
            runs_.back().end = end;
        } else {
            note({segment, nullptr, begin, end});
        }
    }
    return count;
}

/// Runs beyond the capacity are not recorded: their messages are copied when forwarded.
void stream_lending::note(const run& added) noexcept {
    if (runs_.size() < runs_.capacity()) {
        runs_.push_back(added);
    }
}

stream_lending::frames stream_lending::find(std::span<const stream_message> messages) noexcept {
    const stream_message& first = messages.front();
    const std::less_equal<const std::byte*> is_up_to{};
    for (std::size_t index = forwarded_run_; index < runs_.size() && index <= forwarded_run_ + 1;
         ++index) {
        const run& candidate = runs_[index];
        if (candidate.payload != nullptr && candidate.begin == first.data &&
            first.bytes == static_cast<std::size_t>(candidate.end - candidate.begin)) {
            forwarded_run_ = index;
            return {&candidate, 1, {first.data, first.bytes}};
        }
        if (candidate.segment == nullptr ||
            !is_up_to(candidate.begin + wire::length::header_bytes, first.data) ||
            !is_up_to(first.data, candidate.end)) {
            continue;
        }
        forwarded_run_ = index;
        const std::byte* const begin = first.data - wire::length::header_bytes;
        const std::byte* end = begin;
        std::size_t count = 0;
        for (const stream_message& each : messages) {
            const auto rest = static_cast<std::size_t>(candidate.end - end);
            if (each.data != end + wire::length::header_bytes || !is_plain_to(each, first) ||
                rest < wire::length::header_bytes ||
                wire::length::read_head_trusted(end).body_bytes != each.bytes ||
                each.bytes > rest - wire::length::header_bytes) {
                break;
            }
            end = each.data + each.bytes;
            ++count;
        }
        return {&candidate, count, {begin, end}};
    }
    return {nullptr, 1, {}};
}

/// Whether frames are forwarded in place, in a lent segment.
bool stream_lending::is_to_be_borrowed(const frames& lent) noexcept {
    const pipe::rope::chunk& segment = *lent.in->segment;
    return lent.data.size() >= tuning::borrowed_bytes_min &&
           lent.data.size() >= segment.capacity / 4 &&
           segment.holders.load(std::memory_order_relaxed) < tuning::segment_holders_max;
}

bool stream_lending::push(peer& to, const frames& lent) {
    pipe::message_queue& out = to.end().out;
    if (lent.in == nullptr || lent.in->segment == nullptr || lent.count == 0 ||
        to.frames() != pipe::layout::length || lent.count > out.credit()) {
        return false;
    }
    if (is_to_be_borrowed(lent)) {
        out.push_borrowed(lent.in->segment, lent.data, lent.count);
    } else {
        out.push_frames(lent.data, lent.count);
    }
    return true;
}

std::size_t stream_lending::lend(const stream_events& events,
                                 std::span<stream_message> messages) noexcept {
    std::size_t count = 0;
    for (; count < messages.size() && count < events.size(); ++count) {
        const stream_events::event& about = events[count];
        const std::string_view text = about.text();
        messages[count] = {routing_id_bytes(about.id),
                           about.is_connect ? stream_message::came : stream_message::went,
                           reinterpret_cast<const std::byte*>(text.data()), text.size()};
    }
    event_count_ = count;
    lends_ = true;
    return count;
}

void stream_lending::give_back(stream_events& events) noexcept {
    lends_ = false;
    for (const lender& each : lenders_) {
        each.end->end_lending();
    }
    lenders_.clear();
    runs_.clear();
    forwarded_run_ = 0;
    for (; event_count_ != 0; --event_count_) {
        events.pop();
    }
}

} // namespace zlink::socket
