// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"
#include "raw_peer.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace api_test {

/// An event of a monitor.
struct event {
    int what;
    int value;
    std::string endpoint;
};

/// A monitor, and the application's end of it.
class watcher {
public:
    watcher(const context& owner, socket& watched, int events = ZLINK_EVENT_ALL)
        : pair_(owner, ZLINK_PAIR), name_(vacant(transport::inproc)) {
        REQUIRE(error_of(zlink_socket_monitor(watched, name_.c_str(), events)) == ok);
        pair_.connect(name_);
    }

    event next() {
        const message told = pair_.recv();
        REQUIRE(told.frames.size() == 2);
        REQUIRE(told.frames[0].size() == 6);
        std::uint16_t what;
        std::int32_t value;
        std::memcpy(&what, told.frames[0].data(), sizeof what);
        std::memcpy(&value, told.frames[0].data() + sizeof what, sizeof value);
        return {what, value, told.frames[1]};
    }

    /// Checks the next event.
    /// @return Its value.
    int expect(int what, const std::string& endpoint) {
        const event told = next();
        CHECK(told.what == what);
        CHECK(told.endpoint == endpoint);
        return told.value;
    }

    /// Skips other events.
    /// @return The value of the next event of that kind.
    int await(int what) {
        while (true) {
            if (const event told = next(); told.what == what) {
                return told.value;
            }
        }
    }

    bool has_news() const { return pair_.poll(ZLINK_POLLIN, milliseconds{0}) != 0; }

    /// Stops the monitor of `watched`. @return  Whether there was no other event.
    bool has_told_all(const context& owner, socket& watched) {
        REQUIRE(zlink_socket_monitor(watched, nullptr, 0) == 0);
        wait_until(owner, [&] { return has_news() || zlink_socket_peers(pair_, nullptr, 0) == 0; });
        return !has_news() || next().what == ZLINK_EVENT_MONITOR_STOPPED;
    }

    /// Whether there is no event until a visitor connects to one more port, to which `watched` is
    /// bound now; its I/O thread reports the visit. Must watch ZLINK_EVENT_LISTENING and
    /// ZLINK_EVENT_ACCEPTED.
    bool is_silent_until_visited(const context& owner, socket& watched) {
        const raw_peer visitor{owner, watched.bind(transport::tcp)};
        return next().what == ZLINK_EVENT_LISTENING && next().what == ZLINK_EVENT_ACCEPTED;
    }

    const std::string& name() const { return name_; }
    /// The application's socket.
    socket& end() { return pair_; }

private:
    socket pair_;
    std::string name_;
};

} // namespace api_test
