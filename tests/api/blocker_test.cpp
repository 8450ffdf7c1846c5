// SPDX-License-Identifier: MPL-2.0
//
// The objects that keep zlink_ctx_term waiting.
#include "fixture.hpp"

#include <algorithm>
#include <cerrno>

using namespace api_test;

namespace {

std::vector<zlink_blocker_t> blockers(void* owner) {
    std::vector<zlink_blocker_t> found(16);
    const int count = zlink_ctx_blockers(owner, found.data(), found.size());
    REQUIRE(count >= 0);
    found.resize(static_cast<std::size_t>(count));
    return found;
}

} // namespace

TEST_CASE("blockers: open sockets, with their types and where they are") {
    for (const setting& chosen : every_setting()) {
        CAPTURE(chosen);
        const context owner{chosen};
        CHECK(blockers(owner).empty());
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(chosen.via);
        {
            const socket pair{owner, ZLINK_PAIR};
            CHECK(zlink_ctx_blockers(owner, nullptr, 0) == 2);
        }
        const auto found = blockers(owner);
        REQUIRE(found.size() == 1);
        CHECK(found[0].socket == pull);
        CHECK(found[0].type == ZLINK_PULL);
        CHECK(found[0].endpoint == endpoint);
        CHECK(found[0].linger == -1);
        CHECK(found[0].messages == 0);
    }
}

TEST_CASE("blockers: what a closed socket has not sent yet, to whom, and how long it may take") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const std::string endpoint = vacant(transport::tcp);
        context owner{io_threads};
        {
            socket push{owner, ZLINK_PUSH};
            push.set(ZLINK_LINGER, 60000).connect(endpoint);
            REQUIRE(push.send(std::string(100, 'x')) == ok);
            REQUIRE(push.send(message{std::string(10, 'x'), std::string(20, 'y')}) == ok);
        }
        {
            socket push{owner, ZLINK_PUB}; // There is no subscriber.
            push.set(ZLINK_LINGER, -1).connect(endpoint);
            REQUIRE(push.send("x") == ok);
        }
        void* const ended = owner;
        std::jthread ending{[&] { owner.end(); }};

        const context theirs;
        std::vector<zlink_blocker_t> found;
        wait_until(theirs, [&] {
            found = blockers(ended);
            return found.size() == 1 && found[0].socket == nullptr;
        });
        CHECK(found[0].type == ZLINK_PUSH);
        CHECK(found[0].endpoint == endpoint);
        CHECK(found[0].messages == 2);
        CHECK(found[0].bytes == 2 + 100 + 2 + 10 + 2 + 20);
        CHECK(found[0].linger > 0);
        CHECK(found[0].linger <= 60000);

        socket pull{theirs, ZLINK_PULL};
        pull.bind(endpoint);
        pull.recv();
        pull.recv();
    }
}

TEST_CASE("blockers: tells what a context without end waits for, without a limit") {
    const std::string endpoint = vacant(transport::ipc);
    context owner;
    {
        socket push{owner, ZLINK_DEALER};
        push.set(ZLINK_LINGER, -1).connect(endpoint);
        REQUIRE(push.send("x") == ok);
    }
    wait_until(owner, [&] { return blockers(owner).size() == 1; });
    CHECK(blockers(owner)[0].linger == -1);
    const context theirs;
    socket dealer{theirs, ZLINK_DEALER};
    dealer.bind(endpoint);
    CHECK(dealer.recv() == message{"x"});
    wait_until(owner, [&] { return blockers(owner).empty(); });
}

TEST_CASE("blockers: may be asked for, and the context used, while it ends") {
    for (int count = 0; count < 50; ++count) {
        void* const made = zlink_ctx_new();
        void* const open = zlink_socket(made, ZLINK_PAIR);
        REQUIRE(open != nullptr);
        std::thread asking{[made] {
            while (zlink_ctx_blockers(made, nullptr, 0) >= 0) {
                zlink_ctx_get(made, ZLINK_IO_THREADS);
                zlink_ctx_shutdown(made);
            }
            CHECK(zlink_errno() == EFAULT);
        }};
        std::thread ending{[made] { CHECK(zlink_ctx_term(made) == 0); }};
        CHECK(zlink_close(open) == 0);
        ending.join();
        asking.join();
    }
}

TEST_CASE("blockers: fills no more than there is room for, and refuses what it cannot use") {
    context owner;
    const socket first{owner, ZLINK_PAIR};
    const socket second{owner, ZLINK_PAIR};
    zlink_blocker_t one[2]{};
    CHECK(zlink_ctx_blockers(owner, one, 1) == 2);
    CHECK(one[0].socket != nullptr);
    CHECK(one[1].socket == nullptr);
    CHECK(error_of(zlink_ctx_blockers(owner, nullptr, 1)) == EINVAL);
    CHECK(error_of(zlink_ctx_blockers(nullptr, nullptr, 0)) == EFAULT);
    CHECK(error_of(zlink_ctx_blockers(first, nullptr, 0)) == EFAULT);
}
