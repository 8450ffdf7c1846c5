// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace zlink {

/// Four unpredictable bytes, as required for WebSocket masks (RFC 6455, 5.3). Asks the system for
/// many at once, and again in a child process.
/// @threads Any.
std::array<std::byte, 4> random_bytes() noexcept;

/// The same as a number.
std::uint32_t random_number() noexcept;

} // namespace zlink
