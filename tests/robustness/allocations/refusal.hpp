// SPDX-License-Identifier: MPL-2.0
#pragma once

namespace refusal {

/// The threads whose allocations count.
enum class where : unsigned char {
    caller,  ///< The thread that calls begin().
    library, ///< All others, which are the library's.
};

/// From now on the `number`th allocation of such a thread, from 0, fails as if the system had no
/// memory: in malloc(3) and its relatives, and operator new, whatever code calls them. Only that
/// one fails.
/// @param number  Negative: none.
void begin(where counted, long number) noexcept;

/// No allocation fails or counts any more.
void end() noexcept;

/// During the lifetime of an object, allocations of the calling thread do not count: they are the
/// test's own. Must not be nested.
class exempt_scope {
public:
    exempt_scope() noexcept;
    exempt_scope(const exempt_scope&) = delete;
    exempt_scope& operator=(const exempt_scope&) = delete;
    ~exempt_scope();
};

/// Allocations that counted since begin().
long count() noexcept;

/// Whether an allocation was refused.
bool has_happened() noexcept;

/// Writes the backtrace of the refused allocation to the standard error output.
void show() noexcept;

} // namespace refusal
