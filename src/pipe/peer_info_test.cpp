// SPDX-License-Identifier: MPL-2.0
#include "pipe/peer_info.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using namespace zlink::pipe;

namespace {

std::string take_name(peer_info* from) {
    const peer_info_ptr taken{from->take_newest(), false};
    return taken->routing_id;
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("peer info: the newest is taken, and after that no newer one is let in") {
        const peer_info_ptr first{make_peer_info("first"), false};
        CHECK(first->replace(make_peer_info("second")));
        CHECK(first->replace(make_peer_info("third")));
        first->add_reference();
        CHECK(take_name(first.get()) == "third");

        const peer_info_ptr late{make_peer_info("fourth"), false};
        CHECK(!first->replace(late.get()));
    }

    TEST_CASE("peer info: is taken itself where nothing has replaced it") {
        const peer_info_ptr first{make_peer_info("first"), false};
        first->add_reference();
        CHECK(take_name(first.get()) == "first");
        const peer_info_ptr late{make_peer_info("second"), false};
        CHECK(!first->replace(late.get()));
    }

    TEST_CASE("peer info: goes with what replaced it if nobody takes it") {
        const peer_info_ptr first{make_peer_info("first"), false};
        CHECK(first->replace(make_peer_info("second")));
    }

    TEST_CASE("peer info: what is taken while it is replaced is the last one that was let in") {
        for (int round = 0; round < 2000; ++round) {
            const peer_info_ptr first{make_peer_info("0"), false};
            first->add_reference();
            std::string last = "0";
            std::jthread sending{[&] {
                for (int next = 1; next < 10; ++next) {
                    peer_info* const newer = make_peer_info(std::to_string(next));
                    if (!first->replace(newer)) {
                        return newer->drop();
                    }
                    last = std::to_string(next);
                }
            }};
            const std::string taken = take_name(first.get());
            sending.join();
            CHECK(taken == last);
        }
    }

} // TEST_SUITE
