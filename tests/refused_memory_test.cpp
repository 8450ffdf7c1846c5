// SPDX-License-Identifier: MPL-2.0
//
// Memory that the system refuses. A small conversation is repeated, and each time another one of
// its allocations fails, on any thread. Calls may fail with ENOMEM and messages may be lost, but
// nothing crashes, hangs or stays unusable.
//
// A program of its own: it replaces the global operator new.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "testing/certificates.hpp"
#include "zlink.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <unistd.h>

namespace {

/// The number of the allocation that fails; below 1: none.
std::atomic<long> allocations_left{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (allocations_left.load(std::memory_order_relaxed) > 0 &&
        allocations_left.fetch_sub(1, std::memory_order_relaxed) == 1) {
        throw std::bad_alloc{};
    }
    void* const memory =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(bytes)
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    return memory;
}

constexpr int longest_wait = 300;
constexpr char large[20000]{}; ///< Passed by reference.

/// Records whether a call failed for another reason than missing memory or its consequences.
class outcome {
public:
    bool operator()(int returned) {
        const int error = returned < 0 ? zlink_errno() : 0;
        if (error != 0 && error != ENOMEM && error != EAGAIN) {
            other_error_ = error;
        }
        return returned >= 0;
    }
    /// 0: none.
    int other_error() const noexcept { return other_error_; }

private:
    int other_error_ = 0;
};

void set(void* socket, int option, int value) {
    zlink_setsockopt(socket, option, &value, sizeof value);
}
bool set(void* socket, int option, const std::string& value) {
    return zlink_setsockopt(socket, option, value.data(), value.size()) == 0;
}

/// Certificates for endpoints with TLS, made before memory is refused.
struct certificates {
    zlink::testing::temporary_folder folder;
    zlink::testing::authority issuer{folder, "issuer"};
    zlink::testing::identity shown = issuer.issue();
    std::string trusted = issuer.path();
};
const certificates* tls = nullptr;

/// @return False if memory was refused.
bool present_certificates(void* socket) {
    return tls == nullptr ||
           (set(socket, ZLINK_TLS_CERTIFICATE, tls->shown.certificate) &&
            set(socket, ZLINK_TLS_KEY, tls->shown.key) && set(socket, ZLINK_TLS_CA, tls->trusted));
}

/// Runs `talk` with two sockets of a new context, and ends all three.
/// @param far_type  Of the socket that binds.
/// @param talk      talk(check, near, far), called if both sockets exist.
/// @return An error other than missing memory, or 0.
template<class Talk>
int between_sockets(int io_threads, int near_type, int far_type, Talk&& talk) {
    outcome check;
    void* const context = zlink_ctx_new();
    if (context == nullptr) {
        return zlink_errno() == ENOMEM ? 0 : zlink_errno();
    }
    zlink_ctx_set(context, ZLINK_IO_THREADS, io_threads);
    void* const far = zlink_socket(context, far_type);
    void* const near = zlink_socket(context, near_type);
    if (far != nullptr && near != nullptr) {
        for (void* const each : {far, near}) {
            set(each, ZLINK_LINGER, 0);
            set(each, ZLINK_RCVTIMEO, longest_wait);
            set(each, ZLINK_SNDTIMEO, longest_wait);
            set(each, ZLINK_RECONNECT_IVL, 1);
        }
        talk(check, near, far);
    }
    if (near != nullptr) {
        check(zlink_close(near));
    }
    if (far != nullptr) {
        check(zlink_close(far));
    }
    check(zlink_ctx_term(context));
    return check.other_error();
}

/// Binds one and connects the other to it.
bool join(outcome& check, void* near, void* far, const char* endpoint) {
    char bound[256];
    std::size_t bound_bytes = sizeof bound;
    return check(zlink_bind(far, endpoint)) &&
           check(zlink_getsockopt(far, ZLINK_LAST_ENDPOINT, bound, &bound_bytes)) &&
           check(zlink_connect(near, bound));
}

/// @return As between_sockets().
int converse(int io_threads, const char* endpoint, int near_type, int far_type) {
    return between_sockets(
        io_threads, near_type, far_type, [&](outcome& check, void* near, void* far) {
            check(zlink_socket_monitor(near, "inproc://seen", ZLINK_EVENT_ALL));
            if (!present_certificates(far) || !present_certificates(near) ||
                !join(check, near, far, endpoint)) {
                return;
            }
            char received[32];
            for (int count = 0; count < 2; ++count) {
                if (check(zlink_send(near, "first", 5, ZLINK_SNDMORE))) {
                    check(zlink_send(near, large, sizeof large, 0));
                }
                int more = 1;
                std::size_t more_bytes = sizeof more;
                while (more != 0 && check(zlink_recv(far, received, sizeof received, 0)) &&
                       check(zlink_getsockopt(far, ZLINK_RCVMORE, &more, &more_bytes))) {
                }
            }
        });
}

/// Receives a message of a STREAM, or an event.
bool recv_streamed(outcome& check, void* socket, void* routing_id) {
    char received[32];
    bool is_whole = check(zlink_stream_recv(socket, routing_id, received, sizeof received, 0));
    int more = 1;
    std::size_t more_bytes = sizeof more;
    while (is_whole && check(zlink_getsockopt(socket, ZLINK_RCVMORE, &more, &more_bytes)) &&
           more != 0) {
        is_whole = check(zlink_recv(socket, received, sizeof received, 0));
    }
    return is_whole;
}

/// The same between two STREAMs over ws that compress.
int converse_compressed(int io_threads) {
    const int error = between_sockets(
        io_threads, ZLINK_STREAM, ZLINK_STREAM, [](outcome& check, void* near, void* far) {
            for (void* const each : {far, near}) {
                set(each, ZLINK_WS_DEFLATE, 1);
                set(each, ZLINK_WS_DEFLATE_CONTEXT, 1);
            }
            char id[4];
            if (join(check, near, far, "ws://127.0.0.1:*/") && recv_streamed(check, near, id) &&
                check(zlink_stream_send(near, id, large, sizeof large, 0)) &&
                check(zlink_stream_send(near, id, large, 1000, 0))) {
                for (int count = 0; count < 3 && recv_streamed(check, far, id); ++count) {
                }
            }
        });
    return error == EHOSTUNREACH ? 0 : error;
}

/// @param talk  A conversation; returns as converse().
template<class Talk>
void fail_each_allocation(Talk&& talk) {
    constexpr long allocation_count_max = 3000;
    for (long count = 1; count < allocation_count_max; ++count) {
        CAPTURE(count);
        ::alarm(120);
        allocations_left = count;
        const int error = talk();
        const bool has_failed = allocations_left.exchange(0) <= 0;
        CHECK(error == 0);
        if (!has_failed) {
            return;
        }
    }
    FAIL("there was no end to the allocations");
}

void fail_each_allocation(int io_threads, const char* endpoint, int near_type, int far_type) {
    fail_each_allocation([&] { return converse(io_threads, endpoint, near_type, far_type); });
}

} // namespace

void* operator new(std::size_t bytes) {
    return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

TEST_CASE("refused memory: tcp, with an I/O thread") {
    fail_each_allocation(1, "tcp://127.0.0.1:*", ZLINK_DEALER, ZLINK_ROUTER);
}

TEST_CASE("refused memory: ipc, with an I/O thread") {
    fail_each_allocation(1, "ipc://@zlink-refused-memory", ZLINK_PUSH, ZLINK_PULL);
}

TEST_CASE("refused memory: tcp, driven by the caller") {
    fail_each_allocation(0, "tcp://127.0.0.1:*", ZLINK_PAIR, ZLINK_PAIR);
}

TEST_CASE("refused memory: tls") {
    const certificates made;
    tls = &made;
    for (const int io_threads : {0, 1}) {
        CAPTURE(io_threads);
        fail_each_allocation(io_threads, "tls://127.0.0.1:*", ZLINK_DEALER, ZLINK_ROUTER);
    }
    tls = nullptr;
}

TEST_CASE("refused memory: ws, compressed") {
    for (const int io_threads : {0, 1}) {
        CAPTURE(io_threads);
        fail_each_allocation([&] { return converse_compressed(io_threads); });
    }
}

TEST_CASE("refused memory: metrics, and their server") {
    fail_each_allocation([] {
        outcome check;
        void* const context = zlink_ctx_new();
        if (context == nullptr) {
            check(-1);
            return check.other_error();
        }
        void* const push = zlink_socket(context, ZLINK_PUSH);
        if (push != nullptr && set(push, ZLINK_SOCKET_NAME, "name") &&
            check(zlink_bind(push, "inproc://measured")) &&
            check(zlink_ctx_set_text(context, ZLINK_METRICS_ENDPOINT, "local"))) {
            check(zlink_metrics(
                context, ZLINK_METRICS_PEERS, [](const zlink_metric_t*, void*) {}, nullptr));
            zlink_msg_t text;
            zlink_msg_init(&text);
            check(zlink_metrics_text(context, 0, &text));
            zlink_msg_close(&text);
            zlink_unbind(push, "inproc://measured");
        }
        if (push != nullptr) {
            check(zlink_close(push));
        }
        check(zlink_ctx_term(context));
        return check.other_error();
    });
}

TEST_CASE("refused memory: inproc") {
    fail_each_allocation(1, "inproc://here", ZLINK_PAIR, ZLINK_PAIR);
}
