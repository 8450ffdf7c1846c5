// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace zlink {

/// Bytes in the form that C libraries take.
inline std::uint8_t* raw(std::byte* data) noexcept {
    return reinterpret_cast<std::uint8_t*>(data);
}
inline const std::uint8_t* raw(const std::byte* data) noexcept {
    return reinterpret_cast<const std::uint8_t*>(data);
}

} // namespace zlink
