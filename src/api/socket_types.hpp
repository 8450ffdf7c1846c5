// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "api/drafts.hpp"
#include "base/socket_type.hpp"
#include "zlink.h"

#include <optional>

namespace zlink::api {

/// The number of a type in zlink.h: the same, except for the type that ZMTP does not know.
constexpr int type_for_c(socket_type type) noexcept {
    return type == socket_type::stream ? ZLINK_STREAM : static_cast<int>(type);
}

/// The type with this number in zlink.h, if any; libzmq's draft types only in a build with them.
inline std::optional<socket_type> type_from_c(int number) noexcept {
    if (number == ZLINK_STREAM) {
        return socket_type::stream;
    }
    const int last = has_drafts ? ZLINK_CHANNEL : ZLINK_RAW_STREAM;
    if (number < ZLINK_PAIR || number > last) {
        return std::nullopt;
    }
    return static_cast<socket_type>(number);
}

} // namespace zlink::api
