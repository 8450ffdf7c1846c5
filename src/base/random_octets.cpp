// SPDX-License-Identifier: MPL-2.0
#include "base/random_octets.hpp"

#include <cstring>
#include <sodium.h>

namespace zlink {

std::array<std::byte, 4> random_octets() noexcept {
    static thread_local std::array<std::byte, 1024> supply;
    static thread_local std::size_t left_bytes = 0;
    std::array<std::byte, 4> taken;
    if (left_bytes < taken.size()) {
        randombytes_buf(supply.data(), supply.size());
        left_bytes = supply.size();
    }
    left_bytes -= taken.size();
    std::memcpy(taken.data(), supply.data() + left_bytes, taken.size());
    return taken;
}

} // namespace zlink
