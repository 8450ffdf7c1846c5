// SPDX-License-Identifier: MPL-2.0
#include "base/own_descriptors.hpp"

#include "base/limits.hpp"
#include "base/no_cancellation.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <unistd.h>

namespace zlink {

namespace {

constexpr std::size_t word_bits = 64;

// One bit for each. Neither constructed nor destroyed; pages that no descriptor reaches take no
// memory.
constinit std::array<std::atomic<std::uint64_t>, limits::noted_descriptors_max / word_bits> noted{};
constinit std::atomic<std::size_t> used_words{0};

bool is_notable(int descriptor) noexcept {
    return descriptor >= 0 && static_cast<std::size_t>(descriptor) < limits::noted_descriptors_max;
}

std::uint64_t bit_of(int descriptor) noexcept {
    return std::uint64_t{1} << (static_cast<std::size_t>(descriptor) % word_bits);
}

void close_all() noexcept {
    const std::size_t count = used_words.exchange(0, std::memory_order_relaxed);
    for (std::size_t index = 0; index < count; ++index) {
        std::uint64_t left = noted[index].exchange(0, std::memory_order_relaxed);
        for (; left != 0; left &= left - 1) {
            ::close(static_cast<int>(index * word_bits) + std::countr_zero(left));
        }
    }
}

[[maybe_unused]] const int descriptors_watch_forks = pthread_atfork(nullptr, nullptr, close_all);

} // namespace

void note_descriptor(int descriptor) noexcept {
    if (!is_notable(descriptor)) {
        return;
    }
    const std::size_t index = static_cast<std::size_t>(descriptor) / word_bits;
    noted[index].fetch_or(bit_of(descriptor), std::memory_order_relaxed);
    std::size_t used = used_words.load(std::memory_order_relaxed);
    while (used <= index && !used_words.compare_exchange_weak(used, index + 1)) {
    }
}

void forget_descriptor(int descriptor) noexcept {
    if (is_notable(descriptor)) {
        noted[static_cast<std::size_t>(descriptor) / word_bits].fetch_and(
            ~bit_of(descriptor), std::memory_order_relaxed);
    }
}

void close_descriptor(int descriptor) noexcept {
    const fork_gate::hold held;
    forget_descriptor(descriptor);
    const no_cancellation deferred; // close(2) is a cancellation point of pthread_cancel(3).
    ::close(descriptor);
}

} // namespace zlink
