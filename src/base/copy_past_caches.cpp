// SPDX-License-Identifier: MPL-2.0
#include "base/copy_past_caches.hpp"

#include "base/copy.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace zlink {

void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
    constexpr std::size_t line = limits::cache_line_bytes;
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    // Whole lines only: a partial line would have to be merged with the contents of memory.
    const std::size_t head = std::min(-reinterpret_cast<std::uintptr_t>(out) % line, bytes);
    count_copied((bytes - head) / line * line);
    std::memcpy(out, in, head);
    const std::byte* const end = in + bytes;
    for (out += head, in += head; end - in >= static_cast<std::ptrdiff_t>(line);
         out += line, in += line) {
        constexpr int step_count = line / sizeof(__m128i);
        __m128i steps[step_count];
        for (int index = 0; index < step_count; ++index) {
            steps[index] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in) + index);
        }
        for (int index = 0; index < step_count; ++index) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(out) + index, steps[index]);
        }
    }
    std::memcpy(out, in, static_cast<std::size_t>(end - in));
    _mm_sfence(); // A release store does not order non-temporal stores.
#else
    copy_bytes(to, from, bytes);
#endif
}

} // namespace zlink
