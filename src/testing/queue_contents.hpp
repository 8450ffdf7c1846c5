// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "pipe/message_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::testing {

/// `bytes` bytes that depend on `seed` and on their position.
inline std::string pattern(std::size_t bytes, unsigned seed = 0) {
    std::string made(bytes, '\0');
    for (std::size_t index = 0; index < bytes; ++index) {
        made[index] = static_cast<char>((index * 7 + (index >> 8) * 31 + seed * 101) & 0xff);
    }
    return made;
}

/// A frame as text: its body, behind a '+' for MORE, a '!' for COMMAND, a '*' for a control object.
inline std::string spelled(std::uint8_t flags, std::string_view body) {
    std::string text;
    text += (flags & wire::zmtp::flag_more) != 0 ? "+" : "";
    text += (flags & wire::zmtp::flag_command) != 0 ? "!" : "";
    return text.append(body);
}

/// The bytes of a frame on the wire, given as its body and flags.
inline std::string on_wire(std::string_view body, std::uint8_t flags = 0) {
    std::byte header[wire::zmtp::header_bytes_max];
    const std::size_t bytes = wire::zmtp::write_header(header, body.size(), flags);
    return std::string(reinterpret_cast<const char*>(header), bytes).append(body);
}

/// Pushes a frame that is copied.
template<class Layout = pipe::zmtp_layout>
inline void push(pipe::message_queue& queue, std::string_view body, std::uint8_t flags = 0) {
    queue.push_copy<Layout>(reinterpret_cast<const std::byte*>(body.data()), body.size(), flags);
}

/// Takes the frame at the front.
/// @param wakes  Set if the writer must be woken.
template<class Layout = pipe::zmtp_layout>
inline std::string take(pipe::message_queue& queue, bool& wakes) {
    const pipe::frame front = queue.front<Layout>();
    std::string text = front.control
                           ? "*"
                           : spelled(front.flags, {reinterpret_cast<const char*>(front.body),
                                                   static_cast<std::size_t>(front.body_bytes)});
    if (front.reference != nullptr && *front.reference != nullptr) {
        front.take_reference()->drop();
    }
    wakes = queue.pop(front);
    return text;
}

/// Takes all frames in the queue.
inline std::vector<std::string> take_all(pipe::message_queue& queue) {
    std::vector<std::string> taken;
    bool wakes = false;
    while (queue.has_frame()) {
        taken.push_back(take(queue, wakes));
    }
    return taken;
}

/// A block that counts the living blocks of its kind.
struct counted_block : pipe::block {
    explicit counted_block(int& count) : alive(count) {
        kind = origin::object;
        destroy = [](block* self) { delete static_cast<counted_block*>(self); };
        ++alive;
    }
    counted_block(int& count, std::string body) : counted_block(count) {
        content = std::move(body);
        data = reinterpret_cast<std::byte*>(content.data());
        bytes = content.size();
    }
    ~counted_block() { --alive; }

    int& alive;
    std::string content;
};

} // namespace zlink::testing
