// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "raw_peer.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Helpers of the tests of ZLINK_STREAM.
namespace api_test {

/// A message in its framing on tcp.
inline std::string framed(std::string_view body) {
    std::string made;
    for (int shift = 24; shift >= 0; shift -= 8) {
        made += static_cast<char>((body.size() >> shift) & 0xff);
    }
    return made.append(body);
}

/// `bytes` bytes that depend on their position.
inline std::string long_text(std::size_t bytes) {
    std::string made(bytes, '\0');
    for (std::size_t index = 0; index < bytes; ++index) {
        made[index] = static_cast<char>(index * 7 + index / 251);
    }
    return made;
}

/// A routing id.
inline std::string id_of(std::uint32_t number) {
    std::string made;
    for (int shift = 24; shift >= 0; shift -= 8) {
        made += static_cast<char>((number >> shift) & 0xff);
    }
    return made;
}

/// The event that a peer has come, or has gone.
struct news {
    std::string id;
    bool is_connect;
    std::string text;
};

/// The next message, which must be an event.
inline news recv_news(socket& by) {
    const message told = by.recv();
    REQUIRE(told.frames.size() == 3);
    REQUIRE(told.frames[0].size() == 4);
    REQUIRE((told.frames[1] == std::string(1, '\0') || told.frames[1] == "\1"));
    return {told.frames[0], told.frames[1] == "\1", told.frames[2]};
}

/// The routing id of the next peer; the next message must be its arrival.
inline std::string recv_arrival(socket& by) {
    const news told = recv_news(by);
    REQUIRE(told.is_connect);
    return told.id;
}

/// The reason of `id`'s departure, which must be the next message.
inline std::string recv_departure(socket& by, const std::string& id) {
    const news told = recv_news(by);
    REQUIRE(!told.is_connect);
    CHECK(told.id == id);
    return told.text;
}

/// The reason of `id`'s departure, and the next arrival; the two events may come in any order.
struct turnover {
    std::string why;
    news next;
};
inline turnover recv_turnover(socket& by, const std::string& id) {
    const news one = recv_news(by);
    const news other = recv_news(by);
    REQUIRE(one.is_connect != other.is_connect);
    const news& departure = one.is_connect ? other : one;
    CHECK(departure.id == id);
    return {departure.text, one.is_connect ? one : other};
}

} // namespace api_test
