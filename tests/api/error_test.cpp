// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

#include <csignal>
#include <pthread.h>

using namespace api_test;

TEST_CASE("errors: what is no context is refused") {
    // The library may read the memory a little before and behind a handle.
    std::array<std::max_align_t, 64> something{};
    const context owner;
    const socket pair{owner, ZLINK_PAIR};
    for (void* const bad : {static_cast<void*>(nullptr), static_cast<void*>(&something[32]),
                            static_cast<void*>(pair)}) {
        CHECK(zlink_socket(bad, ZLINK_PAIR) == nullptr);
        CHECK(zlink_errno() == EFAULT);
        CHECK(error_of(zlink_ctx_set(bad, ZLINK_IO_THREADS, 1)) == EFAULT);
        CHECK(error_of(zlink_ctx_get(bad, ZLINK_IO_THREADS)) == EFAULT);
        CHECK(error_of(zlink_ctx_shutdown(bad)) == EFAULT);
        CHECK(error_of(zlink_ctx_term(bad)) == EFAULT);
    }
}

TEST_CASE("errors: a context that has ended is none any more") {
    void* const ended = zlink_ctx_new();
    REQUIRE(ended != nullptr);
    CHECK(zlink_ctx_term(ended) == 0);

    CHECK(error_of(zlink_ctx_term(ended)) == EFAULT);
    CHECK(error_of(zlink_ctx_get(ended, ZLINK_IO_THREADS)) == EFAULT);
}

TEST_CASE("errors: what is no socket is refused, as is one that was closed") {
    std::array<std::max_align_t, 64> something{};
    const context owner;
    void* const closed = zlink_socket(owner, ZLINK_PAIR);
    REQUIRE(zlink_close(closed) == 0);
    frame sent;
    for (void* const bad : {static_cast<void*>(nullptr), static_cast<void*>(&something[32]),
                            static_cast<void*>(owner), closed}) {
        int value = 0;
        std::size_t bytes = sizeof value;
        CHECK(error_of(zlink_close(bad)) == ENOTSOCK);
        CHECK(error_of(zlink_bind(bad, "inproc://x")) == ENOTSOCK);
        CHECK(error_of(zlink_connect(bad, "inproc://x")) == ENOTSOCK);
        CHECK(error_of(zlink_unbind(bad, "inproc://x")) == ENOTSOCK);
        CHECK(error_of(zlink_disconnect(bad, "inproc://x")) == ENOTSOCK);
        CHECK(error_of(zlink_setsockopt(bad, ZLINK_LINGER, &value, bytes)) == ENOTSOCK);
        CHECK(error_of(zlink_getsockopt(bad, ZLINK_LINGER, &value, &bytes)) == ENOTSOCK);
        CHECK(error_of(zlink_send(bad, "x", 1, ZLINK_DONTWAIT)) == ENOTSOCK);
        CHECK(error_of(zlink_recv(bad, &value, bytes, ZLINK_DONTWAIT)) == ENOTSOCK);
        CHECK(error_of(zlink_msg_send(sent.get(), bad, ZLINK_DONTWAIT)) == ENOTSOCK);
        CHECK(error_of(zlink_msg_recv(sent.get(), bad, ZLINK_DONTWAIT)) == ENOTSOCK);
        CHECK(error_of(zlink_socket_monitor(bad, "inproc://x", ZLINK_EVENT_ALL)) == ENOTSOCK);
        if (bad != nullptr) {
            zlink_pollitem_t item{bad, -1, ZLINK_POLLIN, 0};
            CHECK(error_of(zlink_poll(&item, 1, 0)) == ENOTSOCK);
        }
    }
}

TEST_CASE("errors: socket types that do not exist are refused") {
    const context owner;
    for (const int type : {-1, 21, 22, 99, 12345}) {
        CHECK(zlink_socket(owner, type) == nullptr);
        CHECK(zlink_errno() == EINVAL);
    }
}

TEST_CASE("errors: endpoints that are malformed are refused") {
    const context owner;
    socket pair{owner, ZLINK_PAIR};
    for (const char* const bad :
         {"", "tcp", "tcp:/", "tcp//127.0.0.1:5555", "://x", "tcp://", "tcp://127.0.0.1",
          "tcp://127.0.0.1:", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:port", "tcp://127.0.0.1:-1",
          "inproc://", "ipc://"}) {
        CAPTURE(bad);
        CHECK(pair.try_bind(bad) == EINVAL);
        CHECK(pair.try_connect(bad) == EINVAL);
    }
    CHECK(error_of(zlink_bind(pair, nullptr)) == EINVAL);
    CHECK(error_of(zlink_connect(pair, nullptr)) == EINVAL);
}

TEST_CASE("errors: transports that do not exist are refused") {
    const context owner;
    socket pair{owner, ZLINK_PAIR};
    for (const char* const bad :
         {"nonsense://127.0.0.1:5555", "TCP://127.0.0.1:5555", "pgm://127.0.0.1:5555"}) {
        CAPTURE(bad);
        CHECK(pair.try_bind(bad) == EPROTONOSUPPORT);
        CHECK(pair.try_connect(bad) == EPROTONOSUPPORT);
    }
    // It exists, for some of the draft types.
    CHECK(pair.try_bind("udp://127.0.0.1:5555") == ENOCOMPATPROTO);
    CHECK(pair.try_connect("udp://127.0.0.1:5555") == ENOCOMPATPROTO);
}

TEST_CASE("errors: an endpoint that is bound cannot be bound again") {
    for (const transport via : {transport::inproc, transport::tcp}) {
        const context owner;
        socket one{owner, ZLINK_PAIR};
        socket other{owner, ZLINK_PAIR};
        const std::string endpoint = one.bind(via);
        CAPTURE(endpoint);

        CHECK(other.try_bind(endpoint) == EADDRINUSE);
        CHECK(one.try_bind(endpoint) == EADDRINUSE);
    }
}

TEST_CASE("errors: addresses of other hosts cannot be bound") {
    const context owner;
    socket pair{owner, ZLINK_PAIR};
    CHECK(pair.try_bind("tcp://192.0.2.1:5555") == EADDRNOTAVAIL);
    // Too long for a name that a resolver could be asked for.
    CHECK(pair.try_bind("tcp://" + std::string(64, 'x') + ":5555") == ENODEV);
    CHECK(pair.try_bind("ipc:///no/such/folder/socket") == ENOENT);
}

TEST_CASE("errors: what was not bound or connected cannot be undone") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pair{owner, ZLINK_PAIR};
        const std::string endpoint = pair.bind(over.via);

        CHECK(pair.unbind(vacant(over.via)) == ENOENT);
        CHECK(pair.disconnect(vacant(over.via)) == ENOENT);
        CHECK(pair.unbind(endpoint) == ok);
        CHECK(pair.unbind(endpoint) == ENOENT);
        CHECK(pair.unbind("nonsense") == EINVAL);
        CHECK(pair.disconnect("nonsense") == EINVAL);
    }
}

TEST_CASE("errors: options of the wrong size or value are refused, and change nothing") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    push.set(ZLINK_SNDHWM, 7);
    int value = 1;
    const char small = 1;
    std::size_t bytes = sizeof value;
    CHECK(error_of(zlink_setsockopt(push, ZLINK_SNDHWM, &small, 1)) == EINVAL);
    CHECK(error_of(zlink_setsockopt(push, ZLINK_SNDHWM, &value, 8)) == EINVAL);
    value = -1;
    CHECK(error_of(zlink_setsockopt(push, ZLINK_SNDHWM, &value, bytes)) == EINVAL);
    value = -2;
    CHECK(error_of(zlink_setsockopt(push, ZLINK_LINGER, &value, bytes)) == EINVAL);
    CHECK(error_of(zlink_setsockopt(push, ZLINK_TYPE, &value, bytes)) == EINVAL);
    CHECK(error_of(zlink_setsockopt(push, 12345, &value, bytes)) == EINVAL);
    CHECK(error_of(zlink_getsockopt(push, 12345, &value, &bytes)) == EINVAL);
    bytes = 2;
    CHECK(error_of(zlink_getsockopt(push, ZLINK_SNDHWM, &value, &bytes)) == EINVAL);
    CHECK(push.get(ZLINK_SNDHWM) == 7);
    CHECK(push.get(ZLINK_TYPE) == ZLINK_PUSH);
    const std::string too_long(256, 'x');
    CHECK(error_of(zlink_setsockopt(push, ZLINK_ROUTING_ID, too_long.data(), 256)) == EINVAL);
    CHECK(error_of(zlink_setsockopt(push, ZLINK_ROUTING_ID, "", 0)) == EINVAL);
}

TEST_CASE("errors: context options out of their range are refused, and change nothing") {
    const context owner{2};
    CHECK(error_of(zlink_ctx_set(owner, ZLINK_IO_THREADS, -1)) == EINVAL);
    CHECK(error_of(zlink_ctx_set(owner, ZLINK_MAX_SOCKETS, 0)) == EINVAL);
    CHECK(error_of(zlink_ctx_set(owner, ZLINK_MAX_SOCKETS, -1)) == EINVAL);
    CHECK(error_of(zlink_ctx_set(owner, ZLINK_BUSY_POLL, -1)) == EINVAL);
    CHECK(error_of(zlink_ctx_set(owner, ZLINK_BUSY_POLL, 1001)) == EINVAL);
    CHECK(error_of(zlink_ctx_set(owner, 12345, 1)) == EINVAL);
    CHECK(error_of(zlink_ctx_get(owner, 12345)) == EINVAL);
    CHECK(zlink_ctx_get(owner, ZLINK_IO_THREADS) == 2);
    CHECK(zlink_ctx_get(owner, ZLINK_MAX_SOCKETS) == 1023);
    CHECK(zlink_ctx_get(owner, ZLINK_MSG_T_SIZE) == 64);
    CHECK(zlink_ctx_get(owner, ZLINK_BUSY_POLL) == 50);
    CHECK(zlink_ctx_get(owner, ZLINK_SOCKET_LIMIT) >= 1023);
}

TEST_CASE("errors: no more sockets than MAX_SOCKETS are open at once") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        REQUIRE(zlink_ctx_set(owner, ZLINK_MAX_SOCKETS, 3) == 0);
        std::vector<socket> open;
        for (int count = 0; count < 3; ++count) {
            open.emplace_back(owner, ZLINK_PAIR);
        }

        CHECK(zlink_socket(owner, ZLINK_PAIR) == nullptr);
        CHECK(zlink_errno() == EMFILE);
        open.pop_back();
        open.emplace_back(owner, ZLINK_PAIR);
        CHECK(zlink_socket(owner, ZLINK_PAIR) == nullptr);
        CHECK(zlink_errno() == EMFILE);
    }
}

TEST_CASE("errors: a context that is shut down refuses everything but closing") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        const std::string endpoint = pull.bind(over.via);
        push.connect(endpoint);
        REQUIRE(push.send("x") == ok);
        REQUIRE(pull.poll(ZLINK_POLLIN) == ZLINK_POLLIN);

        owner.shut_down();
        owner.shut_down();

        CHECK(zlink_socket(owner, ZLINK_PAIR) == nullptr);
        CHECK(zlink_errno() == ETERM);
        CHECK(push.send("x") == ETERM);
        CHECK(push.send("x", ZLINK_DONTWAIT) == ETERM);
        CHECK(pull.recv_error(0) == ETERM);
        CHECK(pull.recv_error(ZLINK_DONTWAIT) == ETERM);
        CHECK(pull.try_bind(wildcard(over.via)) == ETERM);
        CHECK(push.try_connect(endpoint) == ETERM);
        CHECK(pull.unbind(endpoint) == ETERM);
        CHECK(push.disconnect(endpoint) == ETERM);
        int value = 0;
        std::size_t bytes = sizeof value;
        CHECK(error_of(zlink_getsockopt(pull, ZLINK_EVENTS, &value, &bytes)) == ETERM);
        CHECK(error_of(zlink_getsockopt(pull, ZLINK_LINGER, &value, &bytes)) == ETERM);
        CHECK(error_of(zlink_setsockopt(pull, ZLINK_LINGER, &value, bytes)) == ETERM);
        zlink_pollitem_t items[]{{pull, -1, ZLINK_POLLIN, 0}, {push, -1, ZLINK_POLLOUT, 0}};
        CHECK(error_of(zlink_poll(items, 1, 0)) == ETERM);
        CHECK(error_of(zlink_poll(items, 2, -1)) == ETERM);
    }
}

TEST_CASE("errors: a call that waits in another thread fails when the context is shut down") {
    enum class call { recv, send, poll_one, poll_two, proxy };
    for (const setting& over : every_setting()) {
        for (const call waits_in :
             {call::recv, call::send, call::poll_one, call::poll_two, call::proxy}) {
            CAPTURE(over);
            CAPTURE(static_cast<int>(waits_in));
            context owner{over};
            socket dealer{owner, ZLINK_DEALER};
            socket other{owner, ZLINK_DEALER};
            dealer.bind(over.via);
            dealer.set(ZLINK_RCVTIMEO, -1).set(ZLINK_SNDTIMEO, -1);
            std::jthread waiting{[&] {
                zlink_pollitem_t items[]{{dealer, -1, ZLINK_POLLIN, 0},
                                         {other, -1, ZLINK_POLLIN, 0}};
                switch (waits_in) {
                case call::recv:
                    CHECK(dealer.recv_error(0) == ETERM);
                    break;
                case call::send:
                    CHECK(dealer.send("x") == ETERM);
                    break;
                case call::poll_one:
                    CHECK(error_of(zlink_poll(items, 1, -1)) == ETERM);
                    break;
                case call::poll_two:
                    CHECK(error_of(zlink_poll(items, 2, -1)) == ETERM);
                    break;
                case call::proxy:
                    CHECK(error_of(zlink_proxy(dealer, other, nullptr)) == ETERM);
                    break;
                }
                dealer.close();
                other.close();
            }};
            // Waits for the thread above to have closed both.
            owner.end();
        }
    }
}

TEST_CASE("errors: ending a context waits for its sockets to be closed") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        context owner{io_threads};
        std::vector<socket> open;
        for (int count = 0; count < 3; ++count) {
            open.emplace_back(owner, ZLINK_PULL).bind(transport::tcp);
        }
        std::atomic<bool> has_ended{false};
        std::jthread ending{[&] {
            owner.end();
            has_ended = true;
        }};

        for (socket& each : open) {
            // ETERM shows that the ending has begun; the open socket delays it.
            while (each.recv_error(0) != ETERM) {
            }
            CHECK_FALSE(has_ended);
            each.close();
        }
        ending.join();
        CHECK(has_ended);
    }
}

TEST_CASE("errors: a call that waits is interrupted by a signal") {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    struct sigaction before {};
    sigaction(SIGUSR1, &action, &before);
    for (const int io_threads : {1, 3}) {
        for (const int item_count : {0, 1, 2}) {
            CAPTURE(io_threads);
            CAPTURE(item_count);
            const context owner{io_threads};
            socket one{owner, ZLINK_PULL};
            socket other{owner, ZLINK_PULL};
            one.set(ZLINK_RCVTIMEO, -1);
            std::atomic<bool> is_over{false};
            std::jthread waiting{[&] {
                zlink_pollitem_t items[]{{one, -1, ZLINK_POLLIN, 0}, {other, -1, ZLINK_POLLIN, 0}};
                if (item_count == 0) {
                    CHECK(one.recv_error(0) == EINTR);
                } else {
                    CHECK(error_of(zlink_poll(items, item_count, -1)) == EINTR);
                }
                is_over = true;
            }};
            // A signal that comes before the call blocks is lost, so several are sent.
            while (!is_over) {
                pthread_kill(waiting.native_handle(), SIGUSR1);
                owner.let_io_happen();
            }
        }
    }
    sigaction(SIGUSR1, &before, nullptr);
}
