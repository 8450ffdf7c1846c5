// SPDX-License-Identifier: MPL-2.0
//
// The readers get the bytes that a server may send whole, one at a time, and split at every
// position.

#include "batch.hpp"
#include "reply_reader.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace stream_bench;

namespace {

using data = std::vector<unsigned char>;

data make_body(std::size_t body_bytes, std::uint64_t sent_ns) {
    data body(body_bytes);
    for (std::size_t offset = 0; offset < body_bytes; ++offset) {
        body[offset] = filling_at(offset);
    }
    stamp{message_phase::measuring, sent_ns}.encode(body.data());
    return body;
}

data operator+(data left, const data& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

data length_frame(const data& body) {
    data head(length_head_bytes);
    encode_length(head.data(), body.size());
    return head + body;
}

data websocket_frame(unsigned char first_byte, const data& payload) {
    data head(websocket_head_bytes_max);
    head.resize(encode_websocket_head(head.data(), first_byte, payload.size()));
    return head + payload;
}

data part(const data& whole, std::size_t begin, std::size_t end) {
    return {whole.begin() + static_cast<long>(begin), whole.begin() + static_cast<long>(end)};
}

// The stamps of the replies found, or {0} if the bytes are no replies.
template<class Reader>
struct reading {
    explicit reading(std::size_t body_bytes) : expected{body_bytes, true} {}

    bool take(const unsigned char* begin, std::size_t count) {
        // A copy of its own, so that a read past its end is detected.
        const data copy(begin, begin + count);
        return reader.read(copy.data(), copy.size(), expected, [&](const unsigned char* in) {
            sent.push_back(stamp::decode(in).sent_ns);
        });
    }

    expected_reply expected;
    Reader reader;
    std::vector<std::uint64_t> sent;
};

template<class Reader>
void check_splits(const data& stream, std::size_t body_bytes,
                  const std::vector<std::uint64_t>& wanted) {
    reading<Reader> whole{body_bytes};
    CHECK(whole.take(stream.data(), stream.size()));
    CHECK(whole.sent == wanted);

    reading<Reader> single{body_bytes};
    for (const unsigned char byte : stream) {
        REQUIRE(single.take(&byte, 1));
    }
    CHECK(single.sent == wanted);

    for (std::size_t split = 0; split <= stream.size(); ++split) {
        reading<Reader> halves{body_bytes};
        CAPTURE(split);
        REQUIRE(halves.take(stream.data(), split));
        REQUIRE(halves.take(stream.data() + split, stream.size() - split));
        REQUIRE(halves.sent == wanted);
    }
}

} // namespace

TEST_CASE("length reader: finds each reply however the bytes are split") {
    for (const std::size_t body_bytes : {16U, 64U, 300U}) {
        const data stream = length_frame(make_body(body_bytes, 1)) +
                            length_frame(make_body(body_bytes, 2)) +
                            length_frame(make_body(body_bytes, 3));
        check_splits<length_reader>(stream, body_bytes, {1, 2, 3});
    }
}

TEST_CASE("length reader: refuses another length as soon as it is there") {
    reading<length_reader> refused{64};
    const data stream = length_frame(make_body(65, 1));

    CHECK(refused.take(stream.data(), length_head_bytes - 1));
    CHECK(!refused.take(stream.data() + length_head_bytes - 1, 1));
}

TEST_CASE("length reader: refuses filling that was changed, in any byte and piece") {
    const data stream = length_frame(make_body(40, 1));
    for (std::size_t place = length_head_bytes + stamp::wire_bytes; place < stream.size();
         ++place) {
        data changed = stream;
        changed[place] ^= 1;
        reading<length_reader> whole{40};
        CHECK(!whole.take(changed.data(), changed.size()));
        reading<length_reader> halves{40};
        const bool first = halves.take(changed.data(), 20);
        CHECK(!(first && halves.take(changed.data() + 20, changed.size() - 20)));
    }
}

TEST_CASE("WebSocket reader: finds each reply however the bytes are split") {
    for (const std::size_t body_bytes : {16U, 125U, 126U, 300U}) {
        const auto frame = [&](std::uint64_t sent_ns) {
            return websocket_frame(final_flag | opcode_binary, make_body(body_bytes, sent_ns));
        };
        check_splits<websocket_reader>(frame(1) + frame(2) + frame(3), body_bytes, {1, 2, 3});
    }
}

TEST_CASE("WebSocket reader: takes a size of 64 bits") {
    const data stream = websocket_frame(final_flag | opcode_binary, make_body(65536, 1)) +
                        websocket_frame(final_flag | opcode_binary, make_body(65536, 2));
    reading<websocket_reader> found{65536};

    for (std::size_t begin = 0; begin < stream.size(); begin += 1000) {
        REQUIRE(
            found.take(stream.data() + begin, std::min<std::size_t>(1000, stream.size() - begin)));
    }
    CHECK(found.sent == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE(
    "WebSocket reader: joins fragments, with control frames between, an empty one at the end") {
    const data body = make_body(40, 7);
    const data stream = websocket_frame(opcode_binary, part(body, 0, 5)) +
                        websocket_frame(final_flag | opcode_ping, {'p'}) +
                        websocket_frame(opcode_continuation, part(body, 5, 40)) +
                        websocket_frame(final_flag | opcode_pong, {}) +
                        websocket_frame(final_flag | opcode_continuation, {}) +
                        websocket_frame(final_flag | opcode_binary, make_body(40, 8));
    check_splits<websocket_reader>(stream, 40, {7, 8});
}

TEST_CASE("WebSocket reader: tells a ping and its payload once") {
    reading<websocket_reader> pinged{16};
    const data stream = websocket_frame(final_flag | opcode_ping, {'a', 'b', 'c'});
    std::string payload;

    CHECK(!pinged.reader.take_ping(payload));
    CHECK(pinged.take(stream.data(), stream.size()));
    CHECK(pinged.reader.take_ping(payload));
    CHECK(payload == "abc");
    CHECK(!pinged.reader.take_ping(payload));
}

TEST_CASE("WebSocket reader: refuses what is no reply") {
    const data body = make_body(40, 1);
    data changed = body;
    changed.back() ^= 1;
    data masked = websocket_frame(final_flag | opcode_binary, body);
    masked[1] |= mask_flag;
    for (const data& stream : {websocket_frame(final_flag | opcode_binary, make_body(41, 1)),
                               websocket_frame(final_flag | opcode_binary, make_body(39, 1)),
                               websocket_frame(final_flag | opcode_binary, changed),
                               websocket_frame(final_flag | opcode_close, {}),
                               websocket_frame(final_flag | opcode_close, {3, 232}), masked}) {
        reading<websocket_reader> refused{40};
        CHECK(!refused.take(stream.data(), stream.size()));
    }
}

TEST_CASE("batch: on tcp, its messages read as replies") {
    batch messages{false, 64, 30};
    const unsigned char* const laid_out =
        messages.bytes(3, {message_phase::measuring, 0x0102030405060708});
    reading<length_reader> echoed{64};

    CHECK(messages.message_count_max() == 30);
    CHECK(messages.frame_bytes() == 68);
    CHECK(echoed.take(laid_out, 3 * messages.frame_bytes()));
    CHECK(echoed.sent == std::vector<std::uint64_t>(3, 0x0102030405060708));
}

TEST_CASE("batch: on ws, its messages are masked, and unmasked they are bodies") {
    for (const std::size_t body_bytes : {64U, 200U, 70000U}) {
        batch messages{true, body_bytes, 2};
        const unsigned char* const laid_out = messages.bytes(2, {message_phase::measuring, 5});
        for (std::size_t message = 0; message < 2; ++message) {
            const unsigned char* const frame = laid_out + message * messages.frame_bytes();
            const std::size_t head_bytes = websocket_head_bytes(frame);
            CHECK(frame[0] == (final_flag | opcode_binary));
            CHECK((frame[1] & mask_flag) != 0);
            CHECK(websocket_payload_bytes(frame) == body_bytes);
            CHECK(head_bytes + body_bytes == messages.frame_bytes());
            mask_key key{};
            std::copy(frame + head_bytes - key.size(), frame + head_bytes, key.begin());
            CHECK(key != mask_key{});
            data body(body_bytes);
            copy_masked(body.data(), frame + head_bytes, body_bytes, key, 0);
            CHECK(body == make_body(body_bytes, 5));
        }
    }
}

TEST_CASE(
    "batch: a stamp is in as many messages as were asked for, also when more are asked later") {
    batch messages{false, 16, 4};
    const stamp early{message_phase::measuring, 1};
    const stamp late{message_phase::measuring, 2};

    CHECK(messages.bytes(4, early) == messages.bytes(1, late));
    reading<length_reader> mixed{16};
    CHECK(mixed.take(messages.bytes(3, late), 3 * messages.frame_bytes()));
    CHECK(mixed.sent == std::vector<std::uint64_t>{2, 2, 2});
}

TEST_CASE("mask: gives the same bytes in one piece and in many, and where it lies") {
    const mask_key key{1, 2, 3, 4};
    data plain(150);
    for (std::size_t offset = 0; offset < plain.size(); ++offset) {
        plain[offset] = filling_at(offset);
    }
    data wanted = plain;
    for (std::size_t offset = 0; offset < wanted.size(); ++offset) {
        wanted[offset] ^= key[offset % 4];
    }
    for (std::size_t split = 0; split <= plain.size(); ++split) {
        data out(plain.size());
        copy_masked(out.data(), plain.data(), split, key, 0);
        copy_masked(out.data() + split, plain.data() + split, plain.size() - split, key, split % 4);
        REQUIRE(out == wanted);
    }
    data moved(4);
    moved = moved + plain;
    copy_masked(moved.data(), moved.data() + 4, plain.size(), key, 0);
    moved.resize(plain.size());
    CHECK(moved == wanted);
}
