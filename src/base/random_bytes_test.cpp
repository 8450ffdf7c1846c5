// SPDX-License-Identifier: MPL-2.0
#include "base/random_bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <sys/wait.h>
#include <unistd.h>

using zlink::random_bytes;

TEST_CASE("random bytes: a child process gives out others than its parent") {
    random_bytes(); // Now there is a supply.
    std::array<int, 2> ends;
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto made = random_bytes();
        ::_exit(::write(ends[1], made.data(), made.size()) == made.size() ? 0 : 1);
    }
    const auto ours = random_bytes();
    std::array<std::byte, 4> theirs{};
    CHECK(::read(ends[0], theirs.data(), theirs.size()) == theirs.size());
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(theirs != ours);
    ::close(ends[0]);
    ::close(ends[1]);
}
