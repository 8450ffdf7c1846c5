// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zlink::wire::websocket {

constexpr std::size_t sha1_bytes = 20;

/// SHA-1 (FIPS 180-4) of `text`, for the proof that a server has read a client's key (RFC 6455,
/// 4.2.2), which is not secret. Implemented here so that ws does not depend on a library that the
/// process may clean up before its connections end, or configure without SHA-1.
std::array<std::uint8_t, sha1_bytes> sha1(std::string_view text) noexcept;

} // namespace zlink::wire::websocket
