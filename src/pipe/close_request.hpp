// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zlink::pipe {

/// Asks the session of a STREAM to end its connection, behind all that was sent. Travels through
/// the outgoing rope.
struct close_request final : block {
    std::uint16_t code; ///< As in a WebSocket close frame.
    std::string reason;

    close_request(std::uint16_t why, std::string_view text) : code(why), reason(text) {
        kind = origin::object;
        destroy = [](block* self) { delete static_cast<close_request*>(self); };
    }
};

} // namespace zlink::pipe
