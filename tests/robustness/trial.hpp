// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <ostream>

namespace robustness {

/// Whether sizes and counts are those that the library is to stand (--full), or what shows the same
/// in a second or two.
bool is_full() noexcept;

/// A number for each of them; and one for programs with a sanitizer, which are many times slower.
int chosen(int full, int quick, int sanitized) noexcept;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// Where a test says what it has measured, for the line that reports it.
std::ostream& figures();

/// Memory of this process that belongs to no file, in bytes. A sanitizer's own is in it, so that
/// it says nothing where is_sanitized.
std::ptrdiff_t memory_bytes();

/// Descriptors that this process has open.
int descriptor_count();

/// Lets this process and those that it starts have as many descriptors as it may.
void allow_many_descriptors() noexcept;

} // namespace robustness
