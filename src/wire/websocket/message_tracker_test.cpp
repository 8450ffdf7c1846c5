// SPDX-License-Identifier: MPL-2.0
// Frames are written as a server sends them; conversation gives them to read_head() and the tracker
// octet by octet, as late and in as small pieces as a session may get them.
#include "wire/websocket/message_tracker.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink::wire::websocket;
using zlink::testing::hex;

namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

/// The outcome of the frames that a peer sent.
struct outcome {
    std::string messages;              ///< 't' and 'b' for each that ended, in their order.
    std::optional<close_code> refusal; ///< The code that ended the connection, if any.
    std::size_t taken_bytes = 0;       ///< Octets up to that, or up to the close frame's end.
    message_state state = message_state::between;
};

outcome conversation(std::string_view spelled, std::uint64_t message_bytes_max = no_limit) {
    const auto received = hex(spelled);
    const frame_rules rules{.from = sender::server, .may_compress = true};
    message_tracker tracker{message_bytes_max};
    outcome all;
    const auto is_over = [&](std::optional<close_code> refusal) {
        all.refusal = refusal;
        all.state = tracker.state();
        return all.state == message_state::over;
    };
    std::size_t frame_at = 0;
    while (frame_at < received.size()) {
        const std::span rest = std::span{received}.subspan(frame_at);
        frame_head head;
        REQUIRE(read_head(rest.data(), rest.size(), rules, head) == head_status::complete);
        all.taken_bytes = frame_at + head.header_bytes;
        if (is_over(tracker.on_head(head))) {
            return all;
        }
        REQUIRE(head.frame_bytes() <= rest.size());
        for (std::size_t at = 0; at < head.payload_bytes; ++at) {
            ++all.taken_bytes;
            if (is_over(tracker.on_payload(rest.subspan(head.header_bytes + at, 1)))) {
                return all;
            }
        }
        if (is_over(tracker.on_frame_end())) {
            return all;
        }
        if (!head.is_control() && head.is_final()) {
            all.messages += tracker.is_text() ? 't' : 'b';
        }
        frame_at += static_cast<std::size_t>(head.frame_bytes());
    }
    return all;
}

/// The tracker of a peer that has sent the head of a compressed message with this opcode.
message_tracker inside_compressed(opcode kind, std::uint64_t message_bytes_max,
                                  std::uint64_t payload_bytes) {
    message_tracker tracker{message_bytes_max};
    const frame_head head{.payload_bytes = payload_bytes,
                          .header_bytes = 2,
                          .flags = flag_fin | flag_compressed,
                          .kind = kind};
    REQUIRE(!tracker.on_head(head));
    return tracker;
}

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("message tracker: whole messages come one after the other, empty ones, too") {
        const outcome all = conversation("82 03 'abc' 81 02 'de' 82 00 81 00");
        CHECK(all.messages == "btbt");
        CHECK(!all.refusal);
        CHECK(all.state == message_state::between);
    }

    TEST_CASE("message tracker: a message keeps the kind of its first fragment") {
        CHECK(conversation("01 01 'a' 00 00 00 01 'b' 80 01 'c'").messages == "t");
        CHECK(conversation("02 01 'a' 80 01 ff").messages == "b");
        CHECK(conversation("02 00 80 00 01 00 80 00").messages == "bt");
    }

    TEST_CASE("message tracker: is inside of a message until its last fragment has ended") {
        CHECK(conversation("01 01 'a'").state == message_state::inside);
        CHECK(conversation("01 01 'a' 00 01 'b' 89 00").state == message_state::inside);
        CHECK(conversation("01 01 'a' 00 01 'b' 89 00 80 00").state == message_state::between);
    }

    TEST_CASE("message tracker: control frames come between messages and fragments") {
        const outcome all =
            conversation("89 00 01 01 c3 89 04 'ping' 8a 01 ff 80 01 b6 8a 00 82 01 ff");
        CHECK(all.messages == "tb");
        CHECK(!all.refusal);
    }

    TEST_CASE("message tracker: refuses a fragment of no message") {
        const outcome first = conversation("80 01 'a'");
        CHECK(first.refusal == close_code::protocol_error);
        CHECK(first.taken_bytes == 2);
        CHECK(conversation("00 00").refusal == close_code::protocol_error);

        const outcome after_message = conversation("82 01 'a' 80 01 'b'");
        CHECK(after_message.messages == "b");
        CHECK(after_message.refusal == close_code::protocol_error);
        CHECK(after_message.taken_bytes == 5);
        CHECK(conversation("89 00 80 00").refusal == close_code::protocol_error);
    }

    TEST_CASE("message tracker: refuses a message within another") {
        CHECK(conversation("01 01 'a' 81 01 'b'").refusal == close_code::protocol_error);
        CHECK(conversation("02 01 'a' 02 01 'b'").refusal == close_code::protocol_error);
        CHECK(conversation("02 01 'a' 89 00 82 00").refusal == close_code::protocol_error);
    }

    TEST_CASE("message tracker: nothing counts behind a close frame") {
        for (const char* spelled : {"88 00", "88 02 03e8", "01 01 'a' 88 02 03e8"}) {
            CAPTURE(spelled);
            const outcome closed = conversation(std::string{spelled} + " 80 01 'x' 81 01 ff");
            CHECK(closed.state == message_state::over);
            CHECK(!closed.refusal);
            CHECK(closed.messages.empty());
            CHECK(closed.taken_bytes == hex(spelled).size());
        }
    }

    TEST_CASE("message tracker: takes everything, and says nothing, once it is over") {
        message_tracker tracker{4};
        const frame_head stray{.payload_bytes = 1, .header_bytes = 2, .flags = flag_fin};
        const frame_head large{.payload_bytes = 5, .header_bytes = 2, .kind = opcode::text};
        CHECK(tracker.on_head(stray) == close_code::protocol_error);
        CHECK(tracker.state() == message_state::over);
        for (const frame_head& head : {stray, large}) {
            CHECK(!tracker.on_head(head));
            CHECK(!tracker.on_payload(hex("ff")));
            CHECK(!tracker.on_inflated(hex("ff ff ff ff ff")));
            CHECK(!tracker.on_frame_end());
            CHECK(tracker.state() == message_state::over);
        }
    }

    TEST_CASE("message tracker: refuses a text with the byte that makes it invalid") {
        const outcome whole = conversation("81 06 'ab' f4 90 8080");
        CHECK(whole.refusal == close_code::invalid_payload);
        CHECK(whole.taken_bytes == 6);

        const outcome fragments = conversation("01 03 'ab' f4 89 01 ff 80 03 90 8080");
        CHECK(fragments.refusal == close_code::invalid_payload);
        CHECK(fragments.taken_bytes == 11);
    }

    TEST_CASE("message tracker: refuses a text that ends within a character") {
        CHECK(conversation("81 02 e2 82").refusal == close_code::invalid_payload);
        CHECK(conversation("01 01 e2 80 01 82").refusal == close_code::invalid_payload);
        CHECK(conversation("01 02 e2 82 80 00").refusal == close_code::invalid_payload);
        CHECK(conversation("01 02 e2 82 80 01 ac").messages == "t");
    }

    TEST_CASE("message tracker: does not look into binary messages and control frames") {
        CHECK(conversation("82 02 ff ff 02 01 e2 80 01 ff").messages == "bb");
        CHECK(conversation("01 01 'a' 89 01 ff 8a 01 e2 80 01 'b'").messages == "t");
    }

    TEST_CASE("message tracker: a text is not taken for the one before") {
        CHECK(conversation("81 03 e282ac 82 01 e2 81 01 'a'").messages == "tbt");
    }

    TEST_CASE(
        "message tracker: refuses a message above the limit with the head that announces it") {
        CHECK(conversation("82 04 'abcd'", 4).messages == "b");
        const outcome whole = conversation("82 05 'abcde'", 4);
        CHECK(whole.refusal == close_code::too_large);
        CHECK(whole.taken_bytes == 2);

        CHECK(conversation("02 02 'ab' 00 02 'cd' 80 00", 4).messages == "b");
        const outcome fragments = conversation("02 02 'ab' 00 02 'cd' 00 01 'e'", 4);
        CHECK(fragments.refusal == close_code::too_large);
        CHECK(fragments.taken_bytes == 10);

        CHECK(conversation("82 00", 0).messages == "b");
        CHECK(conversation("82 01 'a'", 0).refusal == close_code::too_large);
    }

    TEST_CASE("message tracker: the limit is one on each message, and not on control frames") {
        CHECK(conversation("82 04 'abcd' 82 04 'efgh' 89 05 'abcde' 82 04 'ijkl'", 4).messages ==
              "bbb");
        CHECK(conversation("02 04 'abcd' 89 05 'abcde' 80 00", 4).messages == "b");
    }

    TEST_CASE("message tracker: sizes that fragments claim do not add up beyond 64 bits") {
        message_tracker tracker{no_limit};
        frame_head head{
            .payload_bytes = payload_bytes_limit, .header_bytes = 10, .kind = opcode::binary};
        CHECK(!tracker.on_head(head));
        CHECK(!tracker.on_frame_end());
        head.kind = opcode::continuation;
        CHECK(!tracker.on_head(head));
        CHECK(!tracker.on_frame_end());
        CHECK(tracker.on_head(head) == close_code::too_large);
    }

    TEST_CASE("message tracker: a compressed text is checked where it is inflated") {
        message_tracker tracker = inside_compressed(opcode::text, 100, 3);
        CHECK(tracker.is_compressed());
        CHECK(!tracker.on_payload(hex("ff ff ff")));
        CHECK(!tracker.on_inflated(hex("'ab' e2")));
        CHECK(!tracker.on_inflated(hex("82")));
        CHECK(!tracker.on_inflated(hex("ac")));
        CHECK(!tracker.on_frame_end());
        CHECK(tracker.state() == message_state::between);
        CHECK(tracker.is_text());

        message_tracker invalid = inside_compressed(opcode::text, 100, 3);
        CHECK(invalid.on_inflated(hex("'ab' ff")) == close_code::invalid_payload);

        message_tracker cut = inside_compressed(opcode::text, 100, 3);
        CHECK(!cut.on_inflated(hex("'ab' e2")));
        CHECK(cut.on_frame_end() == close_code::invalid_payload);

        message_tracker binary = inside_compressed(opcode::binary, 100, 3);
        CHECK(!binary.on_inflated(hex("'ab' ff")));
        CHECK(!binary.on_frame_end());
    }

    TEST_CASE("message tracker: refuses a compressed message that inflates above the limit") {
        message_tracker tracker = inside_compressed(opcode::binary, 10, 5);
        CHECK(!tracker.on_inflated(hex("'a'*6")));
        CHECK(!tracker.on_inflated(hex("'a'*4")));
        CHECK(tracker.on_inflated(hex("'a'")) == close_code::too_large);
        CHECK(tracker.state() == message_state::over);
    }

    TEST_CASE("message tracker: what is wrong below the limit is found before the limit is") {
        message_tracker invalid = inside_compressed(opcode::text, 10, 5);
        CHECK(invalid.on_inflated(hex("'a'*9 ff 'a'")) == close_code::invalid_payload);

        message_tracker large = inside_compressed(opcode::text, 10, 5);
        CHECK(large.on_inflated(hex("'a'*10 ff")) == close_code::too_large);
    }

    TEST_CASE("message tracker: a compressed message may take a little more than the limit") {
        CHECK(compressed_bytes_max(100) == 189);
        inside_compressed(opcode::binary, 100, 189);
        message_tracker tracker{100};
        CHECK(tracker.on_head({.payload_bytes = 190,
                               .header_bytes = 4,
                               .flags = flag_fin | flag_compressed,
                               .kind = opcode::binary}) == close_code::too_large);
        CHECK(compressed_bytes_max(no_limit) == payload_bytes_limit);
    }

    TEST_CASE("message tracker: a message is not taken for a compressed one before") {
        message_tracker tracker = inside_compressed(opcode::text, 10, 5);
        CHECK(!tracker.on_inflated(hex("'a'*10")));
        CHECK(!tracker.on_frame_end());
        CHECK(!tracker.on_head(
            {.payload_bytes = 1, .header_bytes = 2, .flags = flag_fin, .kind = opcode::text}));
        CHECK(!tracker.is_compressed());
        CHECK(!tracker.on_inflated(hex("'a'*11")));
        CHECK(tracker.on_payload(hex("ff")) == close_code::invalid_payload);
    }

} // TEST_SUITE
