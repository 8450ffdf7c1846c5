// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/assert.hpp"
#include "testing/fiber.hpp"
#include "testing/modelled_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zlink::testing {

/// Runs lock-free code in every interleaving of its threads' atomic operations, with every value
/// that each load may return: a bounded model checker. modelled_memory describes the memory model.
///
/// A scenario is executed again and again, with fibers as its threads, each time with another
/// choice of the next thread and the loaded values, until all choices are tried. A state that was
/// seen before is not followed further.
///
/// @threads One exploration at a time.
class exploration {
public:
    using rules = modelled_memory::rules;
    static constexpr std::uint64_t executions_max_default = 5'000'000;

    /// The threads' common work. Constructed anew for each execution, before the threads start, and
    /// destroyed after they have ended. Executions may differ only through the results of atomic
    /// operations.
    class scenario {
    public:
        virtual ~scenario() = default;
        /// Called once for each thread, on that thread.
        virtual void run(std::size_t thread) = 0;
        /// Called after all threads have ended.
        virtual void finish() {}
        /// A hash of the plain memory, for scenarios that use forget().
        virtual std::uint64_t plain_state() const { return 0; }
    };

    struct outcome {
        std::string failure;   ///< Empty: there is none.
        std::string trace;     ///< The operations that led to it, one a line.
        bool complete = false; ///< Every choice was tried.
        std::uint64_t execution_count = 0;
        std::uint64_t state_count = 0;
    };

    using scenario_maker = std::function<std::unique_ptr<scenario>()>;

    static outcome run(const rules& assumed, std::size_t thread_count, const scenario_maker& make,
                       std::uint64_t executions_max = executions_max_default) {
        exploration self{assumed, thread_count};
        return self.explore(make, executions_max);
    }

    // For scenarios.

    /// Records that the scenario has failed, if `holds` is false.
    static void require(bool holds, const char* claim) {
        current_->memory_.fail_unless(holds, claim);
    }

    /// Declares that the running thread's past affects its future only through `digest`,
    /// plain_state() and the atomic objects. Different histories then give equal states, so that
    /// fewer must be followed.
    static void forget(std::uint64_t digest) {
        current_->memory_.forget(current_->running_, digest);
    }

    /// Makes the newest values known to every thread, for scenarios in which no load returns
    /// another one: fewer states must be followed.
    static void let_all_know() { current_->memory_.let_all_know(); }

    static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
        return modelled_memory::mix(hash, value);
    }

    /// The memory, for scenarios that inspect it.
    static const modelled_memory& memory() noexcept { return current_->memory_; }

    template<class T>
    class atomic;
    class plain;
    class signal;
    struct fence;

    /// Thrown by signal::wait when every thread is parked.
    struct deadlock {};

    exploration(const exploration&) = delete;
    exploration& operator=(const exploration&) = delete;

private:
    using word = modelled_memory::word;
    static constexpr std::size_t threads_max = modelled_memory::threads_max;
    static constexpr std::size_t no_thread = modelled_memory::no_thread;
    static constexpr std::size_t nowhere = modelled_memory::locations_max;

    struct thread_state {
        std::unique_ptr<fiber> stack;
        std::size_t waits_for = nowhere; ///< A signal's location.
        bool ended = false;
    };

    struct choice {
        std::size_t taken;
        std::size_t count;
    };

    struct traced_operation {
        std::size_t who;
        const char* operation;
        std::size_t where;
        std::uint64_t value;
    };

    exploration(const rules& assumed, std::size_t thread_count)
        : memory_(assumed, thread_count), threads_(thread_count) {
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

    outcome explore(const scenario_maker& make, std::uint64_t executions_max) {
        outcome found;
        while (found.execution_count < executions_max) {
            execute(make);
            ++found.execution_count;
            if (memory_.failure() != nullptr) {
                found.failure = memory_.failure();
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

    void execute(const scenario_maker& make) {
        depth_ = 0;
        follows_ = true;
        trace_.clear();
        memory_.reset();
        for (thread_state& each : threads_) {
            each.ended = false;
        }
        scenario_ = make();
        memory_.let_all_know();
        running_ = choose_thread();
        main_.switch_to(*threads_[running_].stack);
        running_ = no_thread;
        scenario_->finish();
        scenario_.reset();
        require(memory_.is_empty(), "an atomic object was never destroyed");
    }

    /// The body of a thread's fiber.
    void serve(std::size_t index) {
        fiber& self = *threads_[index].stack;
        while (!stopping_) {
            memory_.forget(index, nowhere); // The start of a thread is a state of its own.
            try {
                scenario_->run(index);
            } catch (const deadlock&) {
            }
            settle();
            memory_.end(index);
            threads_[index].ended = true;
            const bool all_ended = std::all_of(threads_.begin(), threads_.end(),
                                               [](const thread_state& each) { return each.ended; });
            if (all_ended) {
                self.switch_to(main_);
            } else {
                running_ = choose_thread();
                self.switch_to(*threads_[running_].stack);
            }
        }
        self.leave(main_);
    }

    // Scheduling.

    /// Lets other threads run first, as the choices say. Called before each operation, and nowhere
    /// else: a state that occurs twice is not followed.
    void step() {
        const std::size_t self = running_;
        const std::size_t next = choose_thread();
        if (next != self) {
            running_ = next;
            threads_[self].stack->switch_to(*threads_[next].stack);
        }
    }

    bool may_run(const thread_state& who) const {
        return !who.ended && (who.waits_for == nowhere || memory_.value(who.waits_for).bits != 0);
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
                if (memory_.has_delayed(each)) {
                    options[count++] = threads_max + each;
                }
            }
            if (count == 0) {
                require(false, "every thread sleeps");
                const auto sleeper = std::find_if(threads_.begin(), threads_.end(),
                                                  [](const auto& each) { return !each.ended; });
                return static_cast<std::size_t>(sleeper - threads_.begin());
            }
            const std::size_t chosen = options[choose(count)];
            if (chosen < threads_max) {
                return chosen;
            }
            trace(chosen - threads_max, "performs a store");
            memory_.perform_oldest_delayed(chosen - threads_max);
        }
    }

    /// @return An index below `count`; zero where no new state can follow.
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
        std::uint64_t hash = mix(memory_.hash(), scenario_->plain_state());
        for (const thread_state& each : threads_) {
            hash = mix(hash, each.waits_for);
        }
        follows_ = visited_.insert(hash).second;
    }

    void trace(std::size_t who, const char* operation, std::size_t where = nowhere,
               std::uint64_t value = 0) {
        trace_.push_back({who, operation, where, value});
    }

    std::string spelled_trace() const {
        std::string lines;
        for (const traced_operation& each : trace_) {
            lines += each.who == no_thread ? "nobody" : "thread " + std::to_string(each.who);
            lines.append(" ").append(each.operation);
            if (each.where != nowhere) {
                lines += " #" + std::to_string(each.where) + " " + std::to_string(each.value);
            }
            lines += '\n';
        }
        return lines;
    }

    // The operations of the stand-ins below.

    word load(std::size_t where, std::memory_order order) {
        std::size_t age = 0;
        // A thread always sees its own delayed store.
        if (running_ != no_thread && !memory_.has_delayed(running_, where)) {
            step();
            age = choose(memory_.readable_count(running_, where));
        }
        const word found = memory_.load(running_, where, order, age);
        trace(running_, "loads", where, found.bits);
        return found;
    }

    void store(std::size_t where, word what, std::memory_order order) {
        if (running_ != no_thread) {
            step();
        }
        trace(running_, "stores", where, what.bits);
        memory_.store(running_, where, what, order);
    }

    template<class Change>
    word modify(std::size_t where, std::memory_order order, Change&& change) {
        if (running_ != no_thread) {
            step();
        }
        const word before = memory_.modify(running_, where, order, std::forward<Change>(change));
        trace(running_, "replaces", where, before.bits);
        return before;
    }

    /// Performs the delayed stores of the running thread, unless other choices perform them before.
    void settle() {
        if (memory_.has_delayed(running_)) {
            step();
            memory_.perform_delayed(running_);
        }
    }

    static inline exploration* current_ = nullptr;

    modelled_memory memory_;
    fiber main_;
    std::vector<thread_state> threads_;
    std::unique_ptr<scenario> scenario_;
    std::size_t running_ = no_thread;

    std::vector<choice> choices_; ///< Of this execution; the next one differs in the last.
    std::size_t depth_ = 0;       ///< The number of choices made.
    std::unordered_set<std::uint64_t> visited_;
    std::vector<traced_operation> trace_;
    bool follows_ = true; ///< This execution can still reach a new state.
    bool stopping_ = false;
};

/// Stands for std::atomic.
template<class T>
class exploration::atomic {
public:
    atomic(T initial)
        : where_(current_->memory_.add_location(current_->running_, this, encode(initial))) {}
    ~atomic() { current_->memory_.remove_location(current_->running_, where_); }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order order) const { return decode(current_->load(where_, order)); }

    void store(T value, std::memory_order order) { current_->store(where_, encode(value), order); }

    T exchange(T value, std::memory_order order) {
        return decode(current_->modify(where_, order, [&](word& stored) {
            stored = encode(value);
            return true;
        }));
    }

    /// A failed exchange has the order of a successful one, and never sees a stale value.
    bool compare_exchange_strong(T& expected, T value, std::memory_order success,
                                 std::memory_order /*failure*/) {
        const T wanted = expected;
        expected = decode(current_->modify(where_, success, [&](word& stored) {
            const bool exchanges = decode(stored) == wanted;
            stored = exchanges ? encode(value) : stored;
            return exchanges;
        }));
        return expected == wanted;
    }

private:
    static word encode(T value) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            return {reinterpret_cast<std::uintptr_t>(value), true};
        } else {
            return {static_cast<std::uint64_t>(value), false};
        }
    }

    static T decode(word stored) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<T>(stored.bits);
        } else {
            return static_cast<T>(stored.bits);
        }
    }

    std::size_t where_;
};

/// Stands for memory that is not atomic. Checks that accesses are ordered by acquire and release.
class exploration::plain {
public:
    plain() : index_(current_->memory_.add_plain()) {}
    ~plain() { current_->memory_.remove_plain(index_); }
    plain(const plain&) = delete;
    plain& operator=(const plain&) = delete;

    void note_read() { current_->memory_.read_plain(current_->running_, index_); }
    void note_write() { current_->memory_.write_plain(current_->running_, index_); }

private:
    std::size_t index_;
};

/// Stands for a mailbox: a thread parks in the kernel until another one wakes it.
class exploration::signal {
public:
    signal() : where_(current_->memory_.add_location(no_thread, this, {})) {}
    ~signal() { current_->memory_.remove_location(no_thread, where_); }
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;

    /// @return Whether it was given before and not yet taken.
    bool give() {
        const word before = current_->modify(where_, std::memory_order_acq_rel, [](word& stored) {
            stored.bits = 1;
            return true;
        });
        return before.bits != 0;
    }

    /// Parks until it is given, and takes it.
    /// @throws deadlock  Every thread is parked.
    void wait() {
        current_->settle();
        thread_state& self = current_->threads_[current_->running_];
        self.waits_for = where_;
        const word before = current_->modify(where_, std::memory_order_acq_rel, [](word& stored) {
            const bool was_given = stored.bits != 0;
            stored.bits = 0;
            return was_given;
        });
        self.waits_for = nowhere;
        if (before.bits == 0) {
            throw deadlock{};
        }
    }

    /// Call it only while no thread runs.
    bool is_given() const { return current_->memory_.value(where_).bits != 0; }

private:
    std::size_t where_;
};

struct exploration::fence {
    static void light() {
        if (current_->memory_.has_delayed(current_->running_)) {
            current_->step();
            current_->memory_.fence_light(current_->running_);
        }
    }

    static void full() {
        if (current_->running_ == no_thread) {
            return;
        }
        current_->step();
        current_->trace(current_->running_, "passes a full fence");
        current_->memory_.fence_full(current_->running_);
    }

    static void heavy() {
        current_->step();
        current_->trace(current_->running_, "fences");
        current_->memory_.fence_heavy(current_->running_);
    }
};

/// Stands for real_platform in explored code.
struct explored_platform {
    template<class T>
    using atomic = exploration::atomic<T>;
    using fence = exploration::fence;
    static inline std::uint32_t flow_messages_min = 0;
    static constexpr bool keeps_statistics = false;
};

} // namespace zlink::testing
