// SPDX-License-Identifier: MPL-2.0
#include "board.hpp"

#include "../stream/arguments.hpp"

#include <cerrno>
#include <memory>

#include <sys/mman.h>
#include <unistd.h>

namespace app_bench {

board::board(std::size_t lane_count)
    : lane_count_{lane_count}, mapped_bytes_{(lane_count + 1) * sizeof(lane)} {
    // The phase takes the first slot, so that its readers share a cache line with nothing that
    // changes.
    void* const memory =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || pipe(arrivals_) != 0) {
        stream_bench::fail("shared memory");
    }
    state_ = std::construct_at(static_cast<std::atomic<phase>*>(memory), phase::starting);
    lanes_ = static_cast<lane*>(memory) + 1;
    std::uninitialized_default_construct_n(lanes_, lane_count);
}

board::~board() {
    munmap(state_, mapped_bytes_);
    close(arrivals_[0]);
    close(arrivals_[1]);
}

std::uint64_t board::sent() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lane_count_; ++i) {
        sum += lanes_[i].sent.load(std::memory_order_relaxed);
    }
    return sum;
}

std::uint64_t board::done() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lane_count_; ++i) {
        sum += lanes_[i].done.load(std::memory_order_relaxed);
    }
    return sum;
}

std::uint64_t board::wakeups() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lane_count_; ++i) {
        sum += lanes_[i].wakeups.load(std::memory_order_relaxed);
    }
    return sum;
}

stream_bench::histogram board::round_trips() const {
    stream_bench::histogram sum;
    for (std::size_t i = 0; i < lane_count_; ++i) {
        sum.merge(lanes_[i].round_trips);
    }
    return sum;
}

void board::arrive() {
    if (write(arrivals_[1], "", 1) != 1) {
        stream_bench::fail("telling the leader");
    }
}

void board::await(std::size_t part_count) {
    while (part_count != 0) {
        char byte = 0;
        const ssize_t count = read(arrivals_[0], &byte, 1);
        if (count == 1) {
            --part_count;
        } else if (count == 0 || errno != EINTR) {
            stream_bench::fail("waiting for the parts");
        }
    }
}

} // namespace app_bench
