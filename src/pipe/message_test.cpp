// SPDX-License-Identifier: MPL-2.0
#include "pipe/message.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using zlink::pipe::message;
using zlink::pipe::peer_info;
using zlink::testing::counted_block;
using zlink::testing::pattern;

namespace {

std::string text_of(message& asked) {
    return {reinterpret_cast<const char*>(asked.data()), asked.bytes()};
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("message: is not valid before init, nor after close") {
        message zeroed;
        std::memset(static_cast<void*>(&zeroed), 0, sizeof zeroed);
        CHECK(!zeroed.is_valid());
        std::memset(static_cast<void*>(&zeroed), 0xff, sizeof zeroed);
        CHECK(!zeroed.is_valid());
        zeroed.init_empty();
        CHECK(zeroed.is_valid());
        zeroed.close();
        CHECK(!zeroed.is_valid());
    }

    TEST_CASE("message: begins empty, last and from nobody") {
        message empty;
        empty.init_empty();
        CHECK(empty.bytes() == 0);
        CHECK(!empty.more());
        CHECK(!empty.is_shared());
        CHECK(empty.payload() == nullptr);
        CHECK(empty.peer() == nullptr);
        empty.close();
    }

    TEST_CASE("message: keeps small payloads in itself and large ones in a block") {
        for (const std::size_t bytes : {0, 1, 47, 48, 49, 255, 8192, 100'000}) {
            CAPTURE(bytes);
            const std::string data = pattern(bytes);
            message copy;
            copy.init_copy(data.data(), bytes);
            CHECK(copy.is_valid());
            CHECK(text_of(copy) == data);
            CHECK((copy.payload() == nullptr) == (bytes <= message::inline_bytes_max));
            copy.close();
        }
    }

    TEST_CASE("message: takes nothing from null") {
        message empty;
        empty.init_copy(nullptr, 0);
        CHECK(empty.bytes() == 0);
        empty.close();
    }

    TEST_CASE("message: gives room to write to") {
        for (const std::size_t bytes : {48, 49}) {
            message room;
            room.init_bytes(bytes);
            CHECK(room.bytes() == bytes);
            std::memset(room.data(), 'x', bytes);
            CHECK(text_of(room) == std::string(bytes, 'x'));
            room.close();
        }
    }

    TEST_CASE("message: shares the bytes of a copy, until the last holder lets go") {
        int alive = 0;
        message one;
        one.init_block(new counted_block{alive, "payload!"}, 7);
        CHECK(text_of(one) == "payload");
        CHECK(!one.is_shared());
        message two;
        two.share(one);
        CHECK(one.is_shared());
        CHECK(two.is_shared());
        CHECK(two.data() == one.data());
        one.close();
        CHECK(!two.is_shared());
        CHECK(text_of(two) == "payload");
        two.close();
        CHECK(alive == 0);
    }

    TEST_CASE("message: copies small payloads when they are shared") {
        message one;
        one.init_copy("abc", 3);
        message two;
        two.share(one);
        CHECK(!one.is_shared());
        CHECK(two.data() != one.data());
        one.close();
        CHECK(text_of(two) == "abc");
        two.close();
    }

    TEST_CASE("message: refers to constants without holding them") {
        static const char data[] = "constant";
        message one;
        one.init_constant(data, 8);
        CHECK(one.is_valid());
        CHECK(one.is_shared());
        CHECK(one.payload() == nullptr);
        message two;
        two.share(one);
        one.close();
        CHECK(static_cast<const void*>(two.data()) == data);
        two.close();
    }

    TEST_CASE("message: leaves an empty one behind when it is taken") {
        int alive = 0;
        message from;
        from.init_block(new counted_block{alive, "payload"}, 7);
        from.mark_more(true);
        message to;
        to.take(from);
        CHECK(text_of(to) == "payload");
        CHECK(to.more());
        CHECK(from.is_valid());
        CHECK(from.bytes() == 0);
        CHECK(!from.more());
        from.close();
        CHECK(alive == 1);
        to.close();
        CHECK(alive == 0);
    }

    TEST_CASE("message: holds what is known of its peer, as its copies do") {
        auto* const info = new peer_info;
        info->routing_id = "id";
        info->properties.add("Socket-Type", "DEALER");
        info->properties.add("Identity", "id");
        message one;
        one.init_copy("abc", 3);
        one.attach_peer(info);
        message two;
        two.share(one);
        one.close();
        CHECK(one.peer() == nullptr);
        REQUIRE(two.peer() == info);
        CHECK(two.peer()->properties.find("Socket-Type") == "DEALER");
        CHECK(!two.peer()->properties.find("socket-type"));
        CHECK(!two.peer()->is_shared());
        message three;
        three.take(two);
        CHECK(two.peer() == nullptr);
        CHECK(three.peer() == info);
        two.close();
        three.close();
    }

} // TEST_SUITE
