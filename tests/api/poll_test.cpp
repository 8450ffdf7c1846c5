// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

#include <climits>
#include <future>
#include <unistd.h>

using namespace api_test;

TEST_CASE("poll: waits for a message however long the timeout is") {
    for (const int io_threads : every_io_threads) {
        for (const long timeout : {LONG_MAX, LONG_MAX / 1000, LONG_MAX / 1'000'000,
                                   long{UINT_MAX} + 1, long{INT_MAX}, -1L, LONG_MIN}) {
            for (const int item_count : {1, 2}) {
                CAPTURE(io_threads);
                CAPTURE(timeout);
                CAPTURE(item_count);
                const context owner{io_threads};
                socket pull{owner, ZLINK_PULL};
                socket idle{owner, ZLINK_PULL};
                const context other{1};
                socket push{other, ZLINK_PUSH};
                push.connect(pull.bind(transport::tcp));

                zlink_pollitem_t items[] = {{pull, 0, ZLINK_POLLIN, 0}, {idle, 0, ZLINK_POLLIN, 0}};
                std::atomic<int> waiting{0};
                auto found = std::async(std::launch::async, [&] {
                    waiting = ::gettid();
                    waiting.notify_one();
                    return zlink_poll(items, item_count, timeout);
                });
                await_asleep(waiting);
                REQUIRE(push.send("x") == ok);
                CHECK(found.get() == 1);
                CHECK(items[0].revents == ZLINK_POLLIN);
                CHECK(pull.recv(ZLINK_DONTWAIT) == message{"x"});
            }
        }
    }
}

TEST_CASE("poll: of nothing waits as long as it is told to") {
    const auto before = clock::now();
    CHECK(zlink_poll(nullptr, 0, 0) == 0);
    CHECK(zlink_poll(nullptr, 0, moment.count()) == 0);
    CHECK(clock::now() - before >= moment);
}
