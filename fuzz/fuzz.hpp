// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

/// Each target defines it; libFuzzer, or run_corpus.cpp, calls it with an input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace zlink::fuzz {

/// Ends the process unless `claim` holds; the fuzzer reports that together with the input.
inline void require(bool claim) noexcept {
    if (!claim) {
        std::abort();
    }
}

/// Reads every byte of a view, so that the address sanitizer detects a view that exceeds its
/// buffer.
inline void touch(std::span<const std::byte> content) noexcept {
    for (const std::byte& byte : content) {
        static_cast<void>(*const_cast<const volatile std::byte*>(&byte));
    }
}

} // namespace zlink::fuzz
