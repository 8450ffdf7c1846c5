// SPDX-License-Identifier: MPL-2.0
#include "pipe/block.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

using zlink::pipe::block;
using zlink::pipe::make_block;
using zlink::pipe::make_counted_block;
using zlink::pipe::memory_account;
using zlink::pipe::memory_account_ptr;
using zlink::pipe::wrap_block;
using zlink::testing::counted_block;

namespace {

/// Records, at `hint`, the freed bytes.
void note_freed(void* data, void* hint) {
    static_cast<std::vector<void*>*>(hint)->push_back(data);
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("block: has room for what was asked, aligned for any type") {
        for (const std::size_t bytes : {0, 1, 49, 8000, 8192, 70'000, 5'000'000}) {
            CAPTURE(bytes);
            block* const made = make_block(bytes);
            CHECK(made->bytes >= bytes);
            CHECK(reinterpret_cast<std::uintptr_t>(made->data) % alignof(std::max_align_t) == 0);
            std::memset(made->data, 0xee, made->bytes);
            made->drop();
        }
    }

    TEST_CASE("block: cannot be larger than memory") {
        CHECK_THROWS_AS((void)make_block(SIZE_MAX), std::bad_alloc);
        CHECK_THROWS_AS((void)make_block(SIZE_MAX - 10), std::bad_alloc);
    }

    TEST_CASE("block: an account knows of it until it is freed, and refuses what is too much") {
        const memory_account_ptr account{new memory_account{100'000}};
        block* const first = make_counted_block(60'000, *account);
        REQUIRE(first != nullptr);
        CHECK(account->taken_bytes() == first->bytes);
        CHECK(make_counted_block(60'000, *account) == nullptr);
        CHECK(account->taken_bytes() == first->bytes);
        block* const small = make_counted_block(1, *account);
        REQUIRE(small != nullptr);
        first->add_reference();
        first->drop();
        CHECK(account->taken_bytes() == first->bytes + small->bytes);
        first->drop();
        CHECK(account->taken_bytes() == small->bytes);
        small->drop();
        CHECK(account->taken_bytes() == 0);
    }

    TEST_CASE("block: calls the application's free function once, when the last holder lets go") {
        std::vector<void*> freed;
        char content[] = "bytes";
        block* const made = wrap_block(content, 6, note_freed, &freed);
        CHECK(static_cast<void*>(made->data) == content);
        CHECK(made->bytes == 6);
        CHECK(!made->is_shared());
        made->add_reference();
        made->add_reference(2);
        CHECK(made->is_shared());
        made->drop();
        made->drop();
        made->drop();
        CHECK(!made->is_shared());
        CHECK(freed.empty());
        made->drop();
        CHECK(freed == std::vector<void*>{content});
    }

    TEST_CASE("block: without a free function bytes stay, and nobody waits for them") {
        char content[] = "bytes";
        block* const made = wrap_block(content, 6, nullptr, nullptr);
        CHECK(static_cast<void*>(made->data) == content);
        CHECK(made->is_constant());
        CHECK(!made->is_lent());
        made->drop();
        CHECK(std::string_view{content} == "bytes");

        std::vector<void*> freed;
        block* const lent = wrap_block(content, 6, note_freed, &freed);
        CHECK(lent->is_lent());
        CHECK(!lent->is_constant());
        lent->drop();
    }

    TEST_CASE("block: destroys the object whose head it is") {
        int alive = 0;
        block* const object = new counted_block{alive};
        object->add_reference();
        object->drop();
        CHECK(alive == 1);
        object->drop();
        CHECK(alive == 0);
    }

    TEST_CASE("block: is freed by whichever thread lets go last") {
        // Both threads drop the same blocks, in the same order and at the same time: neither begins
        // the next few before the other one does.
        constexpr std::size_t block_count = 4000;
        constexpr std::size_t together_count = 4;
        std::vector<std::atomic<int>> freed_counts(block_count);
        std::vector<std::uint64_t> content(2 * block_count);
        std::vector<block*> shared;
        for (std::size_t index = 0; index < block_count; ++index) {
            shared.push_back(wrap_block(
                &content[2 * index], 16,
                [](void*, void* hint) { ++*static_cast<std::atomic<int>*>(hint); },
                &freed_counts[index]));
            shared.back()->add_reference();
        }
        std::atomic<std::size_t> arrived_count{0};
        const auto let_go = [&](std::size_t which) {
            for (std::size_t index = 0; index < block_count; ++index) {
                if (index % together_count == 0) {
                    const std::size_t both = 2 * (index / together_count + 1);
                    ++arrived_count;
                    for (int looks = 1; arrived_count < both; ++looks) {
                        if (looks % 10'000 == 0) {
                            std::this_thread::yield();
                        }
                    }
                }
                content[2 * index + which] = 1;
                shared[index]->drop();
            }
        };
        std::thread other{let_go, std::size_t{1}};
        let_go(0);
        other.join();
        CHECK(std::all_of(freed_counts.begin(), freed_counts.end(),
                          [](const std::atomic<int>& count) { return count == 1; }));
    }

} // TEST_SUITE
