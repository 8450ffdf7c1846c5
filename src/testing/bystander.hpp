// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/io_thread.hpp"
#include "runtime/readiness.hpp"

#include <cstdint>
#include <doctest/doctest.h>
#include <functional>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace zlink::testing {

/// Another connection of a thread, which is ready once, from the beginning. After its turn the
/// thread does something else before the next ready connection has its turn.
///
/// @threads The thread that drives `thread`.
class bystander final : private runtime::watched {
public:
    /// @param turn  Called in its turn.
    explicit bystander(runtime::io_thread& thread, std::function<void()> turn = {})
        : watch_(runtime::readiness::of(thread.context())), turn_(std::move(turn)),
          descriptor_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
        REQUIRE(watch_.add(descriptor_, *this, EPOLLIN));
    }
    bystander(const bystander&) = delete;
    bystander& operator=(const bystander&) = delete;
    ~bystander() {
        watch_.remove(descriptor_, *this);
        ::close(descriptor_);
    }

private:
    void on_ready(std::uint32_t) noexcept override {
        watch_.pause();
        if (turn_) {
            turn_();
        }
    }

    runtime::readiness& watch_;
    std::function<void()> turn_;
    int descriptor_;
};

} // namespace zlink::testing
