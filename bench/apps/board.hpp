// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "../stream/histogram.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace app_bench {

using monotonic = std::chrono::steady_clock;

/// The phase of a run. Only the leader advances it.
enum class phase : std::uint32_t {
    starting,  ///< Sockets are being connected.
    warming,   ///< The load runs, nothing is counted.
    measuring, ///< The window is open.
    stopping,  ///< Nothing new is sent; messages in flight arrive.
};

/// Counters of one thread. Only that thread writes them; others may read.
struct alignas(64) lane {
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> done{0};    ///< Operations that the rate counts.
    std::atomic<std::uint64_t> wakeups{0}; ///< Of an event loop.
    stream_bench::histogram round_trips;   ///< Nanoseconds, of the measuring phase.
};

/// Adds without a locked instruction: the counter has one writer.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t count = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

/// Memory that the processes and threads of a workload share. It is made before any of them starts.
class board {
public:
    explicit board(std::size_t lane_count);
    board(const board&) = delete;
    board& operator=(const board&) = delete;
    ~board();

    [[nodiscard]] phase now() const { return state_->load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_over() const { return now() == phase::stopping; }
    void advance(phase next) { state_->store(next); }

    [[nodiscard]] lane& at(std::size_t index) { return lanes_[index]; }
    [[nodiscard]] std::uint64_t sent() const;
    [[nodiscard]] std::uint64_t done() const;
    [[nodiscard]] std::uint64_t wakeups() const;
    [[nodiscard]] stream_bench::histogram round_trips() const;

    /// Tells the leader that a part has reached a point that the leader waits for.
    void arrive();

    /// @blocks  Until that many parts have arrived; the time limit of the process bounds it.
    void await(std::size_t part_count);

private:
    std::size_t lane_count_;
    std::size_t mapped_bytes_;
    std::atomic<phase>* state_;
    lane* lanes_;
    int arrivals_[2];
};

/// Times one exchange of a closed loop.
class round_trip {
public:
    round_trip() : start_{monotonic::now()} {}

    void end(const board& shared, lane& mine) const {
        add(mine.done);
        if (shared.now() == phase::measuring) {
            const std::chrono::nanoseconds passed = monotonic::now() - start_;
            mine.round_trips.add(static_cast<std::uint64_t>(passed.count()));
        }
    }

private:
    monotonic::time_point start_;
};

} // namespace app_bench
