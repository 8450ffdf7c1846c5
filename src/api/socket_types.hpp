// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/socket_type.hpp"
#include "zlink.h"

#include <optional>

namespace zlink::api {

/// The number that a type has in zlink.h: its own, but for the one that ZMTP knows nothing of.
constexpr int type_for_c(socket_type type) noexcept {
    return type == socket_type::stream ? ZLINK_STREAM : static_cast<int>(type);
}

/// The type that has the number in zlink.h, if there is one.
constexpr std::optional<socket_type> type_from_c(int number) noexcept {
    if (number == ZLINK_STREAM) {
        return socket_type::stream;
    }
    if (number < ZLINK_PAIR || number > ZLINK_RAW_STREAM) {
        return std::nullopt;
    }
    return static_cast<socket_type>(number);
}

} // namespace zlink::api
