// SPDX-License-Identifier: MPL-2.0
#include "socket/router.hpp"

namespace zlink::socket {

namespace {

std::string_view text_of(std::span<const std::byte> data) noexcept {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::string_view text_of(const outgoing& frame) noexcept {
    return text_of({frame.data(), frame.bytes()});
}

std::span<const std::byte> bytes_of(const std::string& text) noexcept {
    return std::as_bytes(std::span{text});
}

} // namespace

router::router(const socket_options& options) : options_(options), next_id_(random_number()) {}

void router::on_attached(peer& added) {
    queue_.attach(added);
    if (!added.routing_id.empty() || options_.raw) { // ZMQ_CONNECT_ROUTING_ID
        identify(added);
    }
    if (options_.probe_router && !options_.raw) {
        added.push_bytes(nullptr, 0, 0);
        added.finish_message();
    }
    queue_.look_at(added);
}

void router::on_detached(peer& removed) {
    queue_.detach(removed);
    if (receiving_ == &removed) {
        receiving_ = nullptr;
    }
    stop_sending(removed);
    if (last_chosen_ == &removed) {
        last_chosen_ = nullptr;
    }
    const auto found = peers_by_id_.find(std::string_view{removed.routing_id});
    if (found != peers_by_id_.end() && *found == &removed) {
        peers_by_id_.erase(found);
    }
}

void router::on_peer_info(peer& about) {
    if (about.routing_id.empty()) {
        identify(about);
    }
}

std::string router::make_routing_id() {
    // The leading zero distinguishes it from ids that applications may choose.
    const std::uint32_t number = next_id_++;
    std::string id(5, '\0');
    std::memcpy(id.data() + 1, &number, sizeof number);
    return id;
}

void router::identify(peer& added) {
    std::string id = !added.routing_id.empty() ? added.routing_id
                     : added.info() != nullptr ? added.info()->routing_id
                                               : std::string{};
    if (id.empty()) {
        do {
            id = make_routing_id();
        } while (peers_by_id_.contains(std::string_view{id}));
    }
    const auto found = peers_by_id_.find(std::string_view{id});
    if (found != peers_by_id_.end() && *found != &added) {
        peer& before = **found;
        if (!before.is_closed_by_peer()) {
            // As in libzmq, a peer without an id is neither read nor written.
            if (!options_.router_handover) {
                queue_.detach(added);
                return;
            }
        }
        peers_by_id_.erase(found);
        last_chosen_ = nullptr;
        if (!before.is_closed_by_peer()) {
            silence(before);
        }
    }
    added.routing_id = std::move(id);
    try {
        peers_by_id_.insert(&added);
    } catch (...) {
        added.routing_id.clear(); // It is not stored under it.
        throw;
    }
}

/// Removes the id of a peer whose id now belongs to another one. A message that is partly
/// transferred, in either direction, is finished or dropped.
void router::silence(peer& before) {
    before.routing_id.clear();
    if (last_chosen_ == &before) {
        last_chosen_ = nullptr;
    }
    if (receiving_ != &before) {
        queue_.detach(before);
    }
    if (sending_ == &before) {
        before.rollback();
    }
    stop_sending(before);
}

/// The rest of a message for `to` is dropped, with the part already sent.
void router::stop_sending(const peer& to) noexcept {
    if (sending_ == &to) {
        sending_ = nullptr;
        ++undeliverable_count_;
    }
}

void router::on_readable(peer& woken) {
    // The announced id must be known before anything is sent to that peer.
    if (queue_.holds(woken)) {
        queue_.activate(woken);
        queue_.look_at(woken);
    }
}

result<void> router::send(outgoing& source) {
    if (!is_sending_) {
        if (const result<void> chosen = choose(source); !chosen) {
            return chosen.error();
        }
        is_sending_ = source.more();
        return {};
    }
    if (options_.raw) {
        send_raw(source);
    } else if (sending_ != nullptr) {
        sending_->push(takeable{source});
        if (!source.more()) {
            sending_->finish_message();
        }
    }
    if (!source.more()) {
        is_sending_ = false;
        sending_ = nullptr;
    }
    return {};
}

bool router::send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept {
    if (!is_sending_) {
        return more && choose_at_once({body, bytes});
    }
    // There was credit when it was chosen.
    if (sending_ == nullptr || options_.raw ||
        !sending_->push_at_once(body, bytes, {.is_first = false, .is_last = !more})) {
        return false;
    }
    if (!more) {
        is_sending_ = false;
        sending_ = nullptr;
    }
    return true;
}

bool router::choose_at_once(std::span<const std::byte> routing_id) noexcept {
    if (is_sending_ || last_chosen_ == nullptr || last_chosen_->is_closed_by_peer() ||
        last_chosen_->routing_id != text_of(routing_id) || !last_chosen_->has_credit())
        [[unlikely]] {
        return false;
    }
    sending_ = last_chosen_;
    is_sending_ = true;
    return true;
}

void router::send_raw(outgoing& source) {
    source.end_message();
    if (sending_ == nullptr) {
        return;
    }
    if (source.bytes() == 0) {
        return dismiss(*sending_);
    }
    sending_->push(takeable{source});
    sending_->finish_message();
}

/// Closes the connection to `target`, after the messages sent to it.
void router::dismiss(peer& target) {
    peers_by_id_.erase(&target);
    silence(target);
    target.end().ask_to_close();
}

/// Finds the peer that `routing_id` names. Without ZMQ_ROUTER_MANDATORY an undeliverable message is
/// dropped.
result<void> router::choose(const outgoing& routing_id) {
    if (!routing_id.more()) {
        ++undeliverable_count_;
        return {}; // A message without content is dropped.
    }
    if (last_chosen_ == nullptr || last_chosen_->routing_id != text_of(routing_id)) {
        const auto found = peers_by_id_.find(text_of(routing_id));
        last_chosen_ = found == peers_by_id_.end() ? nullptr : *found;
    }
    if (last_chosen_ == nullptr || last_chosen_->is_closed_by_peer()) {
        if (options_.router_mandatory) {
            return errc::host_unreachable;
        }
        ++undeliverable_count_;
        return {};
    }
    peer& target = *last_chosen_;
    if (!target.has_credit()) {
        if (options_.router_mandatory) {
            target.mark_writer_parked();
            if (!target.check_again_to_write()) {
                return errc::again;
            }
        } else {
            target.count_dropped();
            return {};
        }
    }
    sending_ = &target;
    return {};
}

result<void> router::recv(incoming& target) {
    pipe::frame front;
    if (receiving_ != nullptr) {
        peer& from = *receiving_;
        from.peek(front);
        from.take(front, target);
        queue_.took(from, target.more);
        if (!target.more) {
            receiving_ = nullptr;
            if (from.routing_id.empty()) [[unlikely]] {
                queue_.detach(from); // Its id was removed meanwhile.
            }
        }
        return {};
    }
    peer* const from = queue_.next(front);
    if (from == nullptr) {
        return errc::again;
    }
    from->take_bytes(bytes_of(from->routing_id), true, target);
    queue_.took(*from, true);
    receiving_ = from;
    return {};
}

std::size_t router::recv_id_at_once(void* to, std::size_t capacity) noexcept {
    pipe::frame front;
    peer* const from = queue_.next_at_once(front);
    if (from == nullptr || from->routing_id.size() > capacity) [[unlikely]] {
        return pipe::message_queue::nothing;
    }
    copy_bytes(to, from->routing_id.data(), from->routing_id.size());
    queue_.took(*from, true);
    receiving_ = from;
    return from->routing_id.size() + pipe::message_queue::more_follows;
}

std::size_t router::recv_at_once(void* to, std::size_t capacity) noexcept {
    if (receiving_ == nullptr) {
        return recv_id_at_once(to, capacity);
    }
    if (receiving_->routing_id.empty()) {
        return pipe::message_queue::nothing;
    }
    pipe::message_queue::short_frame taken;
    if (!receiving_->take_at_once(to, capacity, taken)) {
        return pipe::message_queue::nothing;
    }
    queue_.took(*receiving_, taken.more);
    if (taken.more) {
        return taken.body_bytes + pipe::message_queue::more_follows;
    }
    receiving_ = nullptr;
    return taken.body_bytes;
}

void router::abandon_message() noexcept {
    if (sending_ != nullptr) {
        sending_->rollback();
        stop_sending(*sending_);
    }
    is_sending_ = false;
}

bool router::can_send() {
    // A ROUTER never blocks to send, unless an unknown or full peer is an error. For a STREAM it is
    // one, but as in libzmq the socket always reports room.
    if (is_sending_ || !options_.router_mandatory || options_.type == socket_type::raw_stream) {
        return true;
    }
    for (peer* const each : peers_by_id_) {
        if (each->has_credit()) {
            return true;
        }
    }
    return false;
}

bool router::can_recv() {
    pipe::frame front;
    return receiving_ != nullptr || queue_.next(front) != nullptr;
}

} // namespace zlink::socket
