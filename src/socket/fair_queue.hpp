// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/fence.hpp"
#include "base/flow_pace.hpp"
#include "base/inline.hpp"
#include "base/reader_distance.hpp"
#include "base/relaxed.hpp"
#include "socket/peer.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace zlink::tuning {

/// Messages that may be received while the parked marks of some pipes are not fenced yet.
constexpr unsigned unsettled_recv_max = 128;

/// Messages that a STREAM takes from one peer before it turns to the next: they are adjacent in
/// memory, and so are the answers.
constexpr unsigned turn_messages_max = 32;

} // namespace zlink::tuning

namespace zlink::socket {

/// A list of peers, the active ones first. Its order changes; initially it is the order of arrival
/// (letter::arrival), not that in which handshakes completed. `Index` is the member of a peer that
/// holds its position.
template<std::uint32_t peer::*Index>
class active_peers {
public:
    void attach(peer& added) {
        peers_.push_back(&added);
        added.*Index = static_cast<std::uint32_t>(peers_.size() - 1);
        activate(added);
        queue_up(added);
    }

    void detach(peer& removed) noexcept {
        if (removed.*Index == peer::nowhere) {
            return;
        }
        deactivate(removed);
        swap(removed.*Index, peers_.size() - 1);
        peers_.pop_back();
        removed.*Index = peer::nowhere;
    }

    bool holds(const peer& asked) const noexcept { return asked.*Index != peer::nowhere; }
    bool is_active(const peer& asked) const noexcept { return asked.*Index < active_count_; }

    void activate(peer& woken) noexcept {
        if (!is_active(woken) && holds(woken)) {
            swap(woken.*Index, active_count_++);
            if (current_ == nullptr) {
                current_ = &woken;
            }
        }
    }

    void deactivate(peer& tired) noexcept {
        if (is_active(tired)) {
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an active peer is current.
            const std::uint32_t turn = current_->*Index;
            swap(tired.*Index, --active_count_);
            current_ = active_count_ == 0 ? nullptr : peers_[turn < active_count_ ? turn : 0];
        }
    }

    std::size_t active_count() const noexcept { return active_count_; }
    bool any_active() const noexcept { return current_ != nullptr; }
    bool is_only_active() const noexcept { return active_count_ == 1; }
    /// The peer whose turn it is. Needs any_active().
    peer& current() const noexcept { return *current_; }
    /// Makes the next active peer current.
    ZLINK_HOT void advance() noexcept {
        if (active_count_ > 1) {
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an active peer is current.
            const std::size_t next = current_->*Index + std::size_t{1};
            current_ = peers_[next < active_count_ ? next : 0];
        }
    }

    const std::vector<peer*>& all() const noexcept { return peers_; }

private:
    /// Moves a new peer, the last active one, before those that arrived later. If the first of
    /// these is current, the new peer becomes current.
    void queue_up(peer& added) noexcept {
        const std::uint32_t last = added.*Index;
        std::uint32_t place = last;
        for (; place != 0 && added.arrived_before(*peers_[place - 1]); --place) {
            swap(place, place - 1);
        }
        if (place != last && current_ == peers_[place + 1]) {
            current_ = &added;
        }
    }

    void swap(std::size_t one, std::size_t other) noexcept {
        std::swap(peers_[one], peers_[other]);
        peers_[one]->*Index = static_cast<std::uint32_t>(one);
        peers_[other]->*Index = static_cast<std::uint32_t>(other);
    }

    std::vector<peer*> peers_;
    std::size_t active_count_ = 0;
    peer* current_ = nullptr; ///< One of the active peers, if there are any.
};

/// Parameters of flow_pace for fair_queue and load_balancer.
inline constexpr flow_pace::steps message_steps{
    tuning::batch_messages_min, tuning::batch_messages_per_check, tuning::message_checks_max};

/// Peeks at the front frame of a peer that uses ZMTP framing.
struct zmtp_peek {
    ZLINK_HOT static bool look(peer& at, pipe::frame& front) { return at.peek(front); }
};

/// Receives from all peers in turn, one message each.
///
/// A peer that is found empty is parked: its mark is set at once, but the fence that makes marks
/// effective is issued once for all of them, in settle().
///
/// @threads The socket's.
template<class Peek>
class basic_fair_queue {
public:
    void attach(peer& added) {
        // All peers may be parked at once, and parking must not fail.
        if (const std::size_t count = peers_.all().size() + 1; unsettled_.capacity() < count) {
            unsettled_.reserve(2 * count);
        }
        peers_.attach(added);
    }

    void detach(peer& removed) noexcept {
        if (receiving_ == &removed) {
            receiving_ = nullptr;
        }
        std::erase(unsettled_, &removed);
        peers_.detach(removed);
    }

    void activate(peer& woken) noexcept { peers_.activate(woken); }
    /// Ignores the peer until it is activated.
    void deactivate(peer& held) noexcept { peers_.deactivate(held); }

    /// After the rest of its message, which is partly received, ignores the peer. It must raise no
    /// events.
    void rest_only(peer& from) noexcept {
        std::erase(unsettled_, &from);
        peers_.deactivate(from);
    }

    /// Whether this queue receives from the peer.
    bool holds(const peer& asked) const noexcept { return peers_.holds(asked); }

    /// Checks the front of `about` now rather than in its turn. If it is empty, its next message
    /// raises an event.
    void look_at(peer& about) {
        pipe::frame front;
        while (!Peek::look(about, front)) {
            park_peer(about);
            if (!settle() || !peers_.is_active(about)) {
                return;
            }
        }
        activate(about);
    }

    /// Finds the current peer and the frame at its front.
    /// @return Null if there is nothing to receive, even after settle().
    ZLINK_HOT peer* next(pipe::frame& front) {
        if (peers_.any_active()) [[likely]] {
            keep_distance(peers_.current());
        }
        return next_now(front);
    }

    /// As next(), but noexcept: null also if memory is lacking, which next() reports.
    peer* next_at_once(pipe::frame& front) noexcept {
        try {
            return next(front);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    /// As next(), but only from messages already visible: checks no marks, and leaves empty peers
    /// active.
    peer* next_without_parking(pipe::frame& front) {
        if (is_settling_due()) {
            return nullptr;
        }
        for (std::size_t left = peers_.active_count(); left != 0; --left) {
            peer& candidate = peers_.current();
            if (Peek::look(candidate, front)) [[likely]] {
                return &candidate;
            }
            turn_count_ = 0;
            peers_.advance();
        }
        return nullptr;
    }

    /// pattern::recv_at_once().
    ZLINK_HOT std::size_t recv_at_once(void* to, std::size_t capacity) noexcept {
        peer* const from = next_to_take();
        pipe::message_queue::short_frame taken;
        if (from == nullptr || !from->take_at_once(to, capacity, taken)) [[unlikely]] {
            return pipe::message_queue::nothing;
        }
        took(*from, taken.more);
        return taken.body_bytes + (taken.more ? pipe::message_queue::more_follows : 0);
    }

    /// pattern::recv_message_at_once().
    ZLINK_HOT bool recv_message_at_once(pipe::message& into) {
        peer* const from = next_to_take();
        if (from == nullptr || !from->take_at_once(into)) [[unlikely]] {
            return false;
        }
        took(*from, into.more());
        return true;
    }

    /// Receives the next frame.
    /// @error again  There is none.
    ZLINK_HOT result<void> recv(incoming& target) {
        pipe::frame front;
        peer* const from = next(front);
        if (from == nullptr) [[unlikely]] {
            return errc::again;
        }
        from->take(front, target);
        took(*from, target.more);
        return {};
    }

    bool can_recv() {
        pipe::frame front;
        return next_now(front) != nullptr;
    }

    /// pattern::next_message().
    std::optional<std::span<const std::byte>> next_message() {
        pipe::frame front;
        if (receiving_ != nullptr || next_now(front) == nullptr) {
            return {};
        }
        return std::span{front.body, front.body_bytes};
    }

    /// Records that the frame returned by next() was taken.
    ZLINK_HOT void took(peer& from, bool more) noexcept {
        if (more) {
            receiving_ = &from;
            return;
        }
        receiving_ = nullptr;
        peers_.advance();
        pace_.count();
    }

    /// Records that whole messages of the peer returned by next() were taken. Its turn ends after a
    /// maximum of them.
    ZLINK_HOT void took_in_turn(unsigned count = 1) noexcept {
        pace_.count(count);
        if (!unsettled_.empty()) {
            unsettled_count_ += count - 1; // One check found them all.
        }
        turn_count_ += count;
        if (turn_count_ >= tuning::turn_messages_max) {
            turn_count_ = 0;
            peers_.advance();
        }
    }
    /// The number of messages that it may deliver in this turn, at least 1.
    unsigned turn_rest() const noexcept { return tuning::turn_messages_max - turn_count_; }

    /// Drops a message from the frame at its front on, which next() returned.
    void drop_message(peer& from, pipe::frame& front) {
        while (true) {
            const bool more = front.more();
            from.drop(front);
            took(from, more);
            if (!more) {
                return;
            }
            Peek::look(from, front); // Messages are published whole.
        }
    }

    /// As next(), for a pattern whose messages have one frame: longer ones are dropped.
    /// @param dropped_count  Counts them.
    peer* next_of_one_frame(pipe::frame& front, relaxed<std::uint64_t>& dropped_count) {
        while (peer* const from = next(front)) {
            if (!front.more()) [[likely]] {
                return from;
            }
            ++dropped_count;
            drop_message(*from, front);
        }
        return nullptr;
    }

    /// Drops the visible messages of `about`, up to the end of the last one.
    void drop_received(peer& about) {
        if (!peers_.is_active(about)) {
            return; // It was found empty, and has raised no event since.
        }
        pipe::frame front;
        while (Peek::look(about, front)) {
            about.drop(front);
        }
        if (receiving_ == &about) {
            receiving_ = nullptr;
        }
    }

    /// As drop_received(), then parks the peer. `about` must not be closed.
    void drop_received_and_rest(peer& about) {
        do {
            drop_received(about);
            if (peers_.is_active(about)) {
                park_peer(about);
            }
            settle();
        } while (peers_.is_active(about));
    }

    /// The peer whose message is partly received, or null.
    peer* receiving() const noexcept { return receiving_; }

    const std::vector<peer*>& all() const noexcept { return peers_.all(); }

private:
    /// The peer to take a frame from, if an active one is current.
    ZLINK_HOT peer* next_to_take() noexcept {
        if (receiving_ != nullptr || !unsettled_.empty() || !peers_.any_active()) [[unlikely]] {
            return receiving_;
        }
        peer& from = peers_.current();
        keep_distance(from);
        return &from;
    }

    /// next() without a pause.
    ZLINK_HOT peer* next_now(pipe::frame& front) {
        if (receiving_ == nullptr && !is_settling_due() && peers_.any_active()) [[likely]] {
            peer& candidate = peers_.current();
            if (Peek::look(candidate, front)) [[likely]] {
                return &candidate;
            }
        }
        return find_next(front);
    }

    /// Lets messages accumulate if the producer is just as fast as this consumer.
    ZLINK_HOT void keep_distance(peer& from) noexcept {
        if (from.is_read_up()) [[unlikely]] {
            look_ahead(from);
        }
    }

    [[gnu::noinline]] void look_ahead(peer& from) noexcept {
        if (peers_.is_only_active()) {
            distance_.keep([&from] { return from.look(); });
        } else {
            distance_.lose();
        }
    }

    /// Counts a check while some marks are not in effect yet.
    bool is_settling_due() noexcept {
        return !unsettled_.empty() && ++unsettled_count_ >= tuning::unsettled_recv_max;
    }

    ZLINK_COLD peer* find_next(pipe::frame& front) {
        if (receiving_ != nullptr) {
            Peek::look(*receiving_, front); // Messages are published whole.
            return receiving_;
        }
        if (unsettled_count_ >= tuning::unsettled_recv_max) {
            settle();
        }
        do {
            while (peers_.any_active()) {
                peer& candidate = peers_.current();
                if (Peek::look(candidate, front)) {
                    return &candidate;
                }
                if (!peers_.is_only_active() || peers_.all().size() > tuning::rechecked_max ||
                    !pace_.yields_before_parking()) {
                    park_peer(candidate);
                } else {
                    candidate.note_processor();
                }
            }
        } while (settle());
        return nullptr;
    }

    ZLINK_HOT void park_peer(peer& emptied) {
        turn_count_ = 0;
        peers_.deactivate(emptied);
        if (emptied.is_closed_by_peer()) {
            emptied.report_drained();
            return;
        }
        needs_fence_ |= emptied.mark_reader_parked();
        unsettled_.push_back(&emptied);
    }

    /// @return Whether a peer has a message after all.
    bool settle() noexcept {
        unsettled_count_ = 0;
        if (unsettled_.empty()) {
            return false;
        }
        if (std::exchange(needs_fence_, false)) {
            asymmetric_fence::heavy();
        }
        for (peer* const each : unsettled_) {
            if (each->check_again_to_read()) {
                peers_.activate(*each);
            }
        }
        unsettled_.clear();
        return peers_.any_active();
    }

    active_peers<&peer::recv_index> peers_;
    std::vector<peer*> unsettled_;
    unsigned unsettled_count_ = 0;
    unsigned turn_count_ = 0;  ///< Messages taken in a row from one peer.
    bool needs_fence_ = false; ///< Some unsettled marks take effect only after one.
    peer* receiving_ = nullptr;
    flow_pace pace_{message_steps};
    reader_distance distance_;
};

using fair_queue = basic_fair_queue<zmtp_peek>;

} // namespace zlink::socket
