// SPDX-License-Identifier: MPL-2.0
#include "codec/inbound.hpp"

#include "base/limits.hpp"
#include "codec/scanner.hpp"
#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using zlink::errc;
using zlink::result;
using zlink::codec::command_sink;
using zlink::codec::inbound;
using zlink::pipe::message_queue;
using zlink::pipe::queue_limits;
using zlink::testing::on_wire;
using zlink::testing::pattern;
using zlink::testing::spelled;
using zlink::testing::take;
using zlink::testing::take_all;
namespace limits = zlink::limits;
namespace tuning = zlink::tuning;
namespace zmtp = zlink::wire::zmtp;

namespace {

using messages = std::vector<std::string>;
constexpr std::uint8_t more = zmtp::flag_more;
constexpr std::uint8_t command = zmtp::flag_command;

/// A queue and the decoder that fills it. Commands whose body begins with 'k' are kept, with 'f'
/// they fail, and others are dropped.
class receiver final : command_sink {
public:
    explicit receiver(const queue_limits& allowed = {},
                      std::uint64_t body_bytes_max = zmtp::body_bytes_limit)
        : queue(allowed), in(queue, body_bytes_max, *this), scratch_(limits::scratch_bytes) {}

    /// Reads `data` as a session does, at most `read_bytes_max` at a time, and takes the messages
    /// from the queue whenever there is no credit.
    result<void> read(std::string_view data, std::size_t read_bytes_max = SIZE_MAX) {
        while (!data.empty()) {
            std::array<iovec, 2> parts;
            const std::size_t count = in.prepare(scratch_, parts);
            const std::size_t bytes =
                zlink::testing::fill_parts(std::span{parts}.first(count), data, read_bytes_max);
            data.remove_prefix(bytes);
            REQUIRE(bytes > 0);
            if (const result<void> outcome = take_credit(in.received(bytes)); !outcome) {
                return outcome.error();
            }
        }
        return {};
    }

    /// Feeds `data`, at most `feed_bytes_max` at a time.
    result<void> feed(std::string_view data, std::size_t feed_bytes_max = SIZE_MAX) {
        while (!data.empty()) {
            const std::string_view taken = data.substr(0, feed_bytes_max);
            data.remove_prefix(taken.size());
            if (const result<void> outcome = take_credit(in.feed(std::as_bytes(std::span{taken})));
                !outcome) {
                return outcome.error();
            }
        }
        return {};
    }

    /// All messages that have arrived so far.
    messages& arrived() {
        for (std::string& each : take_all(queue)) {
            arrived_.push_back(std::move(each));
        }
        return arrived_;
    }

    message_queue queue;
    inbound in;
    messages commands; ///< All commands, kept or not.

private:
    result<void> take_credit(result<void> outcome) {
        while (outcome && in.is_blocked()) {
            REQUIRE(!queue.has_credit());
            REQUIRE(queue.has_frame());
            arrived();
            outcome = in.scan();
        }
        return outcome;
    }

    verdict on_command(std::span<const std::byte> body) noexcept override {
        commands.emplace_back(reinterpret_cast<const char*>(body.data()), body.size());
        const char first = commands.back().empty() ? '\0' : commands.back().front();
        return first == 'k' ? verdict::keep : first == 'f' ? verdict::fail : verdict::drop;
    }

    std::vector<std::byte> scratch_;
    messages arrived_;
};

/// Returns credit whenever the decoder has found that there is none.
class scanner_beside_reader final : public zlink::codec::scanner {
public:
    explicit scanner_beside_reader(message_queue& queue) : queue_(queue) {}

    result<void> scan(inbound& from) override {
        if (from.has_credit()) {
            from.publish(from.unscanned().size(), 1);
        } else {
            take_all(queue_);
            from.publish(0, 0);
        }
        return {};
    }
    result<void> on_body(std::span<std::byte>) noexcept override { return {}; }
    std::size_t write_header(std::byte*, std::uint64_t) noexcept override { return 0; }

private:
    message_queue& queue_;
};

/// A conversation: the bytes on the wire, and the messages that arrive in the queue.
struct conversation {
    void add(std::string_view body, std::uint8_t flags = 0) {
        data += on_wire(body, flags);
        if (flags != command || body.starts_with('k')) {
            frames.push_back(spelled(flags, body));
        }
        if ((flags & more) == 0) {
            message_ends.push_back(data.size());
            frame_counts.push_back(frames.size());
        }
    }

    /// The messages that are whole in the first `bytes` bytes.
    messages whole_in(std::size_t bytes) const {
        const auto behind = std::upper_bound(message_ends.begin(), message_ends.end(), bytes);
        const auto count = static_cast<std::size_t>(behind - message_ends.begin());
        const std::size_t frame_count = count == 0 ? 0 : frame_counts[count - 1];
        return {frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(frame_count)};
    }

    std::string data;
    messages frames;
    std::vector<std::size_t> message_ends;
    std::vector<std::size_t> frame_counts; ///< Frames up to each of the ends.
};

conversation short_conversation() {
    conversation made;
    made.add("hello");
    made.add("");
    made.add("part", more);
    made.add("", more);
    made.add("last");
    made.add("dropped", command);
    made.add(pattern(255));
    made.add(pattern(256), more);
    made.add(pattern(3));
    made.add("kept", command);
    made.add("", command);
    made.add("end");
    return made;
}

/// @param cut_bytes  The size of the pieces: messages that would need too many pieces are left out.
conversation long_conversation(std::size_t cut_bytes) {
    conversation made = short_conversation();
    for (const std::size_t bytes : {8000, 8191, 8192, 8193, 20'000, 60'000, 70'000, 200'000}) {
        if (bytes > 10'000 * cut_bytes) {
            break;
        }
        made.add(pattern(bytes), more);
        made.add("between", 0);
        made.add(pattern(bytes, 1));
        made.add("dropped", command);
        made.add("small");
    }
    made.add(pattern(60'000), command);
    made.add("end");
    return made;
}

} // namespace

TEST_SUITE("codec") {

    TEST_CASE("inbound: a reader whose parked flag was taken is woken, though nothing was read") {
        receiver peer;
        CHECK(peer.read(on_wire(pattern(2000), 0)));
        CHECK(peer.arrived().size() == 1);
        CHECK(peer.read(on_wire("unseen", 0)));
        CHECK(!peer.in.take_wake());
        peer.queue.mark_reader_parked(); // The reader has not passed the fence and checked again.
        iovec parts[2];
        std::vector<std::byte> scratch(limits::scratch_bytes);
        peer.in.prepare(scratch, parts);
        CHECK(peer.in.take_wake() == !peer.queue.unmark_reader());
    }

    TEST_CASE("inbound: finds the same messages however they are cut") {
        for (const std::size_t bytes : {1, 2, 3, 7, 100, 1000, 5000, 65'536, 65'537, 1'000'000}) {
            CAPTURE(bytes);
            const conversation talk = long_conversation(bytes);
            receiver reading;
            CHECK(reading.read(talk.data, bytes));
            CHECK(reading.arrived() == talk.frames);
            CHECK(reading.in.is_idle());
            receiver fed;
            CHECK(fed.feed(talk.data, bytes));
            CHECK(fed.arrived() == talk.frames);
            CHECK(fed.in.is_idle());
        }
    }

    TEST_CASE("inbound: finds the same messages wherever they are cut in two") {
        const conversation talk = short_conversation();
        const std::string_view data = talk.data;
        for (std::size_t split = 1; split < data.size(); ++split) {
            CAPTURE(split);
            receiver reading;
            CHECK(reading.read(data.substr(0, split)));
            CHECK(reading.arrived() == talk.whole_in(split));
            CHECK(reading.read(data.substr(split)));
            CHECK(reading.arrived() == talk.frames);
            receiver fed;
            CHECK(fed.feed(data.substr(0, split)));
            CHECK(fed.arrived() == talk.whole_in(split));
            CHECK(fed.read(data.substr(split)));
            CHECK(fed.arrived() == talk.frames);
        }
    }

    TEST_CASE("inbound: takes large frames wherever they are cut near their ends") {
        for (const std::size_t body_bytes : {8192, 65'536, 100'000}) {
            conversation talk;
            talk.add("before");
            talk.add(pattern(body_bytes), more);
            talk.add("after");
            const std::string_view data = talk.data;
            for (std::size_t near = 0; near < 24; ++near) {
                for (const std::size_t split : {near + 1, data.size() - 1 - near}) {
                    CAPTURE(split);
                    receiver reading;
                    CHECK(reading.read(data.substr(0, split)));
                    CHECK(reading.read(data.substr(split), 3000));
                    CHECK(reading.arrived() == talk.frames);
                }
            }
        }
    }

    TEST_CASE("inbound: shows parts of a message only when all of it is there") {
        receiver reading;
        CHECK(reading.read(on_wire("one", more)));
        CHECK(reading.read(on_wire(pattern(20'000), more)));
        CHECK(reading.arrived().empty());
        CHECK(!reading.in.take_wake());
        CHECK(reading.read(on_wire("three")));
        CHECK(reading.arrived() == messages{"+one", "+" + pattern(20'000), "three"});
    }

    TEST_CASE("inbound: says once that a sleeping reader must be woken") {
        receiver reading;
        reading.queue.mark_reader_parked();
        CHECK(reading.read(on_wire("hello").substr(0, 4)));
        CHECK(!reading.in.take_wake());
        CHECK(reading.read("llo"));
        CHECK(reading.in.take_wake());
        CHECK(!reading.in.take_wake());
        reading.arrived();
        reading.queue.mark_reader_parked();
        CHECK(reading.read(on_wire(pattern(20'000)), 1000));
        CHECK(reading.in.take_wake());
        CHECK(reading.read(on_wire("more")));
        CHECK(!reading.in.take_wake());
    }

    TEST_CASE("inbound: a claimed size makes it allocate only as bytes arrive") {
        constexpr std::uint64_t claimed = std::uint64_t{1} << 40;
        receiver reading;
        std::byte header[zmtp::header_bytes_max];
        zmtp::write_header(header, claimed, 0);
        CHECK(reading.read({reinterpret_cast<const char*>(header), sizeof header}));
        std::vector<std::byte> scratch(limits::scratch_bytes);
        std::uint64_t filled = 0;
        while (filled < 10'000'000) {
            iovec parts[2];
            REQUIRE(reading.in.prepare(scratch, parts) == 2);
            const std::uint64_t block_bytes = filled + parts[0].iov_len;
            const std::uint64_t trusted = std::max<std::uint64_t>(limits::unproven_bytes_max,
                                                                  filled * limits::unproven_growth);
            // The pool rounds up by a quarter at most.
            REQUIRE(block_bytes <= trusted + trusted / 4 + 64);
            const std::size_t bytes = std::min<std::size_t>(parts[0].iov_len, 100'000);
            std::memset(parts[0].iov_base, 'x', bytes);
            REQUIRE(reading.in.received(bytes));
            filled += bytes;
        }
        CHECK(!reading.in.is_idle());
        CHECK(reading.arrived().empty());
    }

    TEST_CASE("inbound: trusts a size that the peer has completed before") {
        std::vector<std::byte> scratch(limits::scratch_bytes);
        receiver reading;
        const std::string large = on_wire(pattern(1'000'000));
        CHECK(reading.read(large));
        CHECK(reading.read(std::string_view(large).substr(0, 9)));
        iovec parts[2];
        CHECK(reading.in.prepare(scratch, parts) == 2);
        CHECK(parts[0].iov_len == 1'000'000);
    }

    TEST_CASE("inbound: offers a large payload its own block and no more than is missing") {
        std::vector<std::byte> scratch(limits::scratch_bytes);
        receiver reading;
        const std::string frame = on_wire(pattern(50'000));
        CHECK(reading.read(std::string_view(frame).substr(0, 9 + 20'000), 5000));
        iovec parts[2];
        CHECK(reading.in.prepare(scratch, parts) == 2);
        CHECK(parts[0].iov_len == 30'000);
        CHECK(parts[1].iov_base == scratch.data());
        CHECK(parts[1].iov_len == tuning::lookahead_bytes);
    }

    TEST_CASE("inbound: finds the same messages whatever follows large payloads of one size") {
        for (const std::size_t body_bytes : {8192, 20'000, 65'536, 131'073}) {
            for (const std::size_t messages_max : {1, 2, 5, 1000}) {
                conversation talk;
                const auto add_alike = [&] {
                    for (std::size_t index = 0; index < 7; ++index) {
                        talk.add(pattern(body_bytes, static_cast<unsigned>(index)));
                    }
                };
                const std::vector<std::function<void()>> followers{
                    [&] { talk.add(""); },
                    [&] { talk.add("small"); },
                    [&] { talk.add("dropped", command); },
                    [&] { talk.add("kept", command); },
                    [&] { talk.add(pattern(body_bytes), more); },
                    [&] { talk.add(pattern(body_bytes - 1)); },
                    [&] { talk.add(pattern(body_bytes + 1)); },
                    [&] { talk.add(pattern(3 * body_bytes)); },
                    [&] { talk.add(pattern(300)); },
                };
                for (const auto& add_follower : followers) {
                    add_alike();
                    add_follower();
                    add_follower();
                }
                add_alike();
                for (const std::size_t bytes : {1001UL, 8193UL, 65'545UL, 150'000UL, SIZE_MAX}) {
                    CAPTURE(body_bytes);
                    CAPTURE(messages_max);
                    CAPTURE(bytes);
                    receiver reading{{.messages_max = messages_max}};
                    CHECK(reading.read(talk.data, bytes));
                    CHECK(reading.arrived() == talk.frames);
                    CHECK(reading.in.is_idle());
                }
            }
        }
    }

    TEST_CASE("inbound: the first large payload takes no large segment besides its block") {
        for (const std::size_t small_count : {0, 1, 10}) {
            CAPTURE(small_count);
            receiver reading;
            conversation said;
            for (std::size_t count = 0; count < small_count; ++count) {
                said.add("small");
            }
            said.add(pattern(60'000));
            CHECK(reading.read(std::string_view(said.data).substr(0, 50'000)));
            CHECK(reading.queue.rope().tail_segment_bytes() <= 4 * tuning::lookahead_bytes);
            CHECK(reading.read(std::string_view(said.data).substr(50'000)));
            CHECK(reading.arrived() == said.frames);
        }
    }

    TEST_CASE(
        "inbound: bytes left for lack of credit are checked again if credit has come back since") {
        receiver reading{{.messages_max = 1}};
        inbound in{reading.queue, std::make_unique<scanner_beside_reader>(reading.queue)};
        const std::string data = on_wire("message", 0);
        const auto message = std::as_bytes(std::span{data});
        CHECK(in.feed(message));
        CHECK(in.is_blocked());
        CHECK(in.feed(message));
        CHECK(reading.queue.has_credit());
        CHECK(in.is_blocked());
        CHECK(in.scan());
        CHECK(reading.arrived() == messages{spelled(0, "message")});
    }

    TEST_CASE("inbound: accepts bodies up to the limit, long or short") {
        for (const std::uint64_t limit : {0, 1, 10, 254, 255, 256, 257, 8192, 100'000}) {
            CAPTURE(limit);
            const std::string fits = on_wire(pattern(limit));
            const std::string exceeds = on_wire(pattern(limit + 1));
            for (const std::size_t bytes : {std::size_t{1}, SIZE_MAX}) {
                receiver reading{{}, limit};
                CHECK(reading.read(fits + fits, bytes));
                CHECK(reading.read(fits + exceeds, bytes).error() == errc::message_too_large);
                CHECK(reading.arrived() == messages(3, pattern(limit)));
                receiver warned{{}, limit};
                const std::size_t header_bytes = zmtp::header_bytes(limit + 1);
                CHECK(warned.read(exceeds.substr(0, header_bytes), bytes).error() ==
                      errc::message_too_large);
            }
        }
    }

    TEST_CASE("inbound: refuses what breaks the rules, behind what does not") {
        for (const char* const wrong : {"\x08\x01x", "\x80", "\x05\x01x"}) {
            for (const std::size_t bytes : {1, 1000}) {
                receiver reading;
                const result<void> outcome = reading.read(on_wire("good") + wrong, bytes);
                CHECK(outcome.error() == errc::protocol_violation);
                CHECK(reading.arrived() == messages{"good"});
            }
        }
    }

    TEST_CASE("inbound: gives each command to the sink, whole, once and in order") {
        for (const std::size_t bytes : {100, 1000, 1'000'000}) {
            const conversation talk = long_conversation(bytes);
            receiver reading;
            CHECK(reading.read(talk.data, bytes));
            REQUIRE(reading.commands.size() == 3 + 8 + 1);
            CHECK(reading.commands[0] == "dropped");
            CHECK(reading.commands[1] == "kept");
            CHECK(reading.commands[2].empty());
            CHECK(reading.commands.back() == pattern(60'000));
        }
    }

    TEST_CASE("inbound: commands that are dropped may come between the parts of a message") {
        conversation talk;
        talk.add("one", more);
        talk.data += on_wire("dropped", command) + on_wire("dropped too", command);
        talk.add("two", more);
        talk.data += on_wire("dropped", command);
        talk.add("three");
        for (std::size_t bytes = 1; bytes < talk.data.size(); ++bytes) {
            receiver reading;
            CHECK(reading.read(talk.data, bytes));
            CHECK(reading.arrived() == messages{"+one", "+two", "three"});
            CHECK(reading.commands.size() == 3);
        }
    }

    TEST_CASE("inbound: keeps the commands of a flood that are not dropped") {
        std::string data;
        messages expected;
        for (int count = 0; count < 20'000; ++count) {
            data += on_wire("x", command);
            if (count % 7 == 0) {
                expected.push_back(std::to_string(count));
                data += on_wire(expected.back());
            }
        }
        for (const std::size_t bytes : {999, 65'536, 1'000'000}) {
            CAPTURE(bytes);
            receiver reading{{.messages_max = 1000}};
            CHECK(reading.read(data, bytes));
            CHECK(reading.arrived() == expected);
            CHECK(reading.commands.size() == 20'000);
            CHECK(reading.in.is_idle());
        }
    }

    TEST_CASE("inbound: a command that is kept may not come between the parts of a message") {
        const std::string data = on_wire("one", more) + on_wire("kept", command) + on_wire("two");
        for (std::size_t bytes = 1; bytes <= data.size(); ++bytes) {
            receiver reading;
            CHECK(reading.read(data, bytes).error() == errc::protocol_violation);
            CHECK(reading.arrived().empty());
        }
    }

    TEST_CASE("inbound: a command that fails ends the connection") {
        for (const std::size_t bytes : {1, 1000}) {
            receiver reading;
            const result<void> outcome =
                reading.read(on_wire("good") + on_wire("fails", command) + on_wire("x"), bytes);
            CHECK(outcome.error() == errc::protocol_violation);
            CHECK(reading.arrived() == messages{"good"});
        }
    }

    TEST_CASE("inbound: refuses a command above the limit, however it arrives") {
        constexpr std::size_t limit = limits::handshake_command_bytes_max;
        for (const std::size_t bytes : {1000, 1'000'000}) {
            CAPTURE(bytes);
            receiver reading;
            CHECK(reading.feed(on_wire(pattern(limit), command), bytes));
            CHECK(reading.commands.size() == 1);
            CHECK(reading.feed(on_wire(pattern(limit + 1), command), bytes).error() ==
                  errc::message_too_large);
            CHECK(reading.commands.size() == 1);
        }
    }

    TEST_CASE("inbound: shows all that a read brought, and stops when credit is used up") {
        for (const std::uint64_t messages_max : {1, 2, 3, 7, 8}) {
            CAPTURE(messages_max);
            receiver reading{{.messages_max = messages_max}};
            std::string data;
            for (int count = 0; count < 7; ++count) {
                data += on_wire(std::to_string(count));
            }
            CHECK(reading.in.feed(std::as_bytes(std::span{data})));
            CHECK(reading.queue.published().message_count == 7);
            CHECK(reading.in.is_blocked() == (messages_max <= 7));
            CHECK(reading.in.scan()); // Nothing came back yet.
            CHECK(reading.in.is_blocked() == (messages_max <= 7));
            CHECK(take_all(reading.queue).size() == 7);
            CHECK(reading.in.scan());
            CHECK(!reading.in.is_blocked());
        }
    }

    TEST_CASE("inbound: keeps what it is given without credit until there is some") {
        receiver reading{{.messages_max = 1}};
        const std::string data = on_wire("one");
        CHECK(reading.in.feed(std::as_bytes(std::span{data})));
        CHECK(reading.in.feed(std::as_bytes(std::span{data})));
        CHECK(reading.queue.published().message_count == 1);
        CHECK(!reading.in.is_idle());
        CHECK(take_all(reading.queue) == messages{"one"});
        CHECK(reading.in.scan());
        CHECK(take_all(reading.queue) == messages{"one"});
        CHECK(reading.in.is_idle());
    }

    TEST_CASE("inbound: finds all messages although credit runs out again and again") {
        for (const std::uint64_t messages_max : {1, 2, 5}) {
            for (const std::size_t bytes : {1, 100, 65'536, 1'000'000}) {
                const conversation talk = long_conversation(bytes);
                CAPTURE(messages_max);
                CAPTURE(bytes);
                receiver reading{{.messages_max = messages_max}};
                CHECK(reading.read(talk.data, bytes));
                CHECK(reading.arrived() == talk.frames);
                receiver fed{{.messages_max = messages_max}};
                CHECK(fed.feed(talk.data, bytes));
                CHECK(fed.arrived() == talk.frames);
            }
        }
    }

    TEST_CASE("inbound: stops when too many bytes are under way") {
        receiver reading{{.messages_max = 1000, .bytes_max = 1000}};
        const std::string message = on_wire(pattern(600));
        CHECK(reading.in.feed(std::as_bytes(std::span{message})));
        CHECK(!reading.in.is_blocked());
        CHECK(reading.in.feed(std::as_bytes(std::span{message})));
        CHECK(reading.in.is_blocked());
        CHECK(take_all(reading.queue).size() == 2);
        CHECK(reading.in.scan());
        CHECK(!reading.in.is_blocked());
    }

    TEST_CASE("inbound: takes the rest without credit, up to the bytes that a pipe may hold") {
        receiver reading{{.messages_max = 1}};
        std::string data;
        for (int count = 0; count < 7; ++count) {
            data += on_wire(std::to_string(count));
        }
        CHECK(reading.in.feed(std::as_bytes(std::span{data})));
        CHECK(reading.in.feed(std::as_bytes(std::span{data})));
        CHECK(reading.in.is_blocked());
        CHECK(reading.queue.published().message_count == 7);

        reading.in.take_rest();
        CHECK(reading.in.scan());
        CHECK(!reading.in.is_blocked());
        CHECK(reading.queue.published().message_count == 14);

        const std::string large = on_wire(std::string(limits::pipe_bytes_max / 2, 'x'));
        CHECK(reading.in.feed(std::as_bytes(std::span{large})));
        CHECK(!reading.in.is_blocked());
        CHECK(reading.in.feed(std::as_bytes(std::span{large})));
        CHECK(reading.in.is_blocked());
        CHECK(reading.in.feed(std::as_bytes(std::span{data})));
        CHECK(reading.queue.published().message_count == 16);
        CHECK(take_all(reading.queue).size() == 16);
        CHECK(reading.in.scan());
        CHECK(take_all(reading.queue).size() == 7);
        CHECK(reading.in.is_idle());
    }

    TEST_CASE("inbound: drops what is not a whole message when the connection is lost") {
        const conversation talk = short_conversation();
        for (std::size_t bytes = 0; bytes <= talk.data.size(); ++bytes) {
            CAPTURE(bytes);
            receiver reading;
            CHECK(reading.read(std::string_view(talk.data).substr(0, bytes)));
            reading.in.reset();
            CHECK(reading.in.is_idle());
            messages expected = talk.whole_in(bytes);
            expected.insert(expected.end(), talk.frames.begin(), talk.frames.end());
            CHECK(reading.read(talk.data));
            CHECK(reading.arrived() == expected);
        }
    }

    TEST_CASE("inbound: drops a large frame that has arrived in part") {
        conversation talk;
        talk.add("one");
        talk.add(pattern(20'000), more);
        talk.add(pattern(200'000));
        for (const std::size_t bytes : {10, 100, 20'016, 20'018, 20'100, 100'000, 220'000}) {
            CAPTURE(bytes);
            receiver reading;
            CHECK(reading.read(std::string_view(talk.data).substr(0, bytes), 1000));
            CHECK(!reading.in.is_idle());
            reading.in.reset();
            CHECK(reading.in.is_idle());
            CHECK(reading.read(talk.data));
            CHECK(reading.arrived() ==
                  messages{"one", "one", "+" + pattern(20'000), pattern(200'000)});
        }
    }

    TEST_CASE("inbound: forgets on a lost connection what waited for credit") {
        receiver reading{{.messages_max = 1}};
        for (const char* const each : {"one", "two", "three"}) {
            const std::string data = on_wire(each);
            CHECK(reading.in.feed(std::as_bytes(std::span{data})));
        }
        CHECK(reading.in.is_blocked());
        reading.in.reset();
        CHECK(!reading.in.is_blocked());
        CHECK(take_all(reading.queue) == messages{"one"});
        CHECK(reading.in.scan());
        CHECK(!reading.queue.has_frame());
        CHECK(reading.read(on_wire("four")));
        CHECK(reading.arrived() == messages{"four"});
    }

} // TEST_SUITE
