// SPDX-License-Identifier: MPL-2.0
#include "session/client_rates.hpp"

#include <doctest/doctest.h>

using namespace zlink;
using namespace std::chrono_literals;
using session::client_rates;

namespace {

transport::address_key client(unsigned number) {
    transport::address_key made{};
    for (std::size_t index = 1; index <= 4; ++index) {
        made[index] = static_cast<std::byte>(number >> (8 * (index - 1)));
    }
    return made;
}

} // namespace

TEST_CASE("client rates: each client has a rate of its own") {
    client_rates rates{1, {}};
    for (int count = 0; count < 10; ++count) {
        CHECK(rates.take(client(1), {}));
    }
    CHECK_FALSE(rates.take(client(1), {}));
    CHECK(rates.take(client(2), {}));

    const session::request_rate::clock::time_point later{1s};
    CHECK(rates.take(client(1), later));
    CHECK_FALSE(rates.take(client(1), later));
}

TEST_CASE("client rates: clients beyond the limit share one rate, until others have rested") {
    client_rates rates{1, {}};
    for (unsigned number = 0; number < 10000; ++number) {
        REQUIRE(rates.take(client(number), {}));
    }
    for (unsigned number = 0; number < 10; ++number) {
        CHECK(rates.take(client(20000 + number), {}));
    }
    CHECK_FALSE(rates.take(client(30000), {}));
    CHECK(rates.take(client(1), {}));

    const session::request_rate::clock::time_point later{20s};
    for (int count = 0; count < 10; ++count) {
        CHECK(rates.take(client(30000), later));
        CHECK(rates.take(client(30001), later));
    }
}
