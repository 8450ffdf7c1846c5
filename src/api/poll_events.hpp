// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "zlink.h"

#include <array>
#include <poll.h>
#include <utility>

namespace zlink::api {

inline constexpr std::array poll_flags{
    std::pair{ZLINK_POLLIN, POLLIN}, std::pair{ZLINK_POLLOUT, POLLOUT},
    std::pair{ZLINK_POLLERR, POLLERR}, std::pair{ZLINK_POLLPRI, POLLPRI}};

/// The flags of poll(2) for those of zlink.h. Others are dropped.
constexpr short poll_flags_to_system(int events) noexcept {
    int mapped = 0;
    for (const auto& [ours, theirs] : poll_flags) {
        mapped |= (events & ours) != 0 ? theirs : 0;
    }
    return static_cast<short>(mapped);
}

/// The reverse.
constexpr short poll_flags_from_system(int events) noexcept {
    int mapped = 0;
    for (const auto& [ours, theirs] : poll_flags) {
        mapped |= (events & theirs) != 0 ? ours : 0;
    }
    return static_cast<short>(mapped);
}

} // namespace zlink::api
