// SPDX-License-Identifier: MPL-2.0
#include "pipe/mailbox.hpp"

#include "base/event_descriptor.hpp"
#include "base/futex.hpp"
#include "base/no_cancellation.hpp"
#include "base/own_descriptors.hpp"

#include <cerrno>

namespace zlink::pipe {

mailbox::~mailbox() {
    shut([](letter&, std::uint32_t) {});
}

bool mailbox::deliver(letter& about, std::uint32_t happened) noexcept {
    if (about.events_.fetch_or(happened, std::memory_order_acq_rel) != 0) {
        return true;
    }
    about.retain();
    letter* before = first_.load(std::memory_order_relaxed);
    do {
        if (before == shut_mark()) {
            about.release();
            return false;
        }
        about.next_ = before;
    } while (!first_.compare_exchange_weak(before, &about, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
    if (before == nullptr) {
        on_first_letter();
    }
    return true;
}

letter* mailbox::take_all() noexcept {
    on_collect(); // Even now: a letter may be taken before its delivery wakes the owner.
    if (!has_mail()) {
        return nullptr;
    }
    return in_order(first_.exchange(nullptr, std::memory_order_acq_rel));
}

letter* mailbox::in_order(letter* newest) noexcept {
    if (newest == shut_mark()) {
        return nullptr;
    }
    letter* oldest = nullptr;
    while (newest != nullptr) {
        letter* const next = newest->next_;
        newest->next_ = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void notifier::set(function* called, void* hint) noexcept {
    const std::lock_guard lock{mutex_};
    called_ = called;
    hint_ = hint;
    has_function_ = called != nullptr;
    is_armed_.store(has_function_, std::memory_order_seq_cst);
}

void notifier::call() noexcept {
    const no_cancellation deferred; // The function is the application's.
    const std::lock_guard lock{mutex_};
    if (is_armed_.exchange(false, std::memory_order_seq_cst) && called_ != nullptr) {
        called_(hint_);
    }
}

waiting_mailbox::~waiting_mailbox() {
    if (const int open = event_descriptor_.load(std::memory_order_relaxed); open >= 0) {
        close_descriptor(open);
    }
}

void waiting_mailbox::on_first_letter() noexcept {
    futex_word word{state_};
    parking{word}.on_first_letter();
    signal_watchers();
}

void waiting_mailbox::nudge() noexcept {
    futex_word word{state_};
    parking{word}.nudge();
}

void waiting_mailbox::signal() noexcept {
    is_signalled_from_the_start_ = true;
    signal_watchers();
}

void waiting_mailbox::signal_watchers() noexcept {
    notifier_.notify();
    if (const int open = event_descriptor_.load(std::memory_order_seq_cst); open >= 0) {
        // First, so that every signal that is read was counted.
        unread_signals_.fetch_add(1, std::memory_order_relaxed);
        signal_event(open);
    }
}

void waiting_mailbox::on_collect() noexcept {
    is_signalled_from_the_start_ = false;
    if (!is_signalled()) {
        return;
    }
    const std::uint64_t count = take_signals(event_descriptor_.load(std::memory_order_relaxed));
    unread_signals_.fetch_sub(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
}

result<void> waiting_mailbox::wait(deadline until) noexcept {
    const clock::time_point end = until ? *until : futex_longest();
    const bool is_over = busy_poll_.begin(end, [this] {
        return has_mail_ordered() ||
               state_.load(std::memory_order_relaxed) != parking<futex_word>::awake;
    });
    futex_word word{state_};
    parking place{word};
    if (is_over) {
        place.take_nudge();
        return {};
    }
    const int ended = place.park([this] { return has_mail_ordered(); }, end);
    busy_poll_.end();
    return ended == ETIMEDOUT ? result<void>{errc::again}
           : ended == EINTR   ? result<void>{errc::interrupted}
                              : result<void>{};
}

result<int> waiting_mailbox::descriptor() noexcept {
    int open = event_descriptor_.load(std::memory_order_relaxed);
    if (open < 0) {
        open = open_event();
        if (open < 0) {
            return static_cast<errc>(errno);
        }
        // As in parking::park(): either the next delivery sees the descriptor or this thread sees
        // the delivery.
        event_descriptor_.store(open, std::memory_order_seq_cst);
        if (has_mail_ordered() || is_signalled_from_the_start_) {
            signal_watchers();
        }
    }
    return open;
}

void waiting_mailbox::set_notified(notifier::function* called, void* hint) noexcept {
    notifier_.set(called, hint);
    // As in descriptor(): either the next delivery sees the function or this thread the delivery.
    if (called != nullptr && (has_mail_ordered() || is_signalled_from_the_start_)) {
        notifier_.notify();
    }
}

void waiting_mailbox::reset_descriptor() noexcept {
    on_collect();
    if (has_mail_ordered()) {
        signal_watchers();
    }
}

} // namespace zlink::pipe
