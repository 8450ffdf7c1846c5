// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/peer_info.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace zlink::socket {

/// The connect and disconnect events of a STREAM's peers that the application has not received yet,
/// oldest first.
///
/// @owns  A reference to the details of each.
/// @threads The socket's.
class stream_events {
public:
    struct event {
        std::uint32_t id;
        bool is_connect;       ///< Otherwise the peer has disconnected.
        pipe::peer_info* info; ///< Null: no details.

        /// The details, as the application receives them.
        std::string_view text() const noexcept;
    };

    stream_events() = default;
    stream_events(const stream_events&) = delete;
    stream_events& operator=(const stream_events&) = delete;
    ~stream_events();

    bool empty() const noexcept { return waiting_.empty(); }
    std::size_t size() const noexcept { return waiting_.size(); }
    const event& front() const noexcept { return waiting_.front(); }
    const event& operator[](std::size_t index) const noexcept { return waiting_[index]; }

    /// @throws std::bad_alloc  Nothing changed.
    void push(std::uint32_t id, bool is_connect, const pipe::peer_info* info);
    void pop() noexcept;

private:
    std::deque<event> waiting_;
};

} // namespace zlink::socket
