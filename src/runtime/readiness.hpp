// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sys/epoll.h>

namespace zlink::runtime {

/// A connection, or whatever else has a descriptor that `readiness` watches.
class watched {
public:
    /// @param events  As epoll_wait(2) gives them, edge-triggered. May destroy this.
    virtual void on_ready(std::uint32_t events) noexcept = 0;

    /// Fetches into the caches what on_ready() will touch. Is called a few times, at the beginning
    /// of others' turns, where they have any, and for the last time of its own.
    /// @param step  0: what this refers to; 1: what that refers to; and so on.
    virtual void fetch_ahead(int step) const noexcept { static_cast<void>(step); }

protected:
    ~watched() = default;
};

/// Tells connections when they may be read and written: an epoll(7) descriptor of its own, which
/// the reactor watches. A connection costs no memory here and waiting for it no allocation, where
/// those of the reactor's own descriptors take several hundred bytes each.
///
/// There is one for each reactor; it counts as the reactor's work while a descriptor is watched.
///
/// @threads The reactor's.
class readiness final : public boost::asio::execution_context::service {
public:
    using key_type = readiness;
    static inline boost::asio::execution_context::id id;

    /// Of a reactor.
    /// @throws boost::system::system_error  The first time: the system refuses a descriptor.
    static readiness& of(boost::asio::io_context& reactor) {
        return boost::asio::use_service<readiness>(reactor);
    }

    explicit readiness(boost::asio::execution_context& reactor);

    /// Watches `descriptor` from now on.
    /// @param who     Told of what is ready now, and of each change for the better.
    /// @param events  EPOLLIN, EPOLLRDHUP, EPOLLOUT: what to watch it for.
    /// @return Whether the system allows it.
    bool add(int descriptor, watched& who, std::uint32_t events) noexcept;

    /// Tells what is ready of a descriptor, if anything is.
    /// @param events  As add(), from now on.
    void look_again(int descriptor, watched& who, std::uint32_t events) noexcept;

    /// Tells `who`, who is told of something just now, before others that it can be read.
    /// @return Whether `who` is; if not, nothing changed.
    bool repeat(watched& who) noexcept;

    /// Watches it no more. Nothing is told from now on.
    void remove(int descriptor, watched& who) noexcept;

    /// Tells no more of those that are ready now after the present one. Who calls this calls
    /// dispatch() while has_rest(); so long the reactor does not end.
    void pause() noexcept { pauses_ = true; }
    /// Whether there are some of which was not told.
    bool has_rest() const noexcept { return batch_index_ != batch_count_; }
    /// Tells of those, or looks who is ready.
    void dispatch() noexcept;

private:
    static constexpr std::size_t batch_max = 64;
    /// How often what one is about to touch is fetched: itself, and its steps.
    static constexpr std::size_t fetches = 4;
    /// What is fetched of a `watched`, and of what it is a part of before it.
    static constexpr std::size_t watched_bytes = 96;
    static constexpr std::size_t before_watched_bytes = 32;

    void shutdown() override;
    void wait() noexcept;
    void fetch_ahead() const noexcept;

    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> set_;
    std::array<epoll_event, batch_max> batch_;
    std::size_t batch_count_ = 0;
    std::size_t batch_index_ = 0;
    watched* told_ = nullptr; ///< Just now, and its place was not taken for another time.
    bool pauses_ = false;
    /// While there is a rest, for which nothing waits.
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> rest_;
    std::size_t watched_count_ = 0;
    bool waits_ = false;
};

} // namespace zlink::runtime
