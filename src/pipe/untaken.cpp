// SPDX-License-Identifier: MPL-2.0
#include "pipe/untaken.hpp"

#include "pipe/idle_memory.hpp"

#include <cstddef>
#include <cstdint>

namespace zlink::pipe {

void free_untaken(message_queue& queue) noexcept {
    using rope_type = message_queue::rope_type;
    using kind = message_queue::chunk::kind;
    rope_type& content = queue.rope();
    const std::uint64_t published = content.published();
    rope_type::cursor place = content.front();
    while (place.position < published) {
        rope_type::settle(place);
        const std::uint64_t bytes = rope_type::contiguous(place, published);
        place.offset += bytes;
        place.position += bytes;
        message_queue::chunk& at = *place.at;
        if (place.position == published && at.what == kind::segment && !at.is_borrowed()) {
            return_pages(at.data(), place.offset);
        }
    }
    content.release_to(place);
    content.free_spare();
}

} // namespace zlink::pipe
