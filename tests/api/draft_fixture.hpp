// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"

#include <string>
#include <string_view>

#ifdef ZLINK_BUILD_DRAFT_API

namespace api_test {

/// Sends `content` to `group`; null: no group is set.
inline int publish(socket& radio, const char* group, std::string_view content, int flags = 0) {
    frame sent{content};
    if (group != nullptr) {
        REQUIRE(zlink_msg_set_group(sent.get(), group) == 0);
    }
    return error_of(zlink_msg_send(sent.get(), radio, flags));
}

/// "group: content" of the next message.
inline std::string recv_grouped(socket& dish) {
    frame received;
    REQUIRE(zlink_msg_recv(received.get(), dish, 0) >= 0);
    return zlink_msg_group(received.get()) + std::string{": "} + received.text();
}

} // namespace api_test

#endif
