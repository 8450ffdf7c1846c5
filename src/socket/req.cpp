// SPDX-License-Identifier: MPL-2.0
#include "socket/req.hpp"

namespace zlink::socket {

req::req(const socket_options& options) : options_(options), request_id_(random_number()) {}

void req::on_attached(peer& added) {
    queue_.attach(added);
    balancer_.attach(added);
    if (options_.probe_router) {
        added.push_bytes(nullptr, 0, 0);
        added.finish_message();
    }
}

void req::on_detached(peer& removed) {
    if (queue_.receiving() == &removed) {
        skips_rest_ = false;
    }
    queue_.detach(removed);
    balancer_.detach(removed);
    if (asked_ == &removed) {
        asked_ = nullptr;
        has_reply_ = false;
        if (state_ == state::reply) {
            state_ = state::reply_begin;
        }
    }
}

result<void> req::send(outgoing& source) {
    if (state_ == state::reply_begin || state_ == state::reply) {
        if (!options_.req_relaxed) {
            return errc::wrong_state;
        }
        // The abandoned reply is recognised by its peer, or by its id if there is one.
        skips_rest_ = skips_rest_ || has_reply_;
        has_reply_ = false;
        asked_ = nullptr;
        state_ = state::idle;
    }
    if (state_ == state::idle) {
        peer* const target = balancer_.choose();
        if (target == nullptr) {
            return errc::again;
        }
        // Messages that it sent before this request are not replies.
        skips_rest_ = skips_rest_ && queue_.receiving() != target;
        if (is_watched_) {
            queue_.drop_received_and_rest(*target);
        } else {
            queue_.drop_received(*target);
        }
        if (options_.req_correlate) {
            ++request_id_;
            target->push_bytes(reinterpret_cast<const std::byte*>(&request_id_), sizeof request_id_,
                               wire::zmtp::flag_more);
        }
        try {
            target->push_bytes(nullptr, 0, wire::zmtp::flag_more);
        } catch (...) {
            target->rollback(); // The id.
            throw;
        }
        balancer_.begin(*target);
        asked_ = target;
        state_ = state::request;
    }
    if (balancer_.sending() != nullptr) {
        balancer_.sending()->push(takeable{source});
        balancer_.finish_frame(source.more());
    } else if (const result<void> dropped = balancer_.send(source); !dropped) {
        return dropped.error();
    }
    if (!source.more()) {
        state_ = state::reply_begin;
    }
    return {};
}

/// Removes the envelope from the message at the front of `from`.
/// @return Whether it is a reply to the last request. If not, some of its frames may remain.
bool req::skip_envelope(peer& from, pipe::frame& front) {
    bool is_ours = &from == asked_;
    if (options_.req_correlate) {
        is_ours = is_ours && front.more() && front.body_bytes == sizeof request_id_ &&
                  std::memcmp(front.body, &request_id_, sizeof request_id_) == 0;
        const bool more = front.more();
        from.drop(front);
        queue_.took(from, more);
        if (!more) {
            return false;
        }
        from.peek(front);
    }
    is_ours = is_ours && front.more() && front.body_bytes == 0;
    const bool more = front.more();
    from.drop(front);
    queue_.took(from, more);
    return is_ours;
}

/// Drops messages until the reply is at the front.
bool req::find_reply() {
    pipe::frame front;
    while (!has_reply_) {
        peer* const from = queue_.next(front);
        if (from == nullptr) {
            return false;
        }
        if (skips_rest_) {
            skips_rest_ = front.more();
            from->drop(front);
            queue_.took(*from, front.more());
            continue;
        }
        has_reply_ = skip_envelope(*from, front);
        skips_rest_ = !has_reply_ && queue_.receiving() != nullptr;
    }
    return true;
}

result<void> req::recv(incoming& target) {
    if (state_ == state::idle || state_ == state::request) {
        return errc::wrong_state;
    }
    if (!find_reply()) {
        return errc::again;
    }
    pipe::frame front;
    peer& from = *queue_.receiving();
    from.peek(front);
    from.take(front, target);
    queue_.took(from, target.more);
    state_ = state::reply;
    if (!target.more) {
        state_ = state::idle;
        has_reply_ = false;
        asked_ = nullptr;
    }
    return {};
}

void req::abandon_message() noexcept {
    if (state_ == state::request) {
        balancer_.abandon();
        asked_ = nullptr;
        state_ = state::idle;
    }
}

bool req::can_send() {
    const bool may_ask = state_ == state::idle || state_ == state::request || options_.req_relaxed;
    return may_ask && balancer_.can_send();
}

bool req::can_recv() {
    return (state_ == state::reply_begin || state_ == state::reply) && find_reply();
}

} // namespace zlink::socket
