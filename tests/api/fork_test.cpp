// SPDX-License-Identifier: MPL-2.0
//
// The use of a parent's objects in a child process made by fork(2), and the child's own.
//
// A child returns the number of its first failed check as exit status; it ends by _exit, so that it
// does not tear down the parent's objects.
#include "fixture.hpp"
#include "testing/certificates.hpp"
#include "watcher.hpp"

// The thread sanitizer cannot follow a child that starts threads.
#ifndef __SANITIZE_THREAD__

#include <cerrno>
#include <filesystem>
#include <openssl/evp.h>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace api_test;

namespace {

/// Numbers checks, and keeps the number of the first that failed.
class checks {
public:
    void operator()(bool holds) noexcept {
        ++count_;
        if (!holds && failed_ == 0) {
            failed_ = count_;
        }
    }
    /// 0: none.
    int failed() const noexcept { return failed_; }

private:
    int count_ = 0;
    int failed_ = 0;
};

/// @return The result of `body` in a child: 0, or the number of the check that failed; -1 if the
///         child was killed.
int in_child(const std::function<void(checks&)>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        checks check;
        body(check);
        ::_exit(check.failed());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int errno_of(int outcome) {
    return outcome == -1 ? zlink_errno() : ok;
}

/// Sets options of both ends before they connect.
using preparation = std::function<bool(void* pull, void* push)>;

/// Sends `data` bytes from one new socket to another.
bool exchanges(const std::string& endpoint, std::size_t data, const preparation& prepare = {}) {
    void* const made = zlink_ctx_new();
    void* const pull = zlink_socket(made, ZLINK_PULL);
    void* const push = zlink_socket(made, ZLINK_PUSH);
    if (prepare && !prepare(pull, push)) {
        return false;
    }
    const std::string sent(data, 'x');
    std::string received(data, ' ');
    char bound[256];
    std::size_t bound_bytes = sizeof bound;
    const bool arrived =
        zlink_bind(pull, endpoint.c_str()) == 0 &&
        zlink_getsockopt(pull, ZLINK_LAST_ENDPOINT, bound, &bound_bytes) == 0 &&
        zlink_connect(push, bound) == 0 &&
        zlink_send(push, sent.data(), sent.size(), 0) == static_cast<int>(data) &&
        zlink_recv(pull, received.data(), received.size(), 0) == static_cast<int>(data) &&
        received == sent;
    return zlink_close(pull) == 0 && zlink_close(push) == 0 && zlink_ctx_term(made) == 0 && arrived;
}

} // namespace

TEST_CASE("fork: every call on what the parent made fails with ETERM, and the parent goes on") {
    for (const setting& chosen : every_setting()) {
        CAPTURE(chosen);
        const context parent{chosen};
        socket receiver{parent, ZLINK_PULL};
        socket sender{parent, ZLINK_PUSH};
        const std::string endpoint = receiver.bind(chosen.via);
        sender.connect(endpoint);
        REQUIRE(sender.send("before") == ok);

        CHECK(
            in_child([&](checks& check) {
                char data[8];
                int number = 0;
                std::size_t bytes = sizeof number;
                zlink_pollitem_t item{receiver, -1, ZLINK_POLLIN, 0};
                frame message{"x"};
                check(errno_of(zlink_send(sender, "x", 1, 0)) == ETERM);
                check(errno_of(zlink_send(sender, "x", 1, ZLINK_SNDMORE)) == ETERM);
                check(errno_of(zlink_msg_send(message.get(), sender, 0)) == ETERM);
                check(errno_of(zlink_recv(receiver, data, sizeof data, 0)) == ETERM);
                check(errno_of(zlink_msg_recv(message.get(), receiver, 0)) == ETERM);
                check(errno_of(zlink_poll(&item, 1, -1)) == ETERM);
                check(errno_of(zlink_bind(receiver, "inproc://child")) == ETERM);
                check(errno_of(zlink_connect(receiver, "inproc://child")) == ETERM);
                check(errno_of(zlink_unbind(receiver, endpoint.c_str())) == ETERM);
                check(errno_of(zlink_disconnect(sender, endpoint.c_str())) == ETERM);
                check(errno_of(zlink_getsockopt(receiver, ZLINK_EVENTS, &number, &bytes)) == ETERM);
                check(errno_of(zlink_setsockopt(receiver, ZLINK_RCVHWM, &number, bytes)) == ETERM);
                check(errno_of(zlink_socket_monitor(receiver, "inproc://seen", ZLINK_EVENT_ALL)) ==
                      ETERM);
                check(errno_of(zlink_proxy(receiver, sender, nullptr)) == ETERM);
                check(zlink_socket(parent, ZLINK_PAIR) == nullptr && zlink_errno() == ETERM);
                check(errno_of(zlink_ctx_get(parent, ZLINK_IO_THREADS)) == ETERM);
                check(errno_of(zlink_ctx_set(parent, ZLINK_IO_THREADS, 2)) == ETERM);
                check(errno_of(zlink_ctx_shutdown(parent)) == ETERM);

                check(zlink_close(receiver) == 0);
                check(errno_of(zlink_close(receiver)) == ENOTSOCK);
                check(zlink_ctx_term(parent) == 0);
                check(errno_of(zlink_ctx_term(parent)) == EFAULT);
            }) == 0);

        CHECK(receiver.recv() == message{"before"});
        REQUIRE(sender.send("after") == ok);
        CHECK(receiver.recv() == message{"after"});
        if (chosen.via == transport::ipc) {
            struct stat found;
            CHECK(::stat(endpoint.c_str() + sizeof "ipc://" - 1, &found) == 0);
        }
    }
}

TEST_CASE("fork: a socket that a child left open is closed by the parent, and nobody waits") {
    context parent;
    socket receiver{parent, ZLINK_PULL};
    const std::string endpoint = receiver.bind(transport::tcp);
    CHECK(in_child([](checks&) {}) == 0);
    receiver.close();
    CHECK(time_of([&] { parent.end(); }) < patience);
}

TEST_CASE("fork: a child reaches its parent through a context of its own") {
    const context parent;
    socket receiver{parent, ZLINK_PULL};
    const std::string endpoint = receiver.bind(transport::tcp);
    CHECK(in_child([&](checks& check) {
              void* const own = zlink_ctx_new();
              void* const sender = zlink_socket(own, ZLINK_PUSH);
              check(sender != nullptr);
              check(zlink_connect(sender, endpoint.c_str()) == 0);
              check(zlink_send(sender, "child", 5, 0) == 5);
              check(zlink_close(sender) == 0);
              check(zlink_ctx_term(own) == 0);
              check(zlink_ctx_term(parent) == 0);
          }) == 0);
    CHECK(receiver.recv() == message{"child"});
}

TEST_CASE("fork: a child of a child knows whose objects are whose") {
    const context parent;
    CHECK(in_child([&](checks& check) {
              void* const own = zlink_ctx_new();
              check(in_child([&](checks& deeper) {
                        deeper(errno_of(zlink_ctx_get(own, ZLINK_IO_THREADS)) == ETERM);
                        deeper(errno_of(zlink_ctx_get(parent, ZLINK_IO_THREADS)) == ETERM);
                        deeper(exchanges("tcp://127.0.0.1:*", 10));
                    }) == 0);
              check(zlink_ctx_get(own, ZLINK_IO_THREADS) == 1);
          }) == 0);
}

TEST_CASE("fork: a child has none of its parent's connections, listeners and other descriptors") {
    const auto sockets = [] {
        std::set<std::string> found;
        for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            const std::string what = std::filesystem::read_symlink(each.path(), gone);
            if (what.starts_with("socket:")) {
                found.insert(what);
            }
        }
        return found;
    };
    const std::set<std::string> before = sockets();
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context parent{io_threads};
        socket over_tcp{parent, ZLINK_PULL};
        socket over_ipc{parent, ZLINK_PULL};
        socket raw{parent, ZLINK_STREAM};
        const std::string endpoint = over_tcp.bind(transport::tcp);
        socket sender{parent, ZLINK_PUSH};
        sender.connect(endpoint);
        sender.connect(over_ipc.bind(transport::ipc));
        raw.bind("ws://127.0.0.1:*");
        REQUIRE(sender.send("one") == ok);
        REQUIRE(sender.send("other") == ok);
        CHECK(over_tcp.recv().frames.size() == 1);
        CHECK(over_ipc.recv().frames.size() == 1);
        REQUIRE(sockets().size() >= before.size() + 7);
        CHECK(in_child([&](checks& check) { check(sockets() == before); }) == 0);
    }
}

TEST_CASE("fork: what the parent closes ends for its peers while a child lives on") {
    context parent;
    socket receiver{parent, ZLINK_PULL};
    const std::string endpoint = receiver.bind(transport::tcp);
    const context other;
    socket sender{other, ZLINK_PUSH};
    watcher watch{other, sender};
    sender.connect(endpoint);
    watch.await(ZLINK_EVENT_HANDSHAKE_SUCCEEDED);

    std::array<int, 2> ends;
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::close(ends[1]);
        char end;
        ::_exit(::read(ends[0], &end, 1) == 0 ? 0 : 1); // Waits until the parent is done.
    }
    receiver.close();
    parent.end();
    watch.await(ZLINK_EVENT_DISCONNECTED);
    const context next;
    socket successor{next, ZLINK_PULL};
    CHECK(successor.try_bind(endpoint) == ok);
    ::close(ends[0]);
    ::close(ends[1]);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

// The address sanitizer's allocator may be locked for ever in the child.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("fork: whatever the parent's threads are doing, a child can work") {
    std::atomic<bool> goes_on{true};
    std::vector<std::thread> busy;
    for (const char* const endpoint : {"inproc://busy", "tcp://127.0.0.1:*"}) {
        busy.emplace_back([&goes_on, endpoint] {
            while (goes_on) {
                exchanges(endpoint, 100000);
            }
        });
    }
    for (int count = 0; count < 20; ++count) {
        CHECK(in_child([](checks& check) {
                  check(exchanges("inproc://child", 100000));
                  check(exchanges("tcp://127.0.0.1:*", 10));
              }) == 0);
    }
    goes_on = false;
    for (std::thread& each : busy) {
        each.join();
    }
}

TEST_CASE("fork: a child can use TLS and CURVE while its parent's threads are within OpenSSL") {
    const zlink::testing::temporary_folder folder;
    zlink::testing::authority issuer{folder, "issuer"};
    const zlink::testing::identity server = issuer.issue();
    const std::string trusted = issuer.path();
    std::array<char, 41> open;
    std::array<char, 41> hidden;
    REQUIRE(zlink_curve_keypair(open.data(), hidden.data()) == 0);

    const auto set = [](void* target, int option, std::string_view value) {
        return zlink_setsockopt(target, option, value.data(), value.size()) == 0;
    };
    const preparation with_tls = [&](void* pull, void* push) {
        return set(pull, ZLINK_TLS_CERTIFICATE, server.certificate) &&
               set(pull, ZLINK_TLS_KEY, server.key) && set(push, ZLINK_TLS_CA, trusted);
    };
    const preparation with_curve = [&](void* pull, void* push) {
        const int on = 1;
        return zlink_setsockopt(pull, ZLINK_CURVE_SERVER, &on, sizeof on) == 0 &&
               set(pull, ZLINK_CURVE_SECRETKEY, {hidden.data(), 40}) &&
               set(push, ZLINK_CURVE_SERVERKEY, {open.data(), 40}) &&
               set(push, ZLINK_CURVE_PUBLICKEY, {open.data(), 40}) &&
               set(push, ZLINK_CURVE_SECRETKEY, {hidden.data(), 40});
    };
    std::atomic<bool> goes_on{true};
    std::vector<std::thread> busy;
    busy.emplace_back([&] {
        while (goes_on) {
            exchanges("tls://127.0.0.1:*", 100000, with_tls);
        }
    });
    busy.emplace_back([&] {
        while (goes_on) {
            exchanges("tcp://127.0.0.1:*", 100000, with_curve);
        }
    });
    // The application's own use of OpenSSL, which the library cannot keep away.
    busy.emplace_back([&] {
        while (goes_on) {
            EVP_CIPHER_free(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
        }
    });
    for (int count = 0; count < 200; ++count) {
        CHECK(in_child([&](checks& check) {
                  check(exchanges("tls://127.0.0.1:*", 30000, with_tls));
                  check(exchanges("tcp://127.0.0.1:*", 30000, with_curve));
              }) == 0);
    }
    goes_on = false;
    for (std::thread& each : busy) {
        each.join();
    }
}
#endif

#endif
