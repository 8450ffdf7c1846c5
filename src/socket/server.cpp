// SPDX-License-Identifier: MPL-2.0
#include "socket/server.hpp"

namespace zlink::socket {

void server::on_attached(peer& added) {
    queue_.attach(added);
    std::uint32_t id = next_id_;
    while (id == 0 || peers_.find(id) != nullptr) {
        ++id;
    }
    peers_.insert(id, added);
    added.stream_id = id;
    newest_id_ = id;
    next_id_ = id + 1;
}

void server::on_detached(peer& removed) {
    queue_.detach(removed);
    forget(removed);
}

/// Messages for `gone` fail from now on.
void server::forget(const peer& gone) noexcept {
    if (peers_.find(gone.stream_id) == &gone) {
        peers_.erase(gone.stream_id);
    }
}

result<void> server::send(outgoing& source) {
    if (source.more()) {
        return errc::invalid_argument;
    }
    peer* const target = source.routing_id() != 0 ? peers_.find(source.routing_id()) : nullptr;
    if (target == nullptr) {
        return errc::host_unreachable;
    }
    if (!target->has_credit()) {
        target->mark_writer_parked();
        if (!target->check_again_to_write()) {
            return errc::again;
        }
    }
    target->push(takeable{source});
    target->finish_message();
    return {};
}

result<void> server::recv(incoming& target) {
    pipe::frame front{};
    peer* const from = queue_.next_of_one_frame(front, refused_count_);
    if (from == nullptr) {
        return errc::again;
    }
    from->take(front, target);
    queue_.took(*from, false);
    if (target.into != nullptr) {
        target.into->set_routing_id(from->stream_id);
    }
    return {};
}

bool server::recv_message_at_once(pipe::message& into) {
    pipe::frame front{};
    peer* const from = queue_.next(front);
    if (from == nullptr || front.more() || !from->take_at_once(into)) [[unlikely]] {
        return false;
    }
    queue_.took(*from, false);
    into.set_routing_id(from->stream_id);
    return true;
}

bool server::can_recv() {
    pipe::frame front{};
    return queue_.next_of_one_frame(front, refused_count_) != nullptr;
}

} // namespace zlink::socket
