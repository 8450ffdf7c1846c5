// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <ostream>

namespace robustness {

/// Whether sizes and counts are the full ones (--full), or smaller ones that show the same in a
/// second or two.
bool is_full() noexcept;

/// Returns the number for the chosen form; `sanitized` for programs with a sanitizer, which are
/// many times slower.
int chosen(int full, int quick, int sanitized) noexcept;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// The stream for a test's figures, which are printed in its line.
std::ostream& figures();

/// Memory of this process that belongs to no file, in bytes. A sanitizer's memory is included, so
/// the number is useless if is_sanitized.
std::ptrdiff_t memory_bytes();

/// The number of descriptors that this process has open.
int descriptor_count();

/// Raises the limit on descriptors, for this process and those that it starts, to the maximum.
void allow_many_descriptors() noexcept;

} // namespace robustness
