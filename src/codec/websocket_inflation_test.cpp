// SPDX-License-Identifier: MPL-2.0
#include "pipe/buffer_pool.hpp"
#include "testing/queue_contents.hpp"
#include "testing/scanned_input.hpp"
#include "testing/web_compression.hpp"

#include <doctest/doctest.h>

#include <malloc.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace std::string_literals;
using namespace zlink;
using codec::websocket_scanner;
using testing::pattern;
using testing::scanned_input;
using testing::web_compressed;
using testing::web_compressor;
using wire::websocket::flag_compressed;
using wire::websocket::flag_fin;
using wire::websocket::opcode;

namespace {

using texts = std::vector<std::string>;
constexpr std::uint64_t any_size = 0xffff'ffff;
constexpr pipe::queue_limits roomy{.messages_max = 100'000};
constexpr wire::websocket::deflate_direction alone{.window_bits = 15, .keeps_context = false};
constexpr wire::websocket::deflate_direction kept{.window_bits = 15, .keeps_context = true};

/// A client's frame.
std::string frame(opcode kind, std::string body, unsigned flags = flag_fin | flag_compressed) {
    std::byte header[wire::websocket::header_bytes_max];
    const wire::websocket::mask_key key{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    const std::size_t bytes =
        wire::websocket::write_masked_header(header, kind, body.size(), key, flags);
    wire::websocket::mask(std::as_writable_bytes(std::span{body}), key);
    return std::string(reinterpret_cast<const char*>(header), bytes) + body;
}

scanned_input input(std::uint64_t message_bytes_max = any_size,
                    const pipe::queue_limits& allowed = roomy,
                    const wire::websocket::deflate_direction& how = alone) {
    return {pipe::layout::websocket, message_bytes_max, allowed,
            codec::peer_deflation{.how = how, .message_bytes_max = message_bytes_max}};
}

} // namespace

TEST_SUITE("codec") {

    TEST_CASE("websocket scanner: inflates messages of every size, between others, in whatever "
              "pieces") {
        for (const std::size_t bytes : {0, 1, 100, 8191, 8192, 100'000, 3'000'000}) {
            const std::string text(bytes, 'x');
            const std::string message = pattern(bytes);
            const std::string sent =
                frame(opcode::binary, web_compressed(message)) +
                frame(opcode::binary, "plain", flag_fin) + frame(opcode::ping, "?", flag_fin) +
                frame(opcode::text, web_compressed(text)) +
                frame(opcode::binary, message, flag_fin) + frame(opcode::text, "", flag_fin);
            for (const std::size_t read_bytes_max : {std::size_t{1}, std::size_t{1000}, SIZE_MAX}) {
                if (bytes > 10'000 && read_bytes_max == 1) {
                    continue;
                }
                CAPTURE(bytes);
                CAPTURE(read_bytes_max);
                scanned_input by = input();
                REQUIRE(by.read(sent, read_bytes_max));
                CHECK(by.arrived() ==
                      texts{"b:" + message, "b:plain", "t:" + text, "b:" + message, "t:"});
                CHECK(by.pings() == texts{"?"});
                CHECK(by.is_idle());
            }
        }
    }

    TEST_CASE("websocket scanner: inflates fragments, with pings between them") {
        const std::string message = pattern(50'000);
        const std::string payload = web_compressed(message);
        for (const std::size_t part_bytes : {1, 100, 5000}) {
            std::string sent;
            for (std::size_t at = 0; at < payload.size(); at += part_bytes) {
                const bool is_last = at + part_bytes >= payload.size();
                sent += frame(at == 0 ? opcode::binary : opcode::continuation,
                              payload.substr(at, part_bytes),
                              (at == 0 ? flag_compressed : 0) | (is_last ? flag_fin : 0));
                sent += frame(opcode::ping, "", flag_fin);
            }
            for (const std::size_t read_bytes_max : {std::size_t{7}, SIZE_MAX}) {
                scanned_input by = input();
                REQUIRE(by.read(sent + frame(opcode::text, web_compressed("end")), read_bytes_max));
                CHECK(by.arrived() == texts{"b:" + message, "t:end"});
                CHECK(by.is_idle());
            }
        }
        scanned_input by = input();
        REQUIRE(by.read(frame(opcode::text, "", flag_compressed) +
                        frame(opcode::continuation, web_compressed("gr\xc3\xbcn"), 0) +
                        frame(opcode::continuation, "", flag_fin)));
        CHECK(by.arrived() == texts{"t:gr\xc3\xbcn"});
    }

    TEST_CASE("websocket scanner: only the first frame of a message says that it is compressed") {
        for (const std::string& sent :
             {frame(opcode::binary, web_compressed("a"), flag_compressed) +
                  frame(opcode::continuation, "", flag_fin | flag_compressed),
              frame(opcode::ping, "", flag_fin | flag_compressed),
              frame(opcode::binary, "a", 0) + frame(opcode::continuation, web_compressed("b"))}) {
            scanned_input by = input();
            CHECK(by.read(sent).error() == errc::protocol_violation);
        }
        scanned_input without{pipe::layout::websocket, any_size, roomy};
        CHECK(without.read(frame(opcode::binary, web_compressed("a"))).error() ==
              errc::protocol_violation);
    }

    TEST_CASE("websocket scanner: messages share a window if that was agreed") {
        web_compressor from;
        const std::string message = pattern(600);
        std::string sent = frame(opcode::binary, from.compress(message));
        sent += frame(opcode::binary, from.compress(message));
        scanned_input keeping = input(any_size, roomy, kept);
        REQUIRE(keeping.read(sent));
        CHECK(keeping.arrived() == texts{"b:" + message, "b:" + message});
        scanned_input forgetting = input();
        CHECK(forgetting.read(sent).error() == websocket_scanner::corrupt_data);
        CHECK(forgetting.arrived() == texts{"b:" + message});
    }

    TEST_CASE("websocket scanner: refuses what is too large, as soon as it is, compressed or not") {
        for (const std::size_t bytes : {999, 1000, 1001, 100'000}) {
            for (const bool is_compressed : {false, true}) {
                for (const std::size_t read_bytes_max : {std::size_t{1}, SIZE_MAX}) {
                    CAPTURE(bytes);
                    CAPTURE(is_compressed);
                    scanned_input by = input(1000);
                    const std::string body(bytes, 'x');
                    const result<void> outcome =
                        by.read(is_compressed ? frame(opcode::binary, web_compressed(body))
                                              : frame(opcode::binary, body, flag_fin),
                                read_bytes_max);
                    CHECK(static_cast<bool>(outcome) == (bytes <= 1000));
                    CHECK((outcome || outcome.error() == errc::message_too_large));
                }
            }
        }
        for (const std::size_t bytes : {20, 60}) {
            scanned_input by = input(10);
            CHECK(by.read(frame(opcode::binary, std::string(bytes, 'x'), flag_fin)).error() ==
                  errc::message_too_large);
        }
    }

    TEST_CASE("websocket scanner: refuses compressed text that is no UTF-8, and what is corrupt") {
        scanned_input by = input();
        CHECK(by.read(frame(opcode::text, web_compressed("gr\xfcn"))).error() ==
              websocket_scanner::invalid_text);
        scanned_input cut = input();
        CHECK(cut.read(frame(opcode::text, web_compressed("gr\xc3"))).error() ==
              websocket_scanner::invalid_text);
        scanned_input binary = input();
        CHECK(binary.read(frame(opcode::binary, web_compressed("gr\xfcn"))));
        for (const std::string& payload : {"\x07"s, web_compressed(pattern(500)).substr(0, 100)}) {
            scanned_input broken = input();
            CHECK(broken.read(frame(opcode::binary, payload)).error() ==
                  websocket_scanner::corrupt_data);
        }
    }

    TEST_CASE("websocket scanner: does not inflate what there is no credit for, nor too much at a "
              "time") {
        const std::string large(3'000'000, 'x');
        const std::string payload = web_compressed(large);
        std::string sent;
        for (int count = 0; count < 5; ++count) {
            sent += frame(opcode::binary, payload);
        }
        scanned_input by = input(any_size, {.messages_max = 2});
        REQUIRE(by.read(sent));
        CHECK(by.arrived() == texts(5, "b:" + large));
        CHECK(by.pause_count() >= 4);

        const std::string short_text(100, 'x');
        const std::string small = frame(opcode::binary, web_compressed(short_text));
        scanned_input often = input(any_size, {.messages_max = 1});
        REQUIRE(often.read(small + small + small));
        CHECK(often.arrived() == texts(3, "b:" + short_text));
        CHECK(often.pause_count() >= 2);
    }

    TEST_CASE("websocket scanner: what inflates without end takes no more memory than its limit") {
        constexpr std::size_t most = 10'000'000;
        const std::string bomb =
            frame(opcode::binary, web_compressed(std::string(200'000'000, 'x')));
        pipe::trim_buffers();
        const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
        scanned_input by = input(most);
        CHECK(by.read(bomb).error() == errc::message_too_large);
        const std::size_t after = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
        CHECK(after - before < 2 * most); // A sanitizer's own memory counts, too.
    }

    TEST_CASE(
        "websocket scanner: strongly compressed messages count, in all, until they are received") {
        constexpr std::size_t inflated_bytes = 1'000'000;
        constexpr std::size_t block_bytes_max = 2 * inflated_bytes;
        const pipe::memory_account_ptr account{new pipe::memory_account{3 * block_bytes_max}};
        const auto counted = [&] {
            return scanned_input{pipe::layout::websocket, any_size, roomy,
                                 codec::peer_deflation{.how = alone,
                                                       .message_bytes_max = any_size,
                                                       .account = account}};
        };
        const std::string bomb =
            frame(opcode::binary, web_compressed(std::string(inflated_bytes, 'x')));
        REQUIRE(bomb.size() < 2000);
        {
            scanned_input first = counted();
            first.receive_later();
            CHECK(first.read(bomb));
            CHECK(account->taken_bytes() >= inflated_bytes);
            CHECK(account->taken_bytes() <= block_bytes_max + 64 * 1024);
            scanned_input second = counted();
            second.receive_later();
            int whole_count = 0;
            errc error{};
            for (; error == errc{} && whole_count < 10; ++whole_count) {
                const result<void> taken = second.read(bomb);
                error = taken ? errc{} : taken.error();
            }
            CHECK(error == websocket_scanner::too_much_inflated);
            CHECK(whole_count <= 5);
            CHECK(account->taken_bytes() <= 3 * block_bytes_max + 64 * 1024);

            scanned_input third = counted();
            CHECK(!third.read(bomb));
            first.receive_now();
            second.receive_now();
            scanned_input fourth = counted();
            CHECK(fourth.read(bomb)); // In the room that those have left.
            CHECK(fourth.arrived().size() == 1);

            // A message that has not ended counts, too.
            scanned_input unfinished = counted();
            CHECK(unfinished.read(frame(opcode::binary,
                                        web_compressed(std::string(inflated_bytes, 'x')),
                                        flag_compressed)));
            CHECK(account->taken_bytes() >= inflated_bytes);
        }
        CHECK(account->taken_bytes() == 0);
    }

    TEST_CASE(
        "websocket scanner: messages that inflate eightfold at most, or to little, do not count") {
        const pipe::memory_account_ptr account{new pipe::memory_account{0}};
        scanned_input by{
            pipe::layout::websocket, any_size, roomy,
            codec::peer_deflation{.how = alone, .message_bytes_max = any_size, .account = account}};
        std::minstd_rand random{7};
        std::string message(100'000, '\0'); // Without repetitions.
        for (char& each : message) {
            each = static_cast<char>('0' + random() % 64);
        }
        for (const std::size_t read_bytes_max : {std::size_t{1000}, SIZE_MAX}) {
            CHECK(by.read(frame(opcode::binary, web_compressed(message)), read_bytes_max));
        }
        CHECK(by.read(frame(opcode::text, web_compressed(std::string(1500, 'x')))));
        CHECK(by.arrived() == texts{"b:" + message, "b:" + message, "t:" + std::string(1500, 'x')});
        CHECK(account->taken_bytes() == 0);
    }

    TEST_CASE("websocket scanner: thousands of empty compressed messages are taken in parts") {
        scanned_input by = input();
        std::string many;
        for (int count = 0; count < 5000; ++count) {
            many += frame(opcode::binary, web_compressed(""));
        }
        REQUIRE(by.read(many));
        CHECK(by.arrived().size() == 5000);
        CHECK(by.pause_count() >= 2); // Other sessions had their turn.
    }

    TEST_CASE("websocket scanner: nothing counts behind a close frame, compressed or not") {
        scanned_input by = input();
        REQUIRE(by.read(frame(opcode::binary, web_compressed("last")) +
                        frame(opcode::close, "\x03\xe8"s, flag_fin) +
                        frame(opcode::binary, "\x07")));
        REQUIRE(by.read(frame(opcode::binary, "\x07")));
        CHECK(by.arrived() == texts{"b:last", "close:1000 "});
        CHECK(by.is_idle());
    }

} // TEST_SUITE
