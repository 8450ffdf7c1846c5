// SPDX-License-Identifier: MPL-2.0
#include "codec/outbound.hpp"

#include "codec/frame_encoder.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using zlink::codec::outbound;
using zlink::pipe::message_queue;
using zlink::pipe::queue_limits;
using zlink::testing::counted_block;
using zlink::testing::on_wire;
using zlink::testing::pattern;
using zlink::testing::push;
namespace tuning = zlink::tuning;
namespace zmtp = zlink::wire::zmtp;

namespace {

constexpr std::uint8_t more = zmtp::flag_more;
constexpr std::uint8_t command = zmtp::flag_command;

/// A queue, the messages put into it and the bytes that come out.
struct sender {
    explicit sender(const queue_limits& allowed = {}) : queue(allowed), out(queue) {}

    void send(std::string_view body, std::uint8_t flags = 0) {
        push(queue, body, flags);
        finish(on_wire(body, flags), flags);
    }

    void send_block(std::string_view body, std::uint8_t flags = 0) {
        queue.push_reference(new counted_block{alive, std::string(body)}, body.size(), flags);
        finish(on_wire(body, flags), flags);
    }

    void send_control() { (void)queue.push_control(new counted_block{alive}); }

    /// Writes at most `bytes` bytes of those that gather() describes.
    /// @return Whether the writer must be woken.
    bool write(std::size_t bytes = SIZE_MAX, std::size_t parts_max = 64,
               std::size_t unit_bytes = 0) {
        std::vector<iovec> parts(parts_max);
        parts.resize(out.gather(parts, unit_bytes));
        std::size_t taken = 0;
        for (const iovec& part : parts) {
            const std::size_t here = std::min(part.iov_len, bytes - taken);
            written.append(static_cast<const char*>(part.iov_base), here);
            taken += here;
        }
        return out.advance(taken);
    }

    /// @return The bytes that were written.
    std::size_t write_units(std::size_t unit_bytes) {
        const std::size_t before = written.size();
        (void)write(SIZE_MAX, 64, unit_bytes);
        return written.size() - before;
    }

    bool take_control() {
        bool wakes = false;
        zlink::pipe::block* const object = out.take_control(wakes);
        if (object != nullptr) {
            object->drop();
        }
        return object != nullptr;
    }

    /// The start of the message that the byte `position` of `sent` belongs to.
    std::size_t message_begin(std::size_t position) const {
        return *(std::upper_bound(boundaries.begin(), boundaries.end(), position) - 1);
    }

    int alive = 0;
    message_queue queue;
    outbound out;
    std::string sent;                       ///< The bytes of the queue.
    std::string written;                    ///< The bytes written.
    std::vector<std::size_t> boundaries{0}; ///< Ends of messages, in `sent`.

private:
    void finish(std::string_view data, std::uint8_t flags) {
        sent += data;
        if ((flags & more) == 0) {
            (void)queue.finish_message();
            boundaries.push_back(sent.size());
        }
    }
};

void send_conversation(sender& by) {
    by.send("hello");
    by.send("");
    by.send("part", more);
    by.send(pattern(300), more);
    by.send_block(pattern(100), more);
    by.send("last");
    by.send_block(pattern(300));
    by.send_block("");
    by.send("command", command);
    by.send(pattern(500));
    by.send_block("block", more);
    by.send_block("behind block");
}

std::string subscribe(std::string_view topic) {
    return std::string("\x09SUBSCRIBE").append(topic);
}
std::string cancel(std::string_view topic) {
    return std::string("\x06"
                       "CANCEL")
        .append(topic);
}

std::string text_of(const std::vector<std::byte>& data) {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

/// Appends the next frames to `out`, subscriptions as messages.
/// @return The bytes that advance() needs.
std::size_t translate(zlink::codec::outbound& from, std::vector<std::byte>& out) {
    zlink::codec::frame_encoder one{{.subscriptions_as_messages = true}};
    one.fill(from);
    out.insert(out.end(), one.unsent().begin(), one.unsent().end());
    return one.on_sent(one.unsent().size());
}

} // namespace

TEST_SUITE("codec") {

    TEST_CASE("outbound: has nothing to write at first") {
        sender by;
        iovec parts[4];
        CHECK(by.out.gather(parts) == 0);
        CHECK(by.out.is_empty());
        CHECK(!by.out.has_work());
        CHECK(by.out.frame_rest() == 0);
        CHECK(!by.take_control());
        CHECK(!by.out.return_credit());
        push(by.queue, "unfinished", more);
        CHECK(by.out.gather(parts) == 0);
        CHECK(by.out.is_empty());
    }

    TEST_CASE("outbound: writes the bytes of the queue, in pieces of any size") {
        for (std::size_t bytes = 1; bytes < 1500; bytes += bytes < 30 ? 1 : 97) {
            CAPTURE(bytes);
            sender by;
            send_conversation(by);
            while (!by.out.is_empty()) {
                (void)by.write(bytes);
            }
            CHECK(by.written == by.sent);
            CHECK(!by.out.has_work());
            CHECK(by.out.frame_rest() == 0);
        }
    }

    TEST_CASE("outbound: writes what is added meanwhile") {
        sender by;
        for (int round = 0; round < 20; ++round) {
            send_conversation(by);
            (void)by.write(1000);
        }
        while (!by.out.is_empty()) {
            (void)by.write();
        }
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: frees blocks when their message was written") {
        sender by;
        by.send_block("one", more);
        by.send_block("two");
        by.send("end");
        (void)by.write(2 + 3 + 2 + 2);
        CHECK(by.alive == 2);
        (void)by.write();
        CHECK(by.alive == 0);
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: sends the message again from its start that was cut off at any byte") {
        sender whole;
        send_conversation(whole);
        for (const std::size_t piece : {13, 10'000}) {
            for (std::size_t position = 0; position < whole.sent.size(); ++position) {
                CAPTURE(piece);
                CAPTURE(position);
                sender by{{.messages_max = 100}};
                send_conversation(by);
                while (by.written.size() < position) {
                    (void)by.write(std::min(piece, position - by.written.size()));
                }
                by.out.rewind();
                CHECK(by.out.frame_rest() == 0);
                by.written.resize(by.message_begin(position));
                while (!by.out.is_empty()) {
                    (void)by.write(piece);
                }
                CHECK(by.written == by.sent);
                CHECK(!by.out.return_credit());
                by.queue.set_limits({.messages_max = 100}); // Checks the credit again.
                CHECK(by.queue.credit() == 100);
            }
        }
    }

    TEST_CASE("outbound: sends borrowed frames, and from its start the one that was cut off") {
        for (std::size_t cut = 0; cut < 20; ++cut) {
            CAPTURE(cut);
            sender origin;
            sender one{{.messages_max = 4}};
            for (const char* const body : {"a", "", "three", "four"}) {
                origin.send(body);
            }
            const auto first = origin.queue.front();
            const std::byte* const begin = first.body - zmtp::header_bytes_min;
            one.queue.push_borrowed(origin.queue.front_segment(), {begin, origin.sent.size()}, 4);
            (void)one.queue.publish_messages();
            CHECK(!one.queue.has_credit());

            one.write(cut);
            one.out.rewind();
            one.written.resize(origin.message_begin(cut));
            while (one.written.size() < origin.sent.size()) {
                one.write(3);
            }
            CHECK(one.written == origin.sent);
            CHECK(one.queue.has_credit());
        }
    }

    TEST_CASE("outbound: may be rewound when nothing was cut off") {
        sender by;
        by.out.rewind();
        by.send("one");
        (void)by.write();
        by.out.rewind();
        CHECK(by.out.is_empty());
        by.send("two");
        (void)by.write();
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: describes no more parts than there is room for") {
        for (std::size_t parts_max = 2; parts_max < 12; ++parts_max) {
            CAPTURE(parts_max);
            sender by;
            send_conversation(by);
            std::vector<iovec> parts(parts_max);
            const std::size_t count = by.out.gather(parts);
            CHECK(count > 0);
            CHECK(count <= parts_max);
            while (!by.out.is_empty()) {
                (void)by.write(SIZE_MAX, parts_max);
            }
            CHECK(by.written == by.sent);
        }
    }

    TEST_CASE("outbound: stops to gather behind the limit of bytes") {
        sender by;
        for (int count = 0; count < 100; ++count) {
            by.send_block(pattern(10'000));
        }
        iovec parts[tuning::gather_count_max * 4];
        const std::size_t count = by.out.gather(parts);
        std::size_t bytes = 0;
        for (std::size_t index = 0; index < count; ++index) {
            bytes += parts[index].iov_len;
        }
        CHECK(bytes >= tuning::gather_bytes_max);
        CHECK(bytes < tuning::gather_bytes_max + 10'009);
        while (!by.out.is_empty()) {
            (void)by.write();
        }
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: says how much of a frame is left") {
        sender by;
        by.send("12345", more);
        by.send_block(pattern(300));
        const std::size_t rests[] = {0, 6, 5, 4, 3, 2, 1, 0, 308, 307};
        for (const std::size_t rest : rests) {
            CHECK(by.out.frame_rest() == rest);
            (void)by.write(1);
        }
    }

    TEST_CASE("outbound: stops at a control object until it is taken") {
        sender by;
        by.send("one");
        by.send_control();
        by.send("two");
        by.send_control();
        by.send_control();
        CHECK(!by.take_control()); // A frame is next.
        (void)by.write();
        CHECK(by.written == on_wire("one"));
        iovec parts[4];
        CHECK(by.out.gather(parts) == 0);
        CHECK(!by.out.is_empty());
        CHECK(by.alive == 3);
        CHECK(by.take_control());
        CHECK(by.alive == 2);
        (void)by.write();
        CHECK(by.written == by.sent);
        CHECK(by.take_control());
        CHECK(by.take_control());
        CHECK(!by.take_control());
        CHECK(by.out.is_empty());
        CHECK(!by.out.has_work());
    }

    TEST_CASE("outbound: goes back to no message that a control object follows") {
        sender by;
        by.send("one");
        by.send_control();
        by.send("two");
        (void)by.write();
        CHECK(by.take_control());
        (void)by.write(2);
        by.out.rewind();
        by.written.resize(on_wire("one").size());
        (void)by.write();
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: discards frames up to the next control object, or all") {
        sender by{{.messages_max = 20}};
        send_conversation(by);
        by.send_control();
        by.send("kept");
        (void)by.write(10);
        (void)by.out.discard();
        CHECK(by.take_control());
        by.written.clear();
        (void)by.write();
        CHECK(by.written == on_wire("kept"));
        send_conversation(by);
        (void)by.out.discard();
        CHECK(by.out.is_empty());
        by.queue.set_limits({.messages_max = 20});
        CHECK(by.queue.credit() == 20);
    }

    TEST_CASE("outbound: returns credit when everything is written, and wakes the writer") {
        sender by{{.messages_max = 2}};
        by.send("part", more);
        by.send("one");
        by.send("two");
        by.queue.mark_writer_parked();
        CHECK(!by.write(3));
        CHECK(!by.queue.has_credit());
        CHECK(by.write());
        CHECK(by.queue.credit() == 2);
        by.send("three");
        CHECK(!by.write()); // The writer is not parked.
    }

    TEST_CASE("outbound: lends credit for what is to be written, for one batch at a time") {
        sender by{{.messages_max = 2}};
        by.send("one");
        by.send("two");
        by.queue.mark_writer_parked();
        CHECK(!by.out.lend_credit()); // Nothing was gathered.
        iovec parts[tuning::gather_count_max];
        CHECK(by.out.gather(parts) != 0);
        CHECK(by.out.lend_credit());
        CHECK(by.queue.credit() == 2);
        by.send("three");
        by.send("four");
        CHECK(by.out.gather(parts) != 0);
        CHECK(!by.out.lend_credit());
        CHECK(!by.queue.has_credit());
        (void)by.write(on_wire("one").size());
        CHECK(!by.queue.has_credit());
        (void)by.write();
        CHECK(by.queue.credit() == 2);
        CHECK(by.written == on_wire("one") + on_wire("two") + on_wire("three") + on_wire("four"));
    }

    TEST_CASE("outbound: leaves a small rest for the next batch, or writes it alone") {
        sender by;
        by.send(pattern(98)); // 100 bytes on the wire.
        CHECK(by.write_units(90) == 90);
        CHECK(by.out.has_left_rest());
        CHECK(by.out.has_work());
        CHECK(by.write_units(90) == 10);
        CHECK(!by.out.has_left_rest());
        CHECK(!by.out.has_work());

        by.send(pattern(98));
        CHECK(by.write_units(90) == 90);
        by.send(pattern(98));
        CHECK(!by.out.has_left_rest());   // There is more now.
        CHECK(by.write_units(90) == 110); // A rest of 20 is too large to leave.
        CHECK(by.written == by.sent);
        CHECK(!by.out.has_work());
    }

    TEST_CASE("outbound: leaves no rest of less than a unit, of a control object's neighbours, or "
              "that is not small") {
        sender by;
        by.send(pattern(98));
        CHECK(by.write_units(101) == 100);
        by.send(pattern(98));
        CHECK(by.write_units(100) == 100);
        by.send(pattern(98));
        CHECK(by.write_units(80) == 100);
        by.send(pattern(98));
        by.send_control();
        by.send(pattern(98));
        CHECK(by.write_units(90) == 90); // The rest is not left: a control object follows.
        CHECK(!by.out.has_left_rest());
        CHECK(by.write_units(90) == 10);
        CHECK(by.take_control());
        CHECK(by.write_units(90) == 90);
        CHECK(by.out.has_left_rest());
        CHECK(by.write_units(90) == 10);
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: leaves a rest of blocks and of many segments") {
        for (std::size_t unit = 1000; unit < 200'000; unit += 7919) {
            CAPTURE(unit);
            sender by{{.messages_max = 100}};
            for (int round = 0; round < 3; ++round) {
                for (int count = 0; count < 30; ++count) {
                    by.send(pattern(3000));
                    by.send_block(pattern(500));
                }
                while (!by.out.is_empty() && !by.out.has_left_rest()) {
                    (void)by.write(SIZE_MAX, 64, unit);
                }
            }
            (void)by.write(); // The rest that was left.
            CHECK(by.written == by.sent);
            CHECK(by.alive == 0);
            by.queue.set_limits({.messages_max = 100});
            CHECK(by.queue.credit() == 100);
        }
    }

    TEST_CASE("outbound: counts the batch whose rest was left when that is written") {
        sender by{{.messages_max = 2}};
        by.send(pattern(48));
        by.send(pattern(48));
        by.queue.mark_writer_parked();
        CHECK(by.write_units(99) == 99);
        CHECK(!by.queue.has_credit()); // Written messages are counted with the rest only.
        CHECK(by.write_units(99) == 1);
        CHECK(by.queue.credit() == 2);
    }

    TEST_CASE("outbound: lends credit for the next batch although a rest was left") {
        sender by{{.messages_max = 2}};
        iovec parts[tuning::gather_count_max];
        for (int round = 0; round < 5; ++round) {
            CAPTURE(round);
            by.send(pattern(48));
            by.send(pattern(48));
            CHECK(!by.queue.has_credit());
            REQUIRE(by.out.gather(parts, 99) != 0);
            (void)by.out.lend_credit();
            CHECK(by.queue.credit() == 2);
            CHECK(by.write_units(99) == 99);
            CHECK(by.out.has_left_rest());
        }
        (void)by.write();
        CHECK(by.written == by.sent);
    }

    TEST_CASE("outbound: lends no credit for the next batch if more was left than a rest") {
        sender by{{.messages_max = 2}};
        iovec parts[tuning::gather_count_max];
        by.send(pattern(48));
        by.send(pattern(48));
        REQUIRE(by.out.gather(parts, 99) != 0);
        (void)by.out.lend_credit();
        (void)by.write(98, 64, 99);
        CHECK(!by.out.has_left_rest());
        by.send(pattern(48));
        by.send(pattern(48));
        REQUIRE(by.out.gather(parts, 99) != 0);
        CHECK(!by.out.lend_credit());
        CHECK(!by.queue.has_credit());
    }

    TEST_CASE("outbound: sends a batch whose rest was left again from the message that was cut") {
        for (const bool more_follows : {false, true}) {
            for (std::size_t bytes = 0; bytes <= 150; ++bytes) {
                CAPTURE(more_follows);
                CAPTURE(bytes);
                sender by{{.messages_max = 4}};
                by.send(pattern(48));
                by.send(pattern(48));
                CHECK(by.write_units(99) == 99);
                if (more_follows) {
                    by.send(pattern(48));
                }
                (void)by.write(bytes, 64, 99);
                by.out.rewind();
                CHECK(!by.out.has_left_rest());
                by.written.resize(by.message_begin(by.written.size()));
                while (!by.out.is_empty()) {
                    (void)by.write(7);
                }
                CHECK(by.written == by.sent);
                by.queue.set_limits({.messages_max = 4});
                CHECK(by.queue.credit() == 4);
            }
        }
    }

    TEST_CASE("outbound: lends no credit for what one write does not take") {
        sender by{{.messages_max = 100}};
        for (int count = 0; count < 100; ++count) {
            by.send(pattern(8000));
        }
        iovec parts[tuning::gather_count_max];
        CHECK(by.out.gather(parts) != 0);
        CHECK(!by.out.lend_credit());
        CHECK(!by.queue.has_credit());
    }

    TEST_CASE("outbound: returns credit on the way when much is under way") {
        sender by{{.messages_max = 100}};
        for (int count = 0; count < 100; ++count) {
            by.send(pattern(8000));
        }
        by.queue.mark_writer_parked();
        std::size_t writes = 0;
        while (!by.write(10'000)) {
            ++writes;
        }
        CHECK(by.written.size() >= tuning::gather_bytes_max);
        CHECK(by.written.size() < tuning::gather_bytes_max + 10'000);
        CHECK(by.queue.credit() == by.written.size() / 8009);
    }

    TEST_CASE("outbound: returns credit before a control object") {
        sender by{{.messages_max = 1}};
        by.send("one");
        by.send_control();
        by.queue.mark_writer_parked();
        CHECK(!by.write());
        bool wakes = false;
        by.out.take_control(wakes)->drop();
        CHECK(wakes);
        CHECK(by.queue.has_credit());
    }

    TEST_CASE("outbound: turns subscriptions into messages, and leaves the rest") {
        sender by;
        std::string expected;
        by.send(subscribe("topic"), command);
        expected += on_wire("\x01topic");
        by.send(cancel("topic"), command);
        expected += on_wire(std::string("\0topic", 6));
        by.send(subscribe(""), command);
        expected += on_wire("\x01");
        by.send(subscribe(pattern(300)), command);
        expected += on_wire("\x01" + pattern(300));
        by.send(subscribe(pattern(254)), command); // Its size was long and gets short.
        expected += on_wire("\x01" + pattern(254));
        by.send("\x04PING12345", command);
        expected += on_wire("\x04PING12345", command);
        by.send(subscribe("a message"), more);
        expected += on_wire(subscribe("a message"), more);
        by.send_block(pattern(400));
        expected += on_wire(pattern(400));
        by.send_block(subscribe("in a block"), command);
        expected += on_wire("\x01in a block");
        by.send_control();
        by.send(subscribe("behind control"), command);

        std::vector<std::byte> out;
        const std::size_t source_bytes = translate(by.out, out);
        CHECK(text_of(out) == expected);
        (void)by.out.advance(source_bytes);
        out.clear();
        CHECK(translate(by.out, out) == 0);
        CHECK(by.take_control());
        CHECK(translate(by.out, out) != 0);
        CHECK(text_of(out) == on_wire("\x01"
                                      "behind control"));
    }

    TEST_CASE("outbound: turns only so many subscriptions into messages at once") {
        sender by;
        std::string expected;
        for (int count = 0; count < 100; ++count) {
            by.send(subscribe(pattern(5000)), command);
            expected += on_wire("\x01" + pattern(5000));
        }
        std::string all;
        while (!by.out.is_empty()) {
            std::vector<std::byte> out;
            const std::size_t source_bytes = translate(by.out, out);
            CHECK(out.size() < tuning::gather_bytes_max + 5010);
            all += text_of(out);
            (void)by.out.advance(source_bytes);
        }
        CHECK(all == expected);
    }

    TEST_CASE("outbound: returns the credit for subscriptions that were turned into messages") {
        sender by{{.messages_max = 2}};
        by.send(subscribe("one"), command);
        by.send(subscribe("two"), command);
        by.queue.mark_writer_parked();
        std::vector<std::byte> out;
        const bool wakes = by.out.advance(translate(by.out, out));
        CHECK((wakes || by.out.return_credit()));
        CHECK(by.queue.credit() == 2);
    }

    TEST_CASE("outbound: returns credit although the connection is lost before it was asked to") {
        sender by{{.messages_max = 2}};
        by.send(subscribe("one"), command);
        by.send(subscribe("two"), command);
        by.queue.mark_writer_parked();
        std::vector<std::byte> out;
        bool wakes = by.out.advance(translate(by.out, out));
        by.out.rewind();
        CHECK(by.out.is_empty());
        wakes = by.out.return_credit() || wakes;
        CHECK(wakes);
        CHECK(by.queue.credit() == 2);
    }

} // TEST_SUITE
