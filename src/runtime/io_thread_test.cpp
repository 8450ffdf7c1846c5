// SPDX-License-Identifier: MPL-2.0
#include "runtime/io_thread.hpp"

#include "runtime/readiness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace zlink;
using runtime::io_thread;

namespace {

/// Hands data over, and counts the calls of on_handed_over().
class recorder : public runtime::event_handler {
public:
    bool has_news() noexcept override { return false; }
    park_mark on_turn_over() noexcept override { return park_mark::none; }
    void on_settled() noexcept override {}
    processor_number take_application_processor() noexcept override { return no_processor; }
    bool on_sweep() noexcept override { return false; }
    void on_call_undone(bool) noexcept override {}
    bool on_handed_over(std::uint64_t mark) noexcept override {
        ++asked_count;
        asked_mark = mark;
        return is_taken;
    }

    int asked_count = 0;
    std::uint64_t asked_mark = 0;
    bool is_taken = true; ///< The application's answer.
};

/// A handler of a call, with a sweep requested.
class member final : public recorder {
public:
    member(io_thread& thread, std::uint64_t call_id) : thread_(thread), call_id_(call_id) {
        thread.register_handler(*this, call_id);
        thread.sweep_later(*this);
    }
    void leave() { thread_.unregister_handler(*this, call_id_); }

    void on_call_undone(bool is_drained) noexcept override {
        ++told_count;
        was_drained = is_drained;
        if (leaves) {
            leave();
        }
    }

    int told_count = 0;
    bool was_drained = false;
    bool leaves = false;

private:
    io_thread& thread_;
    const std::uint64_t call_id_;
};

/// Receives enough to end a turn, once.
class source final : public recorder, public runtime::watched {
public:
    explicit source(io_thread& thread)
        : thread_(thread), descriptor_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~source() { ::close(descriptor_); }

    bool watch() {
        return runtime::readiness::of(thread_.context()).add(descriptor_, *this, EPOLLIN);
    }
    bool repeat() { return runtime::readiness::of(thread_.context()).repeat(*this); }
    void leave() {
        runtime::readiness::of(thread_.context()).remove(descriptor_, *this);
        thread_.forget(*this);
    }

    void on_ready(std::uint32_t) noexcept override {
        thread_.count_received(tuning::handed_over_bytes);
        thread_.hand_over(*this, 0);
        if (repeats != 0) {
            --repeats;
            REQUIRE(repeat());
            CHECK(!repeat()); // Once.
        }
        if (leaves) {
            leave();
        }
        received_at = pipe::clock::now();
        is_read_where_it_runs = thread_.runs_here();
        place = ++read_count;
    }

    static inline std::atomic<int> read_count = 0;
    int repeats = 0;     ///< How often it asks to be read again before others.
    bool leaves = false; ///< After it has received.
    pipe::clock::time_point received_at;
    int place = 0; ///< Its position among all.
    bool is_read_where_it_runs = false;

private:
    io_thread& thread_;
    int descriptor_;
};

/// Records how many sources had been read when it was settled.
class settler final : public recorder {
public:
    park_mark on_turn_over() noexcept override {
        settled_at = source::read_count;
        return park_mark::none;
    }

    int settled_at = -1;
};

/// Hands data over whenever it is settled.
class insatiable final : public recorder {
public:
    explicit insatiable(io_thread& thread) : thread_(thread) {}
    park_mark on_turn_over() noexcept override {
        thread_.hand_over(*this, 0);
        thread_.settle_later(*this);
        return park_mark::none;
    }

private:
    io_thread& thread_;
};

using sources = std::array<std::unique_ptr<source>, 4>;

sources make_sources(io_thread& thread) {
    source::read_count = 0;
    sources made;
    for (auto& each : made) {
        each = std::make_unique<source>(thread);
    }
    return made;
}

/// Sources that are ready, one of which was read, which ended the turn.
sources read_first(io_thread& driven) {
    sources made = make_sources(driven);
    for (auto& each : made) {
        REQUIRE(each->watch());
    }
    while (source::read_count == 0) {
        driven.drive({});
    }
    CHECK(source::read_count == 1);
    return made;
}

/// Runs `task` on a thread that runs by itself, and waits for it. The thread checks handed-over
/// data before it.
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
        recorder first;
        recorder second;
        driven.hand_over(first, 1);
        driven.hand_over(second, 2);
        driven.hand_over(first, 3);
        driven.forget(second);
        CHECK(first.asked_count == 0);
        driven.drive_ready(1);
        CHECK(first.asked_count == 1);
        CHECK(first.asked_mark == 1);
        CHECK(second.asked_count == 0);
        driven.drive_ready(1);
        CHECK(first.asked_count == 1);
    }

    TEST_CASE(
        "I/O thread: between the turns of those that are ready, a caller that drives settles, "
        "and what was posted comes behind them") {
        io_thread driven;
        const sources all = read_first(driven);
        settler sent;
        driven.settle_later(sent);
        int posted_at = 0;
        driven.post([&] { posted_at = source::read_count; });
        driven.drive({});
        CHECK(sent.settled_at == 1);
        CHECK(source::read_count == 2);
        driven.drive({});
        CHECK(source::read_count == 3);
        CHECK(posted_at == 0);
        while (posted_at == 0) {
            driven.drive({});
        }
        CHECK(posted_at == 4);
        CHECK(!driven.runs_here());
        for (auto& each : all) {
            CHECK(each->is_read_where_it_runs);
            each->leave();
        }
    }

    TEST_CASE(
        "I/O thread: who always receives more keeps neither those that are ready nor what was "
        "posted from a caller that drives") {
        io_thread driven;
        const sources all = read_first(driven);
        insatiable more{driven};
        driven.settle_later(more);
        int posted_at = 0;
        driven.post([&] { posted_at = source::read_count; });
        for (int count = 0; count < 50; ++count) {
            driven.drive_ready(1);
        }
        CHECK(source::read_count == 4);
        CHECK(posted_at == 4);
        for (auto& each : all) {
            each->leave();
        }
        driven.forget(more);
    }

    TEST_CASE("I/O thread: with a thread, the application has the time of some traffic for it") {
        io_thread thread;
        REQUIRE(thread.start({}));
        recorder who;
        run_on(thread, [&] {
            thread.hand_over(who, 7);
            thread.count_received(tuning::handed_over_bytes - 1);
        });
        run_on(thread, [&] {
            CHECK(who.asked_count == 0);
            thread.count_moved(1);
        });
        run_on(thread, [&] {
            CHECK(who.asked_count == 1);
            CHECK(who.asked_mark == 7);
        });
        run_on(thread, [&] {
            CHECK(who.asked_count == 1);
            who.is_taken = false;
            thread.hand_over(who, 8);
            thread.count_moved(tuning::handed_over_bytes);
        });
        run_on(thread, [&] {
            CHECK(who.asked_count > 1); // Again and again,
            who.is_taken = true;
        });
        int asked_count = 0;
        run_on(thread, [&] { asked_count = who.asked_count; });
        run_on(thread, [&] { CHECK(who.asked_count == asked_count); }); // until it is taken.
        thread.join();
    }

    TEST_CASE("I/O thread: does not ask for ever whether something is taken") {
        io_thread thread;
        REQUIRE(thread.start({}));
        recorder who;
        who.is_taken = false;
        run_on(thread, [&] {
            thread.hand_over(who, 0);
            thread.count_moved(tuning::handed_over_bytes_max);
        });
        run_on(thread, [&] { CHECK(who.asked_count == 1); });
        run_on(thread, [&] { CHECK(who.asked_count == 1); });
        thread.join();
    }

    TEST_CASE("I/O thread: gives an application time that is far behind, but not for ever") {
        io_thread thread;
        REQUIRE(thread.start({}));
        sources all = make_sources(thread);
        run_on(thread, [&] {
            for (auto& each : all) {
                each->is_taken = false;
                CHECK(each->watch());
            }
        });
        while (source::read_count != std::ssize(all)) {
            std::this_thread::yield();
        }
        run_on(thread, [&] {
            for (auto& each : all) {
                each->leave();
            }
        });
        thread.join();
        std::sort(all.begin(), all.end(),
                  [](const auto& one, const auto& other) { return one->place < other->place; });
        // The second one's bytes made the application far behind.
        CHECK(all[2]->received_at - all[1]->received_at >= tuning::hand_over_pause_max);
        CHECK(all[3]->received_at - all[2]->received_at >= tuning::hand_over_pause_max);
        CHECK(all[0]->asked_count > 0);
        CHECK(all[1]->asked_count > 0); // Though the one before it takes nothing.
    }

    TEST_CASE(
        "readiness: a handler that asks for it is called again before others, unless it left") {
        io_thread driven;
        sources all = make_sources(driven);
        for (auto& each : all) {
            REQUIRE(each->watch());
        }
        all[0]->repeats = 2;
        all[1]->repeats = 1;
        all[1]->leaves = true;
        while (all[0]->place == 0) {
            driven.drive({});
        }
        CHECK(!all[0]->repeat()); // Not between turns, when none is running.
        std::vector<int> places{all[0]->place};
        for (int turn = 1; turn < 3; ++turn) {
            driven.drive({});
            places.push_back(all[0]->place);
        }
        CHECK(places == std::vector{1, 2, 3});
        while (source::read_count < 6) {
            driven.drive({});
        }
        CHECK(all[0]->place == 3);
        CHECK(all[1]->place == 4);
        CHECK(all[2]->place == 5);
        CHECK(all[3]->place == 6);
        for (auto& each : all) {
            if (!each->leaves) {
                each->leave();
            }
        }
    }

    TEST_CASE("I/O thread: reads who is ready before it ends") {
        io_thread driven;
        sources all = make_sources(driven);
        for (auto& each : all) {
            each->leaves = true;
            REQUIRE(each->watch());
        }
        driven.drive({}); // One of them ends a turn.
        CHECK(source::read_count.load() == 1);
        driven.join();
        CHECK(source::read_count.load() == std::ssize(all));
    }

    TEST_CASE("I/O thread: tells those of a call that it is gone, and nobody else") {
        io_thread thread;
        std::array<std::unique_ptr<member>, 9> members;
        for (std::size_t index = 0; index < members.size(); ++index) {
            members[index] = std::make_unique<member>(thread, index % 3);
        }
        members[7]->leave(); // Of call 1: 1 and 4 are left.
        const auto count_told = [&](std::size_t call) {
            int count = 0;
            for (std::size_t index = call; index < members.size(); index += 3) {
                count += members[index]->told_count;
            }
            return count;
        };

        SUBCASE("they stay") {}
        SUBCASE("the first one leaves") {
            members[1]->leaves = true;
        }
        SUBCASE("the last one leaves") {
            members[4]->leaves = true;
        }
        SUBCASE("all leave") {
            members[1]->leaves = members[4]->leaves = true;
        }
        const int stays = (members[1]->leaves ? 0 : 1) + (members[4]->leaves ? 0 : 1);
        thread.on_call_undone(1, true);
        CHECK(count_told(1) == 2);
        CHECK(members[4]->was_drained);
        thread.on_call_undone(1, false);
        CHECK(count_told(1) == 2 + stays);
        thread.on_call_undone(12345, false);
        CHECK(count_told(0) == 0);
        CHECK(count_told(2) == 0);

        for (const std::unique_ptr<member>& each : members) {
            if (each->is_registered()) {
                each->leave();
            }
        }
        CHECK(members[0]->told_count == 0);
    }

} // TEST_SUITE
