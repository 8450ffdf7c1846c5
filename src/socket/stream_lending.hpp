// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "pipe/pipe.hpp"
#include "socket/peer.hpp"
#include "socket/stream_events.hpp"
#include "socket/stream_message.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zlink::tuning {

/// Messages that a STREAM forwards without a copy, if they are adjacent and take so many bytes, and
/// a quarter of the segment that holds them. Smaller ones are copied.
constexpr std::size_t borrowed_bytes_min = std::size_t{4} * 1024;

/// Queues, and places in them, that may hold a segment at a time. Further messages are copied.
constexpr std::uint16_t segment_holders_max = UINT16_MAX;

/// Peers of a STREAM of which messages are lent to the application at a time.
constexpr std::size_t batch_peers_max = 256;

} // namespace zlink::tuning

namespace zlink::socket {

/// The messages and events that a STREAM has lent to the application, in place of copying them:
/// they stay in the queues until end(). If the application forwards them unchanged they need not be
/// copied then, either. (docs/adr/0015.)
///
/// @threads The socket's.
class stream_lending {
public:
    /// Lent data in one place: adjacent frames in a segment, with the layout that they need to be
    /// forwarded, or the payload of one frame in a block.
    struct run {
        pipe::message_queue::chunk* segment; ///< Null for a payload.
        pipe::block* payload;
        const std::byte* begin;
        const std::byte* end;
    };

    /// Lent messages, in the order in which they are forwarded.
    struct frames {
        const run* in;     ///< The run that holds them; null: none.
        std::size_t count; ///< At least 1 if there is no run.
        std::span<const std::byte> data;
    };

    /// Reserves memory for a batch.
    /// @throws std::bad_alloc
    void begin(std::size_t message_count_max);

    /// Lends messages of a peer, from its front on.
    /// @param front     The frame at the front.
    /// @param messages  Filled in; at least one.
    /// @return The number: adjacent messages, as many as fit.
    std::size_t lend(peer& from, const pipe::frame& front, std::span<stream_message> messages);

    /// Lends events, from the oldest on.
    /// @return The number.
    std::size_t lend(const stream_events& events, std::span<stream_message> messages) noexcept;

    /// Whether no message of a further peer can be lent before end().
    bool is_full() const noexcept;
    bool is_empty() const noexcept { return !lends_; }

    /// Ends the loan of everything that was lent since begin().
    /// @param events  Those that were lent are removed.
    void end(stream_events& events) noexcept {
        if (lends_) [[unlikely]] {
            give_back(events);
        }
    }

    /// Finds the leading `messages` that are adjacent lent frames. Checks only the run that was
    /// used last and the next one: messages are usually forwarded in order.
    frames find(std::span<const stream_message> messages) noexcept;

    /// Appends frames of a lent segment, all at once, if possible.
    /// @return Whether they were appended and ended.
    static bool push(peer& to, const frames& lent);

private:
    /// A pipe with lent messages, even after its peer disconnected.
    struct lender {
        pipe::pipe_ptr whole;
        pipe::pipe_end* end;
    };

    template<class Layout>
    std::size_t lend_run(peer& from, std::span<stream_message> messages) noexcept;
    void note(const run& added) noexcept;
    static bool is_to_be_borrowed(const frames& lent) noexcept;
    ZLINK_COLD void give_back(stream_events& events) noexcept;

    std::vector<lender> lenders_;
    std::vector<run> runs_;
    std::size_t forwarded_run_ = 0; ///< Index of the run that was last forwarded.
    std::size_t event_count_ = 0;   ///< Lent events, which are the oldest.
    bool lends_ = false;
};

} // namespace zlink::socket
