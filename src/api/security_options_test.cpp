// SPDX-License-Identifier: MPL-2.0
#include "api/security_options.hpp"

#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"
#include "zlink.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::api;

namespace {

bool set(socket_options& target, int option, std::string_view value) {
    return static_cast<bool>(set_security_option(target, option, value.data(), value.size()));
}
bool set(socket_options& target, int option, int value) {
    return static_cast<bool>(set_security_option(target, option, &value, sizeof value));
}

/// The value that is read into `room` bytes; "refused" if the call fails.
std::string get(const socket_options& source, int option, std::size_t room = 256) {
    std::string read(256, '?');
    std::size_t size = room;
    if (!read_security_option(source, option, {option, read.data(), &size})) {
        return "refused";
    }
    return read.substr(0, size);
}
int number(const socket_options& source, int option) {
    int read = -1;
    std::size_t size = sizeof read;
    CHECK(read_security_option(source, option, {option, &read, &size}));
    CHECK(size == sizeof read);
    return read;
}

const std::string z85_key = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";
const std::string binary_key = [] {
    const auto data = testing::hex("8e0bdd697628b91d8f245587ee95c5b04d48963f79259877b49cd9063a"
                                   "ead3b7");
    return std::string(testing::text(data));
}();

} // namespace

TEST_SUITE("api") {

    TEST_CASE("security options: at first there is no security") {
        const socket_options none;
        CHECK(number(none, ZLINK_MECHANISM) == ZLINK_NULL);
        CHECK(number(none, ZLINK_PLAIN_SERVER) == 0);
        CHECK(number(none, ZLINK_CURVE_SERVER) == 0);
        CHECK(number(none, ZLINK_ZAP_ENFORCE_DOMAIN) == 0);
        CHECK(get(none, ZLINK_PLAIN_USERNAME) == std::string(1, '\0'));
        CHECK(get(none, ZLINK_PLAIN_PASSWORD) == std::string(1, '\0'));
        for (const int key :
             {ZLINK_CURVE_PUBLICKEY, ZLINK_CURVE_SECRETKEY, ZLINK_CURVE_SERVERKEY}) {
            CHECK(get(none, key, 32) == std::string(32, '\0'));
            CHECK(get(none, key, 41) == std::string(40, '0') + '\0');
        }
    }

    TEST_CASE("security options: the last server flag chooses the mechanism, 0 ends any") {
        socket_options one;
        CHECK(set(one, ZLINK_PLAIN_SERVER, 1));
        CHECK(number(one, ZLINK_MECHANISM) == ZLINK_PLAIN);
        CHECK(number(one, ZLINK_PLAIN_SERVER) == 1);
        CHECK(set(one, ZLINK_CURVE_SERVER, 1));
        CHECK(number(one, ZLINK_MECHANISM) == ZLINK_CURVE);
        CHECK(number(one, ZLINK_PLAIN_SERVER) == 0);
        CHECK(number(one, ZLINK_CURVE_SERVER) == 1);
        CHECK(set(one, ZLINK_PLAIN_SERVER, 0));
        CHECK(number(one, ZLINK_MECHANISM) == ZLINK_NULL);
        for (const int option : {ZLINK_PLAIN_SERVER, ZLINK_CURVE_SERVER}) {
            CHECK(!set(one, option, 2));
            CHECK(!set(one, option, -1));
            CHECK(!set(one, option, "1"));
            CHECK(!set_security_option(one, option, nullptr, 4));
        }
        CHECK(!set(one, ZLINK_MECHANISM, 1));
    }

    TEST_CASE("security options: a name or a password makes a client of PLAIN") {
        for (const int option : {ZLINK_PLAIN_USERNAME, ZLINK_PLAIN_PASSWORD}) {
            socket_options one;
            CHECK(set(one, ZLINK_PLAIN_SERVER, 1));
            CHECK(set(one, option, std::string("a\0b", 3)));
            CHECK(number(one, ZLINK_MECHANISM) == ZLINK_PLAIN);
            CHECK(number(one, ZLINK_PLAIN_SERVER) == 0);
            CHECK(get(one, option) == std::string("a\0b\0", 4));
            CHECK(get(one, option, 4) == std::string("a\0b\0", 4));
            CHECK(get(one, option, 3) == "refused");

            CHECK(set(one, option, std::string(255, 'x')));
            CHECK(!set(one, option, std::string(256, 'x')));
            CHECK(!set(one, option, ""));
            CHECK(!set_security_option(one, option, nullptr, 3));
            CHECK(get(one, option) == std::string(255, 'x') + '\0');

            CHECK(set_security_option(one, option, nullptr, 0));
            CHECK(number(one, ZLINK_MECHANISM) == ZLINK_NULL);
        }
    }

    TEST_CASE("security options: keys are taken and given in both forms") {
        for (const int option :
             {ZLINK_CURVE_PUBLICKEY, ZLINK_CURVE_SECRETKEY, ZLINK_CURVE_SERVERKEY}) {
            for (const std::string& form : {binary_key, z85_key, z85_key + '\0'}) {
                CAPTURE(form.size());
                socket_options one;
                CHECK(set(one, option, form));
                CHECK(number(one, ZLINK_MECHANISM) == ZLINK_CURVE);
                CHECK(get(one, option, 32) == binary_key);
                CHECK(get(one, option, 41) == z85_key + '\0');
                for (const std::size_t room : {0, 31, 33, 40, 42, 256}) {
                    CHECK(get(one, option, room) == "refused");
                }
            }
        }
    }

    TEST_CASE("security options: what is no key changes nothing") {
        const std::string wrong[] = {"",
                                     binary_key.substr(1),
                                     binary_key + "x",
                                     z85_key.substr(1),
                                     z85_key + "x",
                                     z85_key + std::string(2, '\0'),
                                     std::string(40, '~'),
                                     std::string(40, '#'),
                                     z85_key.substr(0, 35) + std::string(5, '\0'),
                                     z85_key.substr(0, 35) + std::string(6, '\0')};
        for (const std::string& key : wrong) {
            CAPTURE(key);
            socket_options one;
            CHECK(!set(one, ZLINK_CURVE_SECRETKEY, key));
            CHECK(number(one, ZLINK_MECHANISM) == ZLINK_NULL);
            CHECK(get(one, ZLINK_CURVE_SECRETKEY, 32) == std::string(32, '\0'));
        }
        socket_options one;
        CHECK(!set_security_option(one, ZLINK_CURVE_SECRETKEY, nullptr, 32));
    }

    TEST_CASE("security options: the server's key makes a client, our own keys do not") {
        socket_options one;
        CHECK(set(one, ZLINK_CURVE_SERVER, 1));
        CHECK(set(one, ZLINK_CURVE_PUBLICKEY, binary_key));
        CHECK(set(one, ZLINK_CURVE_SECRETKEY, binary_key));
        CHECK(number(one, ZLINK_CURVE_SERVER) == 1);
        CHECK(!set(one, ZLINK_CURVE_SERVERKEY, "short"));
        CHECK(number(one, ZLINK_CURVE_SERVER) == 1);
        CHECK(set(one, ZLINK_CURVE_SERVERKEY, binary_key));
        CHECK(number(one, ZLINK_CURVE_SERVER) == 0);
    }

    TEST_CASE("security options: to enforce the ZAP domain is a flag") {
        socket_options one;
        CHECK(set(one, ZLINK_ZAP_ENFORCE_DOMAIN, 5));
        CHECK(number(one, ZLINK_ZAP_ENFORCE_DOMAIN) == 1);
        CHECK(set(one, ZLINK_ZAP_ENFORCE_DOMAIN, 0));
        CHECK(number(one, ZLINK_ZAP_ENFORCE_DOMAIN) == 0);
        CHECK(!set(one, ZLINK_ZAP_ENFORCE_DOMAIN, "x"));
    }

} // TEST_SUITE
