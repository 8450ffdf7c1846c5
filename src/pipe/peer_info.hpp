// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "pipe/property_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace zlink::pipe {

/// Properties that only this side states.
inline constexpr std::string_view user_id_property = "User-Id";
inline constexpr std::string_view peer_address_property = "Peer-Address";

// Of peers of a STREAM: what the application receives when one has come, and when it has gone.
inline constexpr std::string_view detail_property = "Detail";
inline constexpr std::string_view reason_property = "Reason";

/// What is known of a connection once its handshake is done. It travels through the inbound rope
/// ahead of the connection's first message, and messages that are received share it.
///
/// @threads Any; nothing changes after it was published.
struct peer_info final : block {
    std::string routing_id;   ///< As the peer announced it; may be empty.
    property_list properties; ///< Metadata.
    std::uint16_t port = 0;   ///< Of the peer's address, if it has one; 0 otherwise.
    int descriptor = -1;      ///< Of the connection, for ZMQ_SRCFD; -1 if it has none.

    peer_info() noexcept {
        kind = origin::object;
        destroy = [](block* self) { delete static_cast<peer_info*>(self); };
    }
};

/// What a peer in the same process is known by.
/// @throws std::bad_alloc
inline peer_info* make_peer_info(const std::string& routing_id) {
    auto made = std::make_unique<peer_info>();
    made->routing_id = routing_id;
    return made.release();
}

} // namespace zlink::pipe
