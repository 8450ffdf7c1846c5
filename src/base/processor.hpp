// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdint>

namespace zlink {

/// Numbers a processor of the machine, as the system does.
using processor_number = std::int16_t;
constexpr processor_number no_processor = -1;

/// Where the calling thread runs at this moment; `no_processor` if the system does not say, or has
/// too many.
/// @threads Any.
processor_number current_processor() noexcept;

/// Moves the calling thread to `processor`, from where the system may move it on at any time: which
/// processors it may run on stays as it is. Where that is all that the system gives to the process
/// (cpuset), it remains so if the system gives more, or others, later.
/// @return Whether it was moved; if not, it may not run there, or the system refuses.
/// @threads Any.
bool move_to_processor(processor_number processor) noexcept;

} // namespace zlink
