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
    bool keeps_spare = false; // The rope keeps the first of the largest segments for reuse.
    while (place.position < published) {
        rope_type::settle(place);
        const std::uint64_t bytes = rope_type::contiguous(place, published);
        place.offset += bytes;
        place.position += bytes;
        message_queue::chunk& at = *place.at;
        if (at.what != kind::segment || at.is_borrowed()) {
            continue;
        }
        const bool is_largest =
            at.capacity + sizeof(message_queue::chunk) >= tuning::segment_bytes_max;
        if (place.position == published || (is_largest && !keeps_spare)) {
            return_pages(at.data(), place.offset);
        }
        keeps_spare = keeps_spare || is_largest;
    }
    content.release_to(place);
}

} // namespace zlink::pipe
