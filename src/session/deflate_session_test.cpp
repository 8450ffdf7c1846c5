// SPDX-License-Identifier: MPL-2.0
#include "testing/session_harness.hpp"
#include "testing/web_compression.hpp"
#include "testing/web_upgrade.hpp"

#include <cerrno>
#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace zlink;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;
using testing::stream_script;
using testing::web_compressed;

namespace {

using messages = std::vector<std::string>;

const std::string request = testing::upgrade_request(
    "/", "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=11\r\n");
const std::string response = testing::upgrade_response(
    "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
    "client_no_context_takeover; server_max_window_bits=11\r\n");

socket_options deflate_options() {
    socket_options made = testing::session_options(socket_type::stream);
    made.web_deflate = true;
    return made;
}

/// A client's frame, compressed, masked with zeros.
std::string frame(const std::string& message) {
    const std::string payload = web_compressed(message);
    std::byte header[wire::websocket::header_bytes_max];
    const std::size_t bytes = wire::websocket::write_masked_header(
        header, wire::websocket::opcode::binary, payload.size(), {},
        wire::websocket::flag_fin | wire::websocket::flag_compressed);
    return std::string(reinterpret_cast<const char*>(header), bytes) + payload;
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("deflate session: agrees on compression and inflates, however many bytes at a "
              "time") {
        for (const std::size_t bytes : {1, 2, 7, 100'000}) {
            CAPTURE(bytes);
            session_harness one{deflate_options(), {}, scheme::ws};
            scripted_stream& stream =
                one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
            one.peer_sends(request + frame("hello") + "\x89\x80\0\0\0\0"s + frame(pattern(5000)));
            REQUIRE(one.end().deflation.has_value());
            CHECK(one.end().deflation->window_bits == 11);
            CHECK(!one.end().deflation->keeps_context);
            CHECK(one.arrived() == messages{"*", "hello", pattern(5000)});
            one.send("world");
            one.run();
            CHECK(stream.written() == response + "\x8a\0\x82\5world"s);
        }
    }

    TEST_CASE("deflate session: a message that takes several turns to inflate arrives, and those "
              "behind it") {
        session_harness one{deflate_options(), {}, scheme::ws};
        one.accept();
        const std::string large(7'000'000, 'x');
        one.peer_sends(request + frame(large) + frame("between") + frame(large) + frame("last"));
        CHECK(one.arrived() == messages{"*", large, "between", large, "last"});
    }

    TEST_CASE("deflate session: what there is no room for waits, and is inflated when there is") {
        socket_options options = deflate_options();
        options.recv_hwm = 2;
        session_harness one{options, {}, scheme::ws};
        one.accept();
        std::string sent = request;
        messages expected{"*"};
        for (int number = 0; number < 20; ++number) {
            const std::string message(10'000, static_cast<char>('a' + number));
            sent += frame(message);
            expected.push_back(message);
        }
        one.peer_sends(sent);
        for (int count = 0; count < 20; ++count) {
            one.arrived();
            one.run();
        }
        CHECK(one.arrived() == expected);
    }

    TEST_CASE("deflate session: a peer whose data is corrupt or endless is told why, and ended if "
              "it stays") {
        struct broken {
            std::string sent;
            std::string close;
            std::string reason;
        };
        for (const broken& each :
             {broken{frame(std::string(100'000, 'x')), "\x88\2\x03\xf1", "1009 message too large"},
              {"\xc2\x81\0\0\0\0\7"s, "\x88\2\x03\xef", "1007 compressed data is corrupt"}}) {
            socket_options options = deflate_options();
            options.message_bytes_max = 1000;
            session_harness one{options, {}, scheme::ws};
            scripted_stream& stream = one.accept();
            one.peer_sends(request + each.sent + frame("late"));
            CHECK(stream.written() == response + each.close);
            CHECK(stream.has_ended_writing());
            one.pass(4999ms);
            CHECK(!stream.is_closed());
            one.pass(1ms);
            CHECK(stream.is_closed());
            CHECK(one.is_gone());
            one.announced(); // The event that the peer has come.
            CHECK(one.announced()->properties.find(pipe::reason_property) == each.reason);
        }
    }

    TEST_CASE("deflate session: ends as others do when any one operation fails") {
        for (std::size_t index = 0; index < 40; ++index) {
            CAPTURE(index);
            session_harness one{deflate_options(), {}, scheme::ws};
            const scripted_stream& stream =
                one.accept({.read_bytes_max = 50, .fails_at = index, .failure = ECONNRESET});
            one.peer_sends(request + frame(pattern(1000)) + frame("last"));
            if (stream.has_erred()) {
                CHECK(one.is_gone());
            } else {
                CHECK(one.arrived() == messages{"*", pattern(1000), "last"});
            }
        }
    }

} // TEST_SUITE
