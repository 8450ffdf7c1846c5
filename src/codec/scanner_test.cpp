// SPDX-License-Identifier: MPL-2.0
#include "testing/queue_contents.hpp"
#include "testing/scanned_input.hpp"

#include <doctest/doctest.h>

using namespace zlink;
using testing::pattern;
using testing::scanned_input;

namespace {

using texts = std::vector<std::string>;
constexpr std::uint64_t any_size = 0xffff'ffff;
constexpr pipe::queue_limits roomy{.messages_max = 100'000};

std::string length_frame(const std::string& body) {
    std::byte header[4];
    wire::length::write_header(header, body.size());
    return std::string(reinterpret_cast<const char*>(header), 4) + body;
}

std::string web_frame(pipe::layout from, wire::websocket::opcode kind, std::string body,
                      unsigned flags = wire::websocket::flag_fin) {
    std::byte header[wire::websocket::header_bytes_max];
    std::size_t bytes = 0;
    if (from == pipe::layout::websocket) {
        const wire::websocket::mask_key key{std::byte{7}, std::byte{0xff}, std::byte{1},
                                            std::byte{0x80}};
        bytes = wire::websocket::write_masked_header(header, kind, body.size(), key, flags);
        wire::websocket::mask(std::as_writable_bytes(std::span{body}), key);
    } else {
        bytes = wire::websocket::write_header(header, kind, body.size(), flags);
    }
    return std::string(reinterpret_cast<const char*>(header), bytes) + body;
}

} // namespace

TEST_SUITE("codec") {

    TEST_CASE("length scanner: finds messages of all sizes, however many bytes come at a time") {
        for (const std::size_t piece : {1, 3, 100, 4096, 100'000, 10'000'000}) {
            CAPTURE(piece);
            std::string sent;
            texts expected;
            for (const std::size_t bytes :
                 {0,  1,  255, 8191, 8192, 65'535, 65'536, 300'000, 2,    64,   64,
                  64, 65, 64,  0,    0,    0,      8191,   8191,    8192, 8192, 1}) {
                sent += length_frame(pattern(bytes));
                expected.push_back("b:" + pattern(bytes));
            }
            scanned_input peer{pipe::layout::length, any_size, roomy};
            CHECK(peer.read(sent, piece));
            CHECK((peer.arrived() == expected));
            CHECK(peer.is_idle());
        }
    }

    TEST_CASE("scanners: find the same messages whatever follows large ones of one size") {
        constexpr std::size_t bytes = 20'000;
        for (const auto from :
             {pipe::layout::length, pipe::layout::websocket, pipe::layout::masked_websocket}) {
            std::string sent;
            texts expected;
            const auto add = [&](std::string body, bool is_text = false) {
                using enum wire::websocket::opcode;
                sent += from == pipe::layout::length
                            ? length_frame(body)
                            : web_frame(from, is_text ? text : binary, body);
                const bool arrives_as_text = is_text && from != pipe::layout::length;
                expected.push_back((arrives_as_text ? "t:" : "b:") + std::move(body));
            };
            const auto add_alike = [&] {
                for (unsigned index = 0; index < 7; ++index) {
                    add(pattern(bytes, index));
                }
            };
            add_alike();
            add("");
            add_alike();
            for (int count = 0; count < 5; ++count) {
                add(std::string(bytes, 't'), true);
            }
            add(pattern(bytes + 1));
            add_alike();
            add(pattern(9000));
            add("small");
            add_alike();
            for (const std::size_t piece : {1001UL, 20'003UL, 65'545UL, 150'000UL, SIZE_MAX}) {
                CAPTURE(piece);
                scanned_input peer{from, any_size, roomy};
                CHECK(peer.read(sent, piece));
                CHECK((peer.arrived() == expected));
                CHECK(peer.is_idle());
            }
        }
    }

    TEST_CASE("websocket scanner: of several large texts that come at once the bad one ends it") {
        using enum wire::websocket::opcode;
        constexpr std::size_t bytes = 20'000;
        for (const auto from : {pipe::layout::websocket, pipe::layout::masked_websocket}) {
            std::string sent;
            texts expected;
            for (int count = 0; count < 5; ++count) {
                sent += web_frame(from, text, std::string(bytes, 't'));
                expected.push_back("t:" + std::string(bytes, 't'));
            }
            sent += web_frame(from, text, std::string(bytes - 1, 't') + '\xff');
            sent += web_frame(from, text, std::string(bytes, 't'));
            scanned_input peer{from, any_size, roomy};
            CHECK(!peer.read(sent));
            CHECK((peer.arrived() == expected));
        }
    }

    TEST_CASE("websocket scanner: finds messages and puts fragments together, however many bytes "
              "come at a time") {
        using enum wire::websocket::opcode;
        for (const auto from : {pipe::layout::websocket, pipe::layout::masked_websocket}) {
            std::string sent;
            texts expected;
            for (const std::size_t bytes : {0, 1, 125, 126, 8191, 8192, 65'535, 65'536, 300'000}) {
                const std::string part = pattern(bytes);
                sent += web_frame(from, binary, part) + web_frame(from, ping, "?") +
                        web_frame(from, binary, part, 0) + web_frame(from, pong, "!") +
                        web_frame(from, continuation, part, 0) + web_frame(from, continuation, "") +
                        web_frame(from, text, std::string(bytes, 'x'));
                expected.push_back("b:" + part);
                expected.push_back("b:" + part + part);
                expected.push_back("t:" + std::string(bytes, 'x'));
            }
            sent += web_frame(from, close,
                              "\x03\xe8"
                              "bye") +
                    "what is this";
            expected.push_back("close:1000 bye");
            for (const std::size_t piece : {1, 3, 100, 4096, 100'000, 10'000'000}) {
                CAPTURE(piece);
                scanned_input peer{from, any_size, roomy};
                CHECK(peer.read(sent, piece));
                CHECK((peer.arrived() == expected));
                CHECK(peer.pings() == texts(9, "?"));
                CHECK(peer.is_idle());
            }
        }
    }

    TEST_CASE("websocket scanner: a great many small fragmented messages in one reading are cheap, "
              "and a queue that is full stops it") {
        using enum wire::websocket::opcode;
        const auto from = pipe::layout::websocket;
        std::string sent;
        for (int count = 0; count < 5000; ++count) {
            sent += web_frame(from, binary, "ab", 0) + web_frame(from, continuation, "c");
        }
        scanned_input peer{from, any_size, {.messages_max = 3}};
        CHECK(peer.read(sent));
        CHECK(peer.arrived() == texts(5000, "b:abc"));
    }

    TEST_CASE("websocket scanner: of a text that is refused nothing arrives, whatever follows") {
        const auto from = pipe::layout::websocket;
        const std::string sent =
            web_frame(from, wire::websocket::opcode::text, std::string(20000, 'x') + "\xff");
        scanned_input peer{from, any_size, roomy};
        CHECK(peer.read(std::string_view{sent}.substr(0, 9000)));
        CHECK(!peer.read(std::string_view{sent}.substr(9000)));
        CHECK(peer.read("what follows"));
        CHECK(peer.arrived().empty());
    }

    TEST_CASE("scanners: refuse a message above the limit as soon as its size is known") {
        scanned_input tcp{pipe::layout::length, 10, roomy};
        CHECK(tcp.read(length_frame("0123456789")));
        CHECK(tcp.read(std::string("\0\0\0\x0b", 4)).error() == errc::message_too_large);
        CHECK(tcp.arrived() == texts{"b:0123456789"});

        using enum wire::websocket::opcode;
        const auto from = pipe::layout::masked_websocket;
        scanned_input web{from, 10, roomy};
        CHECK(web.read(web_frame(from, binary, "0123456789")));
        CHECK(web.read("\x82\x0b").error() == errc::message_too_large);
        scanned_input fragments{from, 10, roomy};
        CHECK(fragments.read(web_frame(from, binary, "0123456789", 0)));
        CHECK(fragments.read("\x80\x01").error() == errc::message_too_large);
        CHECK(fragments.arrived().empty());
    }

} // TEST_SUITE
