// SPDX-License-Identifier: MPL-2.0
#include "socket/monitor.hpp"

#include "base/limits.hpp"
#include "socket/context.hpp"
#include "wire/zmtp/frame.hpp"

#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace zlink::socket {

namespace {

/// Event and value, packed, in native byte order.
std::array<std::byte, 6> first_frame(connection_event what, std::int32_t value) noexcept {
    std::array<std::byte, 6> made;
    const auto number = static_cast<std::uint16_t>(what);
    std::memcpy(made.data(), &number, sizeof number);
    std::memcpy(made.data() + sizeof number, &value, sizeof value);
    return made;
}

} // namespace

result<boost::intrusive_ptr<monitor>> monitor::start(context& owner, const std::string& name,
                                                     unsigned events) {
    boost::intrusive_ptr<monitor> made{new monitor(owner, owner.choose_thread(0), name, events)};
    const result<void> bound = owner.bind_inproc(name, {.binder = made.get(),
                                                        .mailbox = pipe::mailbox_ptr(made.get()),
                                                        .send_hwm = limits::monitor_messages_max,
                                                        .recv_hwm = limits::monitor_messages_max,
                                                        .routing_id = {},
                                                        .type = socket_type::pair});
    if (!bound) {
        return bound.error();
    }
    owner.add_dependant();
    return made;
}

monitor::monitor(context& owner, runtime::io_thread& thread, std::string name, unsigned events)
    : context_(owner), thread_(thread), name_(std::move(name)), events_(events) {}

void monitor::stop() noexcept {
    context_.unbind_inproc(name_, this);
    thread_.post([self = boost::intrusive_ptr<monitor>(this)] { self->end(); });
}

void monitor::report(connection_event what, std::int32_t value,
                     std::string_view endpoint) noexcept {
    if ((events_ & watched_bit(what)) == 0) {
        return;
    }
    if (held_count_.fetch_add(1, std::memory_order_relaxed) >= limits::monitor_events_max) {
        held_count_.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
    try {
        thread_.post([self = boost::intrusive_ptr<monitor>(this),
                      happened = occurrence{what, value, std::string{endpoint}}]() mutable {
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
        if (!reader_) { // A second reader is rejected.
            reader_ = std::move(added);
            tell_waiting();
        }
    }
    if ((happened & pipe::event::closed) != 0 && reader_ && &*reader_ == &end) {
        reader_.reset();
    }
}

void monitor::take(occurrence&& added) noexcept {
    if (reader_) {
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

/// Sends `happened`, unless there is no room or no memory for it.
void monitor::tell(const occurrence& happened) noexcept {
    if (!reader_->out.has_credit()) {
        return;
    }
    const auto first = first_frame(happened.what, happened.value);
    try {
        reader_->out.push_copy(first.data(), first.size(), wire::zmtp::flag_more);
        reader_->out.push_copy(reinterpret_cast<const std::byte*>(happened.endpoint.data()),
                               happened.endpoint.size(), 0);
    } catch (const std::bad_alloc&) {
        return reader_->out.rollback();
    }
    reader_->finish_message();
}

void monitor::end() noexcept {
    if (reader_ && (events_ & static_cast<unsigned>(connection_event::monitor_stopped)) != 0) {
        tell({connection_event::monitor_stopped, 0, {}});
    }
    reader_.reset();
    waiting_.clear();
    shut([](pipe::letter& about, std::uint32_t happened) {
        if ((happened & pipe::event::attached) != 0) {
            const pipe::end_ptr refused{static_cast<pipe::pipe_end&>(about)};
        }
    });
    context_.on_session_gone();
}

// The slot.

result<void> monitor_slot::start(context& owner, const std::string& name, unsigned events) {
    stop();
    auto made = monitor::start(owner, name, events);
    if (!made) {
        return made.error();
    }
    const std::lock_guard lock{mutex_};
    current_ = std::move(*made);
    events_.store(events, std::memory_order_relaxed);
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
                                       std::string_view endpoint) noexcept {
    if (!watches(what)) {
        return;
    }
    boost::intrusive_ptr<monitor> told;
    {
        const std::lock_guard lock{mutex_};
        told = current_;
    }
    if (told) {
        told->report(what, value, endpoint);
    }
}

} // namespace zlink::socket
