// SPDX-License-Identifier: MPL-2.0
#include "base/random_bytes.hpp"

#include <bit>
#include <cstring>
#include <pthread.h>
#include <sodium.h>

namespace zlink {

namespace {

constinit thread_local std::array<std::byte, 1024> supply{};
constinit thread_local std::size_t left_bytes = 0;

// A child process has only the forking thread, with a copy of its supply: it would return the same
// bytes as its parent.
[[maybe_unused]] const int random_watches_forks =
    pthread_atfork(nullptr, nullptr, [] { left_bytes = 0; });

} // namespace

std::array<std::byte, 4> random_bytes() noexcept {
    std::array<std::byte, 4> taken;
    if (left_bytes < taken.size()) {
        randombytes_buf(supply.data(), supply.size());
        left_bytes = supply.size();
    }
    left_bytes -= taken.size();
    std::memcpy(taken.data(), supply.data() + left_bytes, taken.size());
    return taken;
}

std::uint32_t random_number() noexcept {
    return std::bit_cast<std::uint32_t>(random_bytes());
}

} // namespace zlink
