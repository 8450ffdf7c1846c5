// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace zlink::session {

/// Without a mechanism: each side sends its identity, then messages.
inline constexpr std::string_view zws_bare = "ZWS2.0";

/// The ZWS subprotocols for a socket with these options, most preferred first, in the order in
/// which libzmq offers them. If ZAP is required, those without it are left out.
std::string_view zws_subprotocols(const socket_options& options) noexcept;

/// Whether a comma-separated list names only ZWS subprotocols.
bool offers_only_zws(std::string_view subprotocols) noexcept;

/// Appends whole ZMTP frames as ZWS frames.
/// @param is_client  A client's frames are masked.
/// @throws std::bad_alloc
void append_as_zws(std::span<const std::byte> frames, bool is_client, std::vector<std::byte>& out);

} // namespace zlink::session
