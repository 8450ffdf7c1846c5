// SPDX-License-Identifier: MPL-2.0
#include "pipe/parking.hpp"
#include "socket/driving.hpp"
#include "testing/exploration.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Two threads wait for one mailbox of a context without I/O threads: the one that leads those that
// receive rests in the mailbox's parking place, and another one rests in poll(2). A third one does
// what the acts say. Whichever of the two drives the I/O at that moment, both have to end, in every
// interleaving of the atomic operations. All of these are sequentially consistent, so that each one
// sees the newest value.

using zlink::result;
using zlink::pipe::parking;
using zlink::socket::basic_driving;
using zlink::socket::driver_call;
using zlink::testing::exploration;

namespace {

enum class act {
    letter,             ///< A letter is delivered to the mailbox, by a thread that does not drive.
    call_leader,        ///< The leader is called, as sharing::call_leader() does.
    tell_poller,        ///< The poller is told by its watcher, as sharing::signal() does.
    receive,            ///< The reactor has to deliver a letter.
    receive_for_poller, ///< The reactor has to tell the poller.
    stir_leader,        ///< The leader is nudged for nothing.
    stir_poller,        ///< A descriptor becomes readable for nothing.
    await_leader,       ///< The thread that acts waits until the leader has ended.
};

struct script {
    std::vector<act> acts;
    bool third_drives = false;        ///< The thread that acts drives meanwhile, if it can.
    bool poller_takes_nudges = false; ///< Its rest resets the parking place.
    bool has_one_call = false;        ///< Both threads are in the list with the same call.
    bool poller_can_be_called = true;
    bool nudge_is_taken_late = false; ///< park() ends with a store instead of an exchange.
};

/// An atomic object with sequentially consistent operations only.
template<class T>
class ordered {
public:
    explicit ordered(T initial) : value_(initial) {}
    T load() const { return value_.load(std::memory_order_acquire); }
    T exchange(T value) {
        const T before = value_.exchange(value, std::memory_order_acq_rel);
        exploration::let_all_know();
        return before;
    }
    bool replace(T& expected, T value) {
        const bool is_replaced = value_.compare_exchange_strong(
            expected, value, std::memory_order_acq_rel, std::memory_order_acquire);
        exploration::let_all_know();
        return is_replaced;
    }
    void store_late(T value) { value_.store(value, std::memory_order_relaxed); }

private:
    exploration::atomic<T> value_;
};

/// Stands for futex_word.
class explored_word {
public:
    explicit explored_word(const script& play) : play_(play) {}

    std::uint32_t load(std::memory_order) const { return value_.load(); }
    std::uint32_t exchange(std::uint32_t value, std::memory_order) {
        if (play_.nudge_is_taken_late && value == parking<explored_word>::awake) {
            value_.store_late(value);
            return value;
        }
        return value_.exchange(value);
    }
    bool compare_exchange_strong(std::uint32_t& expected, std::uint32_t value, std::memory_order) {
        return value_.replace(expected, value);
    }
    int wait(std::uint32_t expected, std::chrono::steady_clock::time_point) {
        if (value_.load() == expected) { // A wake-up after this is kept by the signal.
            woken_.wait();
        }
        return 0;
    }
    void wake() { woken_.give(); }

private:
    const script& play_;
    ordered<std::uint32_t> value_{0};
    exploration::signal woken_;
};

/// Stands for std::mutex.
class explored_mutex {
public:
    bool try_lock() {
        bool expected = false;
        return is_held_.replace(expected, true);
    }
    void lock() {
        while (!try_lock()) {
            freed_.wait();
        }
    }
    void unlock() {
        is_held_.exchange(false);
        freed_.give();
    }

private:
    ordered<bool> is_held_{false};
    exploration::signal freed_;
};

class two_waiters final : public exploration::scenario {
public:
    explicit two_waiters(const script& play) : play_(play) {}

    void run(std::size_t thread) override {
        switch (thread) {
        case 0:
            return lead();
        case 1:
            return poll();
        default:
            if (!play_.third_drives || !driving_.try_drive([&] { perform_all(); })) {
                perform_all();
            }
        }
    }

    std::uint64_t plain_state() const override {
        std::uint64_t hash = 0;
        for (const driver_call* const each : driving_.waiting()) {
            hash = exploration::mix(hash, each == &leaders_ ? 1 : 2);
        }
        return hash;
    }

private:
    /// Ends a rest in the parking place.
    class parked final : public driver_call {
    public:
        explicit parked(explored_word& word) : word_(word) {}
        void call() noexcept override { parking{word_}.nudge(); }

    private:
        explored_word& word_;
    };

    /// Ends a rest in poll(2).
    class polling final : public driver_call {
    public:
        explicit polling(two_waiters& in) : in_(in) {}
        void call() noexcept override {
            if (in_.play_.poller_can_be_called) {
                in_.readable_.give();
            }
        }

    private:
        two_waiters& in_;
    };

    /// The places at which a thread's past no longer matters.
    enum place : std::uint64_t { waits = 100, drives, rests };

    static bool never() { return false; }

    void lead() {
        place at = waits;
        const auto is_over = [&] {
            exploration::forget(at);
            return is_leader_called_.load() || has_letter_.load();
        };
        const auto rest = [&]() -> result<void> {
            const auto has_letter = [&] {
                exploration::forget(rests);
                return has_letter_.load();
            };
            parking{word_}.park(has_letter, {});
            return {};
        };
        (void)driving_.wait(
            leaders_, is_over, never, [&] { drive(is_over, at); }, rest);
        leader_ended_.give();
    }

    void poll() {
        place at = waits;
        const auto is_over = [&] {
            exploration::forget(at);
            return is_poller_told_.load() || has_letter_.load();
        };
        const auto rest = [&]() -> result<void> {
            exploration::forget(rests);
            if (!has_letter_.load() && !is_poller_told_.load()) { // Else a descriptor is readable.
                readable_.wait();
            }
            if (play_.poller_takes_nudges) {
                parking{word_}.take_nudge();
            }
            return {};
        };
        driver_call& mine = play_.has_one_call ? static_cast<driver_call&>(leaders_) : pollers_;
        (void)driving_.wait(
            mine, is_over, never, [&] { drive(is_over, at); }, rest);
    }

    template<class IsOver>
    void drive(IsOver&& is_over, place& at) {
        at = drives;
        is_driven_.exchange(true);
        while (!is_over()) {
            posted_.wait();
            if (letter_arrives_.exchange(false)) {
                deliver();
            }
            if (news_arrive_.exchange(false)) {
                tell_poller();
            }
        }
        is_driven_.exchange(false);
        at = waits;
    }

    void deliver() {
        has_letter_.exchange(true);
        parking{word_}.on_first_letter();
        readable_.give();
        if (is_driven_.load()) {
            posted_.give();
        }
    }

    void tell_poller() {
        is_poller_told_.exchange(true);
        readable_.give();
        posted_.give();
    }

    void perform_all() {
        for (std::size_t index = 0; index < play_.acts.size(); ++index) {
            exploration::forget(index);
            perform(play_.acts[index]);
        }
    }

    void perform(act what) {
        switch (what) {
        case act::letter:
            return deliver();
        case act::call_leader:
            is_leader_called_.exchange(true);
            parking{word_}.nudge();
            posted_.give();
            return;
        case act::tell_poller:
            return tell_poller();
        case act::receive:
            letter_arrives_.exchange(true);
            posted_.give();
            return;
        case act::receive_for_poller:
            news_arrive_.exchange(true);
            posted_.give();
            return;
        case act::stir_leader:
            return parking{word_}.nudge();
        case act::stir_poller:
            readable_.give();
            return;
        case act::await_leader:
            return leader_ended_.wait();
        }
    }

    const script play_;
    explored_word word_{play_};
    parked leaders_{word_};
    polling pollers_{*this};
    basic_driving<explored_mutex> driving_;
    ordered<bool> has_letter_{false};
    ordered<bool> is_leader_called_{false};
    ordered<bool> is_poller_told_{false};
    ordered<bool> is_driven_{false};
    ordered<bool> letter_arrives_{false};
    ordered<bool> news_arrive_{false};
    exploration::signal readable_; ///< A descriptor that the poller waits for.
    exploration::signal leader_ended_;
    exploration::signal posted_; ///< The reactor has something to do.
};

exploration::outcome explore(const script& play, const exploration::rules& assumed = {}) {
    return exploration::run(assumed, 3, [&] { return std::make_unique<two_waiters>(play); });
}

void check_all(const script& play) {
    const exploration::outcome found = explore(play);
    INFO(found.trace);
    CHECK(found.failure == "");
    CHECK(found.complete);
}

std::string failure_of(const script& play, const exploration::rules& assumed = {}) {
    return explore(play, assumed).failure;
}

using enum act;

} // namespace

// Everything runs on one thread: slow under the thread sanitizer, which has nothing to check.
TEST_SUITE("socket" * doctest::skip(zlink::testing::has_thread_sanitizer)) {

    TEST_CASE("interleavings: a letter ends all waits for its mailbox") {
        check_all({{letter}});
    }

    TEST_CASE("interleavings: the leader and a poller are called, and end" *
              doctest::test_suite("long")) {
        check_all({{call_leader, tell_poller}});
        check_all({{call_leader, stir_poller, await_leader, tell_poller}, true});
        check_all({{stir_leader, call_leader, await_leader, tell_poller}, true});
    }

    TEST_CASE("interleavings: whoever stops to drive hands over to the one that still waits") {
        check_all({{receive}});
        check_all({{call_leader, receive_for_poller}});
    }

    // The explorer detects the failure where something is missing.

    TEST_CASE("interleavings: a poller that takes the leader's nudges lets it sleep") {
        CHECK(failure_of({.acts = {call_leader, stir_poller, await_leader, tell_poller},
                          .third_drives = true,
                          .poller_takes_nudges = true}) == "every thread sleeps");
    }

    TEST_CASE("interleavings: a call that two threads share is lost with the first") {
        CHECK(failure_of({.acts = {tell_poller, receive}, .has_one_call = true}) ==
              "every thread sleeps");
    }

    TEST_CASE("interleavings: a thread that cannot be called does not take over") {
        CHECK(failure_of({.acts = {call_leader, receive_for_poller},
                          .poller_can_be_called = false}) == "every thread sleeps");
    }

    TEST_CASE("interleavings: a nudge that is taken after the next check is lost") {
        CHECK(failure_of({.acts = {stir_leader, call_leader, await_leader, tell_poller},
                          .third_drives = true,
                          .nudge_is_taken_late = true},
                         {.compiler_delays_stores = true}) == "every thread sleeps");
    }

} // TEST_SUITE
