// SPDX-License-Identifier: MPL-2.0
//
// Single options that behave as in libzmq 4.3.5; tests/interop/test_options.py compares all.
#include "fixture.hpp"

#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/uio.h>

using namespace api_test;

namespace {

int set_error(const socket& of, int option, std::string_view value) {
    return error_of(zlink_setsockopt(of, option, value.data(), value.size()));
}
int set_error(const socket& of, int option, int value) {
    return error_of(zlink_setsockopt(of, option, &value, sizeof value));
}

message subscription(const std::string& topic) {
    return {"\x01" + topic};
}

} // namespace

TEST_SUITE("options") {

    TEST_CASE("options: reading fills the rest of a larger room with zeros") {
        const context owner;
        socket pair{owner, ZLINK_PAIR};
        pair.set(ZLINK_SOCKS_PROXY, "proxy:1080").set(ZLINK_ROUTING_ID, "me");
        pair.set(ZLINK_PLAIN_USERNAME, "who");
        const std::pair<int, std::string> expected[] = {
            {ZLINK_SOCKS_PROXY, std::string{"proxy:1080\0", 11}},
            {ZLINK_ROUTING_ID, "me"},
            {ZLINK_PLAIN_USERNAME, std::string{"who\0", 4}},
            {ZLINK_RCVMORE, std::string(4, '\0')},
            {ZLINK_LAST_ENDPOINT, std::string(1, '\0')}};
        for (const auto& [option, value] : expected) {
            CAPTURE(option);
            std::string room(64, '?');
            std::size_t bytes = 32;
            REQUIRE(error_of(zlink_getsockopt(pair, option, room.data(), &bytes)) == ok);
            CHECK(bytes == value.size());
            CHECK(room == value + std::string(32 - bytes, '\0') + std::string(32, '?'));
        }
    }

    TEST_CASE("options: a number is read into as many bytes as it has") {
        const context owner;
        const socket pair{owner, ZLINK_PAIR};
        std::array<char, 16> room;
        for (const std::size_t given : {0, 1, 3, 5, 8, 16}) {
            std::size_t bytes = given;
            CHECK(error_of(zlink_getsockopt(pair, ZLINK_SNDHWM, room.data(), &bytes)) == EINVAL);
            CHECK(bytes == given);
        }
        std::size_t bytes = 4;
        CHECK(error_of(zlink_getsockopt(pair, ZLINK_MAXMSGSIZE, room.data(), &bytes)) == EINVAL);
        CHECK(error_of(zlink_getsockopt(pair, ZLINK_SNDHWM, nullptr, &bytes)) == EINVAL);
        CHECK(error_of(zlink_getsockopt(pair, ZLINK_SNDHWM, room.data(), nullptr)) == EINVAL);
    }

    TEST_CASE("options: some flags take any number that is not negative, as in libzmq") {
        const context owner;
        const struct {
            int type;
            int option;
            int negative;
        } flags[] = {{ZLINK_ROUTER, ZLINK_ROUTER_MANDATORY, EINVAL},
                     {ZLINK_ROUTER, ZLINK_ROUTER_HANDOVER, EINVAL},
                     {ZLINK_ROUTER, ZLINK_PROBE_ROUTER, EINVAL},
                     {ZLINK_XPUB, ZLINK_XPUB_VERBOSE, EINVAL},
                     {ZLINK_XPUB, ZLINK_XPUB_VERBOSER, EINVAL},
                     {ZLINK_XPUB, ZLINK_XPUB_NODROP, EINVAL},
                     {ZLINK_XPUB, ZLINK_XPUB_MANUAL, EINVAL},
                     {ZLINK_XSUB, ZLINK_ONLY_FIRST_SUBSCRIBE, EINVAL},
                     {ZLINK_REQ, ZLINK_REQ_RELAXED, EINVAL},
                     {ZLINK_SUB, ZLINK_INVERT_MATCHING, ok}};
        for (const auto& each : flags) {
            CAPTURE(each.option);
            const socket asked{owner, each.type};
            CHECK(set_error(asked, each.option, 2) == ok);
            CHECK(set_error(asked, each.option, INT_MAX) == ok);
            CHECK(set_error(asked, each.option, -1) == each.negative);
        }
        const socket sub{owner, ZLINK_SUB};
        CHECK(set_error(sub, ZLINK_INVERT_MATCHING, -7) == ok);
        CHECK(sub.get(ZLINK_INVERT_MATCHING) == 1);
    }

    TEST_CASE("options: a router that was told 2 reports peers that it does not know") {
        const context owner;
        socket router{owner, ZLINK_ROUTER};
        router.set(ZLINK_ROUTER_MANDATORY, 2);
        CHECK(router.send(message{"nobody", "x"}) == EHOSTUNREACH);
    }

    TEST_CASE("options: a null pointer of some size is no value, and clears nothing") {
        const context owner;
        socket sub{owner, ZLINK_SUB};
        sub.set(ZLINK_SOCKS_PROXY, "proxy:1080").set(ZLINK_ROUTING_ID, "me");
        for (const int option : {ZLINK_SUBSCRIBE, ZLINK_UNSUBSCRIBE, ZLINK_SOCKS_PROXY,
                                 ZLINK_ROUTING_ID, ZLINK_ZAP_DOMAIN, ZLINK_LINGER}) {
            CAPTURE(option);
            for (const std::size_t bytes : {1, 4, 8, 32, 300}) {
                CHECK(error_of(zlink_setsockopt(sub, option, nullptr, bytes)) == EINVAL);
            }
        }
        CHECK(sub.text(ZLINK_SOCKS_PROXY) == "proxy:1080");
        CHECK(error_of(zlink_setsockopt(sub, ZLINK_SUBSCRIBE, nullptr, 0)) == ok);
        CHECK(error_of(zlink_setsockopt(sub, ZLINK_SOCKS_PROXY, nullptr, 0)) == ok);
        CHECK(sub.text(ZLINK_SOCKS_PROXY).empty());
    }

    TEST_CASE("options: ranges of single options are libzmq's") {
        const context owner;
        const socket pair{owner, ZLINK_PAIR};
        CHECK(set_error(pair, ZLINK_SOCKS_PROXY, "") == EINVAL);
        CHECK(set_error(pair, ZLINK_SOCKS_PROXY, std::string(300, 'x')) == ok);
        CHECK(set_error(pair, ZLINK_BINDTODEVICE, "") == EINVAL);
        CHECK(set_error(pair, ZLINK_BINDTODEVICE, std::string(16, 'x')) == ok);
        CHECK(set_error(pair, ZLINK_BINDTODEVICE, std::string(17, 'x')) == EINVAL);
        CHECK(set_error(pair, ZLINK_HEARTBEAT_TTL, -99) == ok);
        CHECK(pair.get(ZLINK_HEARTBEAT_TTL) == 0);
        CHECK(set_error(pair, ZLINK_HEARTBEAT_TTL, -100) == EINVAL);
        CHECK(set_error(pair, ZLINK_RECONNECT_STOP, 8) == ok);
        CHECK(set_error(pair, ZLINK_RECONNECT_STOP, -1) == ok);
        const std::int64_t below = -2;
        CHECK(error_of(zlink_setsockopt(pair, ZLINK_MAXMSGSIZE, &below, sizeof below)) == ok);
    }

    TEST_CASE("options: below 0 ZLINK_MAXMSGSIZE is no limit") {
        const context owner;
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        const std::int64_t below = -2;
        REQUIRE(zlink_setsockopt(pull, ZLINK_MAXMSGSIZE, &below, sizeof below) == 0);
        push.connect(pull.bind(transport::tcp));
        const std::string body(100000, 'x');
        REQUIRE(push.send(body) == ok);
        CHECK(pull.recv() == message{body});
    }

    TEST_CASE("options: the verbosity of an XPUB that was set last counts") {
        const context owner;
        socket pub{owner, ZLINK_XPUB};
        pub.set(ZLINK_XPUB_VERBOSER, 1).set(ZLINK_XPUB_VERBOSE, 1);
        const std::string endpoint = pub.bind(transport::inproc);
        socket one{owner, ZLINK_SUB};
        socket other{owner, ZLINK_SUB};
        one.connect(endpoint);
        other.connect(endpoint);
        one.set(ZLINK_SUBSCRIBE, "a");
        other.set(ZLINK_SUBSCRIBE, "a");
        CHECK(pub.recv() == subscription("a"));
        CHECK(pub.recv() == subscription("a"));
        one.set(ZLINK_UNSUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "marker");
        CHECK(pub.recv() == subscription("marker"));

        pub.set(ZLINK_XPUB_VERBOSER, 0);
        one.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "end");
        CHECK(pub.recv() == subscription("end"));
    }

    TEST_CASE("options: XPUB_MANUAL_LAST_VALUE sends one message to the last subscriber only") {
        const context owner;
        socket pub{owner, ZLINK_XPUB};
        pub.set(ZLINK_XPUB_MANUAL_LAST_VALUE, 1);
        const std::string endpoint = pub.bind(transport::inproc);
        socket early{owner, ZLINK_SUB};
        early.set(ZLINK_SUBSCRIBE, "a").connect(endpoint);
        CHECK(pub.recv() == subscription("a"));
        pub.set(ZLINK_SUBSCRIBE, "a");
        REQUIRE(pub.send("a1") == ok);
        CHECK(early.recv() == message{"a1"});
        socket late{owner, ZLINK_SUB};
        late.set(ZLINK_SUBSCRIBE, "a").connect(endpoint);
        CHECK(pub.recv() == subscription("a"));
        pub.set(ZLINK_SUBSCRIBE, "a");

        REQUIRE(pub.send("a1") == ok);
        REQUIRE(pub.send("a2") == ok);

        CHECK(late.recv() == message{"a1"});
        CHECK(late.recv() == message{"a2"});
        CHECK(early.recv() == message{"a2"});
        CHECK(early.recv_error() == EAGAIN);
    }

    TEST_CASE("options: TOPICS_COUNT is what was subscribed to, on both sides") {
        const context owner;
        socket pub{owner, ZLINK_PUB};
        socket sub{owner, ZLINK_SUB};
        sub.connect(pub.bind(transport::inproc));
        sub.set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "a").set(ZLINK_SUBSCRIBE, "b");
        CHECK(sub.get(ZLINK_TOPICS_COUNT) == 2);
        wait_until(owner, [&] { return pub.get(ZLINK_TOPICS_COUNT) == 2; });
        sub.set(ZLINK_UNSUBSCRIBE, "b");
        CHECK(sub.get(ZLINK_TOPICS_COUNT) == 1);
        wait_until(owner, [&] { return pub.get(ZLINK_TOPICS_COUNT) == 1; });
        const socket pair{owner, ZLINK_PAIR};
        int value = 0;
        std::size_t bytes = sizeof value;
        CHECK(error_of(zlink_getsockopt(pair, ZLINK_TOPICS_COUNT, &value, &bytes)) == EINVAL);
    }

    TEST_CASE("options: an XSUB counts subscriptions inside a message, or only where it begins") {
        for (const bool only_first : {false, true}) {
            CAPTURE(only_first);
            const context owner;
            socket pub{owner, ZLINK_XPUB};
            socket sub{owner, ZLINK_XSUB};
            pub.set(ZLINK_ONLY_FIRST_SUBSCRIBE, only_first);
            sub.set(ZLINK_ONLY_FIRST_SUBSCRIBE, only_first);
            sub.connect(pub.bind(transport::inproc));

            REQUIRE(sub.send(message{"data", "\x01topic"}) == ok);

            CHECK(sub.get(ZLINK_TOPICS_COUNT) == (only_first ? 0 : 1));
            wait_until(owner, [&] { return pub.get(ZLINK_TOPICS_COUNT) == (only_first ? 0 : 1); });
        }
    }

    TEST_CASE("options: of contexts take what libzmq's take") {
        const context owner;
        CHECK(zlink_ctx_set(owner, ZLINK_MAX_SOCKETS, 100000) == 0);
        CHECK(zlink_ctx_get(owner, ZLINK_MAX_SOCKETS) == 100000);
        CHECK(zlink_ctx_set(owner, ZLINK_IPV6, 7) == 0);
        CHECK(zlink_ctx_get(owner, ZLINK_IPV6) == 1);
        CHECK(zlink_ctx_set(owner, ZLINK_BLOCKY, 2) == 0);
        CHECK(zlink_ctx_get(owner, ZLINK_BLOCKY) == 1);
        CHECK(error_of(zlink_ctx_set(owner, ZLINK_BLOCKY, -1)) == EINVAL);
        CHECK(zlink_ctx_set(owner, ZLINK_THREAD_NAME_PREFIX, -3) == 0);
        CHECK(zlink_ctx_get(owner, ZLINK_THREAD_NAME_PREFIX) == -3);
        constexpr int zero_copy_recv = 10;
        CHECK(zlink_ctx_get(owner, zero_copy_recv) == 1);
        CHECK(zlink_ctx_set(owner, zero_copy_recv, 0) == 0);
        CHECK(zlink_ctx_get(owner, zero_copy_recv) == 0);
    }

    TEST_CASE("messages: constant data is shared") {
        static const char constant[] = "stays for ever";
        zlink_msg_t made;
        REQUIRE(zlink_msg_init_data(&made, const_cast<char*>(constant), sizeof constant, nullptr,
                                    nullptr) == 0);
        CHECK(zlink_msg_get(&made, ZLINK_SHARED) == 1);
        zlink_msg_close(&made);
    }

    TEST_CASE("recviov: leaves the count alone where there is no socket") {
        iovec frames[3];
        std::size_t count = 3;
        CHECK(error_of(zlink_recviov(nullptr, frames, &count, ZLINK_DONTWAIT)) == ENOTSOCK);
        CHECK(count == 3);
    }
}
