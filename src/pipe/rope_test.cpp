// SPDX-License-Identifier: MPL-2.0
#include "pipe/rope.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// One thread on both sides. interleaving_test.cpp tests two threads.

using zlink::pipe::rope;
using zlink::testing::counted_block;
using zlink::testing::pattern;
namespace tuning = zlink::tuning;

namespace {

using chunk = rope::chunk;
constexpr std::size_t first_capacity = tuning::segment_bytes_min - sizeof(chunk);

void append(rope& to, std::string_view data) {
    std::memcpy(to.reserve(data.size()), data.data(), data.size());
    to.commit(data.size());
}

void append_external(rope& to, std::string_view header, zlink::pipe::block* payload) {
    to.append_external(reinterpret_cast<const std::byte*>(header.data()), header.size(), payload,
                       payload->bytes);
}

void publish(rope& shown) {
    shown.mark();
    shown.publish(0);
}

/// The bytes from `place` to `visible`, chunk by chunk; "*" for a control object. `place` is
/// moved behind them.
std::vector<std::string> read_to(rope::cursor& place, std::uint64_t visible) {
    std::vector<std::string> pieces;
    while (place.position < visible) {
        rope::settle(place);
        chunk& at = *place.at;
        const std::uint64_t bytes = rope::contiguous(place, visible);
        std::string piece;
        if (at.what == chunk::kind::control) {
            piece = "*";
        } else if (at.what == chunk::kind::external) {
            piece.assign(reinterpret_cast<const char*>(at.data()), at.header_bytes);
            piece.append(reinterpret_cast<const char*>(at.payload->data), at.payload_bytes);
            piece = piece.substr(place.offset, bytes);
        } else if (at.what == chunk::kind::borrowed) {
            piece.assign(reinterpret_cast<const char*>(at.payload->data) + place.offset, bytes);
        } else {
            piece.assign(reinterpret_cast<const char*>(at.data()) + place.offset, bytes);
        }
        pieces.push_back(piece);
        place.offset += bytes;
        place.position += bytes;
    }
    return pieces;
}

/// Takes the published bytes out of the rope.
std::vector<std::string> take(rope& from) {
    rope::cursor place = from.front();
    std::vector<std::string> pieces = read_to(place, from.published());
    from.release_to(place);
    return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
    std::string all;
    for (const std::string& piece : pieces) {
        all += piece;
    }
    return all;
}

using pieces = std::vector<std::string>;

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("rope: holds no memory until something is appended") {
        rope empty;
        CHECK(!empty.holds_memory());
        CHECK(empty.free_bytes() == 0);
        CHECK(empty.tail_capacity() == 0);
        CHECK(empty.published() == 0);
        CHECK(empty.written() == 0);
        CHECK(take(empty).empty());
    }

    TEST_CASE("rope: shows what was marked, when it is published") {
        rope shared;
        append(shared, "one");
        CHECK(shared.written() == 3);
        CHECK(shared.marked() == 0);
        shared.mark();
        append(shared, "two");
        CHECK(shared.marked() == 3);
        CHECK(shared.published() == 0);
        shared.publish(1);
        CHECK(shared.published() == 3);
        CHECK(shared.published_count() == 1);
        CHECK(take(shared) == pieces{"one"});
        publish(shared);
        CHECK(take(shared) == pieces{"two"});
        CHECK(take(shared).empty());
    }

    TEST_CASE("rope: begins with a small segment, each next one four times as large") {
        rope growing;
        std::size_t segment_bytes = tuning::segment_bytes_min;
        for (int count = 0; count < 6; ++count) {
            growing.roll(1, 0);
            CHECK(growing.tail_capacity() >= segment_bytes - sizeof(chunk));
            CHECK(growing.tail_capacity() <= segment_bytes + segment_bytes / 4);
            CHECK(growing.free_bytes() == growing.tail_capacity());
            segment_bytes = std::min(segment_bytes * 4, tuning::segment_bytes_max);
        }
    }

    TEST_CASE("rope: makes a segment as large as what must be contiguous") {
        rope growing;
        const std::string large = pattern(300'000);
        append(growing, "small");
        append(growing, large);
        publish(growing);
        CHECK(take(growing) == pieces{"small", large});
    }

    TEST_CASE("rope: what does not fit behind the rest goes whole into the next segment") {
        rope growing;
        const std::string most = pattern(first_capacity - 10);
        append(growing, most);
        CHECK(growing.free_bytes() == 10);
        append(growing, "exactly 10");
        CHECK(growing.free_bytes() == 0);
        append(growing, "x");
        publish(growing);
        CHECK(take(growing) == pieces{most + "exactly 10", "x"});
    }

    TEST_CASE("rope: carries what was not committed over to a new segment") {
        rope growing;
        append(growing, "committed");
        std::memcpy(growing.reserve(6), "behind", 6);
        growing.roll(1000, 6);
        CHECK(std::memcmp(growing.free_begin(), "behind", 6) == 0);
        growing.commit(6);
        publish(growing);
        CHECK(take(growing) == pieces{"committed", "behind"});
    }

    TEST_CASE("rope: may be read in part, from any place that was kept") {
        rope shared;
        append(shared, "abcdef");
        publish(shared);
        rope::cursor place = shared.front();
        CHECK(read_to(place, 2) == pieces{"ab"});
        shared.release_to(place);
        CHECK(shared.front().position == 2);
        CHECK(read_to(place, 4) == pieces{"cd"});
        rope::cursor again = shared.front();
        CHECK(read_to(again, 6) == pieces{"cdef"});
    }

    TEST_CASE("rope: a consumer that is at the end of a segment goes on in the next one") {
        rope shared;
        append(shared, "a");
        publish(shared);
        rope::cursor place = shared.front();
        CHECK(read_to(place, 1) == pieces{"a"});
        shared.roll(1, 0);
        append(shared, "b");
        publish(shared);
        CHECK(read_to(place, 2) == pieces{"b"});
        shared.roll(1, 0); // Two in a row: the first of them stays empty.
        shared.roll(1, 0);
        append(shared, "c");
        publish(shared);
        CHECK(read_to(place, 3) == pieces{"c"});
        shared.release_to(place);
    }

    TEST_CASE("rope: keeps a block for what is referenced, until it was read") {
        int alive = 0;
        rope shared;
        append(shared, "before");
        append_external(shared, "head", new counted_block{alive, "payload"});
        CHECK(shared.free_bytes() == 0);
        append(shared, "after");
        publish(shared);
        CHECK(shared.written() == 6 + 4 + 7 + 5);
        CHECK(take(shared) == pieces{"before", "headpayload", "after"});
        CHECK(alive == 0);
    }

    TEST_CASE("rope: a referenced payload may be read in any two parts") {
        int alive = 0;
        for (std::uint64_t split = 1; split < 11; ++split) {
            rope shared;
            append_external(shared, "head", new counted_block{alive, "payload"});
            publish(shared);
            rope::cursor place = shared.front();
            CHECK(joined(read_to(place, split)) == std::string("headpayload", split));
            CHECK(joined(read_to(place, 11)) == std::string("headpayload").substr(split));
        }
        CHECK(alive == 0);
    }

    TEST_CASE("rope: a control object is one byte that is not on the wire") {
        int alive = 0;
        rope shared;
        append(shared, "before");
        shared.append_control(new counted_block{alive});
        append(shared, "after");
        publish(shared);
        CHECK(shared.published() == 6 + 1 + 5);
        CHECK(take(shared) == pieces{"before", "*", "after"});
        CHECK(alive == 0);
    }

    TEST_CASE("rope: rolls back to the mark in the same segment") {
        rope shared;
        append(shared, "kept");
        shared.mark();
        const std::size_t free_bytes = shared.free_bytes();
        append(shared, "dropped");
        shared.rollback();
        CHECK(shared.written() == 4);
        CHECK(shared.free_bytes() == free_bytes);
        append(shared, "more");
        publish(shared);
        CHECK(take(shared) == pieces{"keptmore"});
    }

    TEST_CASE("rope: rolls back over chunks of every kind, and frees them") {
        int alive = 0;
        rope shared;
        append(shared, "kept");
        shared.mark();
        append(shared, pattern(3000));
        append_external(shared, "head", new counted_block{alive, "payload"});
        append(shared, pattern(100'000));
        shared.append_control(new counted_block{alive});
        CHECK(alive == 2);
        shared.rollback();
        CHECK(alive == 0);
        CHECK(shared.written() == 4);
        append(shared, "more");
        publish(shared);
        CHECK(take(shared) == pieces{"keptmore"});
    }

    TEST_CASE("rope: rolls back to the start, and to chunks that cannot be appended to") {
        int alive = 0;
        rope shared;
        append(shared, "dropped");
        shared.rollback();
        CHECK(shared.written() == 0);
        CHECK(!shared.holds_memory());

        append_external(shared, "h", new counted_block{alive, "p"});
        shared.mark();
        append(shared, "dropped");
        shared.rollback();
        CHECK(shared.free_bytes() == 0);
        shared.append_control(new counted_block{alive});
        shared.mark();
        append(shared, "dropped");
        append_external(shared, "h", new counted_block{alive, "p"});
        shared.rollback();
        append(shared, "end");
        publish(shared);
        CHECK(take(shared) == pieces{"hp", "*", "end"});
        CHECK(alive == 0);
    }

    TEST_CASE("rope: rolls back what follows a mark that the consumer has come to") {
        rope shared;
        append(shared, pattern(first_capacity));
        publish(shared);
        CHECK(joined(take(shared)) == pattern(first_capacity));
        append(shared, "dropped");
        shared.rollback();
        append(shared, "next");
        publish(shared);
        CHECK(take(shared) == pieces{"next"});
    }

    TEST_CASE("rope: rolls back twice to the same mark") {
        rope shared;
        append(shared, "kept");
        shared.mark();
        append(shared, pattern(5000));
        shared.rollback();
        shared.rollback();
        append(shared, pattern(5000, 1));
        publish(shared);
        CHECK(take(shared) == pieces{"kept", pattern(5000, 1)});
    }

    TEST_CASE("rope: uses a segment of the largest size again once it was read") {
        rope shared;
        shared.roll(tuning::segment_bytes_max - 2000, 0);
        const std::byte* const first = shared.free_begin();
        append(shared, "a");
        shared.roll(tuning::segment_bytes_max - 2000, 0);
        const std::byte* const second = shared.free_begin();
        append(shared, "b");
        publish(shared);
        CHECK(take(shared) == pieces{"a", "b"}); // The first segment is spare now.
        shared.roll(tuning::segment_bytes_max - 2000, 0);
        CHECK(shared.free_begin() == first);
        append(shared, "c");
        publish(shared);
        append(shared, "longer than before");
        publish(shared);
        CHECK(take(shared) == pieces{"clonger than before"});
        shared.roll(1, 0);
        CHECK(shared.free_begin() == second);
        append(shared, "d");
        publish(shared);
        CHECK(take(shared) == pieces{"d"});
    }

    TEST_CASE("rope: does without a spare segment that is too small") {
        rope shared;
        shared.roll(tuning::segment_bytes_max - 2000, 0);
        append(shared, "a");
        shared.roll(tuning::segment_bytes_max - 2000, 0);
        append(shared, "b");
        publish(shared);
        CHECK(take(shared) == pieces{"a", "b"});
        const std::string large = pattern(200'000);
        append(shared, large);
        publish(shared);
        CHECK(take(shared) == pieces{large});
    }

    TEST_CASE("rope: gives its memory back when it is trimmed, and goes on") {
        rope shared;
        append(shared, pattern(5000));
        publish(shared);
        shared.trim();
        CHECK(shared.holds_memory()); // It is not empty.
        CHECK(joined(take(shared)) == pattern(5000));
        shared.trim();
        CHECK(!shared.holds_memory());
        CHECK(shared.published() == 5000);
        CHECK(shared.front().position == 5000);
        append(shared, "next");
        CHECK(shared.tail_capacity() == first_capacity); // It begins small again.
        publish(shared);
        CHECK(take(shared) == pieces{"next"});
    }

    TEST_CASE("rope: begins again with a segment that holds what the one before held") {
        rope shared;
        append(shared, pattern(9000));
        publish(shared);
        take(shared);
        const std::size_t worthwhile = shared.worthwhile_segment_bytes();
        CHECK(worthwhile == 16384);
        shared.trim(worthwhile);
        CHECK(!shared.holds_memory());
        append(shared, "next");
        CHECK(shared.tail_capacity() >= 9000);
        CHECK(shared.tail_capacity() < worthwhile + 64); // Added by the pool.
        publish(shared);
        CHECK(take(shared) == pieces{"next"});
        CHECK(shared.worthwhile_segment_bytes() == worthwhile / 2);
    }

    TEST_CASE("rope: segments grow to the largest size, and no further") {
        constexpr std::size_t largest = tuning::segment_bytes_max;
        rope shared;
        std::size_t most = 0;
        for (std::size_t bytes = 0; bytes < 4 * largest; bytes += 1000) {
            append(shared, pattern(1000));
            most = std::max(most, shared.tail_segment_bytes());
        }
        CHECK(most >= largest);
        CHECK(most < largest + largest / 4); // Added by the pool.
        publish(shared);
        take(shared);
        CHECK(shared.worthwhile_segment_bytes() == largest);
    }

    TEST_CASE("rope: trims the spare segment, and chunks that cannot be appended to") {
        int alive = 0;
        rope shared;
        shared.roll(tuning::segment_bytes_max, 0);
        append(shared, "a");
        append_external(shared, "h", new counted_block{alive, "p"});
        publish(shared);
        CHECK(take(shared) == pieces{"a", "hp"});
        CHECK(alive == 0); // The chunk is the last one and stays, its block does not.
        CHECK(shared.holds_memory());
        shared.trim();
        CHECK(!shared.holds_memory());
        append(shared, "dropped");
        shared.rollback();
        append(shared, "next");
        publish(shared);
        CHECK(take(shared) == pieces{"next"});
    }

    TEST_CASE("rope: may end when it was trimmed, and when it was rolled back") {
        int alive = 0;
        {
            rope trimmed;
            append(trimmed, "a");
            publish(trimmed);
            take(trimmed);
            trimmed.trim();
        }
        {
            rope rolled_back;
            append_external(rolled_back, "h", new counted_block{alive, "p"});
            rolled_back.mark();
            append(rolled_back, pattern(1000));
            rolled_back.rollback();
        }
        CHECK(alive == 0);
    }

    TEST_CASE("rope: frees what was never read") {
        int alive = 0;
        {
            rope shared;
            append(shared, pattern(5000));
            append_external(shared, "h", new counted_block{alive, "p"});
            shared.append_control(new counted_block{alive});
            publish(shared);
            append(shared, pattern(5000));
            append_external(shared, "h", new counted_block{alive, "p"});
        }
        CHECK(alive == 0);
    }

    TEST_CASE("rope: a block that somebody else holds outlives it") {
        int alive = 0;
        counted_block* const held = new counted_block{alive, "p"};
        held->add_reference();
        {
            rope shared;
            append_external(shared, "h", held);
        }
        CHECK(alive == 1);
        held->drop();
        CHECK(alive == 0);
    }

    TEST_CASE("rope: borrows bytes of another one, which stay until nobody holds them") {
        const std::string data = pattern(300);
        rope borrower;
        {
            rope owner;
            append(owner, data);
            publish(owner);
            chunk* const segment = owner.front().at->next;
            borrower.append_borrowed(segment, segment->data() + 10, 200);
            publish(borrower);
            CHECK(segment->is_borrowed());
            CHECK(take(owner) == pieces{data});
            owner.trim();
            CHECK(!owner.holds_memory());
            append(owner, "something else");
        }
        rope::cursor place = borrower.front();
        CHECK(read_to(place, 150) == pieces{data.substr(10, 150)});
        CHECK(read_to(place, borrower.published()) == pieces{data.substr(160, 50)});
        iovec parts[2];
        place = borrower.front();
        REQUIRE(rope::gather(place, borrower.published(), 1000, parts) == 1);
        CHECK(parts[0].iov_len == 200);
        borrower.release_to(place);
    }

    TEST_CASE("rope: begins a segment again once nobody borrows of it any more") {
        rope owner;
        rope borrower;
        append(owner, pattern(300));
        publish(owner);
        chunk* const segment = owner.front().at->next;
        borrower.append_borrowed(segment, segment->data(), 100);
        publish(borrower);
        take(owner);
        owner.restart();
        CHECK(owner.tail_bytes() == 300);
        CHECK(take(borrower) == pieces{pattern(100)});
        CHECK(!segment->is_borrowed());
        owner.restart();
        CHECK(owner.tail_bytes() == 0);
    }

    TEST_CASE("rope: keeps no segment for itself of which others borrow") {
        rope owner;
        rope borrower;
        owner.roll(tuning::segment_bytes_max - sizeof(chunk), 0);
        append(owner, "kept");
        publish(owner);
        chunk* const segment = owner.front().at->next;
        borrower.append_borrowed(segment, segment->data(), 4);
        publish(borrower);
        owner.roll(1, 0);
        append(owner, "next");
        publish(owner);
        CHECK(take(owner) == pieces{"kept", "next"});
        owner.roll(tuning::segment_bytes_max - sizeof(chunk), 0);
        append(owner, "other");
        publish(owner);
        CHECK(take(owner) == pieces{"other"});
        CHECK(take(borrower) == pieces{"kept"});
    }

    TEST_CASE("rope: rolls back what it borrowed") {
        rope owner;
        rope borrower;
        append(owner, "bytes");
        publish(owner);
        chunk* const segment = owner.front().at->next;
        borrower.append_borrowed(segment, segment->data(), 6);
        CHECK(segment->is_borrowed());
        borrower.rollback();
        CHECK(!segment->is_borrowed());
        CHECK(borrower.written() == 0);
    }

    TEST_CASE("rope: agrees with a string, whatever is done to it") {
        for (unsigned seed = 0; seed < 60; ++seed) {
            CAPTURE(seed);
            std::minstd_rand random{seed + 1};
            const auto below = [&](unsigned limit) { return random() % limit; };
            int alive = 0;
            rope shared;
            std::string expected; // Written and not read.
            std::size_t marked = 0;
            std::size_t published = 0;
            for (unsigned step = 0; step < 100; ++step) {
                const std::string data = pattern(1 + below(below(4) == 0 ? 70'000 : 400), step);
                switch (below(10)) {
                case 0:
                case 1:
                case 2:
                    append(shared, data);
                    expected += data;
                    break;
                case 3:
                    append_external(shared, "external", new counted_block{alive, data});
                    expected += "external" + data;
                    break;
                case 4:
                    shared.append_control(new counted_block{alive});
                    expected += "*";
                    break;
                case 5:
                    shared.roll(data.size(), 0);
                    break;
                case 6:
                    shared.rollback();
                    expected.resize(marked);
                    break;
                case 7:
                    shared.mark();
                    marked = expected.size();
                    break;
                case 8: {
                    publish(shared);
                    marked = published = expected.size();
                    rope::cursor place = shared.front();
                    const std::size_t bytes =
                        below(3) == 0 ? published : below(static_cast<unsigned>(published) + 1);
                    // Only the end of a frame is released, as its block is needed until then.
                    std::string seen = joined(read_to(place, place.position + bytes));
                    REQUIRE(seen == expected.substr(0, bytes));
                    shared.release_to(place);
                    expected.erase(0, bytes);
                    marked -= bytes;
                    break;
                }
                default:
                    if (below(2) == 0) {
                        shared.trim();
                    } else {
                        shared.restart();
                    }
                    break;
                }
                REQUIRE(shared.written() - shared.front().position == expected.size());
                REQUIRE(shared.marked() - shared.front().position == marked);
            }
        }
    }

} // TEST_SUITE
