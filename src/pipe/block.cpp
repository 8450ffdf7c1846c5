// SPDX-License-Identifier: MPL-2.0
#include "pipe/block.hpp"

#include "base/no_cancellation.hpp"
#include "pipe/buffer_pool.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace zlink::pipe {

static_assert(sizeof(block) <= cell_bytes);

block* make_long_block(std::size_t bytes_min) {
    if (bytes_min > SIZE_MAX - block_header_bytes) {
        throw std::bad_alloc{};
    }
    const std::size_t whole_bytes = block_header_bytes + bytes_min;
    if (whole_bytes < tuning::external_bytes_min) {
        // Usually one thread makes it and another one frees it: in the pool the two would contend.
        return place_block(::operator new(whole_bytes), block::origin::allocated, bytes_min);
    }
    const pooled_buffer buffer = take_buffer(whole_bytes);
    return place_block(buffer.memory, block::origin::pooled, buffer.bytes - block_header_bytes);
}

block* make_counted_block(std::size_t bytes_min, memory_account& account) {
    bytes_min = std::max(bytes_min, tuning::external_bytes_min); // Then it comes from the pool.
    if (!account.take(bytes_min)) {
        return nullptr;
    }
    try {
        block* const made = make_block(bytes_min);
        account.add(made->bytes - bytes_min); // The block may be a little larger.
        made->kind = block::origin::counted;
        made->counted_by = &account;
        intrusive_ptr_add_ref(&account);
        return made;
    } catch (...) {
        account.give_back(bytes_min);
        throw;
    }
}

block* wrap_block(void* data, std::size_t bytes, free_function* function, void* hint) {
    auto* const made = new (take_cell()) block;
    made->kind = block::origin::caller;
    made->data = static_cast<std::byte*>(data);
    made->bytes = bytes;
    made->release = {function, hint};
    return made;
}

void block::free_now() noexcept {
    switch (kind) {
    case origin::counted:
        counted_by->give_back(bytes);
        intrusive_ptr_release(counted_by);
        [[fallthrough]];
    case origin::pooled:
        give_buffer({this, bytes + block_header_bytes});
        break;
    case origin::cell:
        break; // Freed by drop().
    case origin::allocated:
        ::operator delete(this);
        break;
    case origin::caller:
        if (release.function != nullptr) {
            const no_cancellation deferred; // The function is the application's.
            release.function(data, release.hint);
        }
        std::destroy_at(this);
        give_cell(this);
        break;
    case origin::object:
        destroy(this);
        break;
    }
}

} // namespace zlink::pipe
