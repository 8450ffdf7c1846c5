// SPDX-License-Identifier: MPL-2.0
#include "pipe/message_queue.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

// One thread on both sides. interleaving_test.cpp tests two threads.

using zlink::pipe::block;
using zlink::pipe::frame;
using zlink::pipe::message_queue;
using zlink::testing::counted_block;
using zlink::testing::pattern;
using zlink::testing::push;
using zlink::testing::take;
using zlink::testing::take_all;
namespace tuning = zlink::tuning;
namespace zmtp = zlink::wire::zmtp;

namespace {

using messages = std::vector<std::string>;

/// Sends one message and returns whether the reader must be woken.
bool send(message_queue& queue, std::string_view body) {
    push(queue, body);
    return queue.finish_message();
}

/// Sends one frame in one step, if that is possible.
bool send_at_once(message_queue& queue, std::string_view body,
                  message_queue::frame_place place = {}) {
    bool wakes = false;
    return queue.push_at_once(reinterpret_cast<const std::byte*>(body.data()), body.size(), place,
                              wakes);
}

/// Takes one frame and returns whether the writer must be woken.
bool drop_one(message_queue& queue) {
    bool wakes = false;
    take(queue, wakes);
    return wakes;
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("message queue: gives frames of every size as they were pushed") {
        message_queue queue{{}};
        const std::size_t sizes[] = {0, 1, 2, 255, 256, 257, 447, 448, 8191, 8192, 70'000};
        messages pushed;
        unsigned seed = 0;
        for (const std::size_t bytes : sizes) {
            pushed.push_back(pattern(bytes, ++seed));
            send(queue, pushed.back());
        }
        CHECK(take_all(queue) == pushed);
        CHECK(!queue.has_frame());
    }

    TEST_CASE("message queue: holds the bytes of the wire") {
        message_queue queue{{}};
        push(queue, "hello", zmtp::flag_more);
        push(queue, "", 0);
        (void)queue.finish_message();
        const auto place = queue.rope().front();
        auto at = place;
        message_queue::rope_type::settle(at);
        CHECK(std::memcmp(at.at->data(), "\x01\x05hello\x00\x00", 9) == 0);
        CHECK(queue.rope().published() == 9);
    }

    TEST_CASE("message queue: says of a frame what its flags are and how much it takes") {
        message_queue queue{{}};
        push(queue, "part", zmtp::flag_more);
        push(queue, pattern(300), 0);
        (void)queue.finish_message();
        push(queue, "command", zmtp::flag_command);
        (void)queue.finish_message();

        REQUIRE(queue.has_frame());
        const frame part = queue.front();
        CHECK(part.more());
        CHECK(!part.command());
        CHECK(part.wire_bytes == 2 + 4);
        CHECK(part.reference == nullptr);
        CHECK(!queue.pop(part));
        const frame last = queue.front();
        CHECK(!last.more());
        CHECK(last.wire_bytes == 9 + 300);
        CHECK(!queue.pop(last));
        CHECK(queue.front().command());
        CHECK(take_all(queue) == messages{"!command"});
    }

    TEST_CASE("message queue: shows a message only when it is finished") {
        message_queue queue{{}};
        push(queue, "one", zmtp::flag_more);
        CHECK(queue.has_unfinished());
        CHECK(!queue.has_frame());
        push(queue, "two", 0);
        CHECK(!queue.has_frame());
        (void)queue.finish_message();
        CHECK(!queue.has_unfinished());
        CHECK(take_all(queue) == messages{"+one", "two"});
    }

    TEST_CASE("message queue: rolls an unfinished message back") {
        message_queue queue{{}};
        send(queue, "kept");
        push(queue, "dropped", zmtp::flag_more);
        push(queue, pattern(1000), zmtp::flag_more);
        queue.rollback();
        CHECK(!queue.has_unfinished());
        send(queue, "next");
        CHECK(take_all(queue) == messages{"kept", "next"});
    }

    TEST_CASE(
        "message queue: takes a short frame in one step, where there is a segment with room") {
        message_queue queue{{.messages_max = 4}};
        CHECK(!send_at_once(queue, "no segment"));
        send(queue, "first");
        CHECK(!send_at_once(queue, pattern(256)));
        CHECK(send_at_once(queue, ""));
        CHECK(send_at_once(queue, pattern(255)));
        CHECK(send_at_once(queue, pattern(64)));
        CHECK(!send_at_once(queue, "no credit"));
        CHECK(take_all(queue) == messages{"first", "", pattern(255), pattern(64)});
    }

    TEST_CASE("message queue: ends a message of several frames in one step, in whatever segment") {
        for (const std::size_t before : {1, 300, 5000, 70'000}) {
            CAPTURE(before);
            message_queue queue{{}};
            send(queue, "before");
            push(queue, pattern(before), zmtp::flag_more);
            push(queue, "part", zmtp::flag_more);
            CHECK(send_at_once(queue, "last", {.is_first = false}));
            CHECK(!queue.has_unfinished());
            push(queue, pattern(before), zmtp::flag_more);
            queue.rollback();
            CHECK(send_at_once(queue, "after"));
            CHECK(take_all(queue) ==
                  messages{"before", "+" + pattern(before), "+part", "last", "after"});
            CHECK(queue.published().message_count == 3);
        }
    }

    TEST_CASE("message queue: says in one step, too, that a sleeping reader must be woken") {
        message_queue queue{{}};
        send(queue, "first");
        take_all(queue);
        queue.mark_reader_parked();
        bool wakes = false;
        const std::byte byte{};
        CHECK(queue.push_at_once(&byte, 1, {}, wakes));
        CHECK(wakes);
        CHECK(queue.push_at_once(&byte, 1, {}, wakes));
        CHECK(!wakes);
    }

    TEST_CASE("message queue: shows several messages that were marked at once, and no part more") {
        message_queue queue{{}};
        push(queue, "one");
        queue.rope().mark();
        push(queue, "two");
        queue.rope().mark();
        push(queue, "part", zmtp::flag_more);
        (void)queue.finish_marked(2);
        CHECK(take_all(queue) == messages{"one", "two"});
        CHECK(queue.has_unfinished());
        CHECK(queue.published().message_count == 2);
    }

    TEST_CASE("message queue: keeps what is lent until that ends, in whatever chunks") {
        message_queue queue{{.messages_max = 4}};
        const std::vector<std::string> bodies{"one", pattern(400), pattern(300), "four"};
        for (const std::string& each : bodies) {
            send(queue, each);
        }
        queue.begin_lending();
        std::vector<std::string_view> lent;
        while (queue.has_frame()) {
            const auto front = queue.front();
            lent.emplace_back(reinterpret_cast<const char*>(front.body), front.body_bytes);
            queue.lend(front);
        }
        CHECK(!queue.has_credit());
        for (std::size_t index = 0; index < bodies.size(); ++index) {
            CHECK(lent[index] == bodies[index]);
        }
        queue.end_lending();
        CHECK(!queue.is_lending());
        CHECK(!queue.return_due_credit());
        CHECK(queue.has_credit());
    }

    TEST_CASE("message queue: lends at once what lies side by side, up to a number") {
        message_queue queue{{.messages_max = 6}};
        const std::vector<std::string> bodies{"one",        "",           "three",
                                              pattern(400), pattern(300), "six"};
        for (const std::string& each : bodies) {
            send(queue, each);
        }
        queue.begin_lending();
        std::vector<std::string_view> lent;
        std::vector<std::size_t> counts;
        while (queue.has_frame()) {
            const std::byte* const front_body = queue.front().body;
            const std::size_t first = lent.size();
            counts.push_back(queue.lend_run<zlink::pipe::zmtp_layout>(
                2, [&](const std::byte* body, std::size_t body_bytes, std::uint8_t flags) {
                    CHECK((flags & zmtp::flag_more) == 0);
                    lent.emplace_back(reinterpret_cast<const char*>(body), body_bytes);
                }));
            CHECK(static_cast<const void*>(lent[first].data()) == front_body);
        }
        CHECK(lent.size() == bodies.size());
        CHECK(std::equal(lent.begin(), lent.end(), bodies.begin(), bodies.end()));
        CHECK(counts.size() >= 3);
        CHECK(counts.front() == 2); // Not more than requested.
        CHECK(counts[1] <= 2);      // Nor frames in another segment.
        CHECK(!queue.has_credit());
        queue.end_lending();
        CHECK(!queue.return_due_credit());
        CHECK(queue.has_credit());
    }

    TEST_CASE("message queue: lends rows of one size and what is between them") {
        message_queue queue{{}};
        const std::vector<std::string> bodies{"one",        "",           "",    "three",
                                              pattern(400), "six",        "sev", "egt",
                                              pattern(300), pattern(300), "",    "end"};
        for (const std::string& each : bodies) {
            send(queue, each);
        }
        queue.begin_lending();
        std::vector<std::string_view> lent;
        while (queue.has_frame()) {
            (void)queue.front();
            const std::size_t count = queue.lend_run<zlink::pipe::zmtp_layout>(
                3, [&](const std::byte* body, std::size_t body_bytes, std::uint8_t) {
                    lent.emplace_back(reinterpret_cast<const char*>(body), body_bytes);
                });
            CHECK(count <= 3);
        }
        CHECK(std::equal(lent.begin(), lent.end(), bodies.begin(), bodies.end()));
        queue.end_lending();
        CHECK(!queue.return_due_credit());
    }

    TEST_CASE("message queue: passes blocks on without copying") {
        int alive = 0;
        message_queue queue{{}};
        auto* const body = new counted_block{alive, "body"};
        queue.push_reference(body, 3, zmtp::flag_more);
        push(queue, "end");
        (void)queue.finish_message();
        REQUIRE(queue.has_frame());
        const frame front = queue.front();
        CHECK(front.body == body->data);
        CHECK(front.body_bytes == 3);
        CHECK(front.wire_bytes == 2 + 3);
        CHECK(front.more());
        block* const taken = front.take_reference();
        CHECK(taken == body);
        CHECK(!queue.pop(front));
        CHECK(take_all(queue) == messages{"end"});
        CHECK(alive == 1);
        taken->drop();
        CHECK(alive == 0);
    }

    TEST_CASE("message queue: drops a block that nobody took") {
        int alive = 0;
        message_queue queue{{}};
        queue.push_reference(new counted_block{alive, "body"}, 4, 0);
        (void)queue.finish_message();
        REQUIRE(queue.has_frame());
        (void)queue.pop(queue.front());
        send(queue, "next");
        REQUIRE(queue.has_frame());
        CHECK(queue.front().body_bytes == 4); // The position moved to the next chunk, and the last
                                              // one was released.
        CHECK(alive == 0);
    }

    TEST_CASE("message queue: passes control objects between the messages") {
        int alive = 0;
        message_queue queue{{}};
        CHECK(!queue.push_control(new counted_block{alive}));
        send(queue, "one");
        CHECK(!queue.push_control(new counted_block{alive}));
        send(queue, "two");
        REQUIRE(queue.has_frame());
        CHECK(queue.front().control);
        CHECK(take_all(queue) == messages{"*", "one", "*", "two"});
        CHECK(alive == 0);
    }

    TEST_CASE("message queue: allows as many messages as its limit says") {
        message_queue queue{{.messages_max = 3}};
        CHECK(queue.credit() == 3);
        send(queue, "1");
        send(queue, "2");
        CHECK(queue.credit() == 1);
        CHECK(queue.has_credit());
        send(queue, "3");
        CHECK(queue.credit() == 0);
        CHECK(!queue.has_credit());
        take_all(queue);
        CHECK(queue.credit() == 3);
    }

    TEST_CASE("message queue: counts a message of several parts once") {
        message_queue queue{{.messages_max = 2}};
        for (int part = 0; part < 5; ++part) {
            push(queue, "part", zmtp::flag_more);
        }
        send(queue, "last");
        CHECK(queue.credit() == 1);
        bool wakes = false;
        for (int part = 0; part < 5; ++part) {
            take(queue, wakes);
            CHECK(queue.credit() == 1);
        }
        take(queue, wakes);
        CHECK(queue.has_credit());
        send(queue, "next");
        CHECK(queue.credit() == 1);
    }

    TEST_CASE("message queue: is not limited where the limit is zero") {
        message_queue queue{{.messages_max = 0, .bytes_max = 1}};
        for (int count = 0; count < 3000; ++count) {
            send(queue, "message");
        }
        CHECK(queue.credit() > UINT64_MAX / 8);
        CHECK(take_all(queue).size() == 3000);
        CHECK(queue.credit() > UINT64_MAX / 8);
    }

    TEST_CASE("message queue: allows as many bytes as its limit says, but always one message") {
        message_queue queue{{.messages_max = 1000, .bytes_max = 100}};
        CHECK(queue.has_credit());
        send(queue, pattern(1000)); // Larger than the limit on bytes under way.
        CHECK(!queue.has_credit());
        take_all(queue);
        CHECK(queue.has_credit());
        send(queue, pattern(50));
        CHECK(queue.has_credit());
        send(queue, pattern(50));
        CHECK(!queue.has_credit());
    }

    TEST_CASE("message queue: returns credit for half of the limit at a time") {
        message_queue queue{{.messages_max = 10}};
        for (int count = 0; count < 10; ++count) {
            send(queue, "message");
        }
        CHECK(!queue.has_credit());
        for (int count = 0; count < 4; ++count) {
            CHECK(queue.has_frame());
            drop_one(queue);
            CHECK(!queue.has_credit());
        }
        drop_one(queue);
        CHECK(queue.credit() == 5);
    }

    TEST_CASE("message queue: returns credit when everything that was seen is taken") {
        message_queue queue{{.messages_max = 1000}};
        for (int count = 0; count < 1000; ++count) {
            send(queue, "message");
        }
        take_all(queue);
        CHECK(queue.credit() == 1000);
        send(queue, "message");
        send(queue, "message");
        CHECK(queue.credit() == 998); // Not reloaded while some is left.
    }

    TEST_CASE("message queue: returns the credit for bytes when a control object comes last") {
        int alive = 0;
        message_queue queue{{.messages_max = 1000, .bytes_max = 100}};
        send(queue, pattern(100));
        (void)queue.push_control(new counted_block{alive});
        CHECK(!queue.has_credit());
        take_all(queue);
        CHECK(queue.has_credit());
    }

    TEST_CASE("message queue: adds what the reader allows to what the writer does") {
        message_queue queue{{.messages_max = 2}};
        queue.add_reader_limit(3);
        for (int count = 0; count < 5; ++count) {
            CHECK(queue.has_credit());
            send(queue, "message");
        }
        CHECK(!queue.has_credit());
        take_all(queue);
        CHECK(queue.credit() == 5);
    }

    TEST_CASE("message queue: has no limit if the reader has none") {
        message_queue queue{{.messages_max = 1}};
        queue.add_reader_limit(0);
        for (int count = 0; count < 100; ++count) {
            CHECK(queue.has_credit());
            send(queue, "message");
        }
        take_all(queue);
        CHECK(queue.has_credit());
    }

    TEST_CASE("message queue: a look tells how far the writer is ahead") {
        struct example {
            std::uint64_t writer_max;
            std::uint64_t reader_max;
            int long_count; ///< From this many messages on it is far ahead; 0: never.
        };
        for (const auto& [writer_max, reader_max, long_count] :
             {example{7, 9, 5}, example{7, 0, 0}, example{0, 9, 5}, example{0, 0, 0}}) {
            CAPTURE(writer_max);
            CAPTURE(reader_max);
            message_queue queue{{.messages_max = writer_max}};
            queue.add_reader_limit(reader_max);
            CHECK(queue.look().bytes == 0);
            for (int count = 1; count <= 7; ++count) {
                send(queue, "message");
                CHECK(queue.look().message_count == static_cast<std::uint64_t>(count));
                CHECK(queue.look().bytes == 9 * static_cast<std::uint64_t>(count));
                CHECK(queue.look().is_long == (long_count != 0 && count >= long_count));
            }
            take_all(queue);
            CHECK(queue.is_read_up());
            CHECK(queue.look().bytes == 0);
        }
    }

    TEST_CASE(
        "message queue: credit goes back before a long backlog is taken, also without limits") {
        for (const std::uint64_t messages_max : {std::uint64_t{0}, 4 * tuning::credit_batch_max}) {
            CAPTURE(messages_max);
            message_queue queue{{.messages_max = 1}};
            queue.add_reader_limit(messages_max);
            for (std::uint64_t count = 0; count < 2 * tuning::credit_batch_max; ++count) {
                send(queue, "message");
            }
            queue.mark_writer_parked();
            for (std::uint64_t count = 1; count < tuning::credit_batch_max; ++count) {
                REQUIRE(queue.has_frame());
                REQUIRE(!queue.pop(queue.front()));
            }
            REQUIRE(queue.has_frame());
            CHECK(queue.pop(queue.front()));
        }
    }

    TEST_CASE("message queue: may have its whole limit changed by the reader, up and down") {
        for (const std::uint64_t writer_max : {std::uint64_t{0}, std::uint64_t{10}}) {
            CAPTURE(writer_max);
            message_queue queue{{.messages_max = writer_max}};
            send(queue, "message");
            queue.replace_limit(3);
            queue.renew_credit();
            CHECK(queue.credit() == 2);
            queue.replace_limit(20);
            queue.renew_credit();
            CHECK(queue.credit() == 19);
            queue.replace_limit(1);
            queue.renew_credit();
            CHECK(!queue.has_credit());
            CHECK(queue.credit() == 0);
            take_all(queue);
            CHECK(queue.credit() == 1);
            queue.replace_limit(0);
            for (int count = 0; count < 100; ++count) {
                CHECK(queue.has_credit());
                send(queue, "message");
            }
        }
    }

    TEST_CASE("message queue: a lower limit of the reader counts before the credit is used up") {
        message_queue queue{{.messages_max = 5}};
        queue.add_reader_limit(100);
        queue.renew_credit();
        CHECK(queue.credit() == 105);
        queue.add_reader_limit(2);
        queue.renew_credit();
        CHECK(queue.credit() == 7);
    }

    TEST_CASE("message queue: may have its limits changed by the writer") {
        message_queue queue{{.messages_max = 1}};
        send(queue, "1");
        CHECK(!queue.has_credit());
        queue.set_limits({.messages_max = 3});
        CHECK(queue.credit() == 2);
        send(queue, "2");
        queue.set_limits({.messages_max = 1});
        CHECK(queue.credit() == 0);
        take_all(queue);
        CHECK(queue.credit() == 1);
    }

    TEST_CASE("message queue: wakes a sleeping reader once") {
        message_queue queue{{}};
        CHECK(!send(queue, "nobody sleeps"));
        CHECK(take_all(queue).size() == 1);
        queue.mark_reader_parked();
        CHECK(!queue.missed_something());
        CHECK(send(queue, "wakes"));
        CHECK(!send(queue, "woken already"));
        CHECK(!queue.unmark_reader()); // A wake-up is on its way.
        CHECK(take_all(queue).size() == 2);
    }

    TEST_CASE("message queue: wakes a sleeping reader for a control object") {
        int alive = 0;
        message_queue queue{{}};
        queue.mark_reader_parked();
        CHECK(queue.push_control(new counted_block{alive}));
        CHECK(!queue.push_control(new counted_block{alive}));
    }

    TEST_CASE("message queue: a reader that sees something after all takes its mark back") {
        message_queue queue{{}};
        send(queue, "published before the mark");
        queue.mark_reader_parked();
        CHECK(queue.missed_something());
        CHECK(queue.unmark_reader());
        CHECK(!send(queue, "nobody sleeps"));
        CHECK(take_all(queue).size() == 2);
    }

    TEST_CASE("message queue: wakes a sleeping writer once, when credit comes back") {
        message_queue queue{{.messages_max = 4}};
        for (int count = 0; count < 4; ++count) {
            send(queue, "message");
        }
        CHECK(queue.has_frame());
        queue.mark_writer_parked();
        CHECK(!queue.has_credit());
        CHECK(!drop_one(queue));
        CHECK(drop_one(queue));
        CHECK(!queue.unmark_writer()); // A wake-up is on its way.
        CHECK(!drop_one(queue));
        CHECK(!drop_one(queue));
        CHECK(queue.credit() == 4);
    }

    TEST_CASE("message queue: a writer that has credit after all takes its mark back") {
        message_queue queue{{.messages_max = 1}};
        send(queue, "message");
        CHECK(!queue.has_credit());
        take_all(queue);
        queue.mark_writer_parked();
        CHECK(queue.has_credit());
        CHECK(queue.unmark_writer());
        send(queue, "message");
        CHECK(queue.has_frame());
        CHECK(!drop_one(queue));
    }

    TEST_CASE("message queue: says how far the writer has come") {
        int alive = 0;
        message_queue queue{{}};
        CHECK(queue.published().message_count == 0);
        send(queue, "message");
        (void)queue.push_control(new counted_block{alive});
        push(queue, "part", zmtp::flag_more);
        CHECK(queue.published().message_count == 1);
        CHECK(queue.published().position == 2 + 7 + 1);
    }

    TEST_CASE("message queue: takes credit from a reader that counts for itself") {
        message_queue queue{{.messages_max = 2}};
        send(queue, "one");
        send(queue, "two");
        queue.mark_writer_parked();
        const message_queue::cursor begin = queue.rope().front();
        CHECK(queue.return_credit(1, {begin.at, 0, 5}));
        CHECK(queue.credit() == 1);
        CHECK(!queue.return_credit(2, {begin.at, 0, 10}));
        CHECK(queue.credit() == 1); // Not reloaded while some is left.
        CHECK(queue.place().position == 10);
    }

    TEST_CASE("message queue: keeps its memory while the reader is awake") {
        message_queue queue{{}};
        send(queue, "message");
        take_all(queue);
        CHECK(queue.holds_memory());
        CHECK(!queue.trim());
        CHECK(queue.holds_memory());
    }

    TEST_CASE("message queue: gives its memory back while the reader sleeps, and wakes it later") {
        message_queue queue{{}};
        send(queue, pattern(3000));
        CHECK(take_all(queue).size() == 1);
        queue.mark_reader_parked();
        CHECK(!queue.trim());
        CHECK(!queue.holds_memory());
        CHECK(!queue.trim());
        CHECK(!queue.missed_something());
        CHECK(send(queue, "next"));
        CHECK(take_all(queue) == messages{"next"});
    }

    TEST_CASE("message queue: uses its memory from the beginning again once the reader sleeps") {
        message_queue queue{{}};
        send(queue, pattern(200));
        const auto body_of_front = [&] {
            REQUIRE(queue.has_frame());
            return static_cast<const void*>(queue.front().body);
        };
        const void* const first = body_of_front();
        take_all(queue);
        CHECK(!queue.restart(0)); // The reader is not parked.
        send(queue, pattern(200, 2));
        CHECK(body_of_front() != first);
        take_all(queue);
        queue.mark_reader_parked();
        CHECK(!queue.restart(1000000)); // Too little of it was used.
        CHECK(!queue.restart(0));
        CHECK(send(queue, pattern(200, 3)));
        CHECK(body_of_front() == first);
        CHECK(take_all(queue) == messages{pattern(200, 3)});

        send(queue, "before");
        CHECK(queue.has_frame());
        queue.mark_reader_parked(); // It has not passed the fence and checked again.
        CHECK(queue.restart(0));
        CHECK(take_all(queue) == messages{"before"});
    }

    TEST_CASE("message queue: passes large memory on once the reader sleeps, and takes as much") {
        message_queue queue{{}};
        send(queue, pattern(200));
        take_all(queue);
        queue.mark_reader_parked();
        CHECK(!queue.pass_on_memory());
        CHECK(queue.holds_memory()); // Too little to be worthwhile.

        CHECK(send(queue, pattern(6000)));
        CHECK(take_all(queue).size() == 1);
        CHECK(!queue.pass_on_memory()); // The reader is not parked.
        CHECK(queue.holds_memory());
        queue.mark_reader_parked();
        CHECK(!queue.pass_on_memory());
        CHECK(!queue.holds_memory());
        CHECK(send(queue, "next"));
        CHECK(queue.rope().tail_capacity() >= 6000);
        CHECK(take_all(queue) == messages{"next"});
    }

    TEST_CASE("message queue: passes on what a message takes besides its payload, and no segment "
              "comes of that") {
        message_queue queue{{}};
        queue.push_reference(zlink::pipe::make_block(100'000), 100'000, 0);
        static_cast<void>(queue.finish_message());
        CHECK(take_all(queue).size() == 1);
        CHECK(!queue.pass_on_memory()); // The reader is not parked.
        CHECK(queue.holds_memory());
        queue.mark_reader_parked();
        const std::size_t next_segment_bytes = queue.rope().next_segment_bytes();
        CHECK(!queue.pass_on_memory());
        CHECK(!queue.holds_memory());
        CHECK(!queue.missed_something());
        CHECK(queue.rope().next_segment_bytes() == next_segment_bytes);
        CHECK(send(queue, "next"));
        CHECK(take_all(queue) == messages{"next"});
    }

    TEST_CASE("message queue: the writer sees how far the reader is behind, block by block") {
        message_queue queue{{}};
        CHECK(queue.untaken().bytes == 0);
        std::uint64_t message_bytes = 0;
        for (int count = 0; count < 3; ++count) {
            queue.push_reference(zlink::pipe::make_block(100'000), 100'000, 0);
            static_cast<void>(queue.finish_message());
            message_bytes = message_bytes == 0 ? queue.untaken().bytes : message_bytes;
        }
        CHECK(message_bytes > 100'000);
        CHECK(queue.untaken().bytes == 3 * message_bytes);
        for (const std::uint64_t left : {3U, 2U, 1U}) { // Messages left when it checks the next
                                                        // one.
            REQUIRE(queue.has_frame());
            const auto found = queue.front();
            CHECK(queue.untaken().bytes == left * message_bytes);
            static_cast<void>(queue.pop(found));
        }
        CHECK(!queue.has_frame());
        CHECK(queue.untaken().bytes == 0);
    }

    TEST_CASE("message queue: takes frames of another one as they are, within its credit") {
        message_queue from{{}};
        from.rope().reserve(10'000); // The frames are adjacent.
        messages expected;
        for (unsigned number = 0; number < 40; ++number) {
            expected.push_back(pattern(number * 7, number));
            push(from, expected.back());
        }
        const std::byte* const end = from.rope().free_begin();
        const std::span<const std::byte> data{end - from.rope().written(), end};
        message_queue to{{.messages_max = 40}};
        CHECK(to.credit() == 40);
        to.push_frames(data, 40);
        CHECK(to.credit() == 0);
        CHECK(!to.has_frame()); // Not published yet.
        (void)to.publish_messages();
        CHECK(to.untaken().message_count == 40);
        CHECK(take_all(to) == expected);
        CHECK(to.credit() == 40);
    }

    TEST_CASE("message queue: wakes a reader that has something to read instead of trimming") {
        message_queue queue{{}};
        send(queue, "before");
        CHECK(queue.has_frame());
        queue.mark_reader_parked(); // It has not passed the fence and checked again.
        CHECK(queue.trim());
        CHECK(!queue.unmark_reader());
        CHECK(take_all(queue) == messages{"before"});
    }

    TEST_CASE("message queue: keeps the memory of an unfinished message") {
        message_queue queue{{}};
        queue.mark_reader_parked();
        push(queue, "part", zmtp::flag_more);
        CHECK(!queue.trim());
        push(queue, "end");
        CHECK(queue.finish_message());
        CHECK(take_all(queue) == messages{"+part", "end"});
    }

    TEST_CASE("message queue: trims behind blocks and control objects") {
        int alive = 0;
        message_queue queue{{}};
        send(queue, "one");
        queue.push_reference(new counted_block{alive, "two"}, 3, 0);
        (void)queue.finish_message();
        (void)queue.push_control(new counted_block{alive});
        CHECK(take_all(queue) == messages{"one", "two", "*"});
        queue.mark_reader_parked();
        CHECK(!queue.trim());
        CHECK(!queue.holds_memory());
        CHECK(alive == 0);
        push(queue, "dropped", zmtp::flag_more);
        queue.rollback();
        CHECK(send(queue, "next"));
        CHECK(take_all(queue) == messages{"next"});
    }

    TEST_CASE("message queue: its statistics count messages, and bytes of frames only") {
        int alive = 0;
        message_queue queue{{.messages_max = 10}};
        send(queue, "one");
        (void)queue.push_control(new counted_block{alive});
        push(queue, "part", zmtp::flag_more);
        send(queue, "end");
        push(queue, "unfinished");
        message_queue::totals now = queue.measure();
        CHECK(now.sent.message_count == 2);
        CHECK(now.sent.position == 5 + 6 + 5);
        CHECK(now.waiting.message_count == 2);
        CHECK(now.highest_count == 2);
        CHECK(now.dropped_count == 0);
        CHECK(!now.conflates);
        queue.rollback();
        take_all(queue);
        now = queue.measure();
        CHECK(now.sent.position == 5 + 6 + 5);
        CHECK(now.waiting.message_count == 0);
        CHECK(now.waiting.bytes == 0);
        CHECK(now.highest_count == 2);
        send(queue, "more");
        CHECK(queue.measure().highest_count == 2); // One is waiting now.
        for (int count = 0; count < 4; ++count) {
            send(queue, "x");
        }
        take_all(queue);
        CHECK(queue.measure().highest_count == 5);
    }

    TEST_CASE("message queue: its statistics count messages that newer ones replaced as sent") {
        int alive = 0;
        message_queue queue{{}};
        queue.conflate();
        for (const char* const text : {"first", "second", "third!!"}) {
            queue.push_newest(new counted_block{alive, text}, std::strlen(text));
            (void)queue.finish_message();
        }
        message_queue::totals now = queue.measure();
        CHECK(now.conflates);
        CHECK(now.dropped_count == 2);
        CHECK(now.sent.message_count == 3);
        CHECK(now.sent.position == 7 + 8 + 9);
        CHECK(now.waiting.message_count == 1);
        take_all(queue);
        queue.push_newest(new counted_block{alive, "last"}, 4);
        (void)queue.finish_message();
        now = queue.measure();
        CHECK(now.sent.message_count == 4);
        CHECK(now.sent.position == 7 + 8 + 9 + 6);
    }

} // TEST_SUITE
