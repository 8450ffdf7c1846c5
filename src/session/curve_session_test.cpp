// SPDX-License-Identifier: MPL-2.0
#include "crypto/curve_box.hpp"
#include "security/handshake.hpp"
#include "testing/bytes.hpp"
#include "testing/curve_far_end.hpp"
#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// CURVE in a whole session. The peer is another handshake, whose bytes the test carries over and
// changes.

using namespace std::chrono_literals;
using namespace zlink;
using namespace zlink::session;
using namespace zlink::security;
using namespace zlink::crypto;
using testing::client_of;
using testing::far_end;
using testing::key_ring;
using testing::on_wire;
using testing::pattern;
using testing::scripted_stream;
using testing::scripted_zap_handler;
using testing::server_of;
using testing::session_harness;
using testing::text;
namespace zmtp = wire::zmtp;

namespace {

using texts = std::vector<std::string>;
using failures = std::vector<handshake_failure>;

failures fault(protocol_fault of) {
    return {{connection_event::handshake_failed_protocol, static_cast<std::int32_t>(of)}};
}

const texts contents{"",
                     "x",
                     pattern(64),
                     pattern(255),
                     pattern(300),
                     pattern(8191),
                     pattern(8192),
                     pattern(40'000),
                     pattern(70'000),
                     pattern(300'000),
                     "end"};

} // namespace

TEST_SUITE("session") {

    TEST_CASE("curve: both roles come to an understanding, and messages pass both ways") {
        const key_ring keys;
        for (const bool is_server : {false, true}) {
            for (const std::size_t bytes : {7, 1000, 65'536, 1'000'000}) {
                CAPTURE(is_server);
                CAPTURE(bytes);
                session_harness one{is_server ? server_of(keys) : client_of(keys)};
                scripted_stream& stream =
                    one.accept({.read_bytes_max = bytes, .write_bytes_max = bytes});
                far_end peer{one, stream, is_server ? client_of(keys) : server_of(keys)};
                peer.converse();
                REQUIRE(peer.is_complete());
                REQUIRE(one.has_pipe());

                std::string said = peer.sealed("one", zmtp::flag_more);
                texts expected{"*", "+one"};
                for (const std::string& each : contents) {
                    said += peer.sealed(each);
                    expected.push_back(each);
                    one.send(each);
                }
                one.send_block(pattern(20'000));
                one.peer_sends(said);
                one.run();
                CHECK(one.arrived() == expected);
                texts sent = contents;
                sent.push_back(pattern(20'000));
                CHECK(peer.received() == sent);
                CHECK(!one.is_gone());
            }
        }
    }

    TEST_CASE("curve: nothing of a message can be read on the wire") {
        const key_ring keys;
        session_harness one{server_of(keys)};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        peer.converse();
        one.send("a message that nobody reads");
        one.run();
        CHECK(stream.written().find("message") == std::string::npos);
        CHECK(peer.received() == texts{"a message that nobody reads"});
    }

    TEST_CASE("curve: heartbeats and subscriptions are sealed too") {
        const key_ring keys;
        session_harness one{server_of(keys)};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        peer.converse();
        one.peer_sends(peer.sealed(std::string("\4PING\0\0abc", 10), zmtp::flag_command));
        CHECK(peer.received() == texts{"!\4PONGabc"});
    }

    TEST_CASE("curve: heartbeats of our own are sealed too, and answers to them are understood") {
        const key_ring keys;
        socket_options beating = server_of(keys);
        beating.heartbeat_interval = 1000;
        session_harness one{beating};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        peer.converse();
        REQUIRE(peer.is_complete());
        for (int count = 0; count < 3; ++count) {
            one.pass(1000ms);
            one.send("between");
            one.run();
            one.peer_sends(peer.sealed("\4PONG", zmtp::flag_command));
        }
        texts received = peer.received();
        CHECK(std::erase(received, std::string("!\4PING\0\0", 8)) == 3);
        CHECK(received == texts{"between", "between", "between"});
        CHECK(!one.is_gone());
    }

    TEST_CASE("curve: a peer that falls silent is noticed") {
        const key_ring keys;
        socket_options beating = server_of(keys);
        beating.heartbeat_interval = 1000;
        session_harness one{beating};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        peer.converse();
        one.pass(2000ms);
        CHECK(one.is_gone());
        CHECK(stream.is_closed());
        CHECK(one.failures().empty());
    }

    TEST_CASE("curve: waits for credit, and goes on where it was") {
        const key_ring keys;
        socket_options options = server_of(keys);
        options.recv_hwm = 3;
        session_harness one{options};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        peer.converse();
        std::string said;
        texts expected{"*"};
        for (unsigned count = 0; count < 40; ++count) {
            const std::string body = pattern(count % 4 == 3 ? 90'000 : count, count);
            said += peer.sealed(body);
            expected.push_back(body);
        }
        one.peer_sends(said);
        for (int round = 0; round < 100; ++round) {
            one.arrived();
            one.run();
        }
        CHECK(one.arrived() == expected);
    }

    TEST_CASE("curve: after a lost connection goes on with the message that was cut off") {
        const key_ring keys;
        session_harness one{client_of(keys)};
        one.dial();
        scripted_stream& first = one.reach();
        far_end peer{one, first, server_of(keys)};
        peer.converse();
        REQUIRE(peer.is_complete());
        first.make_room(2 * curve_sealer::frame_bytes(5) + 10);
        for (const char* const body : {"first", "secon", "third", "forth"}) {
            one.send(body);
        }
        one.run();
        CHECK(peer.received() == texts{"first", "secon"});
        first.peer_resets();
        scripted_stream& second = one.reach();
        far_end again{one, second, server_of(keys)};
        again.converse();
        one.run();
        CHECK(again.received() == texts{"third", "forth"});
    }

    TEST_CASE("curve server: asks ZAP about the client's key") {
        const key_ring keys;
        for (const char* const status : {"200", "300", "400", "500"}) {
            CAPTURE(status);
            socket_options options = server_of(keys);
            options.zap_domain = "global";
            session_harness one{options};
            scripted_zap_handler handler;
            one.ask_of(handler);
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, client_of(keys)};
            peer.converse();
            const texts asked = handler.asked();
            REQUIRE(asked.size() == 8);
            CHECK(asked[6] == "+CURVE");
            CHECK(asked[7] == text(keys.client.open));
            CHECK(!one.has_pipe());
            const std::size_t before = stream.written().size();
            handler.reply(status);
            one.run();
            CHECK(one.has_pipe() == (status == std::string("200")));
            CHECK((stream.written().size() == before) == (status == std::string("300")));
        }
    }

    TEST_CASE("curve server: needs ZAP only where the domain is enforced") {
        const key_ring keys;
        for (const bool has_domain : {false, true}) {
            for (const bool enforces : {false, true}) {
                socket_options options = server_of(keys);
                options.zap_domain = has_domain ? "global" : "";
                options.zap_enforce_domain = enforces;
                session_harness one{options};
                scripted_stream& stream = one.accept();
                far_end peer{one, stream, client_of(keys)};
                peer.converse();
                CHECK(one.has_pipe() == !(has_domain && enforces));
            }
        }
    }

    TEST_CASE("curve: a wrong key ends the handshake") {
        const key_ring keys;
        const key_ring others;
        SUBCASE("the client knows another server") {
            socket_options options = client_of(keys);
            options.curve_server = others.server.open;
            session_harness one{server_of(keys)};
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, options};
            peer.converse();
            CHECK(one.is_gone());
            CHECK(one.failures() == fault(protocol_fault::cryptographic));
        }
        SUBCASE("the client's key is not its own: a bad vouch") {
            socket_options options = client_of(keys);
            options.curve_public = others.client.open;
            session_harness one{server_of(keys)};
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, options};
            peer.converse();
            CHECK(one.is_gone());
            CHECK(one.failures() == fault(protocol_fault::cryptographic));
        }
        SUBCASE("the server is another one") {
            session_harness one{client_of(keys)};
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, server_of(others)};
            peer.converse();
            CHECK(!peer.is_well());
            CHECK(!one.has_pipe());
        }
        SUBCASE("the application's keys are none") {
            socket_options options = client_of(keys);
            options.curve_server = {};
            session_harness one{options};
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, server_of(keys)};
            peer.converse();
            CHECK(one.is_gone());
        }
    }

    TEST_CASE("curve server: ends at once when a command is changed anywhere, cut or padded") {
        const key_ring keys;
        for (const int part : {0, 1}) { // HELLO, INITIATE
            for (std::size_t at = 0; at < 400; at += 3) {
                CAPTURE(part);
                CAPTURE(at);
                session_harness one{server_of(keys)};
                scripted_stream& stream = one.accept();
                far_end peer{one, stream, client_of(keys)};
                peer.say(part);
                std::string said = peer.next();
                const std::size_t header = said.size() > 257 ? 9 : 2;
                const std::size_t version_end = header + 6 + 2;
                const bool is_padding = part == 0 && at >= version_end && at < version_end + 72;
                if (at < header || at >= said.size() || is_padding) {
                    continue;
                }
                said[at] = static_cast<char>(said[at] ^ 0x10);
                one.peer_sends(said);
                CHECK(one.is_gone());
                CHECK(!one.has_pipe());
                CHECK(one.failures().size() == 1);
            }
        }
        for (const std::string_view name : {"\5HELLO", "\x08INITIATE"}) {
            for (const std::size_t bytes : {0, 1, 193, 195, 247, 60'000}) {
                session_harness one{server_of(keys)};
                scripted_stream& stream = one.accept();
                far_end peer{one, stream, client_of(keys)};
                peer.say(name[0] == 5 ? 0 : 1);
                one.peer_sends(
                    on_wire(std::string(name) + std::string(bytes, 'x'), zmtp::flag_command));
                CHECK(one.is_gone());
            }
        }
    }

    TEST_CASE("curve server: ends at once when commands come in the wrong order") {
        const key_ring keys;
        const texts wrong{on_wire("\7MESSAGE" + std::string(100, 'x')),
                          on_wire("\7MESSAGE" + std::string(100, 'x'), zmtp::flag_command),
                          on_wire("\5READY" + std::string(100, 'x'), zmtp::flag_command),
                          on_wire("\7WELCOME" + std::string(160, 'x'), zmtp::flag_command),
                          on_wire("\x08INITIATE" + std::string(300, 'x'), zmtp::flag_command)};
        for (const std::string& said : wrong) {
            session_harness one{server_of(keys)};
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, client_of(keys)};
            one.peer_sends(said);
            CHECK(one.is_gone());
            CHECK(one.failures() == fault(protocol_fault::unexpected_command));
        }
        session_harness one{server_of(keys)};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        const std::string hello = peer.next();
        one.peer_sends(hello + hello);
        CHECK(one.is_gone());
    }

    TEST_CASE("curve: a message that is replayed, changed or in clear ends the session") {
        const key_ring keys;
        for (int fault_of = 0; fault_of < 6; ++fault_of) {
            CAPTURE(fault_of);
            session_harness one{server_of(keys)};
            scripted_stream& stream = one.accept();
            far_end peer{one, stream, client_of(keys)};
            peer.converse();
            const std::string good = peer.sealed("good");
            std::string large = peer.sealed(pattern(100'000));
            large.back() = static_cast<char>(large.back() ^ 1);
            const std::string bad[] = {good,
                                       on_wire("in clear"),
                                       on_wire("\7MESSAGE" + std::string(25, 'x')),
                                       on_wire("\7MESSAGE" + std::string(24, 'x')),
                                       on_wire(""),
                                       large};
            one.peer_sends(good + bad[fault_of]);
            CHECK(one.is_gone());
            CHECK(one.arrived() == texts{"*", "good"});
        }
    }

    TEST_CASE("curve: a message above the limit ends the session before it is there") {
        const key_ring keys;
        socket_options options = server_of(keys);
        options.message_bytes_max = 100;
        session_harness one{options};
        scripted_stream& stream = one.accept();
        far_end peer{one, stream, client_of(keys)};
        peer.converse();
        one.peer_sends(peer.sealed(pattern(100)));
        CHECK(one.arrived() == texts{"*", pattern(100)});
        one.peer_sends(peer.sealed(pattern(101)).substr(0, 9));
        CHECK(one.is_gone());
    }

} // TEST_SUITE
