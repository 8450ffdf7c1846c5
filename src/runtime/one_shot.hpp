// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/timer_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace zlink::runtime {

/// A timer that costs a pointer while it is not running.
///
/// @threads The I/O thread's.
class one_shot {
public:
    /// Calls owner->*expired once, after `after`, unless stop() or start() comes first.
    /// @param owner  Holds this timer; kept alive while the timer runs.
    template<class Owner>
    void start(boost::asio::io_context& reactor, std::chrono::milliseconds after, Owner owner,
               void (Owner::element_type::*expired)() noexcept) {
        timer_ = std::make_unique<timer>(reactor, after);
        // The serial number identifies a timer that was stopped after it had expired.
        timer_->async_wait([this, owner = std::move(owner), serial = ++serial_,
                            expired](const boost::system::error_code& cancelled) {
            if (!cancelled && serial == serial_) {
                (*owner.*expired)();
            }
        });
    }

    void stop() noexcept {
        ++serial_;
        timer_.reset();
    }

private:
    std::unique_ptr<timer> timer_;
    std::uint32_t serial_ = 0;
};

} // namespace zlink::runtime
