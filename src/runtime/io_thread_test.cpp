// SPDX-License-Identifier: MPL-2.0
#include "runtime/io_thread.hpp"

#include "runtime/readiness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <future>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace zlink;
using runtime::io_thread;

namespace {

/// Has been handed over.
class listener : public runtime::tenant {
public:
    bool has_news() noexcept override { return false; }
    sleep_mark on_turn_over() noexcept override { return sleep_mark::none; }
    void on_settled() noexcept override {}
    bool on_sweep() noexcept override { return false; }
    void on_origin_gone(std::uint64_t) noexcept override {}
    bool on_handed_over() noexcept override {
        ++asked_count;
        return is_taken;
    }

    int asked_count = 0;
    bool is_taken = true;
};

/// Receives as much as ends a turn, once.
class source final : public listener, public runtime::watched {
public:
    explicit source(io_thread& thread) : thread_(thread) {
        descriptor_ = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        REQUIRE(descriptor_ >= 0);
        is_taken = false;
    }
    ~source() { ::close(descriptor_); }

    void watch() {
        REQUIRE(runtime::readiness::of(thread_.context()).add(descriptor_, *this, EPOLLIN));
    }
    void leave() {
        runtime::readiness::of(thread_.context()).remove(descriptor_, *this);
        thread_.forget(*this);
    }

    void on_ready(std::uint32_t) noexcept override {
        thread_.count_received(limits::handed_over_bytes);
        thread_.hand_over(*this);
        if (leaves) {
            leave();
        }
        ++read_count;
    }

    static inline std::atomic<int> read_count = 0;
    bool leaves = false; ///< When it has received.

private:
    io_thread& thread_;
    int descriptor_;
};

/// Runs `task` on a thread that runs by itself, and waits for that.
template<class Task>
void run_on(io_thread& thread, Task task) {
    std::promise<void> done;
    thread.post([&] {
        task();
        done.set_value();
    });
    done.get_future().wait();
}

} // namespace

TEST_SUITE("runtime") {

    TEST_CASE("I/O thread: a caller that drives again has taken what it was handed over") {
        io_thread driven;
        listener first;
        listener second;
        driven.hand_over(first);
        driven.hand_over(second);
        driven.hand_over(first);
        driven.forget(second);
        CHECK(first.asked_count == 0);
        driven.drive_ready(1);
        CHECK(first.asked_count == 1);
        CHECK(second.asked_count == 0);
        driven.drive_ready(1);
        CHECK(first.asked_count == 1);
    }

    TEST_CASE("I/O thread: with a thread, the application has the time of some traffic for it") {
        io_thread thread;
        REQUIRE(thread.start({}));
        listener who;
        run_on(thread, [&] {
            thread.hand_over(who);
            thread.count_received(limits::handed_over_bytes - 1);
        });
        run_on(thread, [&] {
            CHECK(who.asked_count == 0);
            thread.count_sent(1);
        });
        run_on(thread, [&] { CHECK(who.asked_count == 1); });
        run_on(thread, [&] {
            CHECK(who.asked_count == 1);
            who.is_taken = false;
            thread.hand_over(who);
            thread.count_received(limits::handed_over_bytes);
        });
        run_on(thread, [&] {
            CHECK(who.asked_count >= 2);
            who.is_taken = true;
        });
        const int asked_count = who.asked_count;
        run_on(thread, [] {});
        run_on(thread, [&] { CHECK(who.asked_count <= asked_count + 1); });
        thread.join();
    }

    TEST_CASE("I/O thread: waits for an application that is far behind, but not for ever") {
        io_thread thread;
        REQUIRE(thread.start({}));
        source::read_count = 0;
        std::array<std::unique_ptr<source>, 4> all;
        for (auto& each : all) {
            each = std::make_unique<source>(thread);
        }
        run_on(thread, [&] {
            for (auto& each : all) {
                each->watch();
            }
        });
        while (source::read_count != std::ssize(all)) {
            std::this_thread::yield();
        }
        run_on(thread, [&] {
            // Before the last one is read, the thread has asked whether the first is taken by then.
            CHECK(all[0]->asked_count >= 1);
            for (auto& each : all) {
                each->leave();
            }
        });
        thread.join();
    }

    TEST_CASE("I/O thread: reads who is ready before it ends") {
        io_thread driven;
        source::read_count = 0;
        std::array<std::unique_ptr<source>, 4> all;
        for (auto& each : all) {
            each = std::make_unique<source>(driven);
            each->leaves = true;
            each->watch();
        }
        driven.drive({}); // One of them receives what ends a turn.
        CHECK(source::read_count.load() == 1);
        driven.join();
        CHECK(source::read_count.load() == std::ssize(all));
    }

} // TEST_SUITE
