// SPDX-License-Identifier: MPL-2.0
#include "scenario.hpp"

#include "refusal.hpp"
#include "zlink.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <unistd.h>

namespace refusal {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using enum scenario::security;

constexpr auto patience = 8s;
constexpr int attempts_max = 1000;
constexpr int messages_wanted = 12;  ///< After the refusal, and in all.
constexpr char stream_connected = 1; ///< The event of a STREAM.
constexpr std::size_t large_bytes = 30000;
constexpr std::array<std::size_t, 3> sizes{40, 3000, large_bytes};

constexpr std::array scenarios{
    scenario{"inproc", "inproc://here", ZLINK_PUSH, ZLINK_PULL},
    scenario{"inproc-pair", "inproc://here", ZLINK_PAIR, ZLINK_PAIR},
    scenario{"inproc-router", "inproc://here", ZLINK_DEALER, ZLINK_ROUTER},
    scenario{"inproc-pub", "inproc://here", ZLINK_XPUB, ZLINK_SUB},
    scenario{"inproc-req", "inproc://here", ZLINK_REQ, ZLINK_REP},
    scenario{.name = "inproc-conflate",
             .endpoint = "inproc://here",
             .near_type = ZLINK_PUSH,
             .far_type = ZLINK_PULL,
             .conflates = true},
    scenario{"tcp", "tcp://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL},
    scenario{"tcp-driven", "tcp://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 0},
    scenario{"tcp-name", "tcp://localhost:*", ZLINK_PUSH, ZLINK_PULL},
    scenario{"tcp-watched", "tcp://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 1, true},
    scenario{"tcp-router", "tcp://127.0.0.1:*", ZLINK_DEALER, ZLINK_ROUTER},
    scenario{"tcp-pub", "tcp://127.0.0.1:*", ZLINK_XPUB, ZLINK_SUB},
    scenario{"tcp-pub-driven", "tcp://127.0.0.1:*", ZLINK_PUB, ZLINK_SUB, 0},
    scenario{"tcp-req", "tcp://127.0.0.1:*", ZLINK_REQ, ZLINK_REP},
    scenario{.name = "tcp-conflate",
             .endpoint = "tcp://127.0.0.1:*",
             .near_type = ZLINK_PUSH,
             .far_type = ZLINK_PULL,
             .conflates = true},
    scenario{"tcp-plain", "tcp://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 1, false, plain},
    scenario{"tcp-curve", "tcp://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 1, false, curve},
    scenario{"tcp-curve-driven", "tcp://127.0.0.1:*", ZLINK_DEALER, ZLINK_DEALER, 0, false, curve},
    scenario{"ipc", "ipc://@", ZLINK_PUSH, ZLINK_PULL},
    scenario{"ipc-path", "ipc://*", ZLINK_PAIR, ZLINK_PAIR},
    scenario{"tls", "tls://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 1, false, tls},
    scenario{"tls-driven", "tls://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 0, false, tls},
    scenario{"ws", "ws://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL},
    scenario{"ws-curve", "ws://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 1, false, curve},
    scenario{"wss", "wss://127.0.0.1:*", ZLINK_PUSH, ZLINK_PULL, 1, false, tls},
    scenario{"stream-tcp", "tcp://127.0.0.1:*", ZLINK_STREAM, ZLINK_STREAM},
    scenario{"stream-driven", "tcp://127.0.0.1:*", ZLINK_STREAM, ZLINK_STREAM, 0},
    scenario{"stream-ws", "ws://127.0.0.1:*", ZLINK_STREAM, ZLINK_STREAM},
    scenario{.name = "stream-ws-compressed",
             .endpoint = "ws://127.0.0.1:*",
             .near_type = ZLINK_STREAM,
             .far_type = ZLINK_STREAM,
             .compresses = true},
    scenario{"stream-wss", "wss://127.0.0.1:*", ZLINK_STREAM, ZLINK_STREAM, 1, false, tls},
};

/// A running conversation.
class conversation {
public:
    conversation(const scenario& chosen, const credentials& shown)
        : chosen_(chosen), shown_(shown) {
        for (std::size_t index = 0; index < outgoing_.size(); ++index) {
            outgoing_[index] = static_cast<char>(index * 7);
        }
    }

    int run() {
        begin();
        const auto until = clock::now() + patience;
        while (!has_enough() && fault_ == nullptr) {
            if (clock::now() > until) {
                record_fault("no message came through any more");
            }
            answer_zap();
            say_something();
            hear_something();
            drain(watcher_);
            if (chosen_.near_type == ZLINK_XPUB) {
                drain(near_); // Receives subscriptions.
            }
            note_progress();
        }
        end();
        return fault_ == nullptr ? 0 : 1;
    }

private:
    void record_fault(const char* what) noexcept {
        if (fault_ == nullptr) {
            fault_ = what;
            const exempt_scope writing;
            std::fprintf(stderr, "%s: errno %d, %s (%s); sent %d, received %d\n", what, errno,
                         zlink_strerror(errno), zlink_error_text(), sent_count_, received_count_);
        }
    }

    /// Whether a call succeeded. Any error but missing memory and its consequences is a fault.
    bool check(int outcome, const char* what, std::initializer_list<int> allowed = {}) noexcept {
        if (outcome >= 0) {
            return true;
        }
        if (errno != ENOMEM && std::find(allowed.begin(), allowed.end(), errno) == allowed.end()) {
            record_fault(what);
        }
        return false;
    }

    /// Repeats a call until it succeeds.
    template<class Call>
    void insist(const char* what, Call&& call, std::initializer_list<int> allowed = {}) {
        for (int count = 0; count < attempts_max; ++count) {
            if (check(call(), what, allowed) || fault_ != nullptr) {
                return;
            }
        }
        record_fault(what);
    }

    void set(void* socket, int option, int value) {
        insist("setsockopt",
               [&] { return zlink_setsockopt(socket, option, &value, sizeof value); });
    }

    void set(void* socket, int option, std::string_view value) {
        insist("setsockopt",
               [&] { return zlink_setsockopt(socket, option, value.data(), value.size()); });
    }

    void* open(int type) {
        void* made = nullptr;
        // pthread_create(3) fails with EAGAIN if there is no memory for a thread.
        insist("socket", [&] { return (made = zlink_socket(context_, type)) != nullptr ? 0 : -1; },
               {EAGAIN});
        if (made == nullptr) {
            std::_Exit(1);
        }
        set(made, ZLINK_LINGER, 0);
        set(made, ZLINK_RCVTIMEO, 10);
        set(made, ZLINK_SNDTIMEO, 20);
        return made;
    }

    void begin() {
        insist("ctx_new", [&] { return (context_ = zlink_ctx_new()) != nullptr ? 0 : -1; });
        if (context_ == nullptr) {
            std::_Exit(1);
        }
        insist("ctx_set",
               [&] { return zlink_ctx_set(context_, ZLINK_IO_THREADS, chosen_.io_threads); });
        if (chosen_.with == plain) {
            zap_handler_ = open(ZLINK_REP);
            set(zap_handler_, ZLINK_RCVTIMEO, 0);
            insist("bind", [&] { return zlink_bind(zap_handler_, "inproc://zeromq.zap.01"); });
        }
        far_ = open(chosen_.far_type);
        near_ = open(chosen_.near_type);
        for (void* const each : {far_, near_}) {
            set(each, ZLINK_RECONNECT_IVL, 1);
            prepare(each);
        }
        if (chosen_.is_watched) {
            watch();
        }
        join();
    }

    void prepare(void* socket) {
        const bool is_far = socket == far_;
        const int type = is_far ? chosen_.far_type : chosen_.near_type;
        if (chosen_.conflates) {
            set(socket, ZLINK_CONFLATE, 1);
        } else if (type != ZLINK_STREAM) {
            set(socket, ZLINK_HEARTBEAT_IVL, 20);
        }
        if (type == ZLINK_SUB) {
            set(socket, ZLINK_SUBSCRIBE, std::string_view{});
        }
        if (type == ZLINK_REQ) {
            set(socket, ZLINK_REQ_RELAXED, 1);
            set(socket, ZLINK_REQ_CORRELATE, 1);
        }
        if (chosen_.compresses) {
            set(socket, ZLINK_WS_DEFLATE, 1);
            set(socket, ZLINK_WS_DEFLATE_CONTEXT, 1);
        }
        switch (chosen_.with) {
        case tls:
            set(socket, ZLINK_TLS_CERTIFICATE, shown_.certificate);
            set(socket, ZLINK_TLS_KEY, shown_.key);
            set(socket, ZLINK_TLS_CA, shown_.trusted);
            return;
        case curve:
            return prepare_curve(socket, is_far);
        case plain:
            if (is_far) {
                set(socket, ZLINK_PLAIN_SERVER, 1);
                set(socket, ZLINK_ZAP_DOMAIN, "domain");
            } else {
                set(socket, ZLINK_PLAIN_USERNAME, "name");
                set(socket, ZLINK_PLAIN_PASSWORD, "password");
            }
            return;
        case none:
            return;
        }
    }

    void prepare_curve(void* socket, bool is_far) {
        const std::string_view open_key{shown_.open.data(), 40};
        const std::string_view hidden_key{shown_.hidden.data(), 40};
        if (is_far) {
            set(socket, ZLINK_CURVE_SERVER, 1);
        } else {
            set(socket, ZLINK_CURVE_SERVERKEY, open_key);
            set(socket, ZLINK_CURVE_PUBLICKEY, open_key);
        }
        set(socket, ZLINK_CURVE_SECRETKEY, hidden_key);
    }

    void watch() {
        insist("monitor",
               [&] { return zlink_socket_monitor(far_, "inproc://seen", ZLINK_EVENT_ALL); });
        watcher_ = open(ZLINK_PAIR);
        insist("connect", [&] { return zlink_connect(watcher_, "inproc://seen"); });
    }

    void join() {
        std::array<char, 64> asked{};
        std::snprintf(asked.data(), asked.size(), "%s", chosen_.endpoint);
        if (std::strcmp(asked.data(), "ipc://@") == 0) {
            std::snprintf(asked.data(), asked.size(), "ipc://@zlink-refusal-%d", ::getpid());
        }
        insist("bind", [&] { return zlink_bind(far_, asked.data()); });
        std::array<char, 256> bound{};
        insist("last endpoint", [&] {
            std::size_t bytes = bound.size();
            return zlink_getsockopt(far_, ZLINK_LAST_ENDPOINT, bound.data(), &bytes);
        });
        if (std::strstr(asked.data(), "localhost") != nullptr) {
            std::snprintf(asked.data(), asked.size(), "tcp://localhost%s",
                          std::strrchr(bound.data(), ':'));
            std::strcpy(bound.data(), asked.data());
        }
        insist("connect", [&] { return zlink_connect(near_, bound.data()); });
    }

    bool has_enough() const noexcept {
        return received_count_ >= messages_wanted &&
               (!has_been_refused_ || received_count_ - received_before_ >= messages_wanted);
    }

    void note_progress() noexcept {
        if (!has_been_refused_ && has_happened()) {
            has_been_refused_ = true;
            received_before_ = received_count_;
        }
    }

    std::size_t next_size() const noexcept {
        return sizes[static_cast<std::size_t>(sent_count_) % sizes.size()];
    }

    void say_something() {
        if (chosen_.near_type == ZLINK_STREAM) {
            return say_something_streamed();
        }
        if (check(zlink_send(near_, outgoing_.data(), next_size(), 0), "send",
                  {EAGAIN, EHOSTUNREACH})) {
            ++sent_count_;
        }
    }

    void say_something_streamed() {
        if (!has_peer_) {
            return await_peer();
        }
        if (check(zlink_stream_send(near_, peer_.data(), outgoing_.data(), next_size(), 0),
                  "stream send", {EAGAIN, EHOSTUNREACH})) {
            ++sent_count_;
        } else if (errno == EHOSTUNREACH) {
            has_peer_ = false;
        }
    }

    void await_peer() {
        std::array<char, 300> told;
        if (check(zlink_stream_recv(near_, peer_.data(), told.data(), told.size(), 0),
                  "stream recv", {EAGAIN})) {
            has_peer_ = told[0] == stream_connected;
            take_rest(near_);
        }
    }

    bool has_more(void* socket) {
        int more = 0;
        std::size_t bytes = sizeof more;
        insist("more", [&] { return zlink_getsockopt(socket, ZLINK_RCVMORE, &more, &bytes); });
        return more != 0;
    }

    /// Receives the frames after the first.
    void take_rest(void* socket) {
        std::array<char, 300> rest;
        while (has_more(socket) && fault_ == nullptr) {
            check(zlink_recv(socket, rest.data(), rest.size(), 0), "rest", {EAGAIN});
        }
    }

    void hear_something() {
        if (chosen_.far_type == ZLINK_STREAM) {
            std::array<char, 4> from;
            const int bytes =
                zlink_stream_recv(far_, from.data(), incoming_.data(), incoming_.size(), 0);
            if (check(bytes, "stream recv", {EAGAIN})) {
                has_more(far_) ? take_rest(far_) : look_at(bytes);
            }
            return;
        }
        if (chosen_.far_type == ZLINK_ROUTER) {
            std::array<char, 300> id;
            const int bytes = zlink_recv(far_, id.data(), id.size(), 0);
            if (!check(bytes, "recv", {EAGAIN})) {
                return;
            }
            if (!has_more(far_)) {
                return record_fault("a routing id without a message");
            }
        }
        const int bytes = zlink_recv(far_, incoming_.data(), incoming_.size(), 0);
        if (check(bytes, "recv", {EAGAIN})) {
            look_at(bytes);
            if (chosen_.far_type == ZLINK_REP) {
                reply();
            }
        }
    }

    void reply() {
        insist("reply", [&] { return zlink_send(far_, "yes", 3, 0); });
        check(zlink_recv(near_, incoming_.data(), incoming_.size(), 0), "recv", {EAGAIN, EFSM});
    }

    void look_at(int bytes) noexcept {
        const auto size = static_cast<std::size_t>(bytes);
        const bool is_ours = std::find(sizes.begin(), sizes.end(), size) != sizes.end() &&
                             std::memcmp(incoming_.data(), outgoing_.data(), size) == 0;
        if (!is_ours) {
            return record_fault("a message that nobody sent");
        }
        ++received_count_;
    }

    void drain(void* socket) noexcept {
        std::array<char, 300> ignored;
        while (socket != nullptr &&
               zlink_recv(socket, ignored.data(), ignored.size(), ZLINK_DONTWAIT) >= 0) {
        }
    }

    void answer_zap() {
        if (zap_handler_ == nullptr) {
            return;
        }
        std::array<std::array<char, 64>, 16> asked;
        std::array<std::size_t, 16> bytes{};
        std::size_t count = 0;
        for (int got = 0; count < asked.size() && got >= 0; ++count) {
            got = zlink_recv(zap_handler_, asked[count].data(), asked[count].size(), 0);
            bytes[count] = got < 0 ? 0 : static_cast<std::size_t>(got);
            if (got < 0 || !has_more(zap_handler_)) {
                break;
            }
        }
        if (count < 2) {
            return;
        }
        const std::array<std::string_view, 6> answer{
            "1.0", {asked[1].data(), bytes[1]}, "200", "", "name", ""};
        for (const std::string_view& each : answer) {
            insist("zap", [&] {
                return zlink_send(zap_handler_, each.data(), each.size(),
                                  &each == &answer.back() ? 0 : ZLINK_SNDMORE);
            });
        }
    }

    void end() {
        for (void* const each : {near_, far_, watcher_, zap_handler_}) {
            if (each != nullptr) {
                insist("close", [&] { return zlink_close(each); });
            }
        }
        insist("ctx_term", [&] { return zlink_ctx_term(context_); });
    }

    const scenario& chosen_;
    const credentials& shown_;
    std::array<char, large_bytes> outgoing_;
    std::array<char, large_bytes + 1000> incoming_;
    void* context_ = nullptr;
    void* near_ = nullptr;
    void* far_ = nullptr;
    void* watcher_ = nullptr;
    void* zap_handler_ = nullptr;
    std::array<char, 4> peer_{};
    bool has_peer_ = false;
    bool has_been_refused_ = false;
    int sent_count_ = 0;
    int received_count_ = 0;
    int received_before_ = 0; ///< When the refusal was noticed.
    const char* fault_ = nullptr;
};

} // namespace

std::span<const scenario> every_scenario() noexcept {
    return scenarios;
}

int converse(const scenario& chosen, const credentials& shown) {
    return conversation{chosen, shown}.run();
}

} // namespace refusal
