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

/// The subprotocols of ZWS for a socket with these options, the one that we like best first, as
/// libzmq offers them. Where ZAP has a say, a peer that could not be asked about stays outside.
std::string_view zws_subprotocols(const socket_options& options) noexcept;

/// Whether a list of subprotocols, with commas, names those of ZWS, and nothing else.
bool offers_only_zws(std::string_view subprotocols) noexcept;

/// Appends frames of ZMTP, all whole, as frames of ZWS.
/// @param is_client  Whose frames are masked.
/// @throws std::bad_alloc
void append_as_zws(std::span<const std::byte> frames, bool is_client, std::vector<std::byte>& out);

} // namespace zlink::session
