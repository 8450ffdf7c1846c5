// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"

#include <array>
#include <atomic>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sys/epoll.h>

namespace zlink::runtime {

/// A connection, or another owner of a descriptor that `readiness` watches.
class watched {
public:
    /// @param events  As epoll_wait(2) returns them, edge-triggered. May destroy this.
    virtual void on_ready(std::uint32_t events) noexcept = 0;

protected:
    ~watched() = default;
};

/// Tells connections when they may be read and written, with an epoll(7) descriptor of its own.
/// A connection costs no memory here, and no allocation to wait; a descriptor of Asio takes several
/// hundred bytes.
///
/// A thread that runs the reactor waits on that descriptor, which watches the one of Asio, too: so
/// what is ready on a connection is learnt with one system call, and what is ready in Asio, a timer
/// or a listener, with two.
///
/// There is one for each reactor; it counts as the reactor's work while a descriptor is watched.
///
/// @threads The reactor's.
class readiness final : public boost::asio::execution_context::service {
public:
    using key_type = readiness;
    static inline boost::asio::execution_context::id id;

    /// The one of `reactor`.
    /// @throws boost::system::system_error  At the first call: the system refuses a descriptor.
    static readiness& of(boost::asio::io_context& reactor) {
        return boost::asio::use_service<readiness>(reactor);
    }

    explicit readiness(boost::asio::execution_context& reactor);
    ~readiness() override;

    /// Readable while the reactor has something to do, except for tasks that were posted before
    /// open_wake(). It belongs to this.
    int descriptor() const noexcept { return set_; }

    /// Watches `descriptor` from now on.
    /// @param who     Receives the events that are ready now, and each that becomes ready later.
    /// @param events  EPOLLIN, EPOLLRDHUP, EPOLLOUT: the events to watch for.
    /// @return Whether the system allows it.
    bool add(int descriptor, watched& who, std::uint32_t events) noexcept;

    /// Reports the events of a descriptor that are ready, if there are any.
    /// @param events  As add(), from now on.
    void check_again(int descriptor, watched& who, std::uint32_t events) noexcept;

    /// Calls `who`, whose on_ready() is running, once more before others, with EPOLLIN.
    /// @return Whether it is running; if not, nothing changed.
    bool repeat(watched& who) noexcept;

    /// Stops watching the descriptor. Nothing is reported from now on.
    void remove(int descriptor, watched& who) noexcept;

    /// From now on wake() makes descriptor() readable.
    /// @error  The system refuses a descriptor.
    result<void> open_wake() noexcept;

    /// After a task was posted. @threads any
    void wake() noexcept;

    /// The reactor may end although open_wake() was called.
    void end_wake() noexcept;

    /// Interrupts dispatching after the present handler. The caller must then call dispatch() while
    /// has_rest(); the reactor does not end before that.
    void pause() noexcept { pauses_ = true; }
    /// Whether there are events that were not reported yet.
    bool has_rest() const noexcept { return batch_index_ != batch_count_; }
    /// Reports those.
    void dispatch() noexcept;

private:
    static constexpr std::size_t batch_max = 64;

    /// Nothing is to be done when it is ready: the reactor has run.
    struct wake_descriptor final : watched {
        void on_ready(std::uint32_t) noexcept override {}
        std::atomic<int> descriptor{-1}; ///< -1: nobody waits for descriptor().
    };

    /// The place where a thread of Asio waits.
    class waiting_task;

    void shutdown() override;
    void hold_work() noexcept;

    boost::asio::io_context& reactor_;
    int set_;
    std::unique_ptr<waiting_task> task_;
    wake_descriptor wake_;
    std::array<epoll_event, batch_max> batch_;
    std::size_t batch_count_ = 0;
    std::size_t batch_index_ = 0;
    watched* told_ = nullptr; ///< Running, and not yet repeated.
    bool pauses_ = false;
    /// While a descriptor is watched, or there is a rest.
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
    std::size_t watched_count_ = 0;
};

} // namespace zlink::runtime
