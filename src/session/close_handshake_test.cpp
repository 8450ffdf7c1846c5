// SPDX-License-Identifier: MPL-2.0
#include "session/close_handshake.hpp"

#include <doctest/doctest.h>

using zlink::session::close_handshake;
using state = close_handshake::state;

TEST_SUITE("session") {

    TEST_CASE("close handshake: ours is answered, and then nothing follows but the end") {
        close_handshake ours{state::announced, 4000, "enough"};
        CHECK(!ours.is_answered());
        CHECK(!ours.is_without_reason());
        CHECK(!ours.on_written()); // Its messages still count until it answers.

        ours.on_answer();
        CHECK(ours.is_answered());
        CHECK(ours.on_written());
        CHECK(!ours.on_written()); // True once.
        CHECK(ours.is_answered());
        CHECK(ours.code() == 4000);
        CHECK(ours.reason() == "enough");
    }

    TEST_CASE("close handshake: one that awaits no answer ends sending, answered or not") {
        close_handshake ours{state::declared, 1002, "protocol violation"};
        CHECK(ours.is_without_reason());
        CHECK(ours.on_written());
        CHECK(!ours.is_answered());
        CHECK(!ours.on_written());

        ours.on_answer();
        CHECK(ours.is_answered());
        CHECK(!ours.on_written());
    }

    TEST_CASE("close handshake: the peer's is answered") {
        close_handshake theirs{state::answered, 1001, ""};
        CHECK(theirs.is_answered());
        theirs.on_answer(); // A second answer changes nothing.
        CHECK(theirs.on_written());
        CHECK(theirs.is_answered());
    }

    TEST_CASE("close handshake: a peer that has ended its direction is still told why we go") {
        close_handshake half;
        CHECK(half.is_half_closed());
        CHECK(!half.on_written());

        half.announce(1000, "done");
        CHECK(!half.is_half_closed());
        CHECK(half.code() == 1000);
        CHECK(half.reason() == "done");
    }

    TEST_CASE("close handshake: discarding tells the peer once that nothing follows") {
        for (const state begin : {state::announced, state::declared, state::answered}) {
            close_handshake said{begin, 1000, ""};
            CHECK(said.discard());
            CHECK(said.is_discarding());
            CHECK(!said.discard());
            CHECK(!said.on_written());
        }
        close_handshake shut{state::declared, 1000, ""};
        CHECK(shut.on_written());
        CHECK(!shut.discard()); // It was told already.
        CHECK(shut.is_discarding());
        close_handshake half;
        CHECK(half.discard());
    }

    TEST_CASE("close handshake: counts what the peer sends all the same") {
        close_handshake said{state::announced, 1000, ""};
        CHECK(said.count_dropped(10) == 10);
        CHECK(said.count_dropped(5) == 15);
    }
}
