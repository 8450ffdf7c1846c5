// SPDX-License-Identifier: MPL-2.0
#include "socket/monitor.hpp"

#include "base/limits.hpp"
#include "base/retry.hpp"
#include "socket/context.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace zlink::socket {

namespace {

/// Event and value, packed, in native byte order.
std::array<std::byte, 6> first_frame(connection_event what, std::uint64_t value) noexcept {
    std::array<std::byte, 6> made;
    const auto number = static_cast<std::uint16_t>(what);
    const auto short_value = static_cast<std::uint32_t>(value);
    std::memcpy(made.data(), &number, sizeof number);
    std::memcpy(made.data() + sizeof number, &short_value, sizeof short_value);
    return made;
}

void push_number(pipe::pipe_end& to, std::uint64_t number) {
    std::array<std::byte, sizeof number> frame;
    std::memcpy(frame.data(), &number, sizeof number);
    to.out.push_copy(frame.data(), frame.size(), wire::zmtp::flag_more);
}

void push_text(pipe::pipe_end& to, std::string_view text, std::uint8_t flags) {
    to.out.push_copy(reinterpret_cast<const std::byte*>(text.data()), text.size(), flags);
}

} // namespace

result<boost::intrusive_ptr<monitor>> monitor::start(context& owner, const std::string& name,
                                                     const monitor_rules& rules) {
    boost::intrusive_ptr<monitor> made{new monitor(owner, owner.choose_thread(0), name, rules)};
    const result<void> bound = owner.bind_inproc(name, {.binder = made.get(),
                                                        .mailbox = pipe::mailbox_ptr(made.get()),
                                                        .send_hwm = limits::monitor_messages_max,
                                                        .recv_hwm = limits::monitor_messages_max,
                                                        .routing_id = {},
                                                        .type = rules.type});
    if (!bound) {
        return bound.error();
    }
    owner.add_dependant();
    return made;
}

monitor::monitor(context& owner, runtime::io_thread& thread, std::string name,
                 const monitor_rules& rules)
    : context_(owner), thread_(thread), name_(std::move(name)), rules_(rules) {}

void monitor::stop() noexcept {
    context_.unbind_inproc(name_, this);
    thread_.post([self = boost::intrusive_ptr<monitor>(this)] { self->end(); });
}

void monitor::report(connection_event what, std::span<const std::uint64_t> values,
                     const event_place& where) noexcept {
    if ((rules_.events & watched_bit(what)) == 0) {
        return;
    }
    if (held_count_.fetch_add(1, std::memory_order_relaxed) >= limits::monitor_events_max) {
        held_count_.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
    try {
        occurrence happened{.what = what, .value_count = values.size()};
        std::ranges::copy(values, happened.values.begin());
        if (rules_.version == monitor_version::one) {
            happened.shown = where.shown;
        } else {
            happened.local = where.local;
            happened.peer = where.peer;
        }
        thread_.post(
            [self = boost::intrusive_ptr<monitor>(this), happened = std::move(happened)]() mutable {
                self->take(std::move(happened));
            });
    } catch (const std::bad_alloc&) {
        held_count_.fetch_sub(1, std::memory_order_relaxed);
    }
}

// On the I/O thread.

void monitor::on_first_letter() noexcept {
    thread_.post([self = boost::intrusive_ptr<monitor>(this)] {
        self->collect(
            [&](pipe::letter& about, std::uint32_t happened) { self->on_letter(about, happened); });
    });
}

void monitor::on_letter(pipe::letter& about, std::uint32_t happened) noexcept {
    auto& end = static_cast<pipe::pipe_end&>(about);
    if ((happened & pipe::event::attached) != 0) {
        pipe::end_ptr added{end};
        if (readers_.empty() || rules_.type != socket_type::pair) { // Others are rejected.
            retry_allocation([&] { readers_.reserve(readers_.size() + 1); });
            readers_.push_back(std::move(added));
            tell_waiting();
        }
    }
    if ((happened & pipe::event::closed) != 0) {
        std::erase_if(readers_, [&](const pipe::end_ptr& each) { return &*each == &end; });
    }
}

void monitor::take(occurrence&& added) noexcept {
    if (!readers_.empty()) {
        tell(added);
        held_count_.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
    try {
        waiting_.push_back(std::move(added));
    } catch (const std::bad_alloc&) {
        held_count_.fetch_sub(1, std::memory_order_relaxed);
    }
}

void monitor::tell_waiting() noexcept {
    for (const occurrence& each : waiting_) {
        tell(each);
    }
    held_count_.fetch_sub(waiting_.size(), std::memory_order_relaxed);
    waiting_.clear();
}

/// Sends `happened` to a reader, or with PUB to all, unless there is no room or no memory for it.
void monitor::tell(const occurrence& happened) noexcept {
    const std::size_t count = readers_.size();
    for (std::size_t index = 0; index < count; ++index) {
        const bool takes_turns = rules_.type == socket_type::push;
        pipe::pipe_end& to = *readers_[takes_turns ? next_reader_++ % count : index];
        if (!to.out.has_credit()) {
            continue;
        }
        try {
            push(to, happened, rules_.version);
        } catch (const std::bad_alloc&) {
            to.out.rollback();
            continue;
        }
        to.finish_message();
        if (rules_.type != socket_type::pub) {
            return;
        }
    }
}

void monitor::push(pipe::pipe_end& to, const occurrence& happened, monitor_version form) {
    if (form == monitor_version::one) {
        const auto first = first_frame(happened.what, happened.values.front());
        to.out.push_copy(first.data(), first.size(), wire::zmtp::flag_more);
        return push_text(to, happened.shown, 0);
    }
    push_number(to, static_cast<std::uint64_t>(happened.what));
    push_number(to, happened.value_count);
    for (std::size_t index = 0; index < happened.value_count; ++index) {
        push_number(to, happened.values[index]);
    }
    push_text(to, happened.local, wire::zmtp::flag_more);
    push_text(to, happened.peer, 0);
}

void monitor::end() noexcept {
    constexpr auto stopped = connection_event::monitor_stopped;
    if ((rules_.events & watched_bit(stopped)) != 0) {
        tell({.what = stopped});
    }
    readers_.clear();
    waiting_.clear();
    shut([](pipe::letter& about, std::uint32_t happened) {
        if ((happened & pipe::event::attached) != 0) {
            const pipe::end_ptr refused{static_cast<pipe::pipe_end&>(about)};
        }
    });
    context_.on_session_gone();
}

// The slot.

result<void> monitor_slot::start(context& owner, const std::string& name,
                                 const monitor_rules& rules) {
    stop();
    auto made = monitor::start(owner, name, rules);
    if (!made) {
        return made.error();
    }
    const std::lock_guard lock{mutex_};
    current_ = std::move(*made);
    events_.store(rules.events, std::memory_order_relaxed);
    wants_both_ends_.store(rules.version == monitor_version::two, std::memory_order_relaxed);
    return {};
}

void monitor_slot::stop() noexcept {
    boost::intrusive_ptr<monitor> ended;
    {
        const std::lock_guard lock{mutex_};
        ended = std::exchange(current_, nullptr);
        events_.store(0, std::memory_order_relaxed);
    }
    if (ended) {
        ended->stop();
    }
}

void monitor_slot::on_connection_event(connection_event what, std::int32_t value,
                                       const event_place& where) noexcept {
    if (const auto told = watches(what) ? current() : nullptr) {
        const std::array values{static_cast<std::uint64_t>(std::int64_t{value})};
        told->report(what, values, where);
    }
}

void monitor_slot::on_statistics(std::uint64_t sent_count, std::uint64_t received_count,
                                 const event_place& where) noexcept {
    if (const auto told = current()) {
        told->report(connection_event::pipe_statistics, std::array{sent_count, received_count},
                     where);
    }
}

boost::intrusive_ptr<monitor> monitor_slot::current() noexcept {
    const std::lock_guard lock{mutex_};
    return current_;
}

} // namespace zlink::socket
