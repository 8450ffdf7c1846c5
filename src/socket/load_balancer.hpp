// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/relaxed.hpp"
#include "socket/fair_queue.hpp"

#include <vector>

namespace zlink::socket {

/// Sends each message to one of the peers that have room, in turn.
///
/// @threads The socket's.
class load_balancer {
public:
    void attach(peer& added) { peers_.attach(added); }

    /// @note The rest of a message that is partly sent to `removed` is dropped.
    void detach(peer& removed) noexcept {
        if (sending_ == &removed) {
            sending_ = nullptr;
            is_dropping_ = true;
            ++undeliverable_count_;
        }
        peers_.detach(removed);
    }

    void activate(peer& woken) noexcept { peers_.activate(woken); }

    /// pattern::abandon_message().
    void abandon() noexcept {
        if (sending_ != nullptr) {
            sending_->rollback();
            sending_ = nullptr;
            ++undeliverable_count_;
        }
        is_dropping_ = false;
    }

    /// pattern::send_at_once().
    ZLINK_HOT bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept {
        if (more || is_inside_message()) [[unlikely]] {
            return send_part_at_once(body, bytes, more);
        }
        if (!peers_.any_active()) [[unlikely]] {
            return false;
        }
        if (!peers_.current().push_at_once(body, bytes, {})) [[unlikely]] {
            return false;
        }
        peers_.advance();
        return true;
    }

    /// @error again  No peer has room for another message.
    ZLINK_HOT result<void> send(outgoing& source) {
        if (!is_inside_message() && peers_.any_active() && !source.more()) [[likely]] {
            peer& target = peers_.current();
            if (target.has_credit()) [[likely]] {
                target.push(takeable{source});
                target.finish_message();
                peers_.advance();
                return {};
            }
        }
        return send_frame(source);
    }

    /// The peer for the next message, the same until finish_frame(false); null if no peer has room.
    peer* choose() {
        while (peers_.any_active()) {
            peer& candidate = peers_.current();
            if (candidate.has_credit()) [[likely]] {
                return &candidate;
            }
            if (peers_.is_only_active()) {
                pace_.count(candidate.take_sent_count());
                if (pace_.yields_before_parking()) {
                    candidate.note_processor();
                    continue;
                }
            }
            peers_.deactivate(candidate);
            candidate.mark_writer_parked();
            if (candidate.check_again_to_write()) {
                peers_.activate(candidate);
            }
        }
        return nullptr;
    }

    /// Begins a message to `target`, which choose() returned.
    void begin(peer& target) noexcept { sending_ = &target; }

    void finish_frame(bool more) noexcept {
        if (!more) {
            sending_->finish_message();
            sending_ = nullptr;
            peers_.advance();
        }
    }

    /// The peer to which a message is partly sent, or null.
    peer* sending() const noexcept { return sending_; }
    bool is_inside_message() const noexcept { return sending_ != nullptr || is_dropping_; }

    bool can_send() { return is_inside_message() || choose() != nullptr; }

    /// Messages whose peer disconnected before they were complete.
    std::uint64_t undeliverable_count() const noexcept { return undeliverable_count_; }

    const std::vector<peer*>& all() const noexcept { return peers_.all(); }

private:
    [[gnu::noinline]] bool send_part_at_once(const std::byte* body, std::size_t bytes,
                                             bool more) noexcept {
        const bool is_first = sending_ == nullptr;
        if (is_dropping_ || (is_first && !peers_.any_active())) [[unlikely]] {
            return false;
        }
        peer& target = is_first ? peers_.current() : *sending_;
        if (!target.push_at_once(body, bytes, {is_first, !more})) [[unlikely]] {
            return false;
        }
        sending_ = more ? &target : nullptr;
        if (!more) {
            peers_.advance();
        }
        return true;
    }

    ZLINK_COLD result<void> send_frame(outgoing& source) {
        if (is_dropping_) {
            is_dropping_ = source.more();
            return {};
        }
        if (sending_ == nullptr) {
            sending_ = choose();
            if (sending_ == nullptr) {
                return errc::again;
            }
        }
        sending_->push(takeable{source});
        finish_frame(source.more());
        return {};
    }

    active_peers<&peer::send_index> peers_;
    peer* sending_ = nullptr;
    bool is_dropping_ = false;
    relaxed<std::uint64_t> undeliverable_count_{0};
    flow_pace pace_{message_steps};
};

} // namespace zlink::socket
