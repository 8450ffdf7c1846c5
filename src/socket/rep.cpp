// SPDX-License-Identifier: MPL-2.0
#include "socket/rep.hpp"

namespace zlink::socket {

void rep::on_detached(peer& removed) {
    queue_.detach(removed);
    if (from_ == &removed) {
        from_ = nullptr;
        if (!has_route_ && state_ == state::idle) {
            route_.clear();
        }
        has_route_ = false;
        if (state_ == state::request) {
            state_ = state::idle;
        }
    }
}

/// The rest of the reply is dropped.
void rep::on_closed(peer& gone) {
    if (from_ == &gone && state_ == state::reply) {
        from_ = nullptr;
        ++undeliverable_count_;
    }
}

/// Removes the route from the next request, and drops messages without one.
/// @return Whether there is a request.
bool rep::read_route() {
    pipe::frame front;
    while (!has_route_) {
        peer* const from = queue_.next(front);
        if (from == nullptr) {
            return false;
        }
        if (queue_.receiving() == nullptr) {
            route_.clear();
        }
        const bool more = front.more();
        const bool is_bottom = front.body_bytes == 0;
        if (more && !is_bottom) {
            const auto* const body = front.body;
            route_.emplace_back(body, body + front.body_bytes);
        }
        from->drop(front);
        queue_.took(*from, more);
        if (more && is_bottom) {
            from_ = from;
            has_route_ = true;
        }
    }
    return true;
}

result<void> rep::recv(incoming& target) {
    if (state_ == state::reply_begin || state_ == state::reply) {
        return errc::wrong_state;
    }
    if (!read_route()) {
        return errc::again;
    }
    pipe::frame front;
    from_->peek(front);
    from_->take(front, target);
    queue_.took(*from_, target.more);
    state_ = target.more ? state::request : state::reply_begin;
    if (!target.more) {
        has_route_ = false;
    }
    return {};
}

result<void> rep::send(outgoing& source) {
    if (state_ != state::reply_begin && state_ != state::reply) {
        return errc::wrong_state;
    }
    if (state_ == state::reply_begin) {
        if (from_ != nullptr && (from_->is_closed_by_peer() || !from_->has_credit())) {
            // As a ROUTER does with undeliverable messages.
            from_->count_dropped();
            from_ = nullptr;
        } else if (from_ == nullptr) {
            ++undeliverable_count_;
        }
        if (from_ != nullptr) {
            try {
                for (const std::vector<std::byte>& each : route_) {
                    from_->push_bytes(each.data(), each.size(), wire::zmtp::flag_more);
                }
                from_->push_bytes(nullptr, 0, wire::zmtp::flag_more);
            } catch (...) {
                from_->rollback();
                throw;
            }
        }
        state_ = state::reply;
    }
    if (from_ != nullptr) {
        from_->push(takeable{source});
        if (!source.more()) {
            from_->finish_message();
        }
    }
    if (!source.more()) {
        state_ = state::idle;
        from_ = nullptr;
        route_.clear();
    }
    return {};
}

/// The requester gets no reply.
void rep::abandon_message() noexcept {
    if (state_ != state::reply) {
        return;
    }
    if (from_ != nullptr) {
        from_->rollback();
        from_ = nullptr;
        ++undeliverable_count_;
    }
    route_.clear();
    state_ = state::idle;
}

bool rep::can_recv() {
    return (state_ == state::idle || state_ == state::request) && read_route();
}

} // namespace zlink::socket
