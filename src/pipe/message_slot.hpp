// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "pipe/cell_pool.hpp"

#include <atomic>
#include <cstdint>
#include <new>

namespace zlink::pipe {

/// Room for one message of one frame, where the writer replaces an older message.
///
/// @threads One writer and one reader, which may be different threads.
template<class Platform>
class basic_message_slot {
public:
    /// The first `body_bytes` bytes of `body`.
    struct contents {
        block* body;
        std::uint64_t body_bytes;
    };

    basic_message_slot() noexcept = default;
    basic_message_slot(const basic_message_slot&) = delete;
    basic_message_slot& operator=(const basic_message_slot&) = delete;
    ~basic_message_slot() { drop(newest_.load(std::memory_order_acquire)); }

    /// Puts a message in and drops the previous one. The writer's.
    /// @param body  Takes over one reference, unless it throws.
    /// @return Whether there was one.
    /// @throws std::bad_alloc  Nothing changed.
    bool put(block* body, std::uint64_t body_bytes) {
        auto* const added = new (take_cell()) contents{body, body_bytes};
        contents* const replaced = newest_.exchange(added, std::memory_order_acq_rel);
        drop(replaced);
        return replaced != nullptr;
    }

    /// Takes the message out. There must be one.
    contents take() noexcept {
        contents* const taken = newest_.exchange(nullptr, std::memory_order_acq_rel);
        const contents copy = *taken;
        give_cell(taken);
        return copy;
    }

private:
    static void drop(contents* old) noexcept {
        if (old != nullptr) {
            old->body->drop();
            give_cell(old);
        }
    }

    typename Platform::template atomic<contents*> newest_{nullptr};
};

} // namespace zlink::pipe
