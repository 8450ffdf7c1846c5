// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/command.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace zlink::wire::zmtp;
using zlink::errc;
using zlink::result;
using zlink::socket_type;
using zlink::testing::bytes_of;
using zlink::testing::hex;
using zlink::testing::text;

namespace {

using properties = std::vector<std::pair<std::string, std::string>>;

/// Reads metadata into pairs; `outcome` is what decode_metadata returned.
properties properties_of(const std::vector<std::byte>& metadata, result<void>& outcome) {
    properties found;
    outcome = decode_metadata(metadata, [&](const property_view& property) {
        found.emplace_back(property.name, text(property.value));
    });
    return found;
}

} // namespace

TEST_SUITE("wire/zmtp") {

    TEST_CASE("command: is split into name and data") {
        const auto body = hex("05 'READY' 'data'");
        const result<command_view> command = decode_command(body);
        REQUIRE(command);
        CHECK(command->name == "READY");
        CHECK(text(command->data) == "data");
    }

    TEST_CASE("command: may have no data") {
        const auto body = hex("07 'WELCOME'");
        const result<command_view> command = decode_command(body);
        REQUIRE(command);
        CHECK(command->name == "WELCOME");
        CHECK(command->data.empty());
    }

    TEST_CASE("command: is refused if it is shorter than its name says") {
        CHECK(decode_command({}).error() == errc::protocol_violation);
        CHECK(decode_command(hex("05 'READ'")).error() == errc::protocol_violation);
        CHECK(decode_command(hex("01")).error() == errc::protocol_violation);
        CHECK(decode_command(hex("ff 'a'*254")).error() == errc::protocol_violation);
        CHECK(decode_command(hex("ff 'a'*255")));
    }

    TEST_CASE("metadata: is read property by property") {
        const auto metadata = hex("0b 'Socket-Type' 00000006 'DEALER' 08 'Identity' 00000000 "
                                  "01 'x' 00000001 00");
        result<void> outcome;
        const properties found = properties_of(metadata, outcome);
        CHECK(outcome);
        CHECK(found == properties{{"Socket-Type", "DEALER"}, {"Identity", ""}, {"x", {'\0'}}});
    }

    TEST_CASE("metadata: may be empty") {
        result<void> outcome;
        CHECK(properties_of({}, outcome).empty());
        CHECK(outcome);
    }

    TEST_CASE("metadata: is refused when it is cut off anywhere but between two properties") {
        const auto metadata = hex("01 'a' 00000002 'bc' 02 'de' 00000000");
        for (std::size_t cut = 0; cut < metadata.size(); ++cut) {
            const std::vector<std::byte> part{metadata.begin(),
                                              metadata.begin() + static_cast<std::ptrdiff_t>(cut)};
            result<void> outcome;
            properties_of(part, outcome);
            CHECK(static_cast<bool>(outcome) == (cut == 0 || cut == 8));
        }
    }

    TEST_CASE("metadata: is refused with a garbage tail") {
        for (const char* spelled : {"01 'a' 00000000 00", "01 'a' 00000000 01",
                                    "01 'a' 00000000 ff", "01 'a' 00000000 'garbage'"}) {
            result<void> outcome;
            CHECK(properties_of(hex(spelled), outcome) == properties{{"a", ""}});
            REQUIRE(!outcome);
            CHECK(outcome.error() == errc::protocol_violation);
        }
    }

    TEST_CASE("metadata: is refused with an empty name") {
        result<void> outcome;
        properties_of(hex("00 00000000"), outcome);
        REQUIRE(!outcome);
        CHECK(outcome.error() == errc::protocol_violation);
    }

    TEST_CASE("metadata: is refused if a value claims more than there is, up to 2^32 - 1") {
        for (const char* spelled :
             {"01 'a' 00000001", "01 'a' 00000003 'bc'", "01 'a' 80000000 'bc'",
              "01 'a' ffffffff 'bc'", "01 'a' fffffffe"}) {
            result<void> outcome;
            CHECK(properties_of(hex(spelled), outcome).empty());
            REQUIRE(!outcome);
            CHECK(outcome.error() == errc::protocol_violation);
        }
    }

    TEST_CASE("metadata: may have 256 properties and no more") {
        result<void> outcome;
        std::vector<std::byte> metadata;
        for (int count = 0; count < 256; ++count) {
            append_property(metadata, "a", {});
        }
        CHECK(properties_of(metadata, outcome).size() == 256);
        CHECK(outcome);

        append_property(metadata, "a", {});
        properties_of(metadata, outcome);
        REQUIRE(!outcome);
        CHECK(outcome.error() == errc::message_too_large);
    }

    TEST_CASE("metadata: may have 65536 bytes and no more") {
        std::vector<std::byte> metadata;
        append_property(metadata, "a", std::vector<std::byte>(65536 - 6));
        CHECK(metadata.size() == 65536);
        result<void> outcome;
        CHECK(properties_of(metadata, outcome).size() == 1);
        CHECK(outcome);

        metadata.clear();
        append_property(metadata, "a", std::vector<std::byte>(65537 - 6));
        properties_of(metadata, outcome);
        REQUIRE(!outcome);
        CHECK(outcome.error() == errc::message_too_large);
    }

    TEST_CASE("ready: carries the socket type") {
        CHECK(encode_ready(socket_type::push, std::nullopt) ==
              hex("05 'READY' 0b 'Socket-Type' 00000004 'PUSH'"));
    }

    TEST_CASE("ready: carries the identity, even an empty one") {
        CHECK(encode_ready(socket_type::dealer, bytes_of("")) ==
              hex("05 'READY' 0b 'Socket-Type' 00000006 'DEALER' 08 'Identity' 00000000"));
        CHECK(encode_ready(socket_type::router, bytes_of("me")) ==
              hex("05 'READY' 0b 'Socket-Type' 00000006 'ROUTER' 08 'Identity' 00000002 'me'"));
    }

    TEST_CASE("ready: carries further properties behind those") {
        const property_view extra[] = {{"X-a", bytes_of("1")}, {"X-b", bytes_of("22")}};
        CHECK(encode_ready(socket_type::pair, std::nullopt, extra) ==
              hex("05 'READY' 0b 'Socket-Type' 00000004 'PAIR' 03 'X-a' 00000001 '1' "
                  "03 'X-b' 00000002 '22'"));
    }

    TEST_CASE("peer metadata: states type and identity") {
        const auto metadata = hex("0b 'Socket-Type' 00000006 'ROUTER' 08 'Identity' 00000002 'me' "
                                  "07 'X-other' 00000001 '1'");
        const result<peer_metadata> peer = decode_peer_metadata(metadata, socket_type::req);
        REQUIRE(peer);
        CHECK(peer->type == socket_type::router);
        CHECK(text(peer->identity) == "me");
    }

    TEST_CASE("peer metadata: may lack both") {
        const result<peer_metadata> peer = decode_peer_metadata({}, socket_type::req);
        REQUIRE(peer);
        CHECK(!peer->type);
        CHECK(peer->identity.empty());
    }

    TEST_CASE("peer metadata: compares names exactly") {
        const auto metadata = hex("0b 'socket-type' 00000004 'PULL' 08 'IDENTITY' 00000001 'a'");
        const result<peer_metadata> peer = decode_peer_metadata(metadata, socket_type::req);
        REQUIRE(peer);
        CHECK(!peer->type);
        CHECK(peer->identity.empty());
    }

    TEST_CASE("peer metadata: refuses a socket type that is unknown or does not fit") {
        for (const char* spelled :
             {"0b 'Socket-Type' 00000004 'PULL'", "0b 'Socket-Type' 00000006 'router'",
              "0b 'Socket-Type' 00000000", "0b 'Socket-Type' 00000005 'OTHER'",
              "0b 'Socket-Type' 00000004 'PULL' 0b 'Socket-Type' 00000003 'REP'"}) {
            const auto metadata = hex(spelled);
            const result<peer_metadata> peer = decode_peer_metadata(metadata, socket_type::req);
            REQUIRE(!peer);
            CHECK(peer.error() == errc::invalid_argument);
        }
    }

    TEST_CASE("peer metadata: refuses an identity of more than 255 bytes") {
        const auto longest = hex("08 'Identity' 000000ff 'a'*255");
        CHECK(decode_peer_metadata(longest, socket_type::rep));
        const auto longer = hex("08 'Identity' 00000100 'a'*256");
        CHECK(decode_peer_metadata(longer, socket_type::rep).error() == errc::message_too_large);
    }

    TEST_CASE("error: carries its reason") {
        CHECK(encode_error("400") == hex("05 'ERROR' 03 '400'"));
        CHECK(encode_error("") == hex("05 'ERROR' 00"));
        const auto data = hex("03 '400'");
        CHECK(*decode_error(data) == "400");
    }

    TEST_CASE("error: cuts its reason off behind 255 characters") {
        CHECK(encode_error(std::string(255, 'a')) == hex("05 'ERROR' ff 'a'*255"));
        CHECK(encode_error(std::string(256, 'a')) == hex("05 'ERROR' ff 'a'*255"));
    }

    TEST_CASE("error: is refused if the reason is shorter than it says, and ignores a tail") {
        CHECK(decode_error({}).error() == errc::protocol_violation);
        CHECK(decode_error(hex("03 '40'")).error() == errc::protocol_violation);
        const auto data = hex("03 '400' 'garbage'");
        CHECK(*decode_error(data) == "400");
    }

    TEST_CASE("ping: carries TTL and context") {
        std::array<std::byte, heartbeat_body_bytes_max> out{};
        std::size_t written = encode_ping(out, heartbeat_ttl{300}, bytes_of("ctx"));
        CHECK(std::vector<std::byte>(out.data(), out.data() + written) ==
              hex("04 'PING' 012c 'ctx'"));

        written = encode_ping(out, heartbeat_ttl{65535}, bytes_of("0123456789abcdef"));
        CHECK(written == 23);
        CHECK(std::vector<std::byte>(out.begin(), out.end()) ==
              hex("04 'PING' ffff '0123456789abcdef'"));
    }

    TEST_CASE("ping: is read back") {
        const auto data = hex("ffff 'ctx'");
        const result<ping_view> ping = decode_ping(data);
        REQUIRE(ping);
        CHECK(ping->ttl.count() == 65535);
        CHECK(std::chrono::duration_cast<std::chrono::milliseconds>(
                  std::chrono::duration<std::int64_t, std::deci>{ping->ttl.count()})
                  .count() == 6553500);
        CHECK(text(ping->context) == "ctx");
    }

    TEST_CASE("ping: is refused below 7 bytes of body") {
        CHECK(decode_ping({}).error() == errc::protocol_violation);
        CHECK(decode_ping(hex("00")).error() == errc::protocol_violation);
        CHECK(decode_ping(hex("00 00")));
    }

    TEST_CASE("ping: of a context above 16 bytes counts the first 16, as in libzmq") {
        const auto longest = hex("0000 'a'*16");
        CHECK(decode_ping(longest)->context.size() == 16);
        const auto longer = hex("0000 'a'*17");
        CHECK(decode_ping(longer)->context.size() == 16);
    }

    TEST_CASE("pong: echoes the context") {
        std::array<std::byte, heartbeat_body_bytes_max> out{};
        std::size_t written = encode_pong(out, {});
        CHECK(std::vector<std::byte>(out.data(), out.data() + written) == hex("04 'PONG'"));
        written = encode_pong(out, bytes_of("0123456789abcdef"));
        CHECK(std::vector<std::byte>(out.data(), out.data() + written) ==
              hex("04 'PONG' '0123456789abcdef'"));
    }

    TEST_CASE("subscription: is read from a command") {
        const auto subscribe = hex("09 'SUBSCRIBE' 'topic'");
        CHECK(decode_subscription_command(subscribe)->subscribe);
        CHECK(text(decode_subscription_command(subscribe)->topic) == "topic");

        const auto cancel = hex("06 'CANCEL'");
        CHECK(!decode_subscription_command(cancel)->subscribe);
        CHECK(decode_subscription_command(cancel)->topic.empty());
    }

    TEST_CASE("subscription: is no other command") {
        for (const char* spelled :
             {"", "09", "09 'SUBSCRIB'", "09 'subscribe' 'a'", "0a 'SUBSCRIBES'", "06 'CANCE'",
              "04 'PING' 0000", "08 'SUBSCRIBE'"}) {
            CHECK(!decode_subscription_command(hex(spelled)));
        }
    }

    TEST_CASE("subscription: is read from a message") {
        const auto subscribe = hex("01 'topic'");
        CHECK(decode_subscription_message(subscribe)->subscribe);
        CHECK(text(decode_subscription_message(subscribe)->topic) == "topic");
        const auto cancel = hex("00");
        CHECK(!decode_subscription_message(cancel)->subscribe);
        CHECK(decode_subscription_message(cancel)->topic.empty());

        CHECK(!decode_subscription_message({}));
        CHECK(!decode_subscription_message(hex("02 'topic'")));
        CHECK(!decode_subscription_message(hex("ff")));
    }

    TEST_CASE("subscription: begins as the prefixes say") {
        CHECK(hex("09 'SUBSCRIBE'") == std::vector<std::byte>(bytes_of(subscribe_prefix).begin(),
                                                              bytes_of(subscribe_prefix).end()));
        CHECK(hex("06 'CANCEL'") == std::vector<std::byte>(bytes_of(cancel_prefix).begin(),
                                                           bytes_of(cancel_prefix).end()));
    }

} // TEST_SUITE
