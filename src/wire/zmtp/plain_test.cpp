// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/plain.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::wire::zmtp;
using testing::hex;
using testing::text;

TEST_SUITE("wire") {

    TEST_CASE("plain hello: is name and password behind their lengths") {
        CHECK(encode_plain_hello({"joe", "secret"}) == hex("05 'HELLO' 03 'joe' 06 'secret'"));
        CHECK(encode_plain_hello({"", ""}) == hex("05 'HELLO' 00 00"));
    }

    TEST_CASE("plain hello: comes back as it was") {
        const std::string longest(plain_text_bytes_max, 'x');
        for (const std::string& name : {std::string{}, std::string{"joe"}, longest}) {
            const auto body = encode_plain_hello({name, longest});
            const auto read = decode_plain_hello(std::span{body}.subspan(6));
            REQUIRE(read);
            CHECK(read->username == name);
            CHECK(read->password == longest);
        }
    }

    TEST_CASE("plain hello: is refused when cut off anywhere, or followed by something") {
        const auto whole = hex("03 'joe' 06 'secret'");
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
            CAPTURE(bytes);
            const auto cut = decode_plain_hello(std::span{whole}.first(bytes));
            REQUIRE(!cut);
            CHECK(cut.error() == errc::protocol_violation);
        }
        CHECK(!decode_plain_hello(hex("03 'joe' 06 'secret' 00")));
    }

} // TEST_SUITE
