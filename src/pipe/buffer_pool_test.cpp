// SPDX-License-Identifier: MPL-2.0
#include "pipe/buffer_pool.hpp"

#include "pipe/block.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using zlink::pipe::decay_buffers;
using zlink::pipe::give_buffer;
using zlink::pipe::pooled_buffer;
using zlink::pipe::pooled_bytes;
using zlink::pipe::take_buffer;
using zlink::pipe::trim_buffers;
namespace tuning = zlink::tuning;

namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;
/// The size of a buffer beyond its round number.
constexpr std::size_t header = 64;

std::vector<pooled_buffer> take_many(std::size_t count, std::size_t bytes) {
    std::vector<pooled_buffer> taken;
    while (taken.size() < count) {
        taken.push_back(take_buffer(bytes));
    }
    return taken;
}

void give_all(const std::vector<pooled_buffer>& taken) {
    for (const pooled_buffer& each : taken) {
        give_buffer(each);
    }
}

std::size_t page_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Physical memory of the process.
std::size_t resident_bytes() {
    std::ifstream figures{"/proc/self/statm"};
    std::size_t all_pages = 0;
    std::size_t resident_pages = 0;
    figures >> all_pages >> resident_pages;
    REQUIRE(resident_pages != 0);
    return resident_pages * page_bytes();
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("buffer pool: gives at least what was asked, aligned for any type") {
        for (std::size_t bytes = 1; bytes < 6 * mebibyte; bytes += bytes / 7 + 1) {
            CAPTURE(bytes);
            const pooled_buffer buffer = take_buffer(bytes);
            CHECK(buffer.bytes >= bytes);
            CHECK(buffer.bytes <= bytes + bytes / 4 + header + 1);
            CHECK(reinterpret_cast<std::uintptr_t>(buffer.memory) % alignof(std::max_align_t) == 0);
            static_cast<char*>(buffer.memory)[0] = 'a';
            static_cast<char*>(buffer.memory)[buffer.bytes - 1] = 'z';
            give_buffer(buffer);
        }
        trim_buffers();
    }

    TEST_CASE("buffer pool: rounds from 1 KiB to 4 MiB up, leaves room for a header, and does "
              "nothing else") {
        struct {
            std::size_t asked;
            std::size_t given;
        } const examples[] = {
            {1, 1},
            {kibibyte - 1, kibibyte - 1},
            {kibibyte, kibibyte + header},
            {kibibyte + header, kibibyte + header},
            {kibibyte + header + 1, kibibyte + 256 + header},
            {8 * kibibyte - 1, 8 * kibibyte + header},
            {8 * kibibyte, 8 * kibibyte + header},
            {8 * kibibyte + header, 8 * kibibyte + header},
            {8 * kibibyte + header + 1, 10 * kibibyte + header},
            {10 * kibibyte, 10 * kibibyte + header},
            {10 * kibibyte + header + 1, 12 * kibibyte + header},
            {14 * kibibyte + header + 1, 16 * kibibyte + header},
            {16 * kibibyte + header + 1, 20 * kibibyte + header},
            {64 * kibibyte, 64 * kibibyte + header},
            {4 * mebibyte - 1, 4 * mebibyte + header},
            {4 * mebibyte, 4 * mebibyte + header},
            {4 * mebibyte + header, 4 * mebibyte + header},
            {4 * mebibyte + header + 1, 4 * mebibyte + header + 1},
        };
        for (const auto& example : examples) {
            CAPTURE(example.asked);
            const pooled_buffer buffer = take_buffer(example.asked);
            CHECK(buffer.bytes == example.given);
            give_buffer(buffer);
        }
        trim_buffers();
    }

    TEST_CASE("buffer pool: a payload of a round size takes no larger buffer for its header") {
        for (std::size_t bytes = 8 * kibibyte; bytes <= 4 * mebibyte; bytes *= 2) {
            CAPTURE(bytes);
            zlink::pipe::block* const payload = zlink::pipe::make_block(bytes);
            CHECK(payload->bytes >= bytes);
            CHECK(payload->bytes < bytes + header);
            payload->drop();
        }
        trim_buffers();
    }

    TEST_CASE("buffer pool: gives what came back again") {
        trim_buffers();
        const pooled_buffer first = take_buffer(20 * kibibyte);
        give_buffer(first);
        const pooled_buffer other_size = take_buffer(30 * kibibyte);
        CHECK(other_size.memory != first.memory);
        const pooled_buffer second = take_buffer(17 * kibibyte); // The same class.
        CHECK(second.memory == first.memory);
        CHECK(second.bytes == first.bytes);
        give_buffer(second);
        give_buffer(other_size);
        trim_buffers();
    }

    TEST_CASE("buffer pool: gives each buffer to one taker only") {
        trim_buffers();
        std::vector<pooled_buffer> taken = take_many(10, 64 * kibibyte);
        give_all(taken);
        std::vector<void*> seen;
        taken.clear();
        for (int count = 0; count < 12; ++count) {
            taken.push_back(take_buffer(64 * kibibyte));
            for (const void* const before : seen) {
                CHECK(before != taken.back().memory);
            }
            seen.push_back(taken.back().memory);
        }
        give_all(taken);
        trim_buffers();
    }

    TEST_CASE("buffer pool: keeps no more than its limit") {
        trim_buffers();
        constexpr std::size_t count = tuning::pooled_bytes_max / (4 * mebibyte + header);
        std::vector<pooled_buffer> taken = take_many(count + 2, 4 * mebibyte);
        const std::vector<pooled_buffer> given = taken;
        give_all(taken);
        // It keeps the buffers that were returned first.
        std::size_t kept_count = 0;
        taken.clear();
        for (std::size_t each = 0; each < count; ++each) {
            taken.push_back(take_buffer(4 * mebibyte));
            for (std::size_t kept = 0; kept < count; ++kept) {
                kept_count += given[kept].memory == taken.back().memory ? 1 : 0;
            }
        }
        CHECK(kept_count == count);
        give_all(taken);
        trim_buffers();
    }

    TEST_CASE("buffer pool: what is freed beyond that goes back, whatever lies behind it") {
        trim_buffers();
        constexpr std::size_t buffer_bytes = 64 * kibibyte;
        constexpr std::size_t count = 2048; // 128 MiB.
        std::vector<pooled_buffer> taken;
        std::vector<std::unique_ptr<char[]>> behind;
        for (std::size_t index = 0; index < count; ++index) {
            taken.push_back(take_buffer(buffer_bytes));
            std::memset(taken.back().memory, 'x', taken.back().bytes);
            behind.push_back(std::make_unique<char[]>(100));
        }
        const std::size_t before = resident_bytes();
        give_all(taken);
        const std::size_t kept_bytes =
            tuning::pooled_bytes_max + tuning::freed_in_row_bytes + 8 * mebibyte;
        CHECK(before - resident_bytes() > count * buffer_bytes - kept_bytes);
        trim_buffers();
    }

    TEST_CASE("buffer pool: goes on with few of many that are free, if few are needed") {
        trim_buffers();
        std::vector<pooled_buffer> taken = take_many(200, 64 * kibibyte);
        give_all(taken);
        std::set<void*> used;
        for (int count = 0; count < 1000; ++count) {
            const pooled_buffer buffer = take_buffer(64 * kibibyte);
            used.insert(buffer.memory);
            give_buffer(buffer);
        }
        CHECK(used.size() < 50);
        trim_buffers();
    }

    TEST_CASE("buffer pool: gives back what was not taken again, and keeps what was") {
        trim_buffers();
        std::vector<pooled_buffer> taken = take_many(10, 64 * kibibyte);
        const pooled_buffer other = take_buffer(20 * kibibyte);
        give_all(taken);
        give_buffer(other);
        const std::size_t all_bytes = 10 * (64 * kibibyte + header) + 20 * kibibyte + header;
        CHECK(pooled_bytes() == all_bytes);
        CHECK(decay_buffers());
        CHECK(pooled_bytes() == all_bytes);

        for (int count = 0; count < 3; ++count) {
            give_buffer(take_buffer(64 * kibibyte));
        }
        CHECK(decay_buffers());
        CHECK(pooled_bytes() == 3 * (64 * kibibyte + header));
        CHECK(!decay_buffers());
        CHECK(pooled_bytes() == 0);
    }

    TEST_CASE("buffer pool: serves several threads that give back what others took") {
        constexpr std::size_t places_count = 16;
        constexpr int rounds = 4000;
        std::atomic<std::uintptr_t> places[places_count] = {};
        std::atomic<bool> is_intact{true};
        const auto swap_buffers = [&](unsigned seed) {
            std::minstd_rand random{seed};
            for (int round = 0; round < rounds; ++round) {
                const pooled_buffer taken = take_buffer(8 * kibibyte + random() % 3 * 5000);
                // The first bytes hold the buffer's size, and so does every byte behind.
                std::memcpy(taken.memory, &taken.bytes, sizeof taken.bytes);
                char* const data = static_cast<char*>(taken.memory) + sizeof taken.bytes;
                const char mark = static_cast<char>(random());
                data[0] = data[1000] = data[4000] = mark;
                const std::uintptr_t before = places[random() % places_count].exchange(
                    reinterpret_cast<std::uintptr_t>(taken.memory));
                if (before != 0) {
                    pooled_buffer given{reinterpret_cast<void*>(before), 0};
                    std::memcpy(&given.bytes, given.memory, sizeof given.bytes);
                    const char* const theirs =
                        static_cast<char*>(given.memory) + sizeof given.bytes;
                    if (theirs[0] != theirs[1000] || theirs[0] != theirs[4000]) {
                        is_intact = false;
                    }
                    give_buffer(given);
                }
                if (round % 500 == 0) {
                    trim_buffers();
                } else if (round % 50 == 0) {
                    decay_buffers();
                }
            }
        };
        std::thread one{swap_buffers, 1};
        std::thread two{swap_buffers, 2};
        swap_buffers(3);
        one.join();
        two.join();
        CHECK(is_intact);
        for (const auto& place : places) {
            if (place != 0) {
                pooled_buffer given{reinterpret_cast<void*>(place.load()), 0};
                std::memcpy(&given.bytes, given.memory, sizeof given.bytes);
                give_buffer(given);
            }
        }
        trim_buffers();
    }

} // TEST_SUITE
