// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/assert.hpp"
#include "testing/fiber.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zlink::testing {

/// Runs lock-free code in every way in which the atomic operations of its threads can interleave,
/// with every value that each load may return. A bounded model checker: a scenario is executed
/// again and again, its threads being fibers, until no choice is left. What has led to a state that
/// was seen before is not followed further.
///
/// The memory that it models is weaker than x86's, and on the whole what C++ promises:
///  - A location keeps every value that was stored to it, oldest first. Of each location, a thread
///    knows one value that it cannot go behind. A load returns that one or any newer one.
///  - Who loads with acquire what was stored with release knows what the storing thread knew.
///  - A read-modify-write sees the newest value.
///  - heavy() lets every thread know the newest value of every location, as membarrier does. (It
///    orders no plain memory: that is for acquire and release.)
///  - light() keeps the compiler from delaying stores, which matters only with the rule
///    compiler_delays_stores.
/// So stores that wait in a buffer, and stale and reordered loads, are covered. What is not: loads
/// that see a store of the future, and stores of one location by several threads that reach memory
/// in another order than they were executed. No x86 does either.
class exploration {
public:
    static constexpr std::size_t threads_max = 3;
    static constexpr std::size_t locations_max = 64;
    static constexpr std::size_t values_max = 255; ///< That one location may take.

    /// What holds during an exploration. Breaking a rule shows that something depends on it.
    struct rules {
        bool orders_count = true;             ///< If not, every order is relaxed.
        bool heavy_fence_works = true;        ///< If not, it is no fence.
        bool light_fence_works = true;        ///< If not, the compiler does not heed it.
        bool compiler_delays_stores = false;  ///< Behind later loads; not behind read-modify-writes.
        std::uint64_t executions_max = 5'000'000;
    };

    /// What threads do together. Constructed anew for each execution, before the threads start, and
    /// destroyed after they have ended.
    class scenario {
    public:
        virtual ~scenario() = default;
        /// Called once for each thread, on that thread.
        virtual void run(std::size_t thread) = 0;
        /// Called after all threads have ended.
        virtual void finish() {}
    };

    struct outcome {
        std::string failure; ///< Empty: there is none.
        std::vector<std::string> trace; ///< What led to the failure, an operation each.
        bool complete = false; ///< Every choice was tried.
        std::uint64_t execution_count = 0;
        std::uint64_t state_count = 0;
    };

    static outcome run(const rules& assumed, std::size_t thread_count,
                       const std::function<std::unique_ptr<scenario>()>& make) {
        exploration self{assumed, thread_count};
        return self.explore(make);
    }

    /// Notes, if `holds` is false, that the scenario has failed.
    static void require(bool holds, const char* claim) {
        if (!holds) {
            current_->fail(claim);
        }
    }

    /// The index of the thread that runs.
    static std::size_t thread() noexcept { return current_->running_; }

    template<class T>
    class atomic;
    class plain;
    class signal;
    struct fence;

    /// Thrown by signal::wait when every thread sleeps.
    struct deadlock {};

    exploration(const exploration&) = delete;
    exploration& operator=(const exploration&) = delete;

private:
    static constexpr std::size_t no_thread = threads_max;

    /// Of each location, the index of the newest value that is known; of each thread, up to when
    /// its plain accesses are known.
    struct knowledge {
        std::array<std::uint8_t, locations_max> seen{};
        std::array<std::uint16_t, threads_max> time{};

        void join(const knowledge& other) noexcept {
            for (std::size_t each = 0; each < locations_max; ++each) {
                seen[each] = std::max(seen[each], other.seen[each]);
            }
            for (std::size_t each = 0; each < threads_max; ++each) {
                time[each] = std::max(time[each], other.time[each]);
            }
        }
    };

    struct stored_value {
        std::uint64_t value;
        std::uint64_t identity; ///< Equal in executions that differ in addresses only.
        knowledge carried;
    };

    struct location {
        std::vector<stored_value> values;
        std::uint64_t hash = 0;
        std::array<std::uint16_t, threads_max> accessed{}; ///< The time of each thread's last access.
        std::size_t creator = no_thread;
        std::uint16_t created = 0;
        bool exists = false;
    };

    struct delayed_store {
        std::size_t where;
        std::uint64_t value;
        std::uint64_t identity;
        knowledge carried;
    };

    struct thread_state {
        std::unique_ptr<fiber> stack;
        knowledge known;
        std::uint64_t history = 0; ///< A hash of all that it did and saw.
        std::vector<delayed_store> delayed;
        std::size_t waits_for = locations_max; ///< A signal's location, or none.
        bool ended = false;
    };

    struct traced_operation {
        std::size_t who;
        const char* operation;
        std::size_t where; ///< locations_max: nowhere.
        std::uint64_t value;
    };

    struct choice {
        std::size_t taken;
        std::size_t count;
    };

    exploration(const rules& assumed, std::size_t thread_count)
        : rules_(assumed), threads_(thread_count), locations_(locations_max) {
        ZLINK_ASSERT(current_ == nullptr && thread_count <= threads_max);
        current_ = this;
        for (std::size_t index = 0; index < thread_count; ++index) {
            threads_[index].stack = std::make_unique<fiber>([this, index] { serve(index); });
        }
    }

    ~exploration() {
        stopping_ = true;
        for (thread_state& each : threads_) {
            main_.switch_to(*each.stack);
        }
        current_ = nullptr;
    }

    outcome explore(const std::function<std::unique_ptr<scenario>()>& make) {
        outcome found;
        while (found.execution_count < rules_.executions_max) {
            execute(make);
            ++found.execution_count;
            if (!failure_.empty()) {
                found.failure = failure_;
                found.trace = spelled_trace();
                break;
            }
            while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().count) {
                choices_.pop_back();
            }
            if (choices_.empty()) {
                found.complete = true;
                break;
            }
            ++choices_.back().taken;
        }
        found.state_count = visited_.size();
        return found;
    }

    void execute(const std::function<std::unique_ptr<scenario>()>& make) {
        location_count_ = 0;
        depth_ = 0;
        follows_ = true;
        trace_.clear();
        for (thread_state& each : threads_) {
            each.known = {};
            each.known.time.fill(0);
            each.history = 0;
            each.ended = false;
        }
        for (std::size_t index = 0; index < threads_.size(); ++index) {
            threads_[index].known.time[index] = 1;
        }
        running_ = no_thread;
        scenario_ = make();
        for (thread_state& each : threads_) {
            for (std::size_t where = 0; where < location_count_; ++where) {
                each.known.seen[where] = newest(where);
            }
        }
        running_ = choose_thread();
        main_.switch_to(*threads_[running_].stack);
        running_ = no_thread;
        scenario_->finish();
        scenario_.reset();
        for (std::size_t where = 0; where < location_count_; ++where) {
            require(!locations_[where].exists, "an atomic object was never destroyed");
        }
    }

    /// The life of a thread's fiber.
    void serve(std::size_t index) {
        while (!stopping_) {
            thread_state& self = threads_[index];
            self.history = mix(0, index); // Having started is a state of its own.
            try {
                scenario_->run(index);
            } catch (const deadlock&) {
            }
            settle();
            self.ended = true;
            const bool all_ended = std::all_of(threads_.begin(), threads_.end(),
                                               [](const thread_state& each) { return each.ended; });
            if (all_ended) {
                self.stack->switch_to(main_);
            } else {
                running_ = choose_thread();
                self.stack->switch_to(*threads_[running_].stack);
            }
        }
        threads_[index].stack->leave(main_);
    }

    // Scheduling.

    /// Lets other threads go first, as the choices say. Called before each operation.
    void step() {
        const std::size_t self = running_;
        ZLINK_ASSERT(self != no_thread);
        const std::size_t next = choose_thread();
        if (next != self) {
            running_ = next;
            threads_[self].stack->switch_to(*threads_[next].stack);
        }
    }

    bool may_run(const thread_state& who) const {
        return !who.ended && (who.waits_for == locations_max ||
                              locations_[who.waits_for].values.back().value != 0);
    }

    std::size_t choose_thread() {
        for (;;) {
            note_state();
            std::array<std::size_t, 2 * threads_max> options;
            std::size_t count = 0;
            for (std::size_t each = 0; each < threads_.size(); ++each) {
                if (may_run(threads_[each])) {
                    options[count++] = each;
                }
            }
            for (std::size_t each = 0; each < threads_.size(); ++each) {
                if (!threads_[each].delayed.empty()) {
                    options[count++] = threads_max + each;
                }
            }
            if (count == 0) {
                fail("every thread sleeps");
                const auto sleeper = std::find_if(threads_.begin(), threads_.end(),
                                                  [](const auto& each) { return !each.ended; });
                return static_cast<std::size_t>(sleeper - threads_.begin());
            }
            const std::size_t chosen = options[choose(count)];
            if (chosen < threads_max) {
                return chosen;
            }
            perform_oldest_delayed(chosen - threads_max);
        }
    }

    /// @return An index below `count`. Zero where nothing new is to be found.
    std::size_t choose(std::size_t count) {
        if (count == 1 || !follows_) {
            return 0;
        }
        if (depth_ == choices_.size()) {
            choices_.push_back({0, count});
        }
        ZLINK_ASSERT(choices_[depth_].count == count); // The scenario is deterministic.
        return choices_[depth_++].taken;
    }

    void note_state() {
        if (!follows_ || depth_ < choices_.size()) {
            return;
        }
        std::uint64_t hash = 0;
        for (const thread_state& each : threads_) {
            hash = mix(hash, each.history);
            hash = mix(hash, each.ended ? locations_max + 1 : each.waits_for);
            hash = mix_knowledge(hash, each.known);
            for (const delayed_store& store : each.delayed) {
                hash = mix(mix(hash, store.where), store.identity);
            }
        }
        for (std::size_t where = 0; where < location_count_; ++where) {
            hash = mix(hash, locations_[where].hash);
        }
        follows_ = visited_.insert(hash).second;
    }

    void fail(const char* claim) {
        if (failure_.empty()) {
            failure_ = claim;
            trace(running_, claim, locations_max, 0);
        }
        follows_ = false;
    }

    void trace(std::size_t who, const char* operation, std::size_t where, std::uint64_t value) {
        trace_.push_back({who, operation, where, value});
    }

    std::vector<std::string> spelled_trace() const {
        std::vector<std::string> lines;
        for (const traced_operation& each : trace_) {
            std::string line = "thread " + std::to_string(each.who) + " " + each.operation;
            if (each.where != locations_max) {
                line += " #" + std::to_string(each.where) + " " + std::to_string(each.value);
            }
            lines.push_back(std::move(line));
        }
        return lines;
    }

    // Memory.

    std::size_t add_location(std::uint64_t value, std::uint64_t identity) {
        ZLINK_ASSERT(location_count_ < locations_max);
        const std::size_t where = location_count_++;
        location& made = locations_[where];
        made.values.clear();
        made.values.push_back({value, identity, {}});
        made.hash = mix(mix(0, where), identity);
        made.accessed.fill(0);
        made.creator = running_;
        made.created = running_ == no_thread ? std::uint16_t{0} : time_of(running_);
        made.exists = true;
        return where;
    }

    void remove_location(std::size_t where) {
        location& gone = locations_[where];
        require(gone.exists, "an atomic object is destroyed twice");
        if (running_ != no_thread) {
            const knowledge& known = threads_[running_].known;
            for (std::size_t each = 0; each < threads_.size(); ++each) {
                require(each == running_ || known.time[each] >= gone.accessed[each],
                        "an atomic object is destroyed while another thread may use it");
            }
        }
        gone.exists = false;
        gone.hash = 0;
    }

    /// Checks and notes that the running thread uses `where`.
    location& access(std::size_t where) {
        location& used = locations_[where];
        require(used.exists, "an atomic object is used after its end");
        if (running_ != no_thread) {
            const knowledge& known = threads_[running_].known;
            require(used.creator == no_thread || known.time[used.creator] >= used.created,
                    "an atomic object is used before it is known to exist");
            used.accessed[running_] = time_of(running_);
        }
        return used;
    }

    /// @return What the load saw.
    const stored_value& load(std::size_t where, std::memory_order order) {
        if (running_ == no_thread) {
            return access(where).values.back();
        }
        step();
        thread_state& self = threads_[running_];
        location& used = access(where);
        const std::size_t oldest = self.known.seen[where];
        const bool is_delayed =
            std::any_of(self.delayed.begin(), self.delayed.end(),
                        [&](const delayed_store& store) { return store.where == where; });
        if (is_delayed) {
            perform_delayed(running_); // A thread sees its own stores.
        }
        const std::size_t back = is_delayed ? 0 : choose(used.values.size() - oldest);
        const std::size_t index = used.values.size() - 1 - back;
        const stored_value& seen = used.values[index];
        self.known.seen[where] = static_cast<std::uint8_t>(index);
        if (acquires(order)) {
            self.known.join(seen.carried);
        }
        self.history = mix(mix(self.history, where), seen.identity);
        pass_time();
        trace(running_, "loads", where, seen.value);
        return seen;
    }

    void store(std::size_t where, std::uint64_t value, std::uint64_t identity,
               std::memory_order order) {
        if (running_ == no_thread) {
            return replace_value(where, value, identity);
        }
        step();
        access(where);
        thread_state& self = threads_[running_];
        self.history = mix(mix(self.history, where), identity);
        self.delayed.push_back(
            {where, value, identity, releases(order) ? self.known : knowledge{}});
        if (rules_.compiler_delays_stores) {
            trace(running_, "delays", where, value);
        } else {
            perform_delayed(running_);
        }
        pass_time();
    }

    /// Lets `change` turn the newest value into the one to be stored. On a thread only.
    /// @return What was there before.
    template<class Change>
    stored_value modify(std::size_t where, std::memory_order order, Change&& change) {
        step();
        perform_delayed(running_);
        thread_state& self = threads_[running_];
        const stored_value before = access(where).values.back();
        self.known.seen[where] = newest(where);
        if (acquires(order)) {
            self.known.join(before.carried);
        }
        self.history = mix(mix(self.history, where), before.identity);
        // What it replaces had carried goes on: a release sequence.
        delayed_store after{where, before.value, before.identity, before.carried};
        if (releases(order)) {
            after.carried.join(self.known);
        }
        trace(running_, "takes", where, before.value);
        if (change(after.value, after.identity)) {
            perform_store(running_, after);
        }
        pass_time();
        return before;
    }

    /// Before the threads start, and after they have ended.
    void replace_value(std::size_t where, std::uint64_t value, std::uint64_t identity) {
        location& used = access(where);
        used.values.back().value = value;
        used.values.back().identity = identity;
        used.hash = mix(used.hash, identity);
    }

    void perform_store(std::size_t who, const delayed_store& what) {
        location& used = locations_[what.where];
        ZLINK_ASSERT(used.values.size() < values_max);
        const auto index = static_cast<std::uint8_t>(used.values.size());
        threads_[who].known.seen[what.where] = index;
        stored_value added{what.value, what.identity, what.carried};
        added.carried.seen[what.where] = index;
        used.hash = mix_knowledge(mix(mix(used.hash, who), what.identity), added.carried);
        used.values.push_back(added);
        trace(who, "stores", what.where, what.value);
    }

    void perform_oldest_delayed(std::size_t who) {
        perform_store(who, threads_[who].delayed.front());
        threads_[who].delayed.erase(threads_[who].delayed.begin());
    }

    void perform_delayed(std::size_t who) {
        while (!threads_[who].delayed.empty()) {
            perform_oldest_delayed(who);
        }
    }

    void fence_heavy() {
        step();
        perform_delayed(running_);
        thread_state& self = threads_[running_];
        self.history = mix(self.history, locations_max);
        trace(running_, "fences", locations_max, 0);
        if (!rules_.heavy_fence_works) {
            return;
        }
        for (thread_state& each : threads_) {
            for (std::size_t where = 0; where < location_count_; ++where) {
                each.known.seen[where] = newest(where);
            }
        }
    }

    void fence_light() {
        if (rules_.light_fence_works) {
            settle();
        }
    }

    /// Performs what the running thread has delayed, unless that is done before.
    void settle() {
        if (!threads_[running_].delayed.empty()) {
            step();
            perform_delayed(running_);
        }
    }

    std::uint8_t newest(std::size_t where) const {
        return static_cast<std::uint8_t>(locations_[where].values.size() - 1);
    }

    std::uint16_t time_of(std::size_t thread) const { return threads_[thread].known.time[thread]; }
    void pass_time() { ++threads_[running_].known.time[running_]; }

    bool acquires(std::memory_order order) const {
        return rules_.orders_count && order != std::memory_order_relaxed &&
               order != std::memory_order_release;
    }
    bool releases(std::memory_order order) const {
        return rules_.orders_count && order != std::memory_order_relaxed &&
               order != std::memory_order_acquire;
    }

    static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15;
        return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
    }

    std::uint64_t mix_knowledge(std::uint64_t hash, const knowledge& known) const noexcept {
        for (std::size_t where = 0; where < location_count_; where += 8) {
            std::uint64_t eight;
            std::memcpy(&eight, known.seen.data() + where, sizeof eight);
            hash = mix(hash, eight);
        }
        for (const std::uint16_t each : known.time) {
            hash = mix(hash, each);
        }
        return hash;
    }

    static inline exploration* current_ = nullptr;

    const rules rules_;
    fiber main_;
    std::vector<thread_state> threads_;
    std::vector<location> locations_;
    std::size_t location_count_ = 0;
    std::unique_ptr<scenario> scenario_;
    std::size_t running_ = no_thread;

    std::vector<choice> choices_; ///< Of this execution; the next one differs in the last.
    std::size_t depth_ = 0;       ///< How many of them were made.
    std::unordered_set<std::uint64_t> visited_;
    std::string failure_;
    std::vector<traced_operation> trace_;
    bool follows_ = true; ///< This execution still leads to something new.
    bool stopping_ = false;
};

/// Stands for std::atomic.
template<class T>
class exploration::atomic {
public:
    atomic(T initial) : where_(current_->add_location(encode(initial), identify(initial))) {}
    ~atomic() { current_->remove_location(where_); }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order order) const { return decode(current_->load(where_, order).value); }

    void store(T value, std::memory_order order) {
        current_->store(where_, encode(value), identify(value), order);
    }

    T exchange(T value, std::memory_order order) {
        return decode(current_->modify(where_, order, [&](auto& stored, auto& identity) {
            stored = encode(value);
            identity = identify(value);
            return true;
        }).value);
    }

    bool compare_exchange_strong(T& expected, T value, std::memory_order success,
                                 std::memory_order /*failure: seen as `success`*/) {
        bool exchanged = false;
        const T before = decode(current_->modify(where_, success, [&](auto& stored, auto& identity) {
            exchanged = stored == encode(expected);
            if (exchanged) {
                stored = encode(value);
                identity = identify(value);
            }
            return exchanged;
        }).value);
        expected = before;
        return exchanged;
    }

private:
    static std::uint64_t encode(T value) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<std::uintptr_t>(value);
        } else {
            return static_cast<std::uint64_t>(value);
        }
    }

    static T decode(std::uint64_t value) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<T>(value);
        } else {
            return static_cast<T>(value);
        }
    }

    /// Addresses differ from one execution to the next; who stored them when does not.
    static std::uint64_t identify(T value) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            const std::size_t who = current_->running_;
            return value == nullptr || who == no_thread
                       ? 0
                       : mix(current_->threads_[who].history, who + 1);
        } else {
            return static_cast<std::uint64_t>(value);
        }
    }

    std::size_t where_;
};

/// Stands for memory that is not atomic. Checks that accesses are ordered by acquire and release.
class exploration::plain {
public:
    void note_read() {
        if (const std::size_t self = current_->running_; self != no_thread) {
            const knowledge& known = current_->threads_[self].known;
            for (std::size_t each = 0; each < threads_max; ++each) {
                require(each == self || known.time[each] >= written_[each],
                        "memory is read that another thread may be writing");
            }
            read_[self] = current_->time_of(self);
        }
    }

    void note_write() {
        if (const std::size_t self = current_->running_; self != no_thread) {
            const knowledge& known = current_->threads_[self].known;
            for (std::size_t each = 0; each < threads_max; ++each) {
                require(each == self ||
                            known.time[each] >= std::max(written_[each], read_[each]),
                        "memory is written that another thread may be using");
            }
            written_[self] = current_->time_of(self);
        }
    }

private:
    std::array<std::uint16_t, threads_max> written_{};
    std::array<std::uint16_t, threads_max> read_{};
};

/// Stands for a mailbox: a thread waits in the kernel until another one wakes it.
class exploration::signal {
public:
    signal() : where_(current_->add_location(0, 0)) {}
    ~signal() { current_->remove_location(where_); }
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;

    /// @return Whether it was given before and not taken yet.
    bool give() {
        return current_->modify(where_, std::memory_order_acq_rel, [](auto& stored, auto& identity) {
            stored = identity = 1;
            return true;
        }).value != 0;
    }

    /// Sleeps until it is given, and takes it.
    /// @throws deadlock  Every thread sleeps.
    void wait() {
        current_->settle();
        thread_state& self = current_->threads_[current_->running_];
        self.waits_for = where_;
        const auto before =
            current_->modify(where_, std::memory_order_acq_rel, [](auto& stored, auto& identity) {
                const bool given = stored != 0;
                stored = identity = 0;
                return given;
            });
        self.waits_for = locations_max;
        if (before.value == 0) {
            throw deadlock{};
        }
    }

    /// Only while no thread runs.
    bool is_given() const { return current_->locations_[where_].values.back().value != 0; }

private:
    std::size_t where_;
};

struct exploration::fence {
    static void light() { current_->fence_light(); }
    static void heavy() { current_->fence_heavy(); }
};

/// Stands for real_platform where code is explored.
struct explored_platform {
    template<class T>
    using atomic = exploration::atomic<T>;
    using fence = exploration::fence;
};

} // namespace zlink::testing
