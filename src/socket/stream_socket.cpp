// SPDX-License-Identifier: MPL-2.0
#include "socket/stream_socket.hpp"

#include "socket/until_done.hpp"

namespace zlink::socket {

result<void> stream_socket::send_to_waiting(std::uint32_t routing_id, outgoing& source,
                                            bool dont_wait) {
    const result<void> outcome = until_sent(
        socket_, [&] { return rules_.send_to(routing_id, source); }, socket_.options().send_timeout,
        dont_wait, awaited::sending);
    if (!outcome && outcome.error() == errc::again) {
        return rules_.on_no_room(routing_id_bytes(routing_id), false);
    }
    return outcome;
}

result<void> stream_socket::recv_from_waiting(std::uint32_t& routing_id, incoming& target,
                                              bool dont_wait) {
    socket_.destroy_departed();
    const result<void> outcome = until_done(
        socket_, [&] { return rules_.recv_from(routing_id, target); },
        socket_.options().recv_timeout, dont_wait, awaited::receiving);
    if (outcome) {
        socket_.note_received(target.more);
    }
    return outcome;
}

result<std::size_t> stream_socket::send_batch_waiting(std::span<const stream_message> messages,
                                                      bool dont_wait) {
    const result<std::size_t> outcome = until_sent(
        socket_, [&] { return rules_.send_batch(messages); }, socket_.options().send_timeout,
        dont_wait, awaited::sending);
    if (!outcome && outcome.error() == errc::again) {
        return rules_.on_no_room(messages.front().routing_id, false);
    }
    return outcome;
}

result<std::size_t> stream_socket::recv_batch_waiting(std::span<stream_message> messages,
                                                      bool dont_wait) {
    socket_.destroy_departed();
    return until_done(
        socket_, [&] { return rules_.recv_batch(messages); }, socket_.options().recv_timeout,
        dont_wait, awaited::receiving);
}

result<void> stream_socket::close_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                       std::string_view reason) {
    if (const result<void> processed = socket_.process_mail(); !processed) {
        return processed.error();
    }
    return rules_.close_peer(routing_id, code, reason);
}

result<void> stream_socket::cut_off_peer(std::span<const std::byte> routing_id, std::uint16_t code,
                                         std::string_view reason) {
    if (const result<void> processed = socket_.process_mail(); !processed) {
        return processed.error();
    }
    return rules_.cut_off_peer(routing_id, code, reason);
}

result<std::size_t> stream_socket::send_many(std::span<const std::byte> routing_ids,
                                             outgoing& source, int* outcomes) {
    if (const result<void> processed = socket_.process_mail(); !processed) {
        return processed.error();
    }
    return rules_.send_many(routing_ids, source, outcomes);
}

result<void> stream_socket::send_file(std::uint32_t routing_id, const files::file_region& region,
                                      bool dont_wait) {
    const result<void> outcome = until_sent(
        socket_, [&] { return rules_.send_file(routing_id, region); },
        socket_.options().send_timeout, dont_wait, awaited::sending);
    if (!outcome && outcome.error() == errc::again) {
        return rules_.on_no_room(routing_id_bytes(routing_id), false);
    }
    return outcome;
}

result<void> stream_socket::reply(std::uint32_t routing_id, std::unique_ptr<web::reply> part,
                                  bool dont_wait) {
    return until_sent(
        socket_, [&] { return rules_.reply(routing_id, part); }, socket_.options().send_timeout,
        dont_wait, awaited::sending);
}

} // namespace zlink::socket
