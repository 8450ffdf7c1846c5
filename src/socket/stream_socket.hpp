// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "socket/socket.hpp"
#include "socket/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace zlink::socket {

/// The functions that only a STREAM socket has; socket::as_stream() gives them.
///
/// @threads The socket's.
class stream_socket {
public:
    stream_socket(socket& of, stream& rules) noexcept : socket_(of), rules_(rules) {}

    /// stream::send_to(), waiting as socket::send() does.
    ZLINK_HOT result<void> send_to(std::uint32_t routing_id, outgoing& source, bool dont_wait) {
        if (socket_.is_undisturbed() && socket_.may(awaited::sending)) [[likely]] {
            const result<void> outcome = rules_.send_to(routing_id, source);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return send_to_waiting(routing_id, source, dont_wait);
    }

    /// stream::recv_from(), waiting as socket::recv() does.
    ZLINK_HOT result<void> recv_from(std::uint32_t& routing_id, incoming& target, bool dont_wait) {
        if (socket_.is_ready_to_receive() && socket_.may(awaited::receiving)) [[likely]] {
            const result<void> outcome = rules_.recv_from(routing_id, target);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                socket_.note_received(target.more);
                return outcome;
            }
        }
        return recv_from_waiting(routing_id, target, dont_wait);
    }

    /// stream::send_batch(), waiting as socket::send() does if not even the first message can be
    /// sent.
    ZLINK_HOT result<std::size_t> send_batch(std::span<const stream_message> messages,
                                             bool dont_wait) {
        if (socket_.is_undisturbed() && socket_.may(awaited::sending)) [[likely]] {
            const result<std::size_t> outcome = rules_.send_batch(messages);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return send_batch_waiting(messages, dont_wait);
    }

    /// stream::recv_batch(), waiting as socket::recv() does if there is nothing.
    ZLINK_HOT result<std::size_t> recv_batch(std::span<stream_message> messages, bool dont_wait) {
        if (socket_.is_ready_to_receive() && socket_.may(awaited::receiving)) [[likely]] {
            const result<std::size_t> outcome = rules_.recv_batch(messages);
            if (outcome || outcome.error() != errc::again) [[likely]] {
                return outcome;
            }
        }
        return recv_batch_waiting(messages, dont_wait);
    }

    /// stream::close_peer().
    /// @error terminated
    result<void> close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                            std::string_view reason);

    /// stream::cut_off_peer().
    /// @error terminated
    result<void> cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                              std::string_view reason);

    /// stream::send_many().
    /// @error terminated
    result<std::size_t> send_many(std::span<const std::byte> routing_ids, outgoing& source,
                                  int* outcomes);

    /// stream::send_file(), waiting as socket::send() does.
    result<void> send_file(std::uint32_t routing_id, const files::file_region& region,
                           bool dont_wait);

    /// stream::reply(), waiting as socket::send() does.
    result<void> reply(std::uint32_t routing_id, std::unique_ptr<web::reply> part, bool dont_wait);

    /// The caller of socket::send() has stopped waiting for room at the peer that `routing_id`
    /// names.
    errc on_no_room(std::span<const std::byte> routing_id) {
        return rules_.on_no_room(routing_id, true);
    }

    stream& rules() noexcept { return rules_; }
    socket& whole() noexcept { return socket_; }

private:
    ZLINK_COLD result<void> send_to_waiting(std::uint32_t routing_id, outgoing& source,
                                            bool dont_wait);
    ZLINK_COLD result<void> recv_from_waiting(std::uint32_t& routing_id, incoming& target,
                                              bool dont_wait);
    ZLINK_COLD result<std::size_t> send_batch_waiting(std::span<const stream_message> messages,
                                                      bool dont_wait);
    ZLINK_COLD result<std::size_t> recv_batch_waiting(std::span<stream_message> messages,
                                                      bool dont_wait);

    socket& socket_;
    stream& rules_;
};

} // namespace zlink::socket
