// SPDX-License-Identifier: MPL-2.0
#include "security/plain_mechanism.hpp"

#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"
#include "testing/session_harness.hpp"
#include "wire/zmtp/greeting.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

// PLAIN and ZAP in a whole session: the test is the peer and the ZAP handler.

using namespace zlink;
using security::handshake_failure;
using testing::hex;
using testing::on_wire;
using testing::scripted_stream;
using testing::scripted_zap_handler;
using testing::session_harness;
namespace zmtp = wire::zmtp;

namespace {

using texts = std::vector<std::string>;
using failures = std::vector<handshake_failure>;

std::string wire_text(std::string_view spelled) {
    return std::string(testing::text(hex(spelled)));
}

std::string command(std::string_view spelled) {
    return on_wire(wire_text(spelled), zmtp::flag_command);
}

std::string greeting(std::string_view mechanism) {
    std::string name(mechanism);
    name.resize(zmtp::mechanism_bytes_max);
    return wire_text("ff 00*7 01 7f 03 01") + name + wire_text("00 00*31");
}

const std::string hello = command("05 'HELLO' 03 'joe' 06 'secret'");
const std::string welcome = command("07 'WELCOME'");
const std::string metadata = "0b 'Socket-Type' 00000004 'PAIR'";
const std::string initiate = command("08 'INITIATE'" + metadata);
const std::string ready = command("05 'READY'" + metadata);

std::string refusal(std::string_view status) {
    return command("05 'ERROR' 03 '" + std::string(status) + "'");
}

socket_options server() {
    socket_options made = testing::session_options(socket_type::pair);
    made.mechanism = security_mechanism::plain;
    made.as_server = true;
    made.zap_domain = "global";
    return made;
}

socket_options client() {
    socket_options made = testing::session_options(socket_type::pair);
    made.mechanism = security_mechanism::plain;
    made.plain_username = "joe";
    made.plain_password.assign("secret");
    return made;
}

/// NULL, with a ZAP domain.
socket_options open_door() {
    socket_options made = testing::session_options(socket_type::pair);
    made.zap_domain = "global";
    return made;
}

handshake_failure fault(protocol_fault of) {
    return {connection_event::handshake_failed_protocol, static_cast<std::int32_t>(of)};
}
handshake_failure refused(int status) {
    return {connection_event::handshake_failed_auth, status};
}
handshake_failure no_detail(int error) {
    return {connection_event::handshake_failed_no_detail, error};
}

std::string property(const pipe::peer_info& of, std::string_view name) {
    return std::string{of.properties.find(name).value_or("none")};
}

} // namespace

TEST_SUITE("session") {

    TEST_CASE("plain server: asks ZAP, says WELCOME, then READY, then gives a pipe") {
        session_harness one{server()};
        scripted_zap_handler handler;
        one.ask_of(handler);
        scripted_stream& stream = one.accept();
        one.peer_sends(greeting("PLAIN") + hello);
        CHECK(stream.written() == greeting("PLAIN"));
        CHECK(handler.asked() ==
              texts{"+", "+1.0", "+1", "+global", "+", "+", "+PLAIN", "+joe", "secret"});
        one.run();
        handler.reply("200", "user", wire_text("01 'a' 00000001 'b'"));
        one.run();
        CHECK(stream.written() == greeting("PLAIN") + welcome);
        CHECK(!one.has_pipe());

        one.peer_sends(initiate + on_wire("hello"));

        REQUIRE(one.has_pipe());
        const auto peer = one.announced();
        CHECK(property(*peer, "User-Id") == "user");
        CHECK(property(*peer, "a") == "b");
        CHECK(property(*peer, "Socket-Type") == "PAIR");
        CHECK(one.arrived() == texts{"*", "hello"});
        CHECK(stream.written() == greeting("PLAIN") + welcome + ready);
        CHECK(one.failures().empty());
    }

    TEST_CASE("plain server: takes a peer that speaks byte by byte") {
        session_harness one{server()};
        scripted_zap_handler handler;
        one.ask_of(handler);
        one.accept();
        for (const char byte : greeting("PLAIN") + hello) {
            one.peer_sends({&byte, 1});
        }
        handler.reply("200");
        one.run();
        for (const char byte : initiate) {
            one.peer_sends({&byte, 1});
        }
        CHECK(one.has_pipe());
    }

    TEST_CASE("plain server: tells a peer that it is refused, unless the peer may retry") {
        for (const char* const status : {"300", "400", "500"}) {
            CAPTURE(status);
            session_harness one{server()};
            scripted_zap_handler handler;
            one.ask_of(handler);
            scripted_stream& stream = one.accept();
            one.peer_sends(greeting("PLAIN") + hello);
            handler.reply(status, "user");
            one.run();
            const std::string said = status == std::string("300") ? "" : refusal(status);
            CHECK(stream.written() == greeting("PLAIN") + said);
            CHECK(stream.is_closed());
            CHECK(one.is_gone());
            CHECK(!one.has_pipe());
            CHECK(one.failures() == failures{refused(std::stoi(status))});
        }
    }

    TEST_CASE("plain server: accepts no peer when ZAP's reply is malformed") {
        const texts good{"", "1.0", "1", "200", "OK", "user", ""};
        const struct {
            std::size_t index;
            std::string frame;
            protocol_fault of;
        } wrong[] = {
            {0, "x", protocol_fault::zap_unspecified},
            {1, "1.1", protocol_fault::zap_bad_version},
            {2, "7", protocol_fault::zap_bad_request_id},
            {3, "999", protocol_fault::zap_invalid_status_code},
            {6, "x", protocol_fault::zap_invalid_metadata},
        };
        for (const auto& each : wrong) {
            CAPTURE(each.index);
            session_harness one{server()};
            scripted_zap_handler handler;
            one.ask_of(handler);
            one.accept();
            one.peer_sends(greeting("PLAIN") + hello);
            texts frames = good;
            frames[each.index] = each.frame;
            handler.reply(frames);
            one.run();
            CHECK(one.is_gone());
            CHECK(one.failures() == failures{fault(each.of)});
        }
        for (const std::size_t count : {1, 6, 8, 100}) {
            CAPTURE(count);
            session_harness one{server()};
            scripted_zap_handler handler;
            one.ask_of(handler);
            one.accept();
            one.peer_sends(greeting("PLAIN") + hello);
            texts frames = good;
            frames.resize(count);
            handler.reply(frames);
            one.run();
            CHECK(one.is_gone());
            CHECK(one.failures() == failures{fault(protocol_fault::zap_malformed_reply)});
        }
    }

    TEST_CASE("plain server: accepts no peer without a ZAP handler, or when it leaves") {
        SUBCASE("there is none") {
            session_harness one{server()};
            scripted_stream& stream = one.accept();
            one.peer_sends(greeting("PLAIN") + hello);
            CHECK(one.is_gone());
            CHECK(stream.written() == greeting("PLAIN"));
            CHECK(one.failures() == failures{no_detail(EFAULT)});
        }
        SUBCASE("it leaves") {
            session_harness one{server()};
            scripted_zap_handler handler;
            one.ask_of(handler);
            one.accept();
            one.peer_sends(greeting("PLAIN") + hello);
            CHECK(!one.is_gone());
            handler.leave();
            one.run();
            CHECK(one.is_gone());
            CHECK(one.failures() == failures{no_detail(EFAULT)});
        }
        SUBCASE("it leaves right after it answered") {
            session_harness one{server()};
            scripted_zap_handler handler;
            one.ask_of(handler);
            one.accept();
            one.peer_sends(greeting("PLAIN") + hello);
            handler.reply("200");
            handler.leave();
            one.run();
            one.peer_sends(initiate);
            CHECK(one.has_pipe());
        }
    }

    TEST_CASE("null: a domain accepts every peer without a ZAP handler, and none after one") {
        for (const bool had_handler : {false, true}) {
            CAPTURE(had_handler);
            socket_options options = testing::session_options(socket_type::pair);
            options.zap_domain = "global";
            session_harness one{options};
            if (had_handler) {
                one.lose_zap_handler();
            }
            one.accept();
            one.peer_sends(greeting("NULL") + ready);
            CHECK(one.has_pipe() == !had_handler);
            CHECK(one.is_gone() == had_handler);
            CHECK(one.failures() == (had_handler ? failures{no_detail(EFAULT)} : failures{}));
        }
    }

    TEST_CASE("plain server: does not mind that the peer goes while ZAP thinks") {
        session_harness one{server()};
        scripted_zap_handler handler;
        one.ask_of(handler);
        scripted_stream& stream = one.accept();
        one.peer_sends(greeting("PLAIN") + hello);
        stream.peer_ends();
        one.run();
        CHECK(one.is_gone());
        handler.reply("200");
        one.run();
        CHECK(!one.has_pipe());
    }

    TEST_CASE("plain server: ends at once when commands come in the wrong order, or are wrong") {
        const struct {
            std::string said;
            protocol_fault of;
        } wrong[] = {
            {initiate, protocol_fault::unexpected_command},
            {ready, protocol_fault::unexpected_command},
            {welcome, protocol_fault::unexpected_command},
            {command("04 'PING' 0000"), protocol_fault::unexpected_command},
            {on_wire("message"), protocol_fault::malformed_command},
            {on_wire("\5READY"), protocol_fault::unexpected_command},
            {hello + hello, protocol_fault::unexpected_command},
            {hello + initiate, protocol_fault::unexpected_command},
            {command("05 'HELLO'"), protocol_fault::malformed_hello},
            {command("05 'HELLO' 03 'joe'"), protocol_fault::malformed_hello},
            {command("05 'HELLO' 03 'joe' 00 00"), protocol_fault::malformed_hello},
            {command("05 'HELLO' 03 'joe' ff 'x'"), protocol_fault::malformed_hello},
            {command("09 'HELLO'"), protocol_fault::malformed_command},
            {wire_text("06 7fffffffffffffff"), protocol_fault::malformed_command},
        };
        for (const auto& each : wrong) {
            CAPTURE(each.said);
            session_harness one{server()};
            scripted_zap_handler handler;
            one.ask_of(handler);
            one.accept();
            one.peer_sends(greeting("PLAIN") + each.said);
            CHECK(one.is_gone());
            CHECK(!one.has_pipe());
            CHECK(one.failures() == failures{fault(each.of)});
        }
    }

    TEST_CASE("plain client: says HELLO, then INITIATE, and waits for READY") {
        session_harness one{client()};
        scripted_stream& stream = one.accept();
        one.peer_sends(greeting("PLAIN"));
        CHECK(stream.written() == greeting("PLAIN") + hello);
        one.peer_sends(welcome);
        CHECK(stream.written() == greeting("PLAIN") + hello + initiate);
        CHECK(!one.has_pipe());
        one.peer_sends(ready + on_wire("hello"));
        CHECK(one.arrived() == texts{"*", "hello"});
    }

    TEST_CASE("plain client: ends at once when commands come in the wrong order, or are wrong") {
        const struct {
            std::string said;
            protocol_fault of;
        } wrong[] = {
            {ready, protocol_fault::unexpected_command},
            {hello, protocol_fault::unexpected_command},
            {welcome + welcome, protocol_fault::unexpected_command},
            {command("07 'WELCOME' 00"), protocol_fault::malformed_welcome},
            {welcome + command("05 'READY' 01"), protocol_fault::invalid_metadata},
            {command("05 'ERROR' 04 '400'"), protocol_fault::malformed_error},
        };
        for (const auto& each : wrong) {
            CAPTURE(each.said);
            session_harness one{client()};
            one.accept();
            one.peer_sends(greeting("PLAIN") + each.said);
            CHECK(one.is_gone());
            CHECK(one.failures() == failures{fault(each.of)});
        }
    }

    TEST_CASE("plain client: does not come again after an ERROR") {
        for (const std::string& said : {refusal("400"), welcome + refusal("400")}) {
            session_harness one{client()};
            one.dial();
            one.reach();
            one.peer_sends(greeting("PLAIN") + said);
            CHECK(one.is_gone());
            CHECK(one.was_told(pipe::event::closed));
            CHECK(one.failures() == failures{refused(400)});
        }
    }

    TEST_CASE("plain client: comes again when the server just goes") {
        session_harness one{client()};
        one.dial();
        scripted_stream& stream = one.reach();
        one.peer_sends(greeting("PLAIN"));
        stream.peer_ends();
        CHECK(one.is_dialing());
        CHECK(!one.is_gone());
    }

    TEST_CASE("a peer with another mechanism is refused") {
        for (const socket_options& options : {server(), client(), open_door()}) {
            for (const char* const mechanism : {"NULL", "PLAIN", "CURVE", "GSSAPI", "", "plain"}) {
                CAPTURE(mechanism);
                session_harness one{options};
                one.accept();
                if (mechanism == mechanism_name(options.mechanism)) {
                    continue;
                }
                one.peer_sends(greeting(mechanism));
                CHECK(one.is_gone());
                CHECK(one.failures() == failures{fault(protocol_fault::mechanism_mismatch)});
            }
        }
    }

    TEST_CASE("null: says READY when ZAP lets the peer in, whose READY may have come before") {
        session_harness one{open_door()};
        scripted_zap_handler handler;
        one.ask_of(handler);
        scripted_stream& stream = one.accept();
        one.peer_sends(greeting("NULL") + ready);
        CHECK(stream.written() == greeting("NULL"));
        CHECK(handler.asked() == texts{"+", "+1.0", "+1", "+global", "+", "+", "NULL"});
        CHECK(!one.has_pipe());
        handler.reply("200", "anybody");
        one.run();
        CHECK(stream.written() == greeting("NULL") + ready);
        REQUIRE(one.has_pipe());
        CHECK(property(*one.announced(), "User-Id") == "anybody");
        one.peer_sends(on_wire("hello"));
        CHECK(one.arrived() == texts{"*", "hello"});
    }

    TEST_CASE("null: tells a peer that it is refused") {
        session_harness one{open_door()};
        scripted_zap_handler handler;
        one.ask_of(handler);
        scripted_stream& stream = one.accept();
        one.peer_sends(greeting("NULL"));
        handler.reply("400");
        one.run();
        CHECK(stream.written() == greeting("NULL") + refusal("400"));
        CHECK(one.is_gone());
    }

    TEST_CASE("null: needs no ZAP handler unless the domain is enforced") {
        for (const bool enforces : {false, true}) {
            socket_options options = open_door();
            options.zap_enforce_domain = enforces;
            session_harness one{options};
            one.accept();
            one.peer_sends(greeting("NULL") + ready);
            CHECK(one.has_pipe() == !enforces);
            CHECK(one.is_gone() == enforces);
        }
    }

    TEST_CASE("a peer cannot say of itself who its user is, or where it is") {
        session_harness one{testing::session_options(socket_type::pair)};
        one.accept();
        one.peer_sends(greeting("NULL") +
                       command("05 'READY' 07 'User-Id' 00000004 'root' 0c 'Peer-Address' 00000001 "
                               "'x' 03 'X-a' 00000001 'b'" +
                               metadata));
        REQUIRE(one.has_pipe());
        const auto peer = one.announced();
        CHECK(property(*peer, "User-Id") == "none");
        CHECK(property(*peer, "Peer-Address") == "none");
        CHECK(property(*peer, "X-a") == "b");
    }

} // TEST_SUITE
