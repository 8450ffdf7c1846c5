// SPDX-License-Identifier: MPL-2.0
//
// Threads that are cancelled inside a call. Cancellation is requested before the call, so that it
// takes effect at the first cancellation point inside, if there is one; right is that it takes
// effect after the call.
#include "fixture.hpp"

#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

using namespace api_test;

namespace {

/// What the calls use.
struct surroundings {
    void* context;
    void* one; ///< A PAIR, connected to `other`.
    void* other;
    void* stream;
    int pipe_end; ///< Never readable.
};

/// Runs `call` on a thread that is being cancelled.
class cancelled_call {
public:
    explicit cancelled_call(const std::function<void()>& call) : call_(call) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, nullptr, run, this) == 0);
        void* outcome = nullptr;
        REQUIRE(pthread_join(thread, &outcome) == 0);
        was_cancelled_ = outcome == PTHREAD_CANCELED;
    }

    bool has_returned() const { return has_returned_; }
    bool was_cancelled() const { return was_cancelled_; }

private:
    static void* run(void* started) {
        auto& self = *static_cast<cancelled_call*>(started);
        pthread_cancel(pthread_self());
        self.call_();
        self.has_returned_ = true;
        pthread_testcancel();
        return nullptr;
    }

    const std::function<void()>& call_;
    bool has_returned_ = false;
    bool was_cancelled_ = false;
};

std::ptrdiff_t descriptor_count() {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return std::distance(begin(all), end(all));
}

using named_call = std::pair<const char*, std::function<void(const surroundings&)>>;

/// Opens a socket, binds it, calls `use` and closes it.
void with_bound_socket(
    const surroundings& in, int type, const char* address,
    const std::function<void(void*)>& use = [](void*) {}) {
    void* const made = zlink_socket(in.context, type);
    zlink_bind(made, address);
    use(made);
    zlink_close(made);
}

const std::vector<named_call>& all_calls() {
    static char buffer[100'000];
    static const std::vector<named_call> calls{
        {"poll one socket",
         [](auto& in) {
             zlink_pollitem_t items[] = {{in.one, 0, ZLINK_POLLIN, 0}};
             zlink_poll(items, 1, 1);
         }},
        {"poll two sockets",
         [](auto& in) {
             zlink_pollitem_t items[] = {{in.one, 0, ZLINK_POLLIN, 0},
                                         {in.other, 0, ZLINK_POLLIN, 0}};
             zlink_poll(items, 2, 1);
         }},
        {"poll a socket twice",
         [](auto& in) {
             zlink_pollitem_t items[] = {{in.one, 0, ZLINK_POLLIN, 0},
                                         {in.one, 0, ZLINK_POLLIN, 0}};
             zlink_poll(items, 2, 1);
         }},
        {"poll a socket and a descriptor, which another item names, too",
         [](auto& in) {
             zlink_pollitem_t items[] = {{in.one, 0, ZLINK_POLLIN, 0},
                                         {nullptr, in.pipe_end, ZLINK_POLLIN, 0},
                                         {nullptr, in.pipe_end, ZLINK_POLLIN, 0}};
             zlink_poll(items, 3, 1);
         }},
        {"poll a descriptor",
         [](auto& in) {
             zlink_pollitem_t items[] = {{nullptr, in.pipe_end, ZLINK_POLLIN, 0}};
             zlink_poll(items, 1, 1);
         }},
        {"receive and send",
         [](auto& in) {
             zlink_recv(in.one, buffer, 10, 0); // Until ZLINK_RCVTIMEO.
             zlink_send(in.one, buffer, 10, 0);
             zlink_send(in.one, buffer, sizeof buffer, 0);
             for (int count = 0; count < 2; ++count) {
                 zlink_recv(in.other, buffer, 10, 0);
             }
         }},
        {"a message whose memory the application frees",
         [](auto&) {
             zlink_msg_t made;
             const auto free = [](void*, void* hint) {
                 ::close(::fcntl(*static_cast<const int*>(hint), F_DUPFD_CLOEXEC, 0));
             };
             static int input = STDIN_FILENO;
             zlink_msg_init_data(&made, buffer, sizeof buffer, free, &input);
             zlink_msg_close(&made);
         }},
        {"options",
         [](auto& in) {
             int value = 10;
             zlink_setsockopt(in.one, ZLINK_SNDHWM, &value, sizeof value);
             std::size_t bytes = sizeof value;
             zlink_getsockopt(in.one, ZLINK_FD, &value, &bytes);
             zlink_getsockopt(in.one, ZLINK_EVENTS, &value, &bytes);
             zlink_setsockopt(in.stream, ZLINK_TLS_RELOAD, nullptr, 0);
         }},
        {"tcp", [](auto& in) { with_bound_socket(in, ZLINK_PULL, "tcp://127.0.0.1:*"); }},
        {"ipc", [](auto& in) { with_bound_socket(in, ZLINK_PULL, "ipc://*"); }},
        {"inproc", [](auto& in) { with_bound_socket(in, ZLINK_PULL, "inproc://cancelled"); }},
        {"ws", [](auto& in) { with_bound_socket(in, ZLINK_STREAM, "ws://127.0.0.1:*"); }},
        {"http",
         [](auto& in) {
             void* const made = zlink_socket(in.context, ZLINK_STREAM);
             zlink_http_serve(made, "/", "/tmp", 0);
             zlink_bind(made, "http://127.0.0.1:*");
             zlink_close(made);
         }},
        {"connect by name",
         [](auto& in) {
             void* const made = zlink_socket(in.context, ZLINK_PULL);
             zlink_connect(made, "tcp://localhost:1");
             zlink_disconnect(made, "tcp://localhost:1");
             zlink_close(made);
         }},
        {"monitor",
         [](auto& in) {
             void* const made = zlink_socket(in.context, ZLINK_PULL);
             zlink_socket_monitor(made, "inproc://cancelled.monitor", ZLINK_EVENT_ALL);
             zlink_bind(made, "tcp://127.0.0.1:*");
             zlink_socket_monitor(made, nullptr, 0);
             zlink_close(made);
         }},
        {"a context",
         [](auto&) {
             void* const made = zlink_ctx_new();
             with_bound_socket({.context = made}, ZLINK_PULL, "tcp://127.0.0.1:*");
             zlink_ctx_term(made);
         }},
        {"metrics",
         [](auto& in) {
             zlink_msg_t text;
             zlink_msg_init(&text);
             zlink_metrics_text(in.context, ZLINK_METRICS_PEERS, &text);
             zlink_msg_close(&text);
         }},
        {"peers and notifications",
         [](auto& in) {
             zlink_peer_t peers[2];
             zlink_socket_peers(in.one, peers, 2);
             const auto notified = [](void* hint) {
                 ::close(::fcntl(*static_cast<const int*>(hint), F_DUPFD_CLOEXEC, 0));
             };
             static int input = STDIN_FILENO;
             zlink_socket_notify(in.one, notified, &input);
             zlink_send(in.other, "x", 1, 0);
             zlink_recv(in.one, buffer, 1, 0);
             zlink_socket_notify(in.one, nullptr, nullptr);
         }},
        {"curve",
         [](auto&) {
             char key[41];
             char secret[41];
             zlink_curve_keypair(key, secret);
             zlink_curve_public(key, secret);
         }},
        {"timers",
         [](auto&) {
             void* made = zlink_timers_new();
             zlink_timers_add(
                 made, 0, [](int, void*) { ::poll(nullptr, 0, 1); }, nullptr);
             zlink_timers_execute(made);
             zlink_timers_destroy(&made);
         }},
        {"a thread",
         [](auto&) {
             zlink_threadclose(zlink_threadstart([](void*) { ::poll(nullptr, 0, 1); }, nullptr));
         }},
        {"a stream",
         [](auto& in) {
             const unsigned char id[4] = {0, 0, 0, 1};
             unsigned char from[4];
             zlink_stream_recv(in.stream, from, buffer, 10, 0);
             zlink_stream_send_file(in.stream, id, in.pipe_end, 0, 10, ZLINK_DONTWAIT);
             zlink_stream_close(in.stream, id, 1000, "");
         }},
#ifdef ZLINK_BUILD_DRAFT_API
        {"a poller",
         [](auto& in) {
             void* made = zlink_poller_new();
             zlink_poller_add(made, in.one, nullptr, ZLINK_POLLIN);
             zlink_poller_add(made, in.other, nullptr, ZLINK_POLLIN);
             zlink_poller_add_fd(made, in.pipe_end, nullptr, ZLINK_POLLIN);
             zlink_fd_t descriptor;
             zlink_poller_fd(made, &descriptor);
             zlink_poller_event_t events[2];
             zlink_poller_wait(made, events, 1);
             zlink_poller_wait_all(made, events, 2, 1);
             zlink_poller_remove_fd(made, in.pipe_end);
             zlink_poller_remove(made, in.one);
             zlink_poller_destroy(&made);
         }},
#endif
    };
    return calls;
}

} // namespace

TEST_CASE("cancel: a thread that is cancelled ends after its call, whichever it is") {
    for (const int io_threads : every_io_threads) {
        for (const int is_shared : {0, 1}) {
            CAPTURE(io_threads);
            CAPTURE(is_shared);
            const context owner{io_threads};
            socket one{owner, ZLINK_PAIR};
            socket other{owner, ZLINK_PAIR};
            socket stream{owner, ZLINK_STREAM};
            for (socket* const each : {&one, &other, &stream}) {
                if (is_shared != 0) {
                    each->set(ZLINK_THREAD_SAFE, 1);
                }
                each->set(ZLINK_RCVTIMEO, std::chrono::milliseconds{1});
            }
            other.connect(one.bind(transport::inproc));
            stream.bind(transport::tcp);
            int pipe_ends[2];
            REQUIRE(::pipe(pipe_ends) == 0);
            const surroundings in{owner, one, other, stream, pipe_ends[0]};
            for (const auto& [name, call] : all_calls()) {
                CAPTURE(name);
                const auto bound = [&in, &call = call] { call(in); };
                call(in); // Descriptors that stay open are open afterwards.
                const std::ptrdiff_t before = descriptor_count();
                const cancelled_call cancelled{bound};
                CHECK(cancelled.has_returned());
                CHECK(cancelled.was_cancelled());
                const auto deadline = std::chrono::steady_clock::now() + patience;
                while (descriptor_count() > before && std::chrono::steady_clock::now() < deadline) {
                    one.poll(ZLINK_POLLIN, std::chrono::milliseconds{1}); // Sockets close later.
                }
                CHECK(descriptor_count() <= before);
                REQUIRE(one.send("afterwards") == ok);
                CHECK(other.recv() == message{"afterwards"});
            }
            ::close(pipe_ends[0]);
            ::close(pipe_ends[1]);
        }
    }
}
