// SPDX-License-Identifier: MPL-2.0
#include "pipe/returned_credit.hpp"
#include "pipe/rope.hpp"

#include <doctest/doctest.h>

using zlink::pipe::queue_progress;
using returned_credit = zlink::pipe::basic_returned_credit<zlink::pipe::real_platform>;

TEST_SUITE("pipe") {

    TEST_CASE("returned credit: is not given twice for messages for which it was lent") {
        returned_credit returned;
        returned.lend(10);
        CHECK(returned.credit().message_count == 10);
        CHECK(returned.taken().message_count == 0);
        CHECK(returned.is_untouched());

        returned.give({.message_count = 4, .position = 400});
        CHECK(returned.credit().message_count == 10);
        CHECK(returned.credit().position == 400);
        CHECK(returned.taken().message_count == 4);

        returned.give({.message_count = 11, .position = 1100});
        CHECK(returned.credit().message_count == 11);
        CHECK(returned.taken().message_count == 11);
    }

    TEST_CASE("queue progress: a count that was loaded later leaves no messages") {
        const queue_progress now{.message_count = 3, .position = 300};
        CHECK(now.since({.message_count = 1, .position = 100}).message_count == 2);
        CHECK(now.since({.message_count = 4, .position = 300}).message_count == 0);
        CHECK(now.since({.message_count = 4, .position = 200}).bytes == 100);
    }

} // TEST_SUITE
