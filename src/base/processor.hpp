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
/// processors it may run on stays as it is.
/// @return Whether it may run there.
/// @threads Any.
bool move_to_processor(processor_number processor) noexcept;

} // namespace zlink
