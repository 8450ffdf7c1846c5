// SPDX-License-Identifier: MPL-2.0
#include "socket/sharing.hpp"

#include "base/event_descriptor.hpp"
#include "base/futex.hpp"
#include "base/thread_end.hpp"
#include "base/thread_number.hpp"
#include "socket/context.hpp"
#include "socket/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <new>

namespace zlink::socket {

namespace {

/// The sockets for which a thread is in the middle of a message.
struct begun_messages {
    std::uint64_t thread = 0;
    std::vector<void*> handles; ///< Some may be stale.
};

constinit thread_local begun_messages* begun_here = nullptr;

void abandon_all(void* begun) {
    const std::unique_ptr<begun_messages> ended{static_cast<begun_messages*>(begun)};
    begun_here = nullptr; // Other handlers at this thread's end may begin messages.
    for (void* const each : ended->handles) {
        if (socket* const held = socket::lock_shared(each); held != nullptr) {
            held->shared()->abandon(ended->thread);
            held->shared()->leave();
        }
    }
}

/// @throws std::bad_alloc
begun_messages& begun_by_this_thread() {
    static thread_end at_end{&abandon_all};
    if (begun_here == nullptr) {
        auto made = std::make_unique<begun_messages>();
        made->thread = thread_number();
        if (!at_end.arm(made.get())) {
            throw std::bad_alloc{};
        }
        begun_here = made.release();
    }
    return *begun_here;
}

} // namespace

bool sharing::may_now(awaited what) const noexcept {
    const std::uint64_t me = thread_number();
    const bool may_send = sender_ == 0 || sender_ == me;
    const bool may_recv = receiver_ == 0 || receiver_ == me;
    switch (what) {
    case awaited::receiving:
        return may_recv;
    case awaited::sending:
    case awaited::turn:
        return may_send;
    case awaited::either:
    case awaited::news:
        break;
    }
    return may_send && may_recv;
}

void sharing::note_part(awaited what, bool more) noexcept {
    std::uint64_t& owner = owner_of(what);
    if (more == (owner != 0)) {
        return;
    }
    if (more) {
        owner = thread_number();
        ++begun_count_;
    } else {
        end_part(what);
    }
    try {
        std::vector<void*>& handles = begun_by_this_thread().handles;
        if (more) {
            handles.push_back(&of_);
        } else if (const auto found = std::find(handles.begin(), handles.end(), &of_);
                   found != handles.end()) {
            handles.erase(found);
        }
    } catch (const std::bad_alloc&) {
        // If this thread ends inside the message, the others wait until the socket is closed.
    }
}

void sharing::end_part(awaited what) noexcept {
    owner_of(what) = 0;
    --begun_count_;
    if (is_watched_ && watcher_ != thread_number()) {
        (what == awaited::sending ? tells_of_room_ : tells_of_message_) = true;
    }
}

void sharing::abandon(std::uint64_t thread) noexcept {
    if (sender_ == thread) {
        of_.rules().abandon_message();
        end_part(awaited::sending);
    }
    if (receiver_ == thread) {
        of_.drop_rest();
        end_part(awaited::receiving);
    }
}

void sharing::note_watched() noexcept {
    is_watched_ = true;
    watcher_ = thread_number();
}

void sharing::note_looked() noexcept {
    reads_events_ = true;
    if (const std::uint64_t me = thread_number(); std::exchange(watcher_, me) == me) {
        tells_of_message_ = false;
        tells_of_room_ = false;
    }
}

/// What another thread would have learned from the descriptor, it is told when the call ends. A
/// thread that never reads ZLINK_EVENTS may be another one than watcher_; it is not told of room
/// again because it took the news of that itself.
void sharing::note_taken(bool has_mail) noexcept {
    if (watcher_ != thread_number()) {
        tells_of_message_ = true;
        tells_of_room_ |= has_mail || reads_events_;
    }
}

// Waiting.

std::uint32_t sharing::waiting(awaited what) const noexcept {
    return followers_[index_of(what)].count + (has_leader_ && led_for_ == what ? 1U : 0U);
}

result<void> sharing::wait(pipe::deadline until, awaited what) {
    if (is_closing_) {
        return errc::not_a_socket;
    }
    if (has_to_wake()) {
        wake_others();
    }
    if (what == awaited::sending && !may_now(what)) {
        what = awaited::turn;
    }
    enter();
    const result<void> outcome = has_leader_ ? follow(until, what) : lead(until, what);
    exit();
    return is_closing_ ? result<void>{errc::not_a_socket} : outcome;
}

result<void> sharing::lead(pipe::deadline until, awaited what) {
    has_leader_ = true;
    led_for_ = what;
    is_leader_called_.store(false, std::memory_order_relaxed);
    of_.unlock();
    result<void> outcome;
    socket_mailbox* const awaited_mail[] = {&of_.mailbox()};
    const auto rest = [&] { return of_.mailbox().wait(until); };
    parked_driver mine{of_.mailbox()};
    try {
        outcome =
            of_.owner().is_caller_driven()
                ? of_.owner().drive_until(
                      mine, awaited_mail, [this] { return is_leader_called_.load(); }, rest, until)
                : rest();
    } catch (const std::bad_alloc&) {
        outcome = errc::no_memory;
    }
    of_.lock();
    has_leader_ = false;
    return outcome;
}

result<void> sharing::follow(pipe::deadline until, awaited what) {
    followers& mine = followers_[index_of(what)];
    const std::uint32_t seen = mine.call_count.load(std::memory_order_relaxed);
    ++mine.count;
    of_.unlock();
    const int ended = futex_wait(mine.call_count, seen, until ? *until : futex_longest());
    of_.lock();
    --mine.count;
    mine.is_called = false;
    return ended == ETIMEDOUT ? result<void>{errc::again}
           : ended == EINTR   ? result<void>{errc::interrupted}
                              : result<void>{};
}

void sharing::exit() noexcept {
    if (--visitor_count_ == 0 && is_closing_) {
        departures_.fetch_add(1, std::memory_order_relaxed);
        futex_wake(departures_, INT_MAX);
    }
}

void sharing::leave() noexcept {
    if (visitor_count_ != 0 || tells_of_message_ || tells_of_room_) [[unlikely]] {
        wake_others();
        hand_over_lead();
    }
    of_.unlock();
}

bool sharing::can(awaited what) noexcept {
    if (of_.is_terminated() || is_closing_) {
        return true;
    }
    try {
        return what == awaited::receiving ? receiver_ == 0 && of_.rules().can_recv()
                                          : sender_ == 0 && of_.rules().can_send();
    } catch (const std::bad_alloc&) {
        return true; // The thread that it wakes finds out.
    }
}

/// Wakes a thread for each condition that holds.
void sharing::wake_others() noexcept {
    const bool tells_of_message = std::exchange(tells_of_message_, false);
    const bool tells_of_room = std::exchange(tells_of_room_, false);
    const bool has_news = std::exchange(has_news_, false);
    const bool is_over = of_.is_terminated() || is_closing_;
    const bool some_wait = !watchers_.empty() || waiting(awaited::either) != 0;
    const bool can_recv = (some_wait || tells_of_message || waiting(awaited::receiving) != 0) &&
                          can(awaited::receiving);
    const bool can_send =
        (some_wait || tells_of_room || waiting(awaited::sending) != 0) && can(awaited::sending);
    const bool by_message = of_.options().has_room_by_message();
    if (can_recv) {
        wake(awaited::receiving, is_over);
    }
    if (can_send && (!by_message || has_news || is_over)) {
        wake(awaited::sending, by_message || is_over);
    }
    if (sender_ == 0 || is_over) {
        wake(awaited::turn, is_over);
    }
    if (can_recv || can_send) {
        wake(awaited::either, true);
    }
    if (has_news || is_over) {
        wake(awaited::news, true);
    }
    for (const watching& each : watchers_) {
        if ((each.receives && can_recv) || (each.sends && can_send) || is_over) {
            signal(*each.by);
        }
    }
    if ((tells_of_message && can_recv) || (tells_of_room && can_send)) {
        of_.mailbox().signal();
    }
}

/// Wakes a thread to wait for the mailbox, if none does.
void sharing::hand_over_lead() noexcept {
    for (followers& each : followers_) {
        if (!has_leader_ && each.count != 0) {
            return wake_one(each);
        }
    }
}

/// Wakes one of the threads that wait for `what`, or all of them.
void sharing::wake(awaited what, bool all) noexcept {
    followers& those = followers_[index_of(what)];
    if (those.count != 0) {
        wake_one(those, all ? INT_MAX : 1);
    }
    if (has_leader_ && led_for_ == what && (all || those.count == 0)) {
        call_leader();
    }
}

void sharing::wake_one(followers& of, int count) noexcept {
    if (of.is_called && count == 1) {
        return;
    }
    of.is_called = true;
    of.call_count.fetch_add(1, std::memory_order_relaxed);
    futex_wake(of.call_count, count);
}

void sharing::call_leader() noexcept {
    if (is_leader_called_.exchange(true)) {
        return;
    }
    of_.mailbox().nudge(); // Not a letter: another thread may collect it first.
    if (of_.owner().is_caller_driven()) {
        of_.owner().reactor().post([] {}); // The leader may be driving.
    }
}

void sharing::signal(watcher& asked) noexcept {
    if (asked.is_signalled.exchange(true)) {
        return;
    }
    signal_event(asked.descriptor);
    if (of_.owner().is_caller_driven()) {
        of_.owner().reactor().post([] {}); // The waiting thread may be driving.
    }
}

void sharing::close() noexcept {
    is_closing_ = true;
    while (visitor_count_ != 0) {
        for (followers& each : followers_) {
            wake_one(each, INT_MAX);
        }
        if (has_leader_) {
            call_leader();
        }
        for (const watching& each : watchers_) {
            signal(*each.by);
        }
        const std::uint32_t seen = departures_.load(std::memory_order_relaxed);
        of_.unlock();
        futex_wait(departures_, seen, futex_longest());
        of_.lock();
    }
}

socket_visit::socket_visit(socket& visited) noexcept
    : visited_(visited.shared() != nullptr ? &visited : nullptr) {
    if (visited_ != nullptr) {
        visited_->shared()->enter();
    }
}

socket_visit::~socket_visit() {
    if (visited_ != nullptr) {
        visited_->lock();
        visited_->shared()->exit();
        visited_->shared()->leave();
    }
}

} // namespace zlink::socket
