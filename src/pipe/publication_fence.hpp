// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"

#include <atomic>
#include <cstdint>

namespace zlink::pipe {

/// The fence between a publication of a queue and the writer's check of the reader's mark. Its
/// partner is the fence behind the mark. (docs/adr/0020.)
///
/// The writer chooses:
///  - Where the reader parks for nearly every message, both pass a full fence. The heavy one would
///    interrupt every processor that runs a thread of the process, each time.
///  - In a stream the writer passes a light fence for each message, and the reader the heavy one.
/// The writer counts the messages between two wake-ups, and switches (choose()):
///  1. The writer announces the kind in announced_: "full" before the next publication, "light"
///     before the first publication that passes a light fence, with a full fence in between.
///  2. The reader loads announced_ after its mark and a full fence. If it finds "full", it sees all
///     publications before the announcement; and a writer that has announced "light" since then has
///     seen the mark, because of the fence in between. If it finds "light", it passes the heavy
///     fence, which pairs with either kind.
///
/// @threads The writer's, except needs_heavy(): the reader's.
template<class Platform>
class basic_publication_fence {
public:
    /// The writer publishes whole batches: each publication passes a full fence from now on. Only
    /// before the reader exists.
    void always_full() noexcept { announce(kind::always_full); }

    /// Passes the fence, after a publication.
    ZLINK_HOT void pass() const noexcept {
        if (announced() != kind::light) {
            Platform::fence::full();
        } else {
            Platform::fence::light();
        }
    }

    /// The reader was found parked, and is woken.
    /// @param pushed_count  Messages so far.
    void on_wake(std::uint64_t pushed_count) noexcept {
        const bool is_flow = messages_since_wake(pushed_count) >= Platform::flow_messages_min;
        choose(is_flow ? kind::light : kind::full);
        woken_count_ = static_cast<std::uint32_t>(pushed_count);
    }

    /// The writer needs credit, which a stream without wake-ups does, too.
    void on_credit_needed(std::uint64_t pushed_count) noexcept {
        if (messages_since_wake(pushed_count) >= Platform::flow_messages_min) {
            choose(kind::light);
        }
    }

    /// The number of messages up to which credit may reach, so that on_credit_needed() is called
    /// in time.
    std::uint64_t credit_max(std::uint64_t pushed_count) const noexcept {
        return announced() == kind::full
                   ? pushed_count - messages_since_wake(pushed_count) + Platform::flow_messages_min
                   : UINT64_MAX;
    }

    /// Whether a reader that has set its mark, and passed a full fence, must pass the heavy one.
    bool needs_heavy() const noexcept {
        return announced_.load(std::memory_order_acquire) ==
               static_cast<std::uint32_t>(kind::light);
    }

private:
    enum class kind : std::uint32_t {
        light, ///< The reader passes the heavy fence.
        full,
        always_full, ///< Never changes.
    };

    template<class T>
    using atomic = typename Platform::template atomic<T>;

    std::uint32_t messages_since_wake(std::uint64_t pushed_count) const noexcept {
        return static_cast<std::uint32_t>(pushed_count) - woken_count_;
    }

    /// The writer's own value.
    kind announced() const noexcept {
        return static_cast<kind>(announced_.load(std::memory_order_relaxed));
    }

    void choose(kind wanted) noexcept {
        if (wanted != announced() && announced() != kind::always_full) {
            announce(wanted);
        }
    }

    void announce(kind chosen) noexcept {
        announced_.store(static_cast<std::uint32_t>(chosen), std::memory_order_release);
        if (chosen == kind::light) {
            Platform::fence::full();
        }
    }

    std::uint32_t woken_count_ = 0; ///< Messages so far when the writer woke the reader last.
    atomic<std::uint32_t> announced_{
        static_cast<std::uint32_t>(Platform::flow_messages_min != 0 ? kind::full : kind::light)};
};

} // namespace zlink::pipe
