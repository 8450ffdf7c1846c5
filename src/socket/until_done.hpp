// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/context.hpp"
#include "socket/socket.hpp"

#include <type_traits>

namespace zlink::socket {

/// Repeats `attempt` until its outcome is another one than `again`, and processes the mailbox of
/// the socket before each.
/// @param timeout    In milliseconds; below 0: none.
/// @param dont_wait  As a timeout of 0.
/// @param what       The condition that it waits for.
/// @blocks  At most for `timeout`.
/// @error again        The timeout has passed.
/// @error terminated, interrupted, no_memory, not_a_socket, and those of `attempt`.
/// @param on_waiting  Called when the call begins to wait; its result lives until it ends.
template<class Attempt, class OnWaiting>
std::invoke_result_t<Attempt&> until_done(socket& of, Attempt&& attempt, int timeout,
                                          bool dont_wait, awaited what, OnWaiting&& on_waiting) {
    using outcome_type = std::invoke_result_t<Attempt&>;
    const auto attempt_now = [&]() -> outcome_type {
        return of.may(what) ? attempt() : outcome_type{errc::again};
    };
    socket_mailbox& mailbox = of.mailbox();
    if (mailbox.has_mail()) [[unlikely]] {
        if (const result<void> processed = of.process_mail(); !processed) {
            return processed.error();
        }
    }
    if (of.is_terminated()) [[unlikely]] {
        return errc::terminated;
    }
    auto outcome = attempt_now();
    if (outcome || outcome.error() != errc::again) [[likely]] {
        return outcome;
    }
    if (dont_wait || timeout == 0) {
        mailbox.arm();
        of.owner().poll();
        if (!mailbox.has_mail() && !mailbox.is_signalled()) {
            return errc::again;
        }
        if (const result<void> processed = of.process_mail(); !processed) {
            return processed.error();
        }
        return attempt_now();
    }
    const pipe::deadline until =
        timeout < 0 ? pipe::deadline{} : pipe::clock::now() + std::chrono::milliseconds(timeout);
    [[maybe_unused]] const auto waiting = on_waiting();
    while (true) {
        if (const result<void> waited = of.wait_for_mail(until, what); !waited) {
            return waited.error();
        }
        if (const result<void> processed = of.process_mail(); !processed) {
            return processed.error();
        }
        outcome = attempt_now();
        if (outcome || outcome.error() != errc::again) {
            return outcome;
        }
    }
}

template<class Attempt>
std::invoke_result_t<Attempt&> until_done(socket& of, Attempt&& attempt, int timeout,
                                          bool dont_wait, awaited what) {
    return until_done(of, attempt, timeout, dont_wait, what, [] { return 0; });
}

/// Measures how long a sending call waits.
class blocked_time {
public:
    explicit blocked_time(socket_meter& in) noexcept : in_(in) { in_.begin_blocking(); }
    blocked_time(const blocked_time&) = delete;
    blocked_time& operator=(const blocked_time&) = delete;
    ~blocked_time() { in_.end_blocking(); }

private:
    socket_meter& in_;
};

/// The same for an attempt to send, which is measured.
template<class Attempt>
std::invoke_result_t<Attempt&> until_sent(socket& of, Attempt&& attempt, int timeout,
                                          bool dont_wait, awaited what) {
    auto outcome =
        until_done(of, attempt, timeout, dont_wait, what, [&] { return blocked_time{of.meter()}; });
    if (!outcome && outcome.error() == errc::again) {
        of.meter().count_refused();
    }
    return outcome;
}

} // namespace zlink::socket
