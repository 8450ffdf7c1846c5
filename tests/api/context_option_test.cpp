// SPDX-License-Identifier: MPL-2.0
//
// Options of a context, as seen in the kernel's view of its threads.
#include "fixture.hpp"

#include <dirent.h>
#include <fstream>
#include <map>
#include <memory>
#include <sched.h>
#include <unistd.h>

using namespace api_test;

namespace {

/// The ids of the threads of this process, by name, from /proc.
std::map<std::string, int> threads_by_name() {
    std::map<std::string, int> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> tasks{::opendir("/proc/self/task"), ::closedir};
    REQUIRE(tasks != nullptr);
    while (const dirent* const each = ::readdir(tasks.get())) {
        if (each->d_name[0] == '.') {
            continue;
        }
        std::ifstream file{std::string{"/proc/self/task/"} + each->d_name + "/comm"};
        std::string name;
        if (std::getline(file, name)) {
            found[name] = std::stoi(each->d_name);
        }
    }
    return found;
}

/// The id of the thread with that name, once it has set its name.
int thread_named(const context& owner, const std::string& name) {
    wait_until(owner, [&] { return threads_by_name().contains(name); });
    return threads_by_name()[name];
}

int first_allowed_processor() {
    cpu_set_t allowed;
    REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int number = 0;
    while (!CPU_ISSET(number, &allowed)) {
        ++number;
    }
    return number;
}

} // namespace

TEST_CASE(
    "context options: requests are answered, however long a waiting thread spins before it parks") {
    for (const setting& over : every_setting()) {
        for (const int longest : {0, 50, 1000}) {
            CAPTURE(over);
            CAPTURE(longest);
            const context owner{over};
            REQUIRE(zlink_ctx_set(owner, ZLINK_BUSY_POLL, longest) == 0);
            CHECK(zlink_ctx_get(owner, ZLINK_BUSY_POLL) == longest);
            socket rep{owner, ZLINK_REP};
            socket req{owner, ZLINK_REQ};
            req.connect(rep.bind(over.via));
            for (int count = 0; count < 200; ++count) {
                REQUIRE(req.send("question") == ok);
                REQUIRE(rep.recv_frame() == "question");
                REQUIRE(rep.send("answer") == ok);
                REQUIRE(req.recv_frame() == "answer");
            }
            req.set(ZLINK_RCVTIMEO, 1);
            REQUIRE(req.send("question") == ok);
            CHECK(error_of(zlink_recv(req, nullptr, 0, 0)) == EAGAIN);
        }
    }
}

TEST_CASE("context options: I/O threads are as many as it says, and their names begin as it says") {
    const context owner{3};
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_NAME_PREFIX, 4711) == 0);
    CHECK(zlink_ctx_get(owner, ZLINK_THREAD_NAME_PREFIX) == 4711);
    const socket first{owner, ZLINK_PAIR};

    for (const char* const name : {"4711/zlink/io/0", "4711/zlink/io/1", "4711/zlink/io/2"}) {
        thread_named(owner, name);
    }
    CHECK(!threads_by_name().contains("4711/zlink/io/3"));
}

TEST_CASE("context options: I/O threads run on the processors that it names") {
    const context owner;
    const int processor = first_allowed_processor();
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_NAME_PREFIX, 4712) == 0);
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_AFFINITY_CPU_ADD, processor) == 0);
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_AFFINITY_CPU_ADD, processor + 1) == 0);
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_AFFINITY_CPU_REMOVE, processor + 1) == 0);
    CHECK(error_of(zlink_ctx_set(owner, ZLINK_THREAD_AFFINITY_CPU_REMOVE, processor + 1)) ==
          EINVAL);
    const socket first{owner, ZLINK_PAIR};

    const int thread = thread_named(owner, "4712/zlink/io/0");

    wait_until(owner, [&] {
        cpu_set_t allowed;
        REQUIRE(::sched_getaffinity(thread, sizeof allowed, &allowed) == 0);
        return CPU_COUNT(&allowed) == 1 && CPU_ISSET(processor, &allowed);
    });
}

TEST_CASE("context options: I/O threads are scheduled as it says") {
    const context owner;
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_NAME_PREFIX, 4713) == 0);
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_SCHED_POLICY, SCHED_BATCH) == 0);
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_PRIORITY, 0) == 0);
    const socket first{owner, ZLINK_PAIR};

    const int thread = thread_named(owner, "4713/zlink/io/0");

    wait_until(owner, [&] { return ::sched_getscheduler(thread) == SCHED_BATCH; });
}

TEST_CASE("context options: a socket's AFFINITY chooses among the I/O threads") {
    const context owner{3};
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_NAME_PREFIX, 4715) == 0);
    socket pull{owner, ZLINK_PULL};
    const std::string endpoint = pull.bind(transport::tcp);
    const std::string data(20'000, 'x');

    for (const int chosen : {0, 1, 2, 2, 2, 0}) {
        CAPTURE(chosen);
        const int thread = thread_named(owner, "4715/zlink/io/" + std::to_string(chosen));
        socket push{owner, ZLINK_PUSH};
        const std::uint64_t affinity = std::uint64_t{1} << chosen;
        REQUIRE(zlink_setsockopt(push, ZLINK_AFFINITY, &affinity, sizeof affinity) == 0);
        push.connect(endpoint);
        // The I/O thread frees what it has written, unless it is parked for so long that the socket
        // reclaims its memory.
        std::atomic<int> freed_by{0};
        frame sent{const_cast<char*>(data.data()), data.size(),
                   [](void*, void* hint) { *static_cast<std::atomic<int>*>(hint) = ::gettid(); },
                   &freed_by};
        REQUIRE(zlink_msg_send(sent.get(), push, 0) == static_cast<int>(data.size()));

        CHECK(pull.recv() == message{data});
        wait_until(owner, [&] { return freed_by != 0; });
        const bool is_by_it = freed_by == thread || freed_by == ::gettid();
        CHECK(is_by_it);
    }
}

TEST_CASE("context options: where the caller drives there are no I/O threads") {
    const context owner{0};
    REQUIRE(zlink_ctx_set(owner, ZLINK_THREAD_NAME_PREFIX, 4714) == 0);
    socket pull{owner, ZLINK_PULL};
    socket push{owner, ZLINK_PUSH};
    push.connect(pull.bind(transport::tcp));
    CHECK(push.send("x") == ok);
    CHECK(pull.recv() == message{"x"});

    CHECK(!threads_by_name().contains("4714/zlink/io/0"));
}

TEST_CASE("context options: IPV6 is what new sockets begin with") {
    const context owner;
    const socket before{owner, ZLINK_PAIR};
    REQUIRE(zlink_ctx_set(owner, ZLINK_IPV6, 1) == 0);
    const socket after{owner, ZLINK_PAIR};

    CHECK(before.get(ZLINK_IPV6) == 0);
    CHECK(after.get(ZLINK_IPV6) == 1);
}
