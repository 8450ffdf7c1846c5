// SPDX-License-Identifier: MPL-2.0
#include "crypto/curve_box.hpp"
#include "testing/joined_sessions.hpp"
#include "testing/queue_contents.hpp"
#include "testing/tls_sides.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

// A whole conversation of two sessions, from the first connection to the end of the dialling
// socket, repeated: each time the next operation of one of the streams fails, until there is none
// left.

using namespace std::chrono_literals;
using namespace zlink;
using testing::joined_sessions;
using testing::pattern;
using testing::session_harness;
using testing::stream_script;
namespace zmtp = wire::zmtp;

namespace {

using message = std::vector<std::string>;
using messages = std::vector<message>;

/// The options of both sides.
struct sides {
    socket_options dialing = testing::session_options(socket_type::pair);
    socket_options accepting = testing::session_options(socket_type::pair);
    testing::tls_sides tls{}; ///< Null: no encryption.
};

sides of_tls() {
    static const testing::tls_sides tls = testing::make_tls_sides();
    sides made;
    made.tls = tls;
    return made;
}

sides of_plain(bool dialing_serves) {
    sides made;
    socket_options& server = dialing_serves ? made.dialing : made.accepting;
    socket_options& client = dialing_serves ? made.accepting : made.dialing;
    server.mechanism = client.mechanism = security_mechanism::plain;
    server.as_server = true;
    client.plain_username = "joe";
    return made;
}

sides of_curve(bool dialing_serves) {
    static const crypto::curve_keys server_keys = crypto::make_curve_keys();
    static const crypto::curve_keys client_keys = crypto::make_curve_keys();
    sides made;
    socket_options& server = dialing_serves ? made.dialing : made.accepting;
    socket_options& client = dialing_serves ? made.accepting : made.dialing;
    server.mechanism = client.mechanism = security_mechanism::curve;
    server.as_server = true;
    server.curve_secret = server_keys.hidden;
    client.curve_secret = client_keys.hidden;
    client.curve_public = client_keys.open;
    client.curve_server = server_keys.open;
    return made;
}

std::vector<sides> every_mechanism() {
    return {{}, of_plain(false), of_plain(true), of_curve(false), of_curve(true), of_tls()};
}

/// The messages of the dialling side, and of the other. All differ; the last is passed by
/// reference.
const messages questions{{"first"},          {"q1", pattern(300, 1), "q3"},
                         {pattern(3000, 2)}, {""},
                         {"q", ""},          {pattern(9000, 3)}};
const messages answers{{"answer"}, {pattern(700, 4), "a2"}, {pattern(2500, 5)}, {pattern(8500, 6)}};
const message late{"late"};
const message last{"last"};

void send_all(session_harness& by, const messages& all, int& blocks_alive) {
    for (const message& each : all) {
        if (&each == &all.back()) {
            auto* const block = new testing::counted_block(blocks_alive, each.front());
            by.end().out.push_reference(block, block->bytes, 0);
            by.end().finish_message();
            continue;
        }
        for (const std::string& frame : each) {
            by.send(frame, &frame == &each.back() ? 0 : zmtp::flag_more);
        }
    }
}

/// The messages that a socket received, from all its peers. Each must be whole.
messages received(session_harness& by) {
    messages all;
    message one;
    for (const std::string& frame : by.has_pipe() ? by.arrived() : message{}) {
        if (frame == "*") {
            CHECK(one.empty());
            continue;
        }
        const bool has_more = frame.starts_with('+');
        one.push_back(frame.substr(has_more ? 1 : 0));
        if (!has_more) {
            all.push_back(std::exchange(one, {}));
        }
    }
    CHECK(one.empty());
    return all;
}

messages joined(const messages& one, const messages& other) {
    messages all = one;
    all.insert(all.end(), other.begin(), other.end());
    return all;
}

/// Whether `part` is `all` with some messages missing.
bool is_left_of(const messages& part, const messages& all) {
    auto next = all.begin();
    return std::ranges::all_of(part, [&](const message& each) {
        next = std::find(next, all.end(), each);
        return next != all.end() && next++ != all.end();
    });
}

/// The fault, and the operation that it hits.
struct fault {
    bool on_accepting_side = false;
    bool is_fatal = true;
    stream_script script;
};

/// @return Whether there was such an operation.
bool converse(const sides& options, const fault& wrong) {
    int blocks_alive = 0;
    bool has_erred = false;
    {
        joined_sessions both{options.dialing, options.accepting, options.tls.dialing,
                             options.tls.accepting};
        stream_script scripts[2]{{.read_bytes_max = 2000, .write_bytes_max = 1500},
                                 {.read_bytes_max = 2000, .write_bytes_max = 1500}};
        scripts[wrong.on_accepting_side] = wrong.script;
        bool has_come_back = false;
        const auto come_back = [&] {
            if (both.dialing.is_gone() || !both.dialing_stream().is_closed()) {
                return false;
            }
            both.dialing.pass_until([&] { return both.dialing.is_dialing(); });
            both.connect();
            has_come_back = true;
            return true;
        };

        send_all(both.dialing, questions, blocks_alive);
        both.connect(scripts[0], scripts[1]);
        const testing::scripted_stream& faulty =
            wrong.on_accepting_side ? both.accepting_stream() : both.dialing_stream();
        if (both.accepting.has_pipe()) {
            send_all(both.accepting, answers, blocks_alive);
            both.run();
        }
        both.dialing.send("late");
        both.run();
        if (come_back()) {
            REQUIRE(both.accepting.has_pipe());
            send_all(both.accepting, answers, blocks_alive);
            both.run();
        }
        const messages answered = received(both.dialing);
        both.dialing.send("last");
        both.dialing.close_socket();
        both.run();
        const bool has_answered_twice = has_come_back;
        come_back();

        has_erred = faulty.has_erred();
        CHECK(both.dialing.is_gone());
        CHECK(both.accepting.was_told(pipe::event::closed));
        CHECK((!has_come_back || (has_erred && wrong.is_fatal)));
        const messages asked = received(both.accepting);
        const messages all = joined(joined(questions, {late}), {last});
        if (wrong.on_accepting_side && has_erred && wrong.is_fatal) {
            CHECK(is_left_of(asked, all)); // Messages in flight may be lost.
            CHECK((!has_come_back || asked.back() == last));
        } else {
            CHECK(asked == all);
        }
        if (has_answered_twice) {
            REQUIRE(answered.size() >= answers.size());
            const auto second = answered.end() - static_cast<std::ptrdiff_t>(answers.size());
            CHECK(messages(second, answered.end()) == answers);
            CHECK(messages(answered.begin(), second) ==
                  messages(answers.begin(), answers.begin() + (second - answered.begin())));
        } else {
            CHECK(answered == answers);
        }
    }
    CHECK(blocks_alive == 0);
    return has_erred;
}

/// Makes every operation fail in turn. @return  The number of operations.
std::size_t for_each_operation(const sides& options, bool on_accepting_side, bool is_fatal,
                               stream_script script, std::size_t stream_script::*at) {
    script.read_bytes_max = 2000;
    script.write_bytes_max = 1500;
    std::size_t index = 0;
    do {
        CAPTURE(index);
        script.*at = index;
        if (!converse(options, {on_accepting_side, is_fatal, script})) {
            break;
        }
    } while (++index < 10'000);
    return index;
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("faults: a conversation goes on where any one operation does less than it could") {
        for (const sides& options : every_mechanism()) {
            for (const bool on_accepting_side : {false, true}) {
                CAPTURE(static_cast<int>(options.dialing.mechanism));
                CAPTURE(options.dialing.as_server);
                CAPTURE(on_accepting_side);
                CAPTURE(options.tls.dialing == nullptr);
                for (const auto at : {&stream_script::blocks_at, &stream_script::trickles_at}) {
                    CHECK(for_each_operation(options, on_accepting_side, false, {}, at) > 20);
                }
            }
        }
    }

    TEST_CASE("faults: a conversation is taken up again when any one operation fails") {
        for (const sides& options : every_mechanism()) {
            for (const bool on_accepting_side : {false, true}) {
                for (const int error : {ECONNRESET, EPIPE, ETIMEDOUT, 0}) {
                    CAPTURE(static_cast<int>(options.dialing.mechanism));
                    CAPTURE(options.dialing.as_server);
                    CAPTURE(on_accepting_side);
                    CAPTURE(options.tls.dialing == nullptr);
                    CAPTURE(error);
                    CHECK(for_each_operation(options, on_accepting_side, true, {.failure = error},
                                             &stream_script::fails_at) > 20);
                }
            }
        }
    }

    TEST_CASE("faults: a conversation takes place although attempts to connect fail") {
        for (const int error : {ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN,
                                EADDRNOTAVAIL, EMFILE, ENFILE, ENOMEM, ENOBUFS, EINTR, EACCES}) {
            CAPTURE(error);
            joined_sessions both{sides{}.dialing, sides{}.accepting};
            both.dialing.send("waits");
            for (int count = 0; count < 3; ++count) {
                both.dialing.fail_to_reach(static_cast<errc>(error));
                both.dialing.pass_until([&] { return both.dialing.is_dialing(); });
            }
            both.connect();
            CHECK(received(both.accepting) == messages{{"waits"}});
        }
    }
}
