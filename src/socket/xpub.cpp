// SPDX-License-Identifier: MPL-2.0
#include "socket/xpub.hpp"

#include "base/retry.hpp"
#include "pipe/buffer_pool.hpp"
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace zlink::socket {

namespace zmtp = wire::zmtp;

void xpub::begin_turn() noexcept {
    if (work_left_ == 0) [[unlikely]] {
        pipe::join_small_memory(); // Thousands of topics may have been freed.
    }
    work_left_ = limits::subscription_work_max;
}

void xpub::on_attached(peer& added) {
    peers_.push_back(&added);
    if (!options_.xpub_welcome.empty()) {
        added.push_bytes(reinterpret_cast<const std::byte*>(options_.xpub_welcome.data()),
                         options_.xpub_welcome.size(), 0);
        added.finish_message();
    }
    try {
        read(added);
    } catch (const std::bad_alloc&) {
        added.look_again(); // For the next check of the mailbox.
    }
}

void xpub::on_detached(peer& removed) {
    std::erase(peers_, &removed);
    std::erase(unfiltered_, &removed);
    stop_sending(removed);
    if (removed.recv_index != peer::nowhere) {
        std::erase(unread_, &removed);
    }
    forget_sender(removed);
    // Only a peer that could not be attached still has topics here.
    const std::size_t work_left = std::exchange(work_left_, SIZE_MAX);
    retry_allocation([&] { take_topics_from(removed); });
    work_left_ = work_left;
}

bool xpub::try_detach(peer& leaving) noexcept {
    if (!is_pub() && is_full()) {
        leaving.end().close();
        return false; // Until the application has received some.
    }
    try {
        take_topics_from(leaving);
    } catch (const std::bad_alloc&) {
        work_left_ = 0; // The rest later.
    }
    const bool is_done =
        asked_.topic_count(&leaving) == 0 && subscribers_.topic_count(&leaving) == 0;
    if (!is_done) {
        leaving.end().close(); // The connection can close at once.
        leaving.look_again();
    }
    return is_done;
}

/// Removes as many topics as this turn allows.
void xpub::take_topics_from(peer& leaving) {
    // Each topic is removed before it is reported.
    const auto tell = [this](topic_view topic) {
        retry_allocation([&] { notify(false, topic, nullptr); });
    };
    asked_.remove_some(&leaving, work_left_, [&](topic_view topic, bool) { tell(topic); });
    subscribers_.remove_some(&leaving, work_left_, [&](topic_view topic, bool is_last) {
        if (!is_manual() && (is_last || options_.xpub_verboser)) {
            tell(topic);
        }
    });
}

/// The rest of the message is not sent to `to`.
void xpub::stop_sending(const peer& to) noexcept {
    if (std::erase(matched_, &to) != 0 && is_sending_) {
        ++undeliverable_count_;
    }
}

void xpub::forget_sender(const peer& gone) noexcept {
    if (received_from_ == &gone) {
        received_from_ = nullptr;
    }
    if (pending_manual_count_ == 0) {
        return;
    }
    for (pending_frame& each : pending_) {
        if (each.from == &gone) {
            each.from = nullptr;
            --pending_manual_count_;
        }
    }
}

void xpub::on_readable(peer& woken) {
    if (!woken.departing) {
        read(woken);
    }
}

void xpub::read(peer& from) {
    if (from.recv_index != peer::nowhere) {
        return; // In unread_, until that is emptied.
    }
    pipe::frame front;
    bool inside = false; // A message, whose frames must stay together.
    bool may_subscribe = true;
    do {
        while (from.peek(front)) {
            if (!inside && is_full()) {
                unread_.push_back(&from);
                from.recv_index = 0;
                return;
            }
            if (!inside && work_left_ == 0) {
                // The rest waits for the next check of the mailbox.
                from.look_again();
                return;
            }
            count_work(front.body_bytes);
            const std::span<const std::byte> body{front.body, front.body_bytes};
            const auto subscription = subscription_in(body, front.command());
            if (!inside) {
                may_subscribe = subscription || !options_.only_first_subscribe;
            }
            if (subscription && may_subscribe) {
                change(from, subscription->subscribe, subscription->topic);
            } else if (!is_pub() && !front.command()) {
                keep({{body.begin(), body.end()}, front.more(), is_manual() ? &from : nullptr});
            }
            inside = front.more();
            from.drop(front);
        }
        if (from.is_closed_by_peer()) {
            return from.report_drained();
        }
        if (from.mark_reader_parked()) {
            asymmetric_fence::heavy();
        }
    } while (from.check_again_to_read());
}

std::optional<zmtp::subscription_view> xpub::subscription_in(std::span<const std::byte> body,
                                                             bool is_command) {
    return is_command ? zmtp::decode_subscription_command(body)
                      : zmtp::decode_subscription_message(body);
}

void xpub::keep(pending_frame&& added) {
    const std::size_t bytes = added.body.size();
    const bool is_manual_frame = added.from != nullptr;
    pending_.push_back(std::move(added));
    pending_bytes_ += bytes;
    pending_manual_count_ += is_manual_frame;
}

bool xpub::is_full() const noexcept {
    return pending_.size() >= limits::pending_frames_max ||
           pending_bytes_ >= limits::pending_bytes_max;
}

bool xpub::is_over_half_full() const noexcept {
    return pending_.size() > limits::pending_frames_max / 2 ||
           pending_bytes_ > limits::pending_bytes_max / 2;
}

/// Schedules the unread peers again; each time another one is first.
void xpub::resume_reading() noexcept {
    std::rotate(unread_.begin(), unread_.begin() + 1, unread_.end());
    for (peer* const each : unread_) {
        each->recv_index = peer::nowhere;
        each->look_again();
    }
    unread_.clear();
}

void xpub::change(peer& from, bool subscribe, topic_view topic) {
    if (is_manual()) {
        if (!subscribe) {
            asked_.remove(topic, &from);
        } else if (asked_.add(topic, &from) == topic_subscribers::addition::refused) {
            return;
        }
        return notify(subscribe, topic, &from);
    }
    if (subscribe) {
        const auto added = subscribers_.add(topic, &from);
        if (added == topic_subscribers::addition::refused) {
            return;
        }
        if (added == topic_subscribers::addition::first || options_.xpub_verbose ||
            options_.xpub_verboser) {
            notify(true, topic, nullptr);
        }
        return;
    }
    const auto removed = subscribers_.remove(topic, &from);
    if (removed == topic_subscribers::removal::last || options_.xpub_verboser) {
        notify(false, topic, nullptr);
    }
}

/// @param from  For ZMQ_XPUB_MANUAL, the peer that the answer applies to.
void xpub::notify(bool subscribe, topic_view topic, peer* from) {
    if (is_pub()) {
        return;
    }
    pending_frame made{{}, false, from};
    made.body.reserve(1 + topic.size());
    made.body.push_back(std::byte{subscribe});
    made.body.insert(made.body.end(), topic.begin(), topic.end());
    keep(std::move(made));
}

result<void> xpub::choose(std::span<const std::byte> key) {
    matched_.clear();
    ++match_serial_;
    if (options_.invert_matching && options_.type != socket_type::radio) {
        subscribers_.match(
            key, [&](void* each) { static_cast<peer*>(each)->match_serial = match_serial_; });
        std::copy_if(peers_.begin(), peers_.end(), std::back_inserter(matched_),
                     [&](const peer* each) {
                         return each->match_serial != match_serial_ && !each->departing;
                     });
    } else {
        subscribers_.match(key, [&](void* each) {
            peer& subscriber = *static_cast<peer*>(each);
            if (subscriber.match_serial != match_serial_ && !subscriber.departing) {
                subscriber.match_serial = match_serial_;
                matched_.push_back(&subscriber);
            }
        });
    }
    std::copy_if(unfiltered_.begin(), unfiltered_.end(), std::back_inserter(matched_),
                 [](const peer* each) { return !each->departing; });
    if (options_.xpub_manual_last_value && is_manual() && received_from_ != nullptr) {
        std::erase_if(matched_, [&](const peer* each) { return each != received_from_; });
    }
    if (!options_.xpub_no_drop) {
        std::erase_if(matched_, [](peer* each) {
            if (each->has_credit()) {
                return false;
            }
            each->count_dropped();
            return true;
        });
        return {};
    }
    for (peer* const each : matched_) {
        if (!each->has_credit()) {
            each->mark_writer_parked();
            if (!each->check_again_to_write()) {
                return errc::again;
            }
        }
    }
    return {};
}

/// After a frame could not be sent to all: no peer gets a part. If it is the first nothing has
/// changed, otherwise the rest of the message is dropped.
void xpub::take_back(bool is_first) noexcept {
    for (peer* const each : matched_) {
        each->rollback();
    }
    if (!is_first) {
        undeliverable_count_ += matched_.size();
        matched_.clear();
    }
}

result<void> xpub::send(outgoing& source) {
    const bool is_first = !is_sending_;
    if (is_first) {
        const auto chosen = choose({source.data(), source.bytes()});
        if (!chosen) {
            return chosen.error();
        }
        if (options_.xpub_manual_last_value) {
            received_from_ = nullptr;
        }
    }
    try {
        for (peer* const each : matched_) {
            each->push(source);
        }
    } catch (...) {
        take_back(is_first);
        throw;
    }
    is_sending_ = source.more();
    if (!is_sending_) {
        for (peer* const each : matched_) {
            each->finish_message();
        }
    }
    return {};
}

/// A RADIO's receivers are not chosen by the first frame.
bool xpub::has_full_receiver() {
    return options_.xpub_no_drop && options_.type != socket_type::radio && !is_sending_ &&
           std::any_of(peers_.begin(), peers_.end(),
                       [](peer* each) { return !each->has_credit(); });
}

bool xpub::has_room_for(std::span<const std::byte> first_frame) {
    return !has_full_receiver() || choose(first_frame);
}

void xpub::abandon_message() noexcept {
    if (is_sending_) {
        for (peer* const each : matched_) {
            each->rollback();
        }
        undeliverable_count_ += matched_.size();
        matched_.clear();
        is_sending_ = false;
    }
}

result<void> xpub::recv(incoming& target) {
    if (is_pub()) {
        return errc::not_supported;
    }
    if (pending_.empty()) {
        return errc::again;
    }
    const pending_frame& front = pending_.front();
    target.take_copy(front.body.data(), front.body.size(), front.more);
    pending_bytes_ -= front.body.size();
    received_from_ = front.from;
    pending_manual_count_ -= front.from != nullptr;
    pending_.pop_front();
    if (!unread_.empty() && !is_over_half_full()) [[unlikely]] {
        resume_reading();
    }
    return {};
}

result<void> xpub::change_subscription(std::span<const std::byte> topic, bool subscribe) {
    if (!is_manual()) {
        return errc::invalid_argument;
    }
    if (received_from_ == nullptr) {
        return {}; // It is gone.
    }
    if (subscribe) {
        subscribers_.add(topic, received_from_);
    } else {
        subscribers_.remove(topic, received_from_);
    }
    return {};
}

} // namespace zlink::socket
