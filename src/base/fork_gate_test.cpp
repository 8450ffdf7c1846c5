// SPDX-License-Identifier: MPL-2.0
#include "base/fork_gate.hpp"

#include "base/own_descriptors.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <fcntl.h>
#include <future>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using zlink::fork_gate;

namespace {

/// @return The exit status of a child that exits with body's result.
template<class Body>
int in_child(Body&& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(body());
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_open(int descriptor) {
    return ::fcntl(descriptor, F_GETFD) >= 0;
}

} // namespace

TEST_CASE("fork gate: who passes waits for those that hold it, and not for itself") {
    std::promise<void> let_go;
    std::atomic<bool> is_socket_closed{false};
    std::promise<void> holds;
    std::thread holder{[&] {
        const fork_gate::hold outer;
        const fork_gate::hold inner;
        holds.set_value();
        let_go.get_future().wait();
        is_socket_closed = true;
    }};
    holds.get_future().wait();
    std::atomic<bool> had_let_go{false};
    std::promise<void> begins;
    std::thread passes{[&] {
        const fork_gate::hold own;
        begins.set_value();
        fork_gate::pass();
        had_let_go = is_socket_closed.load();
    }};
    begins.get_future().wait();
    let_go.set_value();
    passes.join();
    holder.join();
    CHECK(had_let_go);
}

TEST_CASE("fork gate: a child is of the next generation, and may hold and pass it") {
    const std::uint32_t ours = fork_gate::generation();
    const fork_gate::hold held;
    CHECK(in_child([&] {
              {
                  const fork_gate::hold again;
                  fork_gate::pass();
              }
              return fork_gate::generation() == ours + 1 ? 0 : 1;
          }) == 0);
    CHECK(fork_gate::generation() == ours);
}

TEST_CASE("own descriptors: a child has none of those that are noted") {
    const int noted = zlink::open_descriptor([] { return ::eventfd(0, EFD_CLOEXEC); });
    const int given_back = zlink::open_descriptor([] { return ::eventfd(0, EFD_CLOEXEC); });
    zlink::close_descriptor(given_back);
    // An application's, at the same place.
    const int applications = ::eventfd(0, EFD_CLOEXEC);
    REQUIRE(applications == given_back);
    CHECK(in_child([&] { return is_open(noted) ? 1 : is_open(applications) ? 0 : 2; }) == 0);
    CHECK(is_open(noted));
    zlink::close_descriptor(noted);
    ::close(applications);
}
