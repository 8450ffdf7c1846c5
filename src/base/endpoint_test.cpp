// SPDX-License-Identifier: MPL-2.0
#include "base/endpoint.hpp"

#include <doctest/doctest.h>
#include <utility>

using namespace std::string_literals;
using zlink::decode_endpoint;
using zlink::endpoint;
using zlink::endpoint_use;
using zlink::errc;
using zlink::host_address;
using zlink::result;
using zlink::scheme;
using enum zlink::endpoint_use;

namespace {

/// The error of decoding `text`, or none (0).
errc error_of(std::string_view text, endpoint_use use) {
    const result<endpoint> decoded = decode_endpoint(text, use);
    return decoded ? errc{} : decoded.error();
}

} // namespace

TEST_SUITE("base") {

    TEST_CASE("endpoint: reads host and port to listen at") {
        struct {
            const char* text;
            host_address address;
        } const examples[] = {
            {"tcp://127.0.0.1:5555", {"127.0.0.1", "", 5555}},
            {"tcp://*:5555", {"*", "", 5555}},
            {"tcp://*:*", {"*", "", 0}},
            {"tcp://127.0.0.1:0", {"127.0.0.1", "", 0}},
            {"tcp://127.0.0.1:*", {"127.0.0.1", "", 0}},
            {"tcp://127.0.0.1:65535", {"127.0.0.1", "", 65535}},
            {"tcp://127.0.0.1:05604", {"127.0.0.1", "", 5604}},
            {"tcp://eth0:5555", {"eth0", "", 5555}},
            {"tcp://[::1]:5555", {"::1", "", 5555}},
            {"tcp://::1:5555", {"::1", "", 5555}},
            {"tcp://[::]:*", {"::", "", 0}},
            {"tcp://[*]:5555", {"*", "", 5555}},
            {"tcp://[fe80::1%eth0]:5555", {"fe80::1", "eth0", 5555}},
            {"tcp://fe80::1%2:5555", {"fe80::1", "2", 5555}},
            {"tcp://:5555", {"", "", 5555}},               // The resolver finds no such device.
            {"tcp://foo bar:5555", {"foo bar", "", 5555}}, // Nor this.
        };
        for (const auto& example : examples) {
            CAPTURE(example.text);
            const result<endpoint> decoded = decode_endpoint(example.text, listen);
            REQUIRE(decoded);
            CHECK(decoded->via == scheme::tcp);
            CHECK(decoded->address == example.address);
            CHECK(!decoded->source);
            CHECK(decoded->path.empty());
        }
    }

    TEST_CASE("endpoint: reads host and port to dial") {
        struct {
            const char* text;
            host_address address;
        } const examples[] = {
            {"tcp://127.0.0.1:5555", {"127.0.0.1", "", 5555}},
            {"tcp://127.0.0.1:0", {"127.0.0.1", "", 0}},
            {"tcp://localhost:1", {"localhost", "", 1}},
            {"tcp://foo_bar-1.example.org:80", {"foo_bar-1.example.org", "", 80}},
            {"tcp://[::1]:5555", {"::1", "", 5555}},
            {"tcp://::1:5555", {"::1", "", 5555}},
            {"tcp://[fe80::1%eth0.100]:5555", {"fe80::1", "eth0.100", 5555}},
        };
        for (const auto& example : examples) {
            CAPTURE(example.text);
            const result<endpoint> decoded = decode_endpoint(example.text, dial);
            REQUIRE(decoded);
            CHECK(decoded->address == example.address);
            CHECK(!decoded->source);
        }
    }

    TEST_CASE("endpoint: reads where to dial from") {
        const result<endpoint> decoded =
            decode_endpoint("tcp://192.168.0.7:1234;server:5555", dial);
        REQUIRE(decoded);
        CHECK(decoded->source == host_address{"192.168.0.7", "", 1234});
        CHECK(decoded->address == host_address{"server", "", 5555});

        const result<endpoint> any_port = decode_endpoint("tcp://eth0:*;[::1]:5555", dial);
        REQUIRE(any_port);
        CHECK(any_port->source == host_address{"eth0", "", 0});
        CHECK(any_port->address == host_address{"::1", "", 5555});
    }

    TEST_CASE("endpoint: reads the interface before a multicast address") {
        const result<endpoint> bound = decode_endpoint("udp://eth0;239.0.0.1:*", listen);
        REQUIRE(bound);
        CHECK(bound->via == scheme::udp);
        CHECK(bound->source == host_address{"eth0", "", 0});
        CHECK(bound->address == host_address{"239.0.0.1", "", 0});
        CHECK(bound->text() == "udp://eth0;239.0.0.1:0");

        const result<endpoint> dialled = decode_endpoint("udp://[fe80::1%lo];[ff02::1]:7", dial);
        REQUIRE(dialled);
        CHECK(dialled->source == host_address{"fe80::1", "lo", 0});
        CHECK(dialled->address == host_address{"ff02::1", "", 7});
        CHECK(dialled->text() == "udp://[fe80::1%lo];[ff02::1]:7");

        CHECK(!decode_endpoint("udp://127.0.0.1:7", dial)->source);
        CHECK(error_of("udp://;239.0.0.1:7", listen) == errc::invalid_argument);
        CHECK(error_of("udp://eth0;239.0.0.1", listen) == errc::invalid_argument);
        CHECK(error_of("udp://127.0.0.1:0", dial) == errc::invalid_argument);
        CHECK(error_of("udp://127.0.0.1:*", dial) == errc::invalid_argument);
        CHECK(error_of("udp://*:7", dial) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: refuses what has no scheme or nothing behind it") {
        for (const char* text : {"", "tcp", "tcp:", "tcp:/", "tcp://", "://", "://x", "foo://",
                                 "ipc://", "inproc://", "127.0.0.1:5555"}) {
            CAPTURE(text);
            CHECK(error_of(text, listen) == errc::invalid_argument);
            CHECK(error_of(text, dial) == errc::invalid_argument);
        }
    }

    TEST_CASE("endpoint: refuses a scheme that it does not know, and compares exactly") {
        for (const char* text :
             {"foo://x", "TCP://127.0.0.1:0", "tcpx://127.0.0.1:0", " tcp://*:0", "vmci://x"}) {
            CAPTURE(text);
            CHECK(error_of(text, listen) == errc::protocol_not_supported);
            CHECK(error_of(text, dial) == errc::protocol_not_supported);
        }
    }

    TEST_CASE("endpoint: refuses a port that is missing or no number up to 65535") {
        for (const char* text :
             {"tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:x", "tcp://127.0.0.1:5555x",
              "tcp://127.0.0.1: 5555", "tcp://127.0.0.1:+5555", "tcp://127.0.0.1:-1",
              "tcp://127.0.0.1:65536", "tcp://127.0.0.1:000001", "tcp://127.0.0.1:5555/",
              "tcp://127.0.0.1:99999999999999999999", "tcp://127.0.0.1:**", "tcp://[::1]"}) {
            CAPTURE(text);
            CHECK(error_of(text, listen) == errc::invalid_argument);
            CHECK(error_of(text, dial) == errc::invalid_argument);
        }
    }

    TEST_CASE("endpoint: has no wildcards to dial") {
        for (const char* text : {"tcp://*:5555", "tcp://127.0.0.1:*", "tcp://*:*", "tcp://[*]:5555",
                                 "tcp://*:0;127.0.0.1:5555"}) {
            CAPTURE(text);
            CHECK(error_of(text, dial) == errc::invalid_argument);
        }
    }

    TEST_CASE("endpoint: refuses to dial a host that cannot be one") {
        for (const char* text :
             {"tcp://:5555", "tcp://-foo:5555", "tcp://.foo:5555", "tcp://foo bar:5555",
              "tcp://foo$bar:5555", "tcp://127.0.0.1/path:5555", "tcp://[::1", "tcp://[]:5555",
              "tcp://[[::1]]:5555", "tcp://%eth0:5555"}) {
            CAPTURE(text);
            CHECK(error_of(text, dial) == errc::invalid_argument);
        }
    }

    TEST_CASE("endpoint: refuses a source that is malformed, or one to listen at") {
        for (const char* text :
             {"tcp://;127.0.0.1:5555", "tcp://127.0.0.1;127.0.0.1:5555", "tcp://127.0.0.1:0;",
              "tcp://127.0.0.1:0;x", "tcp://a:1;b:2;c:3"}) {
            CAPTURE(text);
            CHECK(error_of(text, dial) == errc::invalid_argument);
        }
        CHECK(error_of("tcp://127.0.0.1:1;127.0.0.1:2", listen) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: refuses an empty scope") {
        CHECK(error_of("tcp://[fe80::1%]:5555", listen) == errc::invalid_argument);
        CHECK(error_of("tcp://fe80::1%:5555", dial) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: accepts a host of 255 bytes and no more") {
        CHECK(error_of("tcp://" + std::string(255, 'a') + ":1", dial) == errc{});
        CHECK(error_of("tcp://" + std::string(256, 'a') + ":1", dial) == errc::invalid_argument);
        CHECK(error_of("tcp://" + std::string(256, 'a') + ":1", listen) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: refuses a NUL anywhere") {
        CHECK(error_of("tcp://a\0:1"s, listen) == errc::invalid_argument);
        CHECK(error_of("ipc://a\0b"s, dial) == errc::invalid_argument);
        CHECK(error_of("inproc://a\0"s, dial) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: reads the path of an ipc socket") {
        for (const char* path : {"/tmp/x", "relative", "@abstract", "*", "a:b;c"}) {
            CAPTURE(path);
            const result<endpoint> decoded = decode_endpoint("ipc://"s + path, listen);
            REQUIRE(decoded);
            CHECK(decoded->via == scheme::ipc);
            CHECK(decoded->path == path);
        }
    }

    TEST_CASE("endpoint: refuses an ipc path without a name, or above 107 bytes") {
        CHECK(error_of("ipc://@", listen) == errc::invalid_argument);
        CHECK(error_of("ipc://" + std::string(107, 'a'), listen) == errc{});
        CHECK(error_of("ipc://" + std::string(108, 'a'), listen) == zlink::path_too_long);
        CHECK(error_of("ipc://@" + std::string(106, 'a'), dial) == errc{});
        CHECK(error_of("ipc://@" + std::string(107, 'a'), dial) == zlink::path_too_long);
    }

    TEST_CASE("endpoint: reads the name of an inproc socket, of up to 256 bytes") {
        const result<endpoint> decoded = decode_endpoint("inproc://a b://c", dial);
        REQUIRE(decoded);
        CHECK(decoded->via == scheme::inproc);
        CHECK(decoded->path == "a b://c");
        CHECK(error_of("inproc://" + std::string(256, 'a'), listen) == errc{});
        CHECK(error_of("inproc://" + std::string(257, 'a'), listen) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: reads host and port of tls, ws and wss as those of tcp") {
        struct {
            const char* text;
            scheme via;
            host_address address;
            const char* path;
        } const examples[] = {
            {"tls://127.0.0.1:5555", scheme::tls, {"127.0.0.1", "", 5555}, ""},
            {"tls://*:*", scheme::tls, {"*", "", 0}, ""},
            {"tls://[fe80::1%eth0]:1", scheme::tls, {"fe80::1", "eth0", 1}, ""},
            {"ws://*:0", scheme::ws, {"*", "", 0}, "/"},
            {"ws://[::1]:80/", scheme::ws, {"::1", "", 80}, "/"},
            {"ws://::1:80/chat", scheme::ws, {"::1", "", 80}, "/chat"},
            {"ws://eth0:*/a/b//c;d:1", scheme::ws, {"eth0", "", 0}, "/a/b//c;d:1"},
            {"wss://127.0.0.1:443/x?y=/z%20", scheme::wss, {"127.0.0.1", "", 443}, "/x?y=/z%20"},
        };
        for (const auto& example : examples) {
            CAPTURE(example.text);
            const result<endpoint> decoded = decode_endpoint(example.text, listen);
            REQUIRE(decoded);
            CHECK(decoded->via == example.via);
            CHECK(decoded->address == example.address);
            CHECK(decoded->path == example.path);
        }
        const result<endpoint> dialled = decode_endpoint("wss://eth0:*;a.org:443/b;c:1", dial);
        REQUIRE(dialled);
        CHECK(dialled->via == scheme::wss);
        CHECK(dialled->source == host_address{"eth0", "", 0});
        CHECK(dialled->address == host_address{"a.org", "", 443});
        CHECK(dialled->path == "/b;c:1");
    }

    TEST_CASE("endpoint: refuses for tls, ws and wss what tcp refuses") {
        for (const auto& [text, use] :
             {std::pair{"tls://127.0.0.1", dial}, std::pair{"tls://*:1", dial},
              std::pair{"tls://a:1/", dial}, std::pair{"tls://a:1/", listen},
              std::pair{"tls://a:1;b:2", listen}, std::pair{"ws://a/", dial},
              std::pair{"ws:///", listen}, std::pair{"ws://a:70000/", listen},
              std::pair{"ws://a:*/", dial}, std::pair{"wss://a:1;b:2/", listen},
              std::pair{"wss://;b:2/", dial}, std::pair{"tls://", dial}, std::pair{"ws://", listen},
              std::pair{"wss://", dial}}) {
            CAPTURE(text);
            CHECK(error_of(text, use) == errc::invalid_argument);
        }
        CHECK(error_of("WS://a:1/", dial) == errc::protocol_not_supported);
        CHECK(error_of("https://a:1/", dial) == errc::protocol_not_supported);
    }

    TEST_CASE("endpoint: refuses a path of ws or wss that no request can have as its target") {
        for (const char* text :
             {"ws://a:1/a b", "ws://a:1/ ", "ws://a:1/\t", "ws://a:1/\r\nHost: b", "ws://a:1/\x7f",
              "ws://a:1/\xc3\xa9", "ws://a:1/#b", "ws://a:1?x", "ws://a:1#x"}) {
            CAPTURE(text);
            CHECK(error_of(text, dial) == errc::invalid_argument);
            CHECK(error_of(text, listen) == errc::invalid_argument);
        }
        CHECK(error_of("ws://a:1/" + std::string(2047, 'a'), dial) == errc{});
        CHECK(error_of("ws://a:1/" + std::string(2048, 'a'), dial) == errc::invalid_argument);
    }

    TEST_CASE("endpoint: is spelled as ZMQ_LAST_ENDPOINT spells it") {
        const auto tcp = [](host_address address) {
            endpoint spelled;
            spelled.address = std::move(address);
            return spelled.text();
        };
        CHECK(tcp({"127.0.0.1", "", 5555}) == "tcp://127.0.0.1:5555");
        CHECK(tcp({"0.0.0.0", "", 1}) == "tcp://0.0.0.0:1");
        CHECK(tcp({"::1", "", 5555}) == "tcp://[::1]:5555");
        CHECK(tcp({"::ffff:127.0.0.1", "", 5555}) == "tcp://[::ffff:127.0.0.1]:5555");
        CHECK(tcp({"fe80::1", "eth0", 5555}) == "tcp://[fe80::1%eth0]:5555");
        CHECK(decode_endpoint("ipc:///tmp/x", listen)->text() == "ipc:///tmp/x");
        CHECK(decode_endpoint("ipc://@abstract", listen)->text() == "ipc://@abstract");
        CHECK(decode_endpoint("inproc://x", listen)->text() == "inproc://x");
        CHECK(decode_endpoint("tcp://eth0:*;::1:5555", dial)->text() == "tcp://eth0:0;[::1]:5555");
        CHECK(decode_endpoint("tls://*:*", listen)->text() == "tls://*:0");
        CHECK(decode_endpoint("ws://::1:80", listen)->text() == "ws://[::1]:80/");
        CHECK(decode_endpoint("wss://a:*;b:443/c?d", dial)->text() == "wss://a:0;b:443/c?d");
    }

    TEST_CASE("endpoint: is read back from its text, however odd the host") {
        for (const char* text :
             {"tcp://[a]:1", "tcp://[[a]]:1", "tcp://[a%b]:1", "tcp://a%[b]:1", "tcp://[[a%b]]:1",
              "tcp://[:1", "tcp://]:[:1", "tcp://%x:1", "wss://[[a%b]]:1/?x", "ws://[:1/]:1"}) {
            CAPTURE(text);
            const result<endpoint> decoded = decode_endpoint(text, listen);
            REQUIRE(decoded);
            const result<endpoint> again = decode_endpoint(decoded->text(), listen);
            REQUIRE(again);
            CHECK(*again == *decoded);
        }
    }

} // TEST_SUITE
