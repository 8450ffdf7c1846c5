// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/assert.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace zlink::testing {

/// The memory that a few threads share in an exploration. It is weaker than x86's, and mostly as
/// weak as the C++ memory model:
///  - A location keeps every value that was stored to it, oldest first. Of each location, a thread
///    has an oldest value that it can still load. A load returns that one or any newer one.
///  - An acquire load of a release store takes over what the storing thread knew.
///  - A read-modify-write sees the newest value.
///  - A heavy fence makes the newest value of every location known to every thread, as membarrier
///    does. (It orders no plain memory: that needs acquire and release.)
///  - A full fence takes over the knowledge of all threads that passed one before.
///  - Where compilers delay stores, only the thread's own next light fence, heavy fence, full fence
///    or read-modify-write makes them visible for certain.
/// So stores that wait in a buffer, and stale and reordered loads, are covered. Not covered are
/// loads that see a future store, and stores of several threads to one location that reach memory
/// in another order than they were executed. No x86 does either.
class modelled_memory {
public:
    static constexpr std::size_t threads_max = 3;
    static constexpr std::size_t locations_max = 64;
    static constexpr std::size_t values_max = 255; ///< The most that one location may take.
    static constexpr std::size_t no_thread = threads_max;

    /// The guarantees that hold. Switching one off shows that code depends on it.
    struct rules {
        bool orders_count = true;            ///< If not, every order is relaxed.
        bool heavy_fence_works = true;       ///< If not, it is no fence.
        bool full_fence_works = true;        ///< If not, it is no fence.
        bool light_fence_works = true;       ///< If not, the compiler ignores it.
        bool compiler_delays_stores = false; ///< Behind later loads.
    };

    /// The value of a location.
    struct word {
        std::uint64_t bits;
        bool is_address;
    };

    modelled_memory(const rules& assumed, std::size_t thread_count)
        : rules_(assumed), threads_(thread_count), locations_(locations_max) {}

    /// Forgets everything.
    void reset() {
        location_count_ = 0;
        plains_.clear();
        failure_ = nullptr;
        fenced_ = {};
        for (std::size_t each = 0; each < threads_.size(); ++each) {
            threads_[each] = {};
            threads_[each].known.time[each] = 1;
        }
    }

    /// The failure, or null.
    const char* failure() const noexcept { return failure_; }
    void fail_unless(bool holds, const char* claim) noexcept {
        if (!holds && failure_ == nullptr) {
            failure_ = claim;
        }
    }

    // Objects. `who` is a thread or, before and after the threads run, no_thread.

    /// @param address  Of the atomic object: a pointer to it, or to up to 64 bytes before it, is
    ///                 recognised in another execution.
    std::size_t add_location(std::size_t who, const void* address, word initial) {
        ZLINK_ASSERT(location_count_ < locations_max);
        const std::size_t where = location_count_++;
        location& made = locations_[where];
        made.values.clear();
        made.values.push_back({initial, {}});
        made.accessed.fill(0);
        made.address = reinterpret_cast<std::uintptr_t>(address);
        made.creator = who;
        made.created = who == no_thread ? std::uint16_t{0} : time_of(who);
        made.exists = true;
        return where;
    }

    void remove_location(std::size_t who, std::size_t where) {
        location& gone = locations_[where];
        fail_unless(gone.exists, "an atomic object is destroyed twice");
        if (who != no_thread) {
            fail_unless(knows_all(who, gone.accessed),
                        "an atomic object is destroyed while another thread may use it");
        }
        gone.exists = false;
    }

    bool is_empty() const {
        return std::none_of(locations_.begin(), locations_.begin() + location_count_,
                            [](const location& each) { return each.exists; });
    }

    template<class Visitor>
    void for_each_address(Visitor&& visit) const {
        for (std::size_t where = 0; where < location_count_; ++where) {
            if (locations_[where].exists) {
                visit(locations_[where].address);
            }
        }
    }

    std::size_t add_plain() {
        plains_.push_back({});
        return plains_.size() - 1;
    }
    void remove_plain(std::size_t index) { plains_[index].exists = false; }

    void read_plain(std::size_t who, std::size_t index) {
        if (who != no_thread) {
            fail_unless(knows_all(who, plains_[index].written),
                        "memory is read that another thread may be writing");
            plains_[index].read[who] = time_of(who);
        }
    }

    void write_plain(std::size_t who, std::size_t index) {
        if (who != no_thread) {
            fail_unless(knows_all(who, plains_[index].written) &&
                            knows_all(who, plains_[index].read),
                        "memory is written that another thread may be using");
            plains_[index].written[who] = time_of(who);
        }
    }

    // Operations of threads.

    /// The number of values that a load might return.
    std::size_t readable_count(std::size_t who, std::size_t where) const {
        return locations_[where].values.size() - threads_[who].known.seen[where];
    }

    /// @param age  Which of them the load returns; 0: the newest. A store of the thread's own that
    /// is
    ///             delayed is newer still.
    word load(std::size_t who, std::size_t where, std::memory_order order, std::size_t age) {
        location& used = access(who, where);
        if (const delayed_store* const own = newest_delayed(who, where); own != nullptr) {
            note(who, where, own->what);
            return own->what;
        }
        const std::size_t index = used.values.size() - 1 - age;
        const stored_word& found = used.values[index];
        if (who != no_thread) {
            threads_[who].known.seen[where] = static_cast<std::uint8_t>(index);
            if (acquires(order)) {
                learn(who, found.carried);
            }
            note(who, where, found.what);
        }
        return found.what;
    }

    void store(std::size_t who, std::size_t where, word what, std::memory_order order) {
        location& used = access(who, where);
        if (who == no_thread) {
            used.values.back().what = what;
            return;
        }
        const bool is_release = releases(order);
        const delayed_store made{where, what, is_release ? threads_[who].known : knowledge{},
                                 is_release};
        if (rules_.compiler_delays_stores) {
            threads_[who].delayed.push_back(made);
        } else {
            perform(who, made);
        }
        note(who, where, what);
    }

    /// Lets change(word&) replace the newest value, if it returns true.
    /// @return The value before.
    template<class Change>
    word modify(std::size_t who, std::size_t where, std::memory_order order, Change&& change) {
        location& used = access(who, where);
        const stored_word before = used.values.back();
        word after = before.what;
        if (who == no_thread) {
            change(after);
            used.values.back().what = after;
            return before.what;
        }
        perform_delayed(who);
        threads_[who].known.seen[where] = newest(where);
        if (acquires(order)) {
            learn(who, before.carried);
        }
        if (change(after)) {
            // A release sequence: the new value keeps what the replaced one carried.
            knowledge carried = before.carried;
            if (releases(order)) {
                carried.join(threads_[who].known, location_count_);
            }
            perform(who, {where, after, carried, releases(order)});
        }
        note(who, where, before.what);
        return before.what;
    }

    void fence_heavy(std::size_t who) {
        perform_delayed(who);
        if (rules_.heavy_fence_works) {
            let_all_know();
        }
        note(who, locations_max, {});
    }

    void fence_full(std::size_t who) {
        perform_delayed(who);
        if (rules_.full_fence_works) {
            auto& seen = threads_[who].known.seen;
            for (std::size_t where = 0; where < location_count_; ++where) {
                seen[where] = fenced_.seen[where] = std::max(seen[where], fenced_.seen[where]);
            }
        }
        note(who, locations_max, {});
    }

    void fence_light(std::size_t who) {
        if (rules_.light_fence_works) {
            perform_delayed(who);
        }
        note(who, locations_max, {});
    }

    void let_all_know() {
        for (thread_state& each : threads_) {
            for (std::size_t where = 0; where < location_count_; ++where) {
                each.known.seen[where] = newest(where);
            }
        }
    }

    bool has_delayed(std::size_t who) const { return !threads_[who].delayed.empty(); }
    bool has_delayed(std::size_t who, std::size_t where) const {
        return newest_delayed(who, where) != nullptr;
    }

    void perform_oldest_delayed(std::size_t who) {
        perform(who, threads_[who].delayed.front());
        threads_[who].delayed.erase(threads_[who].delayed.begin());
    }

    void perform_delayed(std::size_t who) {
        while (has_delayed(who)) {
            perform_oldest_delayed(who);
        }
    }

    /// The newest value.
    word value(std::size_t where) const { return locations_[where].values.back().what; }

    // States. Two executions with equal states have the same future.

    /// Declares that the past of `who` matters only through `digest` and the contents of memory.
    void forget(std::size_t who, std::uint64_t digest) { threads_[who].history = mix(0, digest); }

    /// Declares that `who` does nothing any more.
    void end(std::size_t who) {
        perform_delayed(who);
        threads_[who].ended = true;
    }

    /// Hashes everything that affects the future: the values that can still be read, and the
    /// objects that each thread may use, independent of the past that led there.
    std::uint64_t hash() {
        find_relevance(relevance_);
        const relevance& relevant = relevance_;
        std::uint64_t hash = 0;
        for (const thread_state& each : threads_) {
            hash = mix(hash, each.ended);
            if (!each.ended) {
                hash = mix(hash, each.history);
                hash = mix_knowledge(hash, each.known, relevant);
                for (const delayed_store& store : each.delayed) {
                    hash = mix(mix(hash, rank(store.where)), canonical(store.what));
                    hash = mix_knowledge(hash, store.carried, relevant);
                }
            }
        }
        for (std::size_t where = 0; where < location_count_; ++where) {
            const location& each = locations_[where];
            if (each.exists) {
                hash = mix(hash, each.creator);
                hash = each.creator == no_thread
                           ? hash
                           : mix(hash, relevant.rank_of(each.creator, each.created));
                hash = mix_times(hash, each.accessed, relevant);
                for (std::size_t index = relevant.oldest[where]; index < each.values.size();
                     ++index) {
                    hash = mix(hash, canonical(each.values[index].what));
                    hash = mix_carried(hash, where, index, relevant);
                }
            }
        }
        for (const plain_state& each : plains_) {
            if (each.exists) {
                hash = mix_times(mix_times(hash, each.written, relevant), each.read, relevant);
            }
        }
        return mix_knowledge(hash, fenced_, relevant);
    }

    /// A number that is the same in every execution: `what`, unless that is an address.
    std::uint64_t canonical(word what) const {
        if (!what.is_address || !looks_like_address(what.bits)) {
            return what.bits;
        }
        for (std::size_t where = 0; where < location_count_; ++where) {
            const location& each = locations_[where];
            if (each.exists && each.address >= what.bits && each.address - what.bits < 64) {
                return address_tag + 1 + rank(where);
            }
        }
        return address_tag; // The object is gone: no thread may dereference that.
    }

    static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15;
        return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
    }

private:
    static constexpr std::uint64_t address_tag = 0xadd7e55ull << 40;

    static constexpr bool looks_like_address(std::uint64_t bits) noexcept {
        return bits >> 32 != 0 && bits >> 48 == 0;
    }

    /// A point in the execution of each thread.
    using times = std::array<std::uint16_t, threads_max>;

    /// Of each location, the index of the newest known value; of each thread, the time up to which
    /// its accesses are known.
    struct knowledge {
        std::array<std::uint8_t, locations_max> seen{};
        times time{};

        void join(const knowledge& other, std::size_t location_count) noexcept {
            for (std::size_t each = 0; each < location_count; ++each) {
                seen[each] = std::max(seen[each], other.seen[each]);
            }
            for (std::size_t each = 0; each < threads_max; ++each) {
                time[each] = std::max(time[each], other.time[each]);
            }
        }

        void meet(const knowledge& other, std::size_t location_count) noexcept {
            for (std::size_t each = 0; each < location_count; ++each) {
                seen[each] = std::min(seen[each], other.seen[each]);
            }
            for (std::size_t each = 0; each < threads_max; ++each) {
                time[each] = std::min(time[each], other.time[each]);
            }
        }

        bool covers(const knowledge& other, std::size_t location_count) const noexcept {
            return std::equal(seen.begin(), seen.begin() + location_count, other.seen.begin(),
                              std::greater_equal<>{}) &&
                   std::equal(time.begin(), time.end(), other.time.begin(), std::greater_equal<>{});
        }
    };

    struct stored_word {
        word what;
        knowledge carried;
    };

    struct location {
        std::vector<stored_word> values;
        times accessed{}; ///< Each thread's last access.
        std::uintptr_t address = 0;
        std::size_t creator = no_thread;
        std::uint16_t created = 0;
        bool exists = false;
    };

    struct plain_state {
        times written{};
        times read{};
        bool exists = true;
    };

    struct delayed_store {
        std::size_t where;
        word what;
        knowledge carried;
        bool is_release;
    };

    struct thread_state {
        knowledge known;
        std::uint64_t history = 0; ///< A hash of all that it did and saw.
        std::vector<delayed_store> delayed;
        bool ended = false;
    };

    /// The data that tells states apart: the values of a location that some thread may still read,
    /// and the times at which a thread used an object that still exists.
    struct relevance {
        std::array<std::uint8_t, locations_max> oldest;
        std::array<std::vector<std::uint16_t>, threads_max> used; ///< In order.

        /// The number of times up to `time`.
        std::uint64_t rank_of(std::size_t thread, std::uint16_t time) const {
            const auto& in_order = used[thread];
            return static_cast<std::uint64_t>(
                std::upper_bound(in_order.begin(), in_order.end(), time) - in_order.begin());
        }
    };

    void find_relevance(relevance& found) const {
        for (auto& each : found.used) {
            each.clear();
        }
        const auto add = [&](std::size_t thread, std::uint16_t time) {
            if (time != 0) {
                found.used[thread].push_back(time);
            }
        };
        for (std::size_t where = 0; where < location_count_; ++where) {
            const location& each = locations_[where];
            found.oldest[where] = newest(where);
            for (const thread_state& thread : threads_) {
                if (!thread.ended) {
                    found.oldest[where] = std::min(found.oldest[where], thread.known.seen[where]);
                }
            }
            for (std::size_t thread = 0; each.exists && thread < threads_.size(); ++thread) {
                add(thread, each.accessed[thread]);
            }
            if (each.exists && each.creator != no_thread) {
                add(each.creator, each.created);
            }
        }
        for (const plain_state& each : plains_) {
            for (std::size_t thread = 0; each.exists && thread < threads_.size(); ++thread) {
                add(thread, each.written[thread]);
                add(thread, each.read[thread]);
            }
        }
        for (auto& each : found.used) {
            std::sort(each.begin(), each.end());
            each.erase(std::unique(each.begin(), each.end()), each.end());
        }
    }

    std::uint64_t mix_times(std::uint64_t hash, const times& mixed,
                            const relevance& relevant) const {
        for (std::size_t each = 0; each < threads_.size(); ++each) {
            hash = mix(hash, relevant.rank_of(each, mixed[each]));
        }
        return hash;
    }

    std::uint64_t mix_knowledge(std::uint64_t hash, const knowledge& known,
                                const relevance& relevant) const {
        for (std::size_t where = 0; where < location_count_; ++where) {
            if (locations_[where].exists) {
                const std::uint8_t oldest = relevant.oldest[where];
                hash = mix(hash, std::size_t{std::max(known.seen[where], oldest)} - oldest);
            }
        }
        return mix_times(hash, known.time, relevant);
    }

    /// Mixes in the knowledge that a value carries, as far as a thread that may still read it could
    /// learn from it.
    std::uint64_t mix_carried(std::uint64_t hash, std::size_t where, std::size_t index,
                              const relevance& relevant) const {
        const knowledge& carried = locations_[where].values[index].carried;
        knowledge known_anyway;
        known_anyway.seen.fill(UINT8_MAX);
        known_anyway.time.fill(UINT16_MAX);
        bool teaches = false;
        for (const thread_state& each : threads_) {
            if (!each.ended && each.known.seen[where] <= index &&
                !each.known.covers(carried, location_count_)) {
                teaches = true;
                known_anyway.meet(each.known, location_count_);
            }
        }
        if (!teaches) {
            return mix(hash, 0);
        }
        known_anyway.join(carried, location_count_);
        return mix_knowledge(mix(hash, 1), known_anyway, relevant);
    }

    /// The rank of `where` among the existing locations.
    std::size_t rank(std::size_t where) const {
        return static_cast<std::size_t>(
            std::count_if(locations_.begin(), locations_.begin() + where,
                          [](const location& each) { return each.exists; }));
    }

    /// Checks and records that `who` uses `where`.
    location& access(std::size_t who, std::size_t where) {
        location& used = locations_[where];
        fail_unless(used.exists, "an atomic object is used after its end");
        if (who != no_thread) {
            fail_unless(used.creator == no_thread ||
                            threads_[who].known.time[used.creator] >= used.created,
                        "an atomic object is used before it is known to exist");
            used.accessed[who] = time_of(who);
        }
        return used;
    }

    const delayed_store* newest_delayed(std::size_t who, std::size_t where) const {
        if (who == no_thread) {
            return nullptr;
        }
        const auto& delayed = threads_[who].delayed;
        const auto found =
            std::find_if(delayed.rbegin(), delayed.rend(),
                         [&](const delayed_store& each) { return each.where == where; });
        return found == delayed.rend() ? nullptr : &*found;
    }

    void perform(std::size_t who, const delayed_store& what) {
        location& used = locations_[what.where];
        ZLINK_ASSERT(used.values.size() < values_max);
        const auto index = static_cast<std::uint8_t>(used.values.size());
        knowledge& known = threads_[who].known;
        known.seen[what.where] = index;
        used.values.push_back({what.what, what.carried});
        knowledge& carried = used.values.back().carried;
        if (what.is_release) {
            carried.seen = known.seen; // Stores delayed before this one are performed, and carried
                                       // along.
        }
        carried.seen[what.where] = index;
    }

    /// Adds an operation and the value it saw to the history of `who`.
    void note(std::size_t who, std::size_t where, word what) {
        thread_state& self = threads_[who];
        const std::uint64_t seen = what.is_address ? absolute(what.bits) : what.bits;
        self.history = mix(mix(self.history, where), seen);
        ++self.known.time[who];
    }

    /// As canonical(), for objects that may be gone when it is compared.
    std::uint64_t absolute(std::uint64_t address) const {
        for (std::size_t where = location_count_; where > 0; --where) {
            const location& each = locations_[where - 1];
            if (each.address >= address && each.address - address < 64) {
                return address_tag + where;
            }
        }
        return address;
    }

    void learn(std::size_t who, const knowledge& carried) {
        threads_[who].known.join(carried, location_count_);
    }

    /// Whether `who` knows everything that the other threads did up to `done`.
    bool knows_all(std::size_t who, const times& done) const {
        for (std::size_t each = 0; each < threads_.size(); ++each) {
            if (each != who && threads_[who].known.time[each] < done[each]) {
                return false;
            }
        }
        return true;
    }

    std::uint8_t newest(std::size_t where) const {
        return static_cast<std::uint8_t>(locations_[where].values.size() - 1);
    }

    std::uint16_t time_of(std::size_t thread) const { return threads_[thread].known.time[thread]; }

    bool acquires(std::memory_order order) const {
        return rules_.orders_count && order != std::memory_order_relaxed &&
               order != std::memory_order_release;
    }
    bool releases(std::memory_order order) const {
        return rules_.orders_count && order != std::memory_order_relaxed &&
               order != std::memory_order_acquire;
    }

    const rules rules_;
    std::vector<thread_state> threads_;
    std::vector<location> locations_;
    std::size_t location_count_ = 0;
    std::vector<plain_state> plains_;
    knowledge fenced_;    ///< By all threads that passed a full fence.
    relevance relevance_; ///< Kept only to save allocations.
    const char* failure_ = nullptr;
};

} // namespace zlink::testing
