// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "files/open_file.hpp"
#include "pipe/block.hpp"
#include "pipe/idle_memory.hpp"

#include <cstdint>
#include <string>

namespace zlink::web {

/// An application's answer to a request, or a part of it. Passes through the pipe of the client's
/// connection, and counts as a message there.
struct reply final : pipe::block {
    enum class sort : std::uint8_t {
        response, ///< The head, with all of the content or its first part.
        part,     ///< A further part of the content.
        upgrade,  ///< The connection speaks WebSocket from now on.
    };

    sort what;
    int status = 0;                ///< response: 200 to 599.
    std::string fields{};          ///< response, upgrade: lines, each with its end.
    std::string content{};         ///< response, part.
    files::file_region region{};   ///< response: sent behind the content; no bytes: none.
    bool more = false;             ///< response, part: another part follows.
    std::string subprotocol{};     ///< upgrade: empty: none.
    std::size_t counted_bytes = 0; ///< Of the content, when it was sent (pipe::count_allocated).

    explicit reply(sort which) noexcept : what(which) {
        kind = origin::object;
        is_message = true;
        destroy = &destroy_reply;
    }

    /// `object` as a reply; null if it is another one.
    static reply* from(pipe::block& object) noexcept {
        return object.destroy == &destroy_reply ? static_cast<reply*>(&object) : nullptr;
    }

private:
    static void destroy_reply(block* self) {
        auto* const done = static_cast<reply*>(self);
        const std::size_t freed_bytes = done->counted_bytes;
        delete done;
        pipe::count_freed(freed_bytes);
    }
};

} // namespace zlink::web
