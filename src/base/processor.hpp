// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>

namespace zlink {

/// The number of a processor, as the system counts them.
using processor_number = std::int16_t;
constexpr processor_number no_processor = -1;

/// The processor that the calling thread runs on at this moment; `no_processor` if the system does
/// not report it, or has too many.
/// @threads Any.
processor_number current_processor() noexcept;

/// Moves the calling thread to `processor`, from where the system may move it on at any time: the
/// set of processors that it may run on stays the same. If the set is all that the system grants
/// the process (cpuset), the thread keeps it even if the system grants more, or others, later.
/// @return Whether it was moved; if not, it may not run there, or the system refuses.
/// @threads Any.
bool move_to_processor(processor_number processor) noexcept;

} // namespace zlink
