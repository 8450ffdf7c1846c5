// SPDX-License-Identifier: MPL-2.0
#include "other_process.hpp"

#include <array>
#include <cerrno>
#include <doctest/doctest.h>
#include <iostream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace robustness {

namespace {

constexpr std::size_t text_bytes_max = 4096;
constexpr int exit_well = 0;
constexpr int exit_failed = 1;
/// Ends a part that waits for ever.
constexpr unsigned longest_seconds = 1800;

std::array<int, 2> make_line() {
    std::array<int, 2> ends;
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    return ends;
}

} // namespace

line::~line() {
    ::close(descriptor_);
}

void line::say(std::string_view text) const {
    REQUIRE(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
}

std::string line::hear() const {
    std::array<char, text_bytes_max> text;
    const ssize_t bytes = ::recv(descriptor_, text.data(), text.size(), 0);
    REQUIRE(bytes >= 0);
    return {text.data(), static_cast<std::size_t>(bytes)};
}

void line::hang_up() const noexcept {
    ::shutdown(descriptor_, SHUT_WR);
}

other_process::other_process(const part& body)
    : other_process((std::cout.flush(), make_line()), body) {} // Flushed first, or both processes
                                                               // would print the buffered output.

other_process::other_process(const std::array<int, 2>& ends, const part& body)
    : line_(ends[0]), id_(::fork()) {
    REQUIRE(id_ >= 0);
    if (id_ > 0) {
        ::close(ends[1]);
        return;
    }
    ::close(ends[0]);
    ::alarm(longest_seconds);
    const line to_test{ends[1]};
    try {
        body(to_test);
    } catch (...) { // A failed REQUIRE, which has printed its message.
        ::_exit(exit_failed);
    }
    ::_exit(exit_well);
}

other_process::~other_process() {
    int status = 0;
    line_.hang_up();
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == exit_well);
}

} // namespace robustness
