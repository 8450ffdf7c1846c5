// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"

namespace zlink::socket {

/// Marks the start of a new connection's subscriptions, for the session.
/// @throws std::bad_alloc
inline pipe::block* make_restart_mark() {
    auto* const made = new pipe::block;
    made->kind = pipe::block::origin::object;
    made->destroy = [](pipe::block* self) { delete self; };
    return made;
}

} // namespace zlink::socket
