// SPDX-License-Identifier: MPL-2.0
#include "pipe/cell_pool.hpp"

#include "base/limits.hpp"
#include "pipe/block.hpp"
#include "pipe/rope.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

using zlink::pipe::cell_bytes;
using zlink::pipe::give_cell;
using zlink::pipe::take_cell;
using zlink::pipe::trim_cells;
namespace limits = zlink::limits;
namespace tuning = zlink::tuning;

namespace {

std::vector<void*> take_cells(std::size_t count) {
    std::vector<void*> taken;
    for (std::size_t each = 0; each < count; ++each) {
        taken.push_back(take_cell());
        std::memset(taken.back(), 0xee, cell_bytes);
    }
    return taken;
}

void give_cells(const std::vector<void*>& cells) {
    for (void* const each : cells) {
        give_cell(each);
    }
}

/// How many of `taken` are among `given`.
std::size_t common_count(std::vector<void*> taken, std::vector<void*> given) {
    std::sort(taken.begin(), taken.end());
    std::sort(given.begin(), given.end());
    std::vector<void*> common;
    std::set_intersection(taken.begin(), taken.end(), given.begin(), given.end(),
                          std::back_inserter(common));
    return common.size();
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("cell pool: a cell is a cache line that nobody else has") {
        std::vector<void*> taken = take_cells(100);
        for (void* const each : taken) {
            CHECK(reinterpret_cast<std::uintptr_t>(each) % limits::cache_line_bytes == 0);
        }
        std::sort(taken.begin(), taken.end());
        CHECK(std::adjacent_find(taken.begin(), taken.end()) == taken.end());
        give_cells(taken);
        trim_cells();
    }

    TEST_CASE("cell pool: a thread gets back what it gave, the last one first") {
        trim_cells();
        const std::vector<void*> given = take_cells(2 * tuning::cells_per_batch);
        give_cells(given);
        void* const again = take_cell();
        CHECK(again == given.back());
        give_cell(again);
        const std::vector<void*> taken = take_cells(given.size());
        CHECK(common_count(taken, given) == given.size());
        give_cells(taken);
        trim_cells();
    }

    TEST_CASE("cell pool: a batch that one thread gives reaches another one") {
        trim_cells();
        const std::vector<void*> given = take_cells(10 * tuning::cells_per_batch);
        std::thread{[&] { give_cells(given); }}.join(); // It ends, and keeps nothing.
        const std::vector<void*> taken = take_cells(given.size());
        CHECK(common_count(taken, given) >= given.size() - tuning::cells_per_batch);
        give_cells(taken);
        trim_cells();
    }

    TEST_CASE("cell pool: threads exchange batches at the same time") {
        std::vector<std::thread> threads;
        std::atomic<int> shared_count{0};
        for (int number = 0; number < 4; ++number) {
            threads.emplace_back([&shared_count, number] {
                for (std::size_t held = 1; held < 300; ++held) {
                    const std::vector<void*> taken = take_cells(held);
                    for (void* const each : taken) {
                        std::memset(each, number, cell_bytes);
                    }
                    std::this_thread::yield();
                    // If another thread has the same cell, it has overwritten it.
                    for (const void* const each : taken) {
                        const auto* const data = static_cast<const unsigned char*>(each);
                        shared_count += std::any_of(data, data + cell_bytes,
                                                    [&](int byte) { return byte != number; });
                    }
                    give_cells(taken);
                }
            });
        }
        for (std::thread& each : threads) {
            each.join();
        }
        CHECK(shared_count == 0);
        trim_cells();
    }

    TEST_CASE("cell pool: takes more than it keeps, and frees what is beyond") {
        const std::vector<void*> given =
            take_cells((tuning::cell_batches_max + 5) * tuning::cells_per_batch);
        give_cells(given);
        std::vector<void*> taken = take_cells(given.size());
        std::sort(taken.begin(), taken.end());
        CHECK(std::adjacent_find(taken.begin(), taken.end()) == taken.end());
        give_cells(taken);
        trim_cells();
    }

    TEST_CASE("cell pool: may be used while a thread ends, when its cells have gone") {
        struct late_user {
            void* cell = nullptr;
            ~late_user() {
                give_cell(cell);
                give_cell(take_cell());
            }
        };
        std::thread{[] {
            static thread_local late_user last; // Older than the object that empties the thread's
                                                // cells.
            last.cell = take_cell();
            give_cell(take_cell());
        }}.join();
        trim_cells();
    }

    TEST_CASE("cell pool: the block of a short payload is one that was freed before") {
        trim_cells();
        zlink::pipe::block* const first = zlink::pipe::make_block(64);
        zlink::pipe::block* const longer = zlink::pipe::make_block(zlink::pipe::short_block_bytes);
        std::memset(first->data, 0xee, 64);
        longer->drop();
        first->drop();
        zlink::pipe::block* const second = zlink::pipe::make_block(100);
        CHECK(second == first);
        std::memset(second->data, 0xee, 100);
        second->drop();
        trim_cells();
    }

    TEST_CASE("cell pool: chunks and the blocks of an application lie in cells") {
        trim_cells();
        const std::vector<void*> given = take_cells(2);
        give_cells(given);
        int byte = 0;
        zlink::pipe::block* const wrapped =
            zlink::pipe::wrap_block(&byte, sizeof byte, nullptr, nullptr);
        CHECK(static_cast<void*>(wrapped) == given[1]);
        {
            zlink::pipe::rope shared;
            const std::byte header{};
            shared.append_external(&header, 1, wrapped, sizeof byte);
            void* const other = take_cell();
            CHECK(other != given[0]);
            give_cell(other);
        }
        const std::vector<void*> taken = take_cells(2);
        CHECK(common_count(taken, given) == 2);
        give_cells(taken);
        trim_cells();
    }

} // TEST_SUITE
