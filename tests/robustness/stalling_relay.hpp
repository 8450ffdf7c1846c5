// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

namespace robustness {

/// Relays a connection from a socket that connects to endpoint() to one that is bound elsewhere. It
/// carries bytes both ways until so many have passed in one direction, and then no more in that
/// direction.
///
/// @threads The thread that calls carry().
class stalling_relay {
public:
    enum class side : unsigned char { nobody, client, server };

    explicit stalling_relay(std::string server_endpoint);
    stalling_relay(const stalling_relay&) = delete;
    stalling_relay& operator=(const stalling_relay&) = delete;
    ~stalling_relay();

    const std::string& endpoint() const noexcept { return endpoint_; }

    /// Limits the bytes from `by` that pass to `bytes`.
    void stall(side by, std::size_t bytes) noexcept;

    /// The number of bytes from `by` that passed.
    std::size_t passed_bytes(side by) const noexcept { return way_of(by).passed_bytes; }

    /// The side that ended the connection, and the time until then since this relay was made.
    side ended_by() const noexcept { return ended_by_; }
    api_test::milliseconds lifetime() const;

    /// Carries bytes for all of them until `is_over` returns true; the test ends if it never does.
    static void carry(std::deque<stalling_relay>& all, const std::function<bool()>& is_over);

private:
    /// One direction.
    struct way {
        int descriptor = -1; ///< Of the connection to its sender.
        std::size_t left_bytes = SIZE_MAX;
        std::size_t passed_bytes = 0;
    };

    const way& way_of(side by) const noexcept { return by == side::client ? client_ : server_; }
    void begin();
    bool carry(side by);
    void end(side by);

    std::string server_endpoint_;
    std::string endpoint_;
    int listener_;
    way client_;
    way server_;
    side ended_by_ = side::nobody;
    api_test::clock::time_point made_ = api_test::clock::now();
    api_test::clock::time_point ended_;
};

} // namespace robustness
