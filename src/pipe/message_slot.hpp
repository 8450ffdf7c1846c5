// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "pipe/cell_pool.hpp"
#include "pipe/rope.hpp"

#include <atomic>
#include <cstdint>
#include <new>

namespace zlink::pipe {

/// Room for one message of one frame, where the writer replaces an older message.
///
/// The reader takes the message when it finds a chunk in the rope that stands for it. There is one
/// such chunk for each time that the slot was filled while it was empty.
///
/// @threads One writer and one reader, which may be different threads.
template<class Platform>
class basic_message_slot {
public:
    using rope_type = basic_rope<Platform>;
    using chunk = basic_chunk<Platform>;

    basic_message_slot() noexcept = default;
    basic_message_slot(const basic_message_slot&) = delete;
    basic_message_slot& operator=(const basic_message_slot&) = delete;
    ~basic_message_slot() { drop(newest_.load(std::memory_order_acquire)); }

    /// Puts a message in and drops the previous one; if there was none, appends a chunk for it to
    /// `chunks`. The writer's.
    /// @param body  Takes over one reference, unless it throws.
    /// @return Whether there was one.
    /// @throws std::bad_alloc  Nothing changed.
    bool put(rope_type& chunks, block* body, std::uint64_t body_bytes) {
        auto* const added = new (take_cell()) contents{body, body_bytes};
        contents* const replaced = newest_.exchange(added, std::memory_order_acq_rel);
        drop(replaced);
        if (replaced != nullptr) {
            return true;
        }
        try {
            chunks.append_newest();
        } catch (...) {
            take();
            throw;
        }
        return false;
    }

    /// Fills the chunk at `place`, of kind newest, with the message that it stands for, if it has
    /// none yet. The reader's.
    /// @param visible  The published position.
    /// @return Whether the message is out of date: the next chunk is of that kind, too.
    bool fill(const typename rope_type::cursor& place, std::uint64_t visible) noexcept {
        chunk& at = *place.at;
        if (at.payload == nullptr) {
            const auto [body, body_bytes] = take();
            at.payload = body;
            at.payload_bytes = body_bytes;
            return false;
        }
        // Rope's invariant 4.
        return visible - place.position > 1 && at.next->what == chunk::kind::newest;
    }

private:
    /// The first `body_bytes` bytes of `body`.
    struct contents {
        block* body;
        std::uint64_t body_bytes;
    };

    /// Takes the message out. There must be one.
    contents take() noexcept {
        contents* const taken = newest_.exchange(nullptr, std::memory_order_acq_rel);
        const contents copy = *taken;
        give_cell(taken);
        return copy;
    }

    static void drop(contents* old) noexcept {
        if (old != nullptr) {
            old->body->drop();
            give_cell(old);
        }
    }

    typename Platform::template atomic<contents*> newest_{nullptr};
};

} // namespace zlink::pipe
