// SPDX-License-Identifier: MPL-2.0
#pragma once

namespace refusal {

/// Which thread's allocations count.
enum class where : unsigned char {
    caller,  ///< The one that calls begin().
    library, ///< All others, which are the library's.
};

/// From now on the `number`th allocation of such a thread, from 0, fails as if the system had no
/// memory: malloc(3) and its kin, and operator new, whoever calls them. Only that one.
/// @param number  Negative: none.
void begin(where counted, long number) noexcept;

/// No allocation fails or counts any more.
void end() noexcept;

/// While one lives, allocations of the calling thread do not count: they are the test's own. May
/// not be nested.
class own_matter {
public:
    own_matter() noexcept;
    own_matter(const own_matter&) = delete;
    own_matter& operator=(const own_matter&) = delete;
    ~own_matter();
};

/// Allocations that counted since begin().
long count() noexcept;

/// Whether one was refused.
bool has_happened() noexcept;

/// Writes the calls that led to the refused one to the standard error output.
void show() noexcept;

} // namespace refusal
