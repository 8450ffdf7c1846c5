// SPDX-License-Identifier: MPL-2.0
#include "session/reader.hpp"

#include "base/limits.hpp"
#include "testing/direction_harness.hpp"
#include "testing/queue_contents.hpp"
#include "wire/zmtp/frame.hpp"

#include <cerrno>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace zlink;
using session::reader;
using session::reading;
using testing::direction_harness;
using testing::on_wire;
using testing::take_all;
using outcome = reader::outcome;
using texts = std::vector<std::string>;

namespace {

struct no_commands final : codec::command_sink {
    verdict on_command(std::span<const std::byte>) noexcept override { return verdict::fail; }
};

/// Accepts so many batches.
struct batches final : session::batch_sink {
    explicit batches(int most = 1'000'000) : wanted(most) {}

    bool on_batch(std::size_t bytes) override {
        total_bytes += bytes;
        return --wanted > 0;
    }

    int wanted;
    std::size_t total_bytes = 0;
};

class receiving final {
public:
    explicit receiving(const testing::stream_script& script = {}, std::uint64_t messages_max = 100)
        : around(script, messages_max),
          tested(around.end(), {.commands = &commands_,
                                .body_bytes_max = wire::zmtp::body_bytes_limit,
                                .unfinished_bytes_max = UINT64_MAX}) {}

    reader::turn read() { return tested.read(around.on(), sink); }
    texts arrived() { return take_all(around.socket().in); }

private:
    no_commands commands_;

public:
    direction_harness around;
    reader tested;
    batches sink;
};

} // namespace

TEST_SUITE("session") {

    TEST_CASE("reader: shows the socket whole messages, and waits for more") {
        receiving one;
        one.around.peer().peer_sends(on_wire("a") + on_wire("b") + on_wire("cut off").substr(0, 4));

        CHECK(one.read().came_to == outcome::waits);
        CHECK(one.arrived() == texts{"a", "b"});
        CHECK(!one.tested.is_idle());
        CHECK(one.around.peer().read_waits() == "w");

        one.around.peer().peer_sends(on_wire("cut off").substr(4));
        CHECK(one.around.run() == 1);
        CHECK(one.read().came_to == outcome::waits);
        CHECK(one.arrived() == texts{"cut off"});
        CHECK(one.tested.is_idle());
    }

    TEST_CASE("reader: takes in what came with the handshake, behind what the socket is told") {
        receiving one;
        const std::string first = on_wire("first");
        const std::string behind = on_wire("behind");
        CHECK(one.tested.begin(std::as_bytes(std::span{first}), std::as_bytes(std::span{behind})));
        CHECK(one.arrived() == texts{"first", "behind"});
    }

    TEST_CASE("reader: a peer that sends without end leaves others their turn") {
        receiving one{{.read_bytes_max = 64 * 1024}, 0};
        const std::string body(60'000, 'x');
        for (int count = 0; count < 40; ++count) {
            one.around.peer().peer_sends(on_wire(body));
        }
        const std::size_t sent = one.around.peer().unread_bytes();

        CHECK(one.read().came_to == outcome::turn_over);
        const std::size_t taken = sent - one.around.peer().unread_bytes();
        CHECK(taken >= limits::turn_bytes_max);
        CHECK(taken < limits::turn_bytes_max + 2 * limits::scratch_bytes);
        CHECK(one.around.peer().read_waits().empty());
        one.tested.finish_turn(one.around.on(), true);
        CHECK(one.around.peer().read_waits() == "w"); // Not a STREAM's reader: behind others.
    }

    TEST_CASE("reader: a turn that empties a full window is over, though nothing is left to read") {
        for (const std::size_t bytes : {tuning::full_window_bytes_min, std::size_t{60} * 1024}) {
            CAPTURE(bytes);
            receiving one{{}, 0};
            one.around.peer().peer_sends(on_wire(std::string(100'000, 'x')).substr(0, bytes));
            CHECK(one.read().came_to == outcome::turn_over);
            CHECK(one.around.peer().read_waits().empty());
            one.around.peer().peer_sends("x");
            CHECK(one.read().came_to == outcome::waits);
            CHECK(one.around.peer().read_waits() == "w");
        }
    }

    TEST_CASE("reader: control frames count as more than their bytes in a turn") {
        receiving one{{}, 0};
        for (int count = 0; count < 5000; ++count) {
            one.around.peer().peer_sends(on_wire(std::string(98, 'x')));
        }
        for (std::size_t count = 0; count < limits::turn_bytes_max / tuning::control_frame_bytes;
             ++count) {
            one.tested.count_control();
        }
        const std::size_t sent = one.around.peer().unread_bytes();

        CHECK(one.read().came_to == outcome::turn_over);
        CHECK(sent - one.around.peer().unread_bytes() < 3 * limits::scratch_bytes);
    }

    TEST_CASE("reader: stops where the sink wants no more, with what was taken in shown") {
        receiving one{{}, 0};
        one.sink = batches{1};
        for (int count = 0; count < 5000; ++count) {
            one.around.peer().peer_sends(on_wire(std::string(98, 'x')));
        }
        const std::size_t sent = one.around.peer().unread_bytes();

        CHECK(one.read().came_to == outcome::stopped);
        CHECK(one.arrived().size() == one.sink.total_bytes / 100);
        CHECK(one.sink.total_bytes == sent - one.around.peer().unread_bytes());
        CHECK(one.around.peer().unread_bytes() != 0);
    }

    TEST_CASE("reader: tells the end, a failure and what breaks the protocol") {
        {
            receiving one;
            one.around.peer().peer_sends(on_wire("last"));
            one.around.peer().peer_ends();
            CHECK(one.read().came_to == outcome::waits); // A short read: perhaps not all bytes.
            CHECK(one.read().came_to == outcome::ended);
            CHECK(one.arrived() == texts{"last"});
        }
        {
            receiving one{{.fails_at = 0, .failure = ECONNRESET}};
            const reader::turn turn = one.read();
            CHECK(turn.came_to == outcome::failed);
            CHECK(turn.error == static_cast<errc>(ECONNRESET));
        }
        {
            receiving one;
            one.around.peer().peer_sends(on_wire("good") + "\xff");
            const reader::turn turn = one.read();
            CHECK(turn.came_to == outcome::refused);
            CHECK(turn.error == errc::protocol_violation);
            CHECK(one.arrived() == texts{"good"});
        }
    }

    TEST_CASE("reader: parks where the socket has no room, and goes on when it has") {
        receiving one{{.read_bytes_max = 3}, 1};
        one.around.peer().peer_sends(on_wire("a") + on_wire("b"));

        CHECK(one.read().came_to == outcome::waits);
        CHECK(one.tested.is_blocked());
        CHECK(one.around.peer().unread_bytes() == 3);
        CHECK(!one.tested.park(one.around.end()));
        CHECK(one.tested.is_parked());
        CHECK(!one.tested.check_again(one.around.end()));

        CHECK(one.arrived() == texts{"a"});
        CHECK(one.tested.resume());
        CHECK(!one.tested.is_parked());
        CHECK(one.read().came_to == outcome::waits);
        CHECK(one.arrived() == texts{"b"});
    }

    TEST_CASE("reader: checks again before it parks, and once the parked flag is visible") {
        receiving one{{.read_bytes_max = 3}, 1};
        one.around.peer().peer_sends(on_wire("a") + on_wire("b") + on_wire("c"));
        CHECK(one.read().came_to == outcome::waits);
        CHECK(one.arrived() == texts{"a"});
        CHECK(one.tested.has_news());
        CHECK(one.tested.park(one.around.end())); // There is room: no need to park.
        CHECK(!one.tested.is_parked());
        CHECK(one.tested.resume());

        CHECK(one.read().came_to == outcome::waits);
        CHECK(!one.tested.park(one.around.end()));
        CHECK(one.tested.is_parked());
    }

    TEST_CASE("reader: an incomplete message is dropped with its reader") {
        direction_harness around;
        no_commands commands;
        batches sink;
        {
            reader lost{
                around.end(),
                {.commands = &commands, .body_bytes_max = 100, .unfinished_bytes_max = UINT64_MAX}};
            around.peer().peer_sends(on_wire("whole") + on_wire("more", wire::zmtp::flag_more) +
                                     "\1");
            CHECK(lost.read(around.on(), sink).came_to == outcome::waits);
        }
        reader next{
            around.end(),
            {.commands = &commands, .body_bytes_max = 100, .unfinished_bytes_max = UINT64_MAX}};
        around.peer().peer_sends(on_wire("next"));
        CHECK(next.read(around.on(), sink).came_to == outcome::waits);
        CHECK(take_all(around.socket().in) == texts{"whole", "next"});
    }
}
