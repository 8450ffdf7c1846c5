// SPDX-License-Identifier: MPL-2.0
#include "testing/exploration.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>

// The classic litmus tests, each with the outcomes that the model allows.

using zlink::testing::exploration;

namespace {

using seen = std::set<std::array<int, 2>>;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto both = std::memory_order_acq_rel;

struct litmus : exploration::scenario {
    using thread_function = void(litmus&);

    litmus(thread_function* first, thread_function* second, seen& results)
        : threads_{first, second}, results_(results) {}

    void run(std::size_t thread) override { threads_[thread](*this); }
    void finish() override { results_.insert(result); }

    exploration::atomic<int> x{0};
    exploration::atomic<int> y{0};
    exploration::signal woken;
    exploration::plain memory;
    std::optional<exploration::atomic<int>> object{std::in_place, 5};
    std::optional<exploration::atomic<int>> made;
    std::array<int, 2> result{};

private:
    std::array<thread_function*, 2> threads_;
    seen& results_;
};

exploration::outcome explore(litmus::thread_function* first, litmus::thread_function* second,
                             seen& results, const exploration::rules& assumed = {}) {
    return exploration::run(assumed, 2,
                            [&] { return std::make_unique<litmus>(first, second, results); });
}

seen results_of(litmus::thread_function* first, litmus::thread_function* second,
                const exploration::rules& assumed = {}) {
    seen results;
    const exploration::outcome found = explore(first, second, results, assumed);
    CHECK(found.complete);
    CHECK(found.failure == "");
    return results;
}

std::string failure_of(litmus::thread_function* first, litmus::thread_function* second,
                       const exploration::rules& assumed = {}) {
    seen results;
    return explore(first, second, results, assumed).failure;
}

void store_x_load_y(litmus& at) {
    at.x.store(1, release);
    exploration::fence::light();
    at.result[0] = at.y.load(acquire);
}

void store_y_fence_load_x(litmus& at) {
    at.y.store(1, release);
    exploration::fence::heavy();
    at.result[1] = at.x.load(acquire);
}

void publish(litmus& at) {
    at.memory.note_write();
    at.x.store(1, relaxed);
    at.y.store(1, release);
}

void consume(litmus& at) {
    at.result[0] = at.y.load(acquire);
    at.result[1] = at.x.load(relaxed);
    if (at.result[0] == 1) {
        at.memory.note_read();
    }
}

} // namespace

TEST_SUITE("testing") {

    TEST_CASE("exploration: stores may wait in a buffer while both threads load") {
        const auto second = [](litmus& at) {
            at.y.store(1, release);
            at.result[1] = at.x.load(acquire);
        };
        CHECK(results_of(store_x_load_y, second) == seen{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
    }

    TEST_CASE("exploration: a heavy fence against a light one lets one thread see the other") {
        CHECK(results_of(store_x_load_y, store_y_fence_load_x) == seen{{0, 1}, {1, 0}, {1, 1}});
        CHECK(results_of(store_x_load_y, store_y_fence_load_x, {.heavy_fence_works = false}) ==
              seen{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
    }

    TEST_CASE("exploration: the light fence is needed where compilers delay stores") {
        CHECK(results_of(store_x_load_y, store_y_fence_load_x, {.compiler_delays_stores = true}) ==
              seen{{0, 1}, {1, 0}, {1, 1}});
        CHECK(results_of(store_x_load_y, store_y_fence_load_x,
                         {.light_fence_works = false, .compiler_delays_stores = true}) ==
              seen{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
    }

    TEST_CASE("exploration: what precedes a release is seen behind the acquire") {
        CHECK(results_of(publish, consume) == seen{{0, 0}, {0, 1}, {1, 1}});
    }

    TEST_CASE("exploration: relaxed orders let loads go stale, and plain memory race") {
        CHECK(failure_of(publish, consume, {.orders_count = false}) ==
              "memory is read that another thread may be writing");
        const auto publish_atomics = [](litmus& at) {
            at.x.store(1, relaxed);
            at.y.store(1, relaxed);
        };
        const auto consume_atomics = [](litmus& at) {
            at.result[0] = at.y.load(acquire);
            at.result[1] = at.x.load(relaxed);
        };
        CHECK(results_of(publish_atomics, consume_atomics) == seen{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
    }

    TEST_CASE("exploration: a location's values are seen in their order") {
        const auto first = [](litmus& at) {
            at.x.store(1, relaxed);
            at.x.store(2, relaxed);
        };
        const auto second = [](litmus& at) {
            at.result[0] = at.x.load(relaxed);
            at.result[1] = at.x.load(relaxed);
        };
        CHECK(results_of(first, second) == seen{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});
    }

    TEST_CASE("exploration: a read-modify-write is never stale, and goes on with a release") {
        const auto first = [](litmus& at) {
            at.memory.note_write();
            at.x.store(1, release);
        };
        const auto second = [](litmus& at) {
            at.result[0] = at.x.exchange(2, relaxed);
            at.result[1] = at.x.exchange(3, both);
            if (at.result[0] == 1) {
                at.memory.note_read();
            }
        };
        CHECK(results_of(first, second) == seen{{0, 1}, {0, 2}, {1, 2}});
    }

    TEST_CASE("exploration: finds that every thread sleeps") {
        const auto first = [](litmus& at) {
            if (at.x.load(relaxed) == 1) {
                at.woken.give();
            }
        };
        const auto second = [](litmus& at) {
            at.x.store(1, relaxed);
            at.woken.wait();
        };
        CHECK(failure_of(first, second) == "every thread sleeps");
    }

    TEST_CASE("exploration: a signal that was given wakes a thread that waits for it later") {
        const auto first = [](litmus& at) {
            at.memory.note_write();
            at.result[0] = at.woken.give();
        };
        const auto second = [](litmus& at) {
            at.woken.wait();
            at.memory.note_read();
        };
        CHECK(results_of(first, second) == seen{{0, 0}});
    }

    TEST_CASE("exploration: finds an object that is destroyed while another thread may use it") {
        const auto use = [](litmus& at) {
            at.object->load(relaxed);
            at.x.store(1, release);
        };
        const auto destroy_after_acquire = [](litmus& at) {
            if (at.x.load(acquire) == 1) {
                at.object.reset();
            }
        };
        const auto destroy_after_relaxed = [](litmus& at) {
            if (at.x.load(relaxed) == 1) {
                at.object.reset();
            }
        };
        CHECK(failure_of(use, destroy_after_acquire) == "");
        CHECK(failure_of(use, destroy_after_relaxed) ==
              "an atomic object is destroyed while another thread may use it");
    }

    TEST_CASE("exploration: finds an object that is used before it is known to exist") {
        const auto acquire_and_use = [](litmus& at) {
            if (at.x.load(acquire) == 1) {
                at.made->load(relaxed);
            }
        };
        const auto make_and_release = [](litmus& at) {
            at.made.emplace(7);
            at.x.store(1, release);
        };
        const auto make = [](litmus& at) {
            at.made.emplace(7);
            at.x.store(1, relaxed);
        };
        CHECK(failure_of(make_and_release, acquire_and_use) == "");
        CHECK(failure_of(make, acquire_and_use) ==
              "an atomic object is used before it is known to exist");
    }

    TEST_CASE("exploration: finds an object that is never destroyed") {
        const auto leak = [](litmus&) {
            alignas(exploration::atomic<int>) static std::byte memory[64];
            new (memory) exploration::atomic<int>{1};
        };
        CHECK(failure_of(leak, leak) == "an atomic object was never destroyed");
    }

    TEST_CASE("exploration: stops at the limit of executions and says so") {
        seen results;
        const auto make = [&] {
            return std::make_unique<litmus>(store_x_load_y, store_y_fence_load_x, results);
        };
        const exploration::outcome found = exploration::run({}, 2, make, 2);
        CHECK(!found.complete);
        CHECK(found.execution_count == 2);
    }

} // TEST_SUITE
