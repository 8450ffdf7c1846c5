// SPDX-License-Identifier: MPL-2.0
//
// A message during which connections end: the session resends or drops it.
#include "session/session.hpp"
#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>

using namespace zlink;
using testing::hex;
using testing::on_wire;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;
namespace zmtp = wire::zmtp;

namespace {

std::string wire_text(std::string_view spelled) {
    return std::string(testing::text(hex(spelled)));
}

const std::string opening = wire_text("ff 00*7 01 7f 03 01 'NULL' 00*16 00 00*31 "
                                      "04 1a 05 'READY' 0b 'Socket-Type' 00000004 'PAIR'");

/// The message that the peer refuses.
const std::string refused =
    on_wire("one", zmtp::flag_more) + on_wire(pattern(300), zmtp::flag_more) + on_wire("three");

void send_refused(session_harness& by, bool is_large) {
    by.send("one", zmtp::flag_more);
    is_large ? by.send_block(pattern(300), zmtp::flag_more)
             : by.send(pattern(300), zmtp::flag_more);
    by.send("three");
}

/// Connects to a peer that ends the connection after `bytes` bytes behind our opening.
std::string visit(session_harness& by, std::size_t bytes) {
    scripted_stream& stream = by.reach({.room_bytes = opening.size() + bytes});
    by.peer_sends(opening);
    stream.peer_resets();
    by.run();
    CHECK(stream.is_closed());
    return stream.written();
}

std::size_t dropped_bytes(const session_harness& by) {
    std::size_t bytes = 0;
    for (const auto& [what, value] : by.events()) {
        bytes += what == connection_event::message_dropped ? static_cast<std::size_t>(value) : 0;
    }
    return bytes;
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("session: drops the message that two connections ended under, at any bytes") {
        for (const bool is_large : {false, true}) {
            for (std::size_t bytes = 1; bytes < refused.size(); bytes += 9) {
                for (const std::size_t again : {std::size_t{1}, bytes, refused.size() - 1}) {
                    CAPTURE(is_large);
                    CAPTURE(bytes);
                    CAPTURE(again);
                    session_harness one;
                    one.dial();
                    send_refused(one, is_large);
                    one.send("after");
                    CHECK(visit(one, bytes) == opening + refused.substr(0, bytes));
                    CHECK(visit(one, again) == opening + refused.substr(0, again));

                    scripted_stream& third = one.reach();
                    one.peer_sends(opening);
                    one.send("end");
                    one.run();
                    CHECK(third.written() == opening + on_wire("after") + on_wire("end"));
                    CHECK(dropped_bytes(one) == refused.size());
                    CHECK(one.credit() == 100);
                }
            }
        }
    }

    TEST_CASE("session: keeps the message that connections ended before, or one ended under") {
        session_harness one;
        one.dial();
        one.send("before");
        send_refused(one, false);
        const std::string before = on_wire("before");
        CHECK(visit(one, 0) == opening);
        CHECK(visit(one, 0) == opening);
        CHECK(visit(one, before.size()) == opening + before);
        CHECK(visit(one, 0) == opening);
        CHECK(visit(one, 5) == opening + refused.substr(0, 5));
        CHECK(visit(one, 0) == opening);

        scripted_stream& last = one.reach();
        one.peer_sends(opening);
        CHECK(last.written() == opening + refused);
        CHECK(dropped_bytes(one) == 0);
    }

    TEST_CASE("session: drops each of several messages by itself") {
        session_harness one;
        one.dial();
        for (int count = 0; count < 3; ++count) {
            send_refused(one, false);
        }
        for (int count = 0; count < 6; ++count) {
            CHECK(visit(one, 5) == opening + refused.substr(0, 5));
        }
        CHECK(dropped_bytes(one) == 3 * refused.size());
        scripted_stream& last = one.reach();
        one.peer_sends(opening);
        CHECK(last.written() == opening);
        CHECK(one.credit() == 100);
    }

    TEST_CASE("session: that lingers ends once what is left was dropped") {
        session_harness one;
        one.dial();
        send_refused(one, false);
        one.close_socket();
        CHECK(visit(one, 5) == opening + refused.substr(0, 5));
        CHECK(!one.is_gone());
        CHECK(visit(one, 5) == opening + refused.substr(0, 5));
        CHECK(one.is_gone());
    }

} // TEST_SUITE
