// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "pipe/peer_info.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace zlink::pipe {

/// The group of a message of RADIO and DISH, with the connection that the message came from.
///
/// @threads Any; nothing changes after it was made.
struct message_group final : ref_counted<message_group> {
    /// @throws std::bad_alloc
    message_group(std::string_view group, peer_info_ptr from)
        : name(group), peer(std::move(from)) {}

    const std::string name;
    const peer_info_ptr peer; ///< Null: none.
};
using message_group_ptr = boost::intrusive_ptr<message_group>;

} // namespace zlink::pipe
