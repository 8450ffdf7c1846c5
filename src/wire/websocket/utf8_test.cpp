// SPDX-License-Identifier: MPL-2.0
// Besides examples, sequences of octets are compared with RFC 3629's definition by number: those
// are valid that encode() makes of characters.
#include "wire/websocket/utf8.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace zlink::wire::websocket;
using zlink::testing::hex;
using zlink::testing::text;

namespace {

using byte_list = std::vector<std::byte>;

/// RFC 3629, 3. For any number below 2^21, allowed or not.
std::string encode(std::uint32_t number) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (number >> shift & 0x3f)); };
    if (number < 0x80) {
        return {static_cast<char>(number)};
    }
    if (number < 0x800) {
        return {static_cast<char>(0xc0 | number >> 6), tail(0)};
    }
    if (number < 0x10000) {
        return {static_cast<char>(0xe0 | number >> 12), tail(6), tail(0)};
    }
    return {static_cast<char>(0xf0 | number >> 18), tail(12), tail(6), tail(0)};
}

bool is_character(std::uint32_t number) {
    return number <= 0x10ffff && (number < 0xd800 || number > 0xdfff);
}

/// The size of the character at the front of `data`, as encode() makes it; 0 if there is none.
std::size_t character_bytes(std::string_view data) {
    for (std::size_t bytes = 1; bytes <= 4 && bytes <= data.size(); ++bytes) {
        const auto lead = static_cast<unsigned char>(data[0]);
        std::uint32_t number = bytes == 1 ? lead : lead & (0x7fu >> bytes);
        for (std::size_t at = 1; at < bytes; ++at) {
            number = number << 6 | (static_cast<unsigned char>(data[at]) & 0x3f);
        }
        if (is_character(number) && encode(number) == data.substr(0, bytes)) {
            return bytes;
        }
    }
    return 0;
}

bool consists_of_characters(std::string_view data) {
    while (!data.empty()) {
        const std::size_t bytes = character_bytes(data);
        if (bytes == 0) {
            return false;
        }
        data.remove_prefix(bytes);
    }
    return true;
}

bool is_valid(const byte_list& data) {
    return is_utf8(text(data));
}

/// The number of octets that are accepted, one by one, until one makes the text invalid.
std::size_t taken_count(const byte_list& data) {
    utf8_validator validator;
    std::size_t count = 0;
    while (count < data.size() && validator.push({&data[count], 1})) {
        ++count;
    }
    return count;
}

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("utf8: every number up to 2^21 is valid if it is a character") {
        std::size_t wrong_count = 0;
        for (std::uint32_t number = 0; number < 0x200000; ++number) {
            wrong_count += is_utf8(encode(number)) != is_character(number);
        }
        CHECK(wrong_count == 0);
    }

    TEST_CASE(
        "utf8: of all pairs of bytes, whatever follows, those are valid that are characters") {
        std::size_t wrong_count = 0;
        const auto check = [&](std::string_view data) {
            wrong_count += is_utf8(data) != consists_of_characters(data);
        };
        for (unsigned pair = 0; pair < 0x10000; ++pair) {
            std::string data{static_cast<char>(pair >> 8), static_cast<char>(pair)};
            check(data);
            for (const unsigned third : {0x7fu, 0x80u, 0xbfu, 0xc0u}) {
                data.resize(2);
                data.push_back(static_cast<char>(third));
                check(data);
                if (pair < 0xf000) {
                    continue; // No four-octet character begins so.
                }
                for (const unsigned fourth : {0x7fu, 0x80u, 0xbfu, 0xc0u}) {
                    data.resize(3);
                    data.push_back(static_cast<char>(fourth));
                    check(data);
                }
            }
        }
        CHECK(wrong_count == 0);
    }

    TEST_CASE("utf8: refuses a text with the first byte that makes it invalid") {
        struct {
            const char* spelled;
            std::size_t valid_count;
        } const examples[] = {
            {"cebae1bdb9cf83cebcceb5 f4 90 8080 656469746564", 12}, // Autobahn's 6.4.
            {"80", 0},                                              // A tail without a lead.
            {"bf", 0},                                              //
            {"c0 80", 0},             // Two octets where one suffices.
            {"c1 bf", 0},             //
            {"e0 9f bf", 1},          // Three where two suffice.
            {"f0 8f bf bf", 1},       // Four where three suffice.
            {"ed a0 80", 1},          // Surrogates.
            {"ed bf bf", 1},          //
            {"f4 90 80 80", 1},       // U+110000.
            {"f5", 0},                //
            {"f8 88 80 80 80", 0},    // Five and six octets, an obsolete form.
            {"fc 84 80 80 80 80", 0}, //
            {"fe", 0},                //
            {"ff", 0},                //
            {"e2 82 41", 2},          // A character that is cut by another.
            {"e2 82 e2", 2},          //
            {"f0 9f 98 c3", 3},       //
            {"'plain' c3 28", 6},     //
        };
        for (const auto& example : examples) {
            CAPTURE(example.spelled);
            CHECK(taken_count(hex(example.spelled)) == example.valid_count);
            CHECK(!is_valid(hex(example.spelled)));
        }
    }

    TEST_CASE("utf8: an invalid text stays so, until the next one begins") {
        utf8_validator validator;
        CHECK(!validator.push(hex("e2 28")));
        CHECK(!validator.is_complete());
        CHECK(!validator.push({}));
        CHECK(!validator.push(hex("a1")));
        CHECK(!validator.push(hex("'plain'")));
        CHECK(!validator.is_complete());

        validator.reset();
        CHECK(validator.push(hex("'plain'")));
        CHECK(validator.is_complete());
        CHECK(!validator.push(hex("ff")));
        CHECK(!validator.push(hex("'plain'")));
        CHECK(!validator.is_complete());
    }

    TEST_CASE("utf8: is incomplete within a character only") {
        utf8_validator validator;
        CHECK(validator.is_complete());
        for (const char* spelled : {"f0", "9f", "98"}) {
            CHECK(validator.push(hex(spelled)));
            CHECK(!validator.is_complete());
        }
        CHECK(validator.push({}));
        CHECK(!validator.is_complete());
        CHECK(validator.push(hex("80")));
        CHECK(validator.is_complete());
    }

    TEST_CASE("utf8: a text is valid however it is cut into pieces") {
        const byte_list whole = hex("'Hello-' c2b5 40 c39f c3b6 'a'*40 e282ac f09f9880 'b'*9");
        for (std::size_t piece = 1; piece <= whole.size(); ++piece) {
            CAPTURE(piece);
            utf8_validator validator;
            for (std::size_t at = 0; at < whole.size(); at += piece) {
                CHECK(validator.push(
                    std::span{whole}.subspan(at, std::min(piece, whole.size() - at))));
            }
            CHECK(validator.is_complete());
        }
    }

    TEST_CASE("utf8: sees a byte that is no ASCII anywhere in a long run of it") {
        for (std::size_t bytes = 1; bytes <= 100; ++bytes) {
            byte_list run(bytes, std::byte{'a'});
            CHECK(is_valid(run));
            for (std::byte& byte : run) {
                byte = std::byte{0xff};
                CHECK(!is_valid(run));
                byte = std::byte{'a'};
            }
        }
    }

    TEST_CASE("utf8: the empty text is valid") {
        CHECK(is_utf8({}));
    }

} // TEST_SUITE
