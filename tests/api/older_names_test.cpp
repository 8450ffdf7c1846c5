// SPDX-License-Identifier: MPL-2.0
//
// Functions under the names and with the arguments that they had in libzmq 2 and 3.
#include "fixture.hpp"

using namespace api_test;

TEST_CASE("older names: sendmsg and recvmsg pass messages frame by frame, and tell their sizes") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));

        for (const std::string& text :
             {std::string{"head"}, std::string{}, std::string(70000, 'x'), std::string{"tail"}}) {
            frame sent{text};
            const int flags = text == "tail" ? 0 : ZLINK_SNDMORE;
            CHECK(zlink_sendmsg(push, sent.get(), flags) == static_cast<int>(text.size()));
            CHECK(zlink_msg_size(sent.get()) == 0);
        }
        for (const std::string& text :
             {std::string{"head"}, std::string{}, std::string(70000, 'x'), std::string{"tail"}}) {
            frame received{"replaced"};
            CHECK(zlink_recvmsg(pull, received.get(), 0) == static_cast<int>(text.size()));
            CHECK((received.text() == text));
            CHECK(zlink_msg_more(received.get()) == (text == "tail" ? 0 : 1));
            CHECK(pull.more() == (text != "tail"));
        }
        frame none{"stays"};
        CHECK(error_of(zlink_recvmsg(pull, none.get(), ZLINK_DONTWAIT)) == EAGAIN);
        CHECK(none.text() == "stays");
    }
}

TEST_CASE("older names: what sendmsg and recvmsg refuse is still the caller's") {
    context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.bind(transport::inproc);
    frame kept{"kept"};

    CHECK(error_of(zlink_sendmsg(push, kept.get(), ZLINK_DONTWAIT)) == EAGAIN);
    CHECK(error_of(zlink_sendmsg(pull, kept.get(), ZLINK_DONTWAIT)) == ENOTSUP);
    CHECK(error_of(zlink_recvmsg(push, kept.get(), ZLINK_DONTWAIT)) == ENOTSUP);
    for (void* const bad : {static_cast<void*>(nullptr), static_cast<void*>(owner)}) {
        CHECK(error_of(zlink_sendmsg(bad, kept.get(), 0)) == ENOTSOCK);
        CHECK(error_of(zlink_recvmsg(bad, kept.get(), 0)) == ENOTSOCK);
    }
    zlink_msg_t closed;
    zlink_msg_init(&closed);
    zlink_msg_close(&closed);
    CHECK(error_of(zlink_sendmsg(push, &closed, 0)) == EFAULT);
    CHECK(error_of(zlink_recvmsg(pull, &closed, 0)) == EFAULT);
    owner.shut_down();
    CHECK(error_of(zlink_sendmsg(push, kept.get(), 0)) == ETERM);
    CHECK(error_of(zlink_recvmsg(pull, kept.get(), 0)) == ETERM);
    CHECK(kept.text() == "kept");
}

TEST_CASE("older names: sendmsg and recvmsg wait as long as the socket's options say") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.bind(transport::inproc);
    pull.bind(transport::inproc);
    push.set(ZLINK_SNDTIMEO, 30ms);
    pull.set(ZLINK_RCVTIMEO, 30ms);
    frame none;
    CHECK(time_of([&] { CHECK(error_of(zlink_sendmsg(push, none.get(), 0)) == EAGAIN); }) >= 30ms);
    CHECK(time_of([&] { CHECK(error_of(zlink_recvmsg(pull, none.get(), 0)) == EAGAIN); }) >= 30ms);
}

TEST_CASE("older names: init makes a context with so many I/O threads") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        void* const made = zlink_init(io_threads);
        REQUIRE(made != nullptr);
        CHECK(zlink_ctx_get(made, ZLINK_IO_THREADS) == io_threads);
        // Its other options are those of any context.
        void* const other = zlink_ctx_new();
        for (const int option : {ZLINK_MAX_SOCKETS, ZLINK_MAX_MSGSZ, ZLINK_BLOCKY, ZLINK_IPV6}) {
            CHECK(zlink_ctx_get(made, option) == zlink_ctx_get(other, option));
        }
        CHECK(zlink_ctx_term(other) == 0);

        void* const pull = zlink_socket(made, ZLINK_PULL);
        void* const push = zlink_socket(made, ZLINK_PUSH);
        REQUIRE(zlink_bind(pull, "inproc://made") == 0);
        REQUIRE(zlink_connect(push, "inproc://made") == 0);
        CHECK(zlink_send(push, "x", 1, 0) == 1);
        char received = 0;
        CHECK(zlink_recv(pull, &received, 1, 0) == 1);
        CHECK(received == 'x');
        CHECK(zlink_close(pull) == 0);
        CHECK(zlink_close(push) == 0);
        CHECK(zlink_term(made) == 0);
    }
    CHECK(zlink_init(-1) == nullptr);
    CHECK(zlink_errno() == EINVAL);
}

TEST_CASE("older names: term and ctx_destroy end a context once its sockets are closed") {
    for (const auto ends : {zlink_term, zlink_ctx_destroy}) {
        void* const owner = zlink_init(1);
        REQUIRE(owner != nullptr);
        void* const open = zlink_socket(owner, ZLINK_PULL);
        REQUIRE(open != nullptr);
        std::atomic<bool> has_ended{false};
        std::jthread ending{[&] {
            CHECK(ends(owner) == 0);
            has_ended = true;
        }};

        // ETERM shows that the ending has begun; the open socket delays it.
        char byte;
        CHECK(error_of(zlink_recv(open, &byte, 1, 0)) == ETERM);
        CHECK_FALSE(has_ended);
        CHECK(zlink_close(open) == 0);
        ending.join();

        CHECK(has_ended);
        CHECK(error_of(ends(owner)) == EFAULT);
    }
}

TEST_CASE("older names: term and ctx_destroy refuse what is no context") {
    const context owner;
    const socket pair{owner, ZLINK_PAIR};
    for (const auto ends : {zlink_term, zlink_ctx_destroy}) {
        CHECK(error_of(ends(nullptr)) == EFAULT);
        CHECK(error_of(ends(pair)) == EFAULT);
    }
}
