// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "stream_fixture.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// Helpers of the tests of a STREAM's batches.
namespace api_test {

using batch = std::vector<zlink_stream_message_t>;

inline std::string id_in(const zlink_stream_message_t& of) {
    return {reinterpret_cast<const char*>(of.routing_id), sizeof of.routing_id};
}

inline std::string payload_in(const zlink_stream_message_t& of) {
    return {static_cast<const char*>(of.data), of.size};
}

/// @param payload  Must outlive the message.
inline zlink_stream_message_t message_to(std::string_view id, std::string_view payload,
                                         int flags = 0) {
    zlink_stream_message_t made{{}, flags, payload.data(), payload.size()};
    REQUIRE(id.size() == sizeof made.routing_id);
    std::memcpy(made.routing_id, id.data(), id.size());
    return made;
}

/// A call that must not fail.
inline batch recv_batch(socket& by, std::size_t capacity = 256, int flags = 0) {
    batch received(capacity);
    const int count = zlink_stream_recv_batch(by, received.data(), capacity, flags);
    REQUIRE(error_of(count) == ok);
    REQUIRE(count >= 1);
    REQUIRE(count <= static_cast<int>(capacity));
    received.resize(static_cast<std::size_t>(count));
    return received;
}

} // namespace api_test
