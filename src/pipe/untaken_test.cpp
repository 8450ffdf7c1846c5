// SPDX-License-Identifier: MPL-2.0
#include "pipe/untaken.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using zlink::pipe::message_queue;
using zlink::testing::counted_block;
using zlink::testing::pattern;
using zlink::testing::push;

namespace {

bool send(message_queue& queue, std::string_view body) {
    push(queue, body);
    return queue.finish_message();
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("untaken messages: are freed and still counted, and the writer may go on") {
        for (const std::size_t bytes : {10, 1000, 30'000}) {
            CAPTURE(bytes);
            message_queue queue{{}};
            int alive = 0;
            for (int count = 0; count < 40; ++count) {
                send(queue, pattern(bytes, 0));
                queue.push_reference(new counted_block(alive, pattern(10'000)), 10'000, 0);
                static_cast<void>(queue.finish_message());
            }
            send(queue, pattern(bytes, 0));

            zlink::pipe::free_untaken(queue);

            CHECK(alive == 0);
            CHECK(queue.untaken().message_count == 81);
            for (int count = 0; count < 40; ++count) {
                send(queue, pattern(bytes, 0));
            }
            CHECK(queue.untaken().message_count == 121);
        }
    }

    TEST_CASE("untaken messages: an unfinished one is the writer's to finish or to drop") {
        message_queue queue{{}};
        send(queue, pattern(70'000, 0));
        push(queue, "beginning");
        zlink::pipe::free_untaken(queue);
        push(queue, "end");
        queue.rollback();
        send(queue, "next");
        CHECK(queue.untaken().message_count == 2);
    }

    TEST_CASE("untaken messages: there may be none") {
        message_queue queue{{}};
        zlink::pipe::free_untaken(queue);
        send(queue, "first");
        zlink::pipe::free_untaken(queue);
        CHECK(queue.untaken().message_count == 1);
    }
}
