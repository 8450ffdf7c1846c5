// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <new>

using zlink::errc;
using zlink::result;
using zlink::api::at_boundary;

TEST_SUITE("api") {

    TEST_CASE("boundary: gives the value and leaves errno alone when the body succeeds") {
        errno = EXDEV;
        int target = 0;

        CHECK(at_boundary([]() -> result<int> { return 7; }) == 7);
        CHECK(at_boundary([]() -> result<long> { return 7'000'000'000L; }) == 7'000'000'000L);
        CHECK(at_boundary([&]() -> result<int*> { return &target; }) == &target);
        CHECK(at_boundary([]() -> result<void> { return {}; }) == 0);

        CHECK(errno == EXDEV);
    }

    TEST_CASE("boundary: gives -1 or null and sets errno when the body fails") {
        CHECK(at_boundary([]() -> result<int> { return errc::wrong_state; }) == -1);
        CHECK(errno == 156384763);
        CHECK(at_boundary([]() -> result<long> { return errc::again; }) == -1L);
        CHECK(errno == EAGAIN);
        CHECK(at_boundary([]() -> result<void*> { return errc::bad_address; }) == nullptr);
        CHECK(errno == EFAULT);
        CHECK(at_boundary([]() -> result<void> { return errc::not_a_socket; }) == -1);
        CHECK(errno == ENOTSOCK);
    }

    TEST_CASE("boundary: reports ENOMEM when memory runs out") {
        errno = 0;
        CHECK(at_boundary([]() -> result<int> { throw std::bad_alloc{}; }) == -1);
        CHECK(errno == ENOMEM);

        errno = 0;
        CHECK(at_boundary([]() -> result<void> { throw std::bad_alloc{}; }) == -1);
        CHECK(errno == ENOMEM);

        errno = 0;
        CHECK(at_boundary([]() -> result<void*> { throw std::bad_alloc{}; }) == nullptr);
        CHECK(errno == ENOMEM);
    }

} // TEST_SUITE
