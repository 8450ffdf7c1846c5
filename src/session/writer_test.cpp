// SPDX-License-Identifier: MPL-2.0
#include "session/writer.hpp"

#include "base/limits.hpp"
#include "codec/frame_encoder.hpp"
#include "testing/direction_harness.hpp"
#include "testing/queue_contents.hpp"

#include <algorithm>
#include <cerrno>
#include <doctest/doctest.h>
#include <string>
#include <string_view>

using namespace zlink;
using session::writer;
using testing::direction_harness;
using testing::on_wire;
using outcome = writer::outcome;

namespace {

class sending final {
public:
    explicit sending(const testing::stream_script& script = {}) : around(script) {}

    void send(std::string_view body) {
        testing::push(around.socket().out, body);
        around.socket().finish_message();
    }
    /// Queues the connection's own bytes.
    void say(std::string_view data) {
        for (const char each : data) {
            tested.own().push_back(static_cast<std::byte>(each));
        }
    }
    outcome write(bool is_last_word = false) { return tested.write(around.on(), is_last_word); }
    const std::string& written() { return around.peer().written(); }

    direction_harness around;
    writer tested;
};

} // namespace

TEST_SUITE("session") {

    TEST_CASE("writer: before messages may pass it writes the connection's own bytes only") {
        sending one;
        one.send("message");
        one.say("greeting");

        CHECK(one.tested.write(one.around.before_traffic(), false) == outcome::waits);
        CHECK(one.written() == "greeting");
        CHECK(!one.tested.has_own());

        CHECK(one.write() == outcome::drained);
        CHECK(one.written() == "greeting" + on_wire("message"));
    }

    TEST_CASE("writer: its own bytes wait for the end of a frame that has begun") {
        sending one{{.room_bytes = 4}};
        one.send("message");
        one.send("another");
        CHECK(one.write() == outcome::waits);
        CHECK(one.tested.is_inside_frame(one.around.on()));

        one.say("PING");
        CHECK(one.tested.write_own(one.around.on()) == outcome::drained);
        CHECK(one.tested.has_own());
        one.around.peer().make_room(1000);
        CHECK(one.write() == outcome::drained);
        CHECK(one.written() == on_wire("message") + "PING" + on_wire("another"));
    }

    TEST_CASE("writer: no frame follows the connection's last bytes") {
        sending one;
        one.send("too late");
        one.say("close");
        CHECK(one.write(true) == outcome::own_bytes_written);
        CHECK(one.written() == "close");
    }

    TEST_CASE("writer: commands of its own are bounded while the peer reads none") {
        sending one{{.room_bytes = 0}};
        const std::string body(200, 'p');
        for (int count = 0; count < 1000; ++count) {
            one.tested.append_command(std::as_bytes(std::span{body}));
        }
        CHECK(one.tested.own_bytes() >= limits::unread_answers_bytes_max);
        CHECK(one.tested.own_bytes() < limits::unread_answers_bytes_max + 256);
    }

    TEST_CASE("writer: a peer that takes everything leaves others their turn") {
        sending one{{.write_bytes_max = 100}};
        for (int count = 0; count < 100; ++count) {
            one.send(std::string(100, 'x'));
        }
        CHECK(one.write() == outcome::turn_over);
        CHECK(one.written().size() < 10'200);
        CHECK(one.tested.take_moved());
        CHECK(!one.tested.take_moved());
    }

    TEST_CASE("writer: stops at an object between messages, which is taken once") {
        sending one;
        int alive = 0;
        one.send("before");
        one.around.socket().push_control(new testing::counted_block(alive));
        one.send("behind");

        CHECK(one.write() == outcome::control);
        CHECK(one.written() == on_wire("before"));
        CHECK(one.tested.take_control(one.around.on()) != nullptr);
        CHECK(alive == 0);
        CHECK(one.write() == outcome::drained);
        CHECK(one.written() == on_wire("before") + on_wire("behind"));
    }

    TEST_CASE("writer: what precedes a mark that is awaited is stale") {
        sending one;
        int alive = 0;
        one.around.outgoing().await_mark();
        one.send("stale");
        CHECK(one.write() == outcome::waits);
        one.around.socket().push_control(new testing::counted_block(alive));
        one.send("fresh");

        CHECK(one.write() == outcome::drained);
        CHECK(one.written() == on_wire("fresh"));
        CHECK(!one.around.outgoing().awaits_mark());
    }

    TEST_CASE("writer: tells a failure, and writes no more") {
        sending one{{.fails_at = 0, .failure = EPIPE}};
        one.send("message");
        CHECK(one.write() == outcome::failed);
        CHECK(one.tested.error() == static_cast<errc>(EPIPE));
        CHECK(!one.tested.is_writable());
        CHECK(one.write() == outcome::waits);
        CHECK(one.around.peer().operation_count() == 1);
    }

    TEST_CASE("writer: parks when there is nothing to send, and is woken by what comes") {
        sending one;
        CHECK(one.write() == outcome::drained);
        bool needs_fence = false;
        CHECK(!one.tested.park(one.around.on(), needs_fence));
        CHECK(one.around.outgoing().is_parked());
        CHECK(!one.tested.wake(one.around.on())); // There is nothing to write.

        one.send("message");
        one.tested.on_woken(one.around.on());
        CHECK(!one.around.outgoing().is_parked());
        CHECK(one.write() == outcome::drained);
        CHECK(one.written() == on_wire("message"));
    }

    TEST_CASE("writer: does not park when something has come meanwhile") {
        sending one;
        CHECK(one.write() == outcome::drained);
        one.send("message");
        CHECK(one.tested.has_news(one.around.outgoing()));
        bool needs_fence = false;
        CHECK(one.tested.park(one.around.on(), needs_fence));
        CHECK(!one.around.outgoing().is_parked());
        CHECK(one.write() == outcome::drained);
    }

    TEST_CASE("writer: knows of a frame that was encoded and sent in part") {
        sending one{{.room_bytes = 3}};
        one.tested.start_frames(std::make_unique<codec::frame_encoder>(codec::frame_encoder::needs{
                                    .frames = codec::frame_encoder::framing::v1}),
                                false);
        one.send("message");
        CHECK(one.write() == outcome::waits);
        CHECK(one.tested.holds_encoded());
        CHECK(one.tested.is_inside_frame(one.around.on()));
        CHECK(one.tested.abandon(one.around.on()));
    }

    TEST_CASE("writer: loses no byte, whichever operation blocks or trickles") {
        const std::string expected = on_wire("first") + on_wire("second") + on_wire("third");
        for (std::size_t index = 0; index < 6; ++index) {
            for (const bool trickles : {false, true}) {
                CAPTURE(index);
                CAPTURE(trickles);
                testing::stream_script script;
                (trickles ? script.trickles_at : script.blocks_at) = index;
                script.write_bytes_max = 7;
                sending one{script};
                one.send("first");
                one.send("second");
                one.send("third");
                for (int count = 0; count < 10 && one.write() != outcome::drained; ++count) {
                    one.around.run();
                }
                CHECK(one.written() == expected);
            }
        }
    }
}
