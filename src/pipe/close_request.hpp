// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::pipe {

/// Asks the session of a STREAM to end its connection after all sent messages. Passes through the
/// outgoing rope, and as pipe::requested_close past it.
struct close_request final : block {
    std::uint16_t code; ///< As in a WebSocket close frame.
    std::string reason;
    std::chrono::milliseconds longest; ///< As a last word: how long the connection may still last.

    explicit close_request(std::uint16_t why, std::string_view text,
                           std::chrono::milliseconds longest_time = {})
        : code(why), reason(text), longest(longest_time) {
        kind = origin::object;
        destroy = [](block* self) { delete static_cast<close_request*>(self); };
    }
};

} // namespace zlink::pipe
