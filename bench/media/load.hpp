// SPDX-License-Identifier: MPL-2.0
//
// A closed loop of virtual users: each requests a part of a file, waits for the whole response,
// pauses, and requests the next part. One thread, plain epoll and OpenSSL.

#pragma once

#include "content.hpp"
#include "load_settings.hpp"
#include "response_head.hpp"

#include "../stream/histogram.hpp"
#include "../stream/sockets.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace media_bench {

inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds{1});
}

inline std::uint64_t to_ns(double seconds) {
    return static_cast<std::uint64_t>(seconds * 1e9);
}

struct load_counts {
    // Of responses that were complete within the window.
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0; // Of their bodies.
    std::uint64_t latency_sum_ns = 0;
    std::uint64_t latency_max_ns = 0;
    stream_bench::histogram latency; // Nanoseconds.
    // Of the whole run.
    std::uint64_t requests_total = 0;
    std::uint64_t failures = 0;
    std::uint64_t unfinished = 0; // Failures as well: still under way at the end of the drain.
    std::uint64_t connections = 0;
    std::string first_failure;
    std::string cipher;
    double window_seconds = 0;
};

/// Notified when the window opens and closes.
struct window_observer {
    virtual void on_window_open() = 0;
    virtual void on_window_closed() = 0;

protected:
    ~window_observer() = default;
};

/// 1. A user has at most one connection, on which at most one request is under way. After a failure
///    the user begins again with a new connection.
/// 2. Readiness is level-triggered. A plain connection is read a few times per event, one with TLS
///    until OpenSSL has nothing left, since epoll does not know of what OpenSSL has buffered.
/// 3. A latency begins when a user starts to send a request, or, without persistent connections, to
///    connect. It ends when the last byte of the response is there.
/// 4. Connections are reset at the end instead of closed, so that none keeps its port for a minute.
class load {
public:
    load(const load_settings& run, SSL_CTX* tls_context, window_observer& observer)
        : run_{run}, tls_context_{tls_context}, observer_{observer}, users_(run.user_count),
          scratch_(scratch_bytes), epoll_{epoll_create1(EPOLL_CLOEXEC)}, random_{run.seed} {
        if (epoll_ < 0) {
            stream_bench::fail("epoll_create1");
        }
    }
    load(const load&) = delete;
    load& operator=(const load&) = delete;
    ~load() {
        for (user& each : users_) {
            disconnect(each);
        }
        ::close(epoll_);
    }

    /// Warms up, measures and waits for the last responses.
    load_counts run() {
        now_ns_ = now_ns();
        // The users of a load with pauses begin one after the other, as they go on.
        for (std::size_t index = 0; index < users_.size(); ++index) {
            const double share = static_cast<double>(index) / static_cast<double>(users_.size());
            due_.push({now_ns_ + to_ns(run_.pause_seconds * share), index});
        }
        const std::uint64_t opening_ns = now_ns_ + to_ns(run_.warmup_seconds);
        run_until(opening_ns);
        observer_.on_window_open();
        const std::uint64_t opened_ns = now_ns();
        is_measuring_ = true;
        run_until(opened_ns + to_ns(run_.measure_seconds));
        is_measuring_ = false;
        counts_.window_seconds = static_cast<double>(now_ns() - opened_ns) * 1e-9;
        observer_.on_window_closed();
        drain();
        return std::move(counts_);
    }

private:
    enum class stage { closed, connecting, shaking_hands, idle, awaiting_head, awaiting_body };

    static constexpr std::size_t head_bytes_max = 4096;
    static constexpr std::size_t scratch_bytes = 262144;
    static constexpr int reads_per_event_max = 8;
    static constexpr std::uint64_t failure_pause_ns = 100'000'000;

    struct user {
        stage at = stage::closed;
        int descriptor = -1;
        SSL* tls = nullptr;
        std::uint32_t interest = 0;
        std::uint64_t begin_ns = 0;
        std::uint64_t position = 0; // Of the next byte of the body in the file.
        std::uint64_t remaining = 0;
        bool closes = false;
        std::size_t head_bytes = 0;
        std::array<char, head_bytes_max> head;
    };

    struct due_entry {
        std::uint64_t at_ns;
        std::size_t index;

        bool operator>(const due_entry& other) const { return at_ns > other.at_ns; }
    };

    // --- the loop ---

    void run_until(std::uint64_t end_ns) {
        while ((now_ns_ = now_ns()) < end_ns) {
            std::uint64_t wake_ns = end_ns;
            while (!due_.empty()) {
                if (due_.top().at_ns > now_ns_) {
                    wake_ns = std::min(wake_ns, due_.top().at_ns);
                    break;
                }
                const std::size_t index = due_.top().index;
                due_.pop();
                begin(users_[index]);
            }
            poll(wake_ns);
        }
    }

    void drain() {
        due_ = {};
        is_draining_ = true;
        const std::uint64_t end_ns = now_ns() + to_ns(run_.drain_seconds);
        while (under_way_ > 0 && (now_ns_ = now_ns()) < end_ns) {
            poll(end_ns);
        }
        if (under_way_ > 0) {
            counts_.unfinished = under_way_;
            counts_.failures += under_way_;
            note_failure("no complete response within the drain timeout");
        }
    }

    void poll(std::uint64_t wake_ns) {
        std::array<epoll_event, 256> events;
        const std::uint64_t wait_ns = wake_ns - std::min(now_ns(), wake_ns);
        const timespec limit{static_cast<time_t>(wait_ns / 1'000'000'000),
                             static_cast<long>(wait_ns % 1'000'000'000)};
        const int count =
            epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &limit, nullptr);
        if (count < 0 && errno != EINTR) {
            stream_bench::fail("epoll_pwait2");
        }
        for (int index = 0; index < count; ++index) {
            handle(users_[events[static_cast<std::size_t>(index)].data.u32]);
        }
    }

    void handle(user& each) {
        switch (each.at) {
        case stage::connecting:
            finish_connecting(each);
            break;
        case stage::shaking_hands:
            shake_hands(each);
            break;
        case stage::idle:
            read_unasked(each);
            break;
        case stage::awaiting_head:
        case stage::awaiting_body:
            receive(each);
            break;
        case stage::closed:
            break;
        }
    }

    // --- one request ---

    void begin(user& each) {
        ++under_way_;
        each.begin_ns = now_ns();
        if (each.at == stage::idle) {
            send_request(each);
        } else {
            connect(each);
        }
    }

    void connect(user& each) {
        each.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (each.descriptor < 0) {
            end_with_failure(each, std::string{"socket: "} + std::strerror(errno));
            return;
        }
        stream_bench::set_option(each.descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
        const sockaddr_in address = stream_bench::loopback_address(run_.port);
        const int status =
            ::connect(each.descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        if (status != 0 && errno != EINPROGRESS) {
            end_with_failure(each, std::string{"connect: "} + std::strerror(errno));
            return;
        }
        ++counts_.connections;
        each.at = stage::connecting;
        epoll_event event{};
        event.events = each.interest = EPOLLOUT;
        event.data.u32 = static_cast<std::uint32_t>(&each - users_.data());
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, each.descriptor, &event) != 0) {
            stream_bench::fail("epoll_ctl");
        }
    }

    void finish_connecting(user& each) {
        int error = 0;
        socklen_t bytes = sizeof error;
        getsockopt(each.descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes);
        if (error != 0) {
            end_with_failure(each, std::string{"connect: "} + std::strerror(error));
            return;
        }
        if (tls_context_ == nullptr) {
            send_request(each);
            return;
        }
        each.tls = SSL_new(tls_context_);
        if (each.tls == nullptr || SSL_set_fd(each.tls, each.descriptor) != 1) {
            stream_bench::reject("SSL_new failed");
        }
        each.at = stage::shaking_hands;
        shake_hands(each);
    }

    void shake_hands(user& each) {
        ERR_clear_error();
        const int status = SSL_connect(each.tls);
        if (status == 1) {
            if (counts_.cipher.empty()) {
                counts_.cipher =
                    std::string{SSL_get_version(each.tls)} + " " + SSL_get_cipher_name(each.tls);
            }
            send_request(each);
            return;
        }
        const int error = SSL_get_error(each.tls, status);
        if (error == SSL_ERROR_WANT_READ) {
            await(each, EPOLLIN);
        } else if (error == SSL_ERROR_WANT_WRITE) {
            await(each, EPOLLOUT);
        } else {
            end_with_failure(each, "TLS handshake failed");
        }
    }

    void send_request(user& each) {
        const std::uint64_t chunk_count =
            run_.chunk_bytes > 0 ? run_.file_bytes / run_.chunk_bytes : 1;
        each.position = random_() % chunk_count * run_.chunk_bytes;
        each.remaining = run_.chunk_bytes > 0 ? run_.chunk_bytes : run_.file_bytes;
        each.head_bytes = 0;
        request_ = "GET ";
        const std::size_t place = run_.path.find("{}");
        if (place == std::string::npos) {
            request_ += run_.path;
        } else {
            request_ += run_.path.substr(0, place) + std::to_string(random_() % run_.file_count) +
                        run_.path.substr(place + 2);
        }
        request_ += " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
        if (run_.chunk_bytes > 0) {
            request_ += "Range: bytes=" + std::to_string(each.position) + "-" +
                        std::to_string(each.position + each.remaining - 1) + "\r\n";
        }
        request_ += run_.is_persistent ? "\r\n" : "Connection: close\r\n\r\n";
        // A request fits into the empty buffer of a connection that carries nothing else.
        bool is_sent = false;
        if (each.tls != nullptr) {
            ERR_clear_error();
            is_sent = SSL_write(each.tls, request_.data(), static_cast<int>(request_.size())) ==
                      static_cast<int>(request_.size());
        } else {
            is_sent = ::send(each.descriptor, request_.data(), request_.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(request_.size());
        }
        if (!is_sent) {
            end_with_failure(each, "the request could not be sent");
            return;
        }
        each.at = stage::awaiting_head;
        await(each, EPOLLIN);
    }

    void receive(user& each) {
        for (int reads = 0; each.tls != nullptr || reads < reads_per_event_max; ++reads) {
            const bool is_head = each.at == stage::awaiting_head;
            char* const target = is_head ? each.head.data() + each.head_bytes : scratch_.data();
            const std::size_t room =
                is_head ? head_bytes_max - each.head_bytes : std::size_t{each.remaining};
            const std::int64_t got = read_some(each, target, room, is_head);
            if (got == 0) {
                return; // Nothing there at the moment, or the request has failed.
            }
            const auto bytes = static_cast<std::size_t>(got);
            const bool goes_on =
                is_head ? take_head(each, bytes) : take_body(each, scratch_.data(), bytes);
            if (!goes_on) {
                return;
            }
        }
    }

    /// @return The number of bytes; 0: there is nothing to read, or the request has failed.
    std::int64_t read_some(user& each, char* target, std::size_t room, bool is_head) {
        if (each.tls != nullptr) {
            ERR_clear_error();
            const int got =
                SSL_read(each.tls, target, static_cast<int>(std::min(room, scratch_bytes)));
            if (got > 0) {
                return got;
            }
            const int error = SSL_get_error(each.tls, got);
            if (error == SSL_ERROR_WANT_WRITE) {
                await(each, EPOLLIN | EPOLLOUT);
            } else if (error != SSL_ERROR_WANT_READ) {
                end_with_failure(each, "the connection was closed before the end of the response");
            }
            return 0;
        }
        // The kernel discards what is not looked at, without a copy (MSG_TRUNC, tcp(7)).
        const bool discards = !is_head && !run_.copies && !run_.verifies;
        const ssize_t got = discards
                                ? ::recv(each.descriptor, nullptr, room, MSG_TRUNC)
                                : ::recv(each.descriptor, target, std::min(room, scratch_bytes), 0);
        if (got > 0) {
            return got;
        }
        if (got == 0) {
            end_with_failure(each, "the connection was closed before the end of the response");
        } else if (errno != EAGAIN && errno != EINTR) {
            end_with_failure(each, std::string{"receiving: "} + std::strerror(errno));
        }
        return 0;
    }

    /// Between two requests a server may close the connection, or renew TLS keys, but send nothing.
    void read_unasked(user& each) {
        char byte = 0;
        bool is_open = false;
        bool is_data = false;
        if (each.tls != nullptr) {
            ERR_clear_error();
            const int got = SSL_read(each.tls, &byte, 1);
            is_data = got > 0;
            is_open = SSL_get_error(each.tls, got) == SSL_ERROR_WANT_READ;
        } else {
            const ssize_t got = ::recv(each.descriptor, &byte, 1, 0);
            is_data = got > 0;
            is_open = got < 0 && errno == EAGAIN;
        }
        if (is_data) {
            ++counts_.failures;
            note_failure("bytes after the end of a response");
        }
        if (!is_open) {
            disconnect(each);
        }
    }

    /// @return Whether more of the response is expected.
    bool take_head(user& each, std::size_t bytes) {
        each.head_bytes += bytes;
        response_head head;
        switch (decode_head({each.head.data(), each.head_bytes}, head)) {
        case head_state::incomplete:
            if (each.head_bytes == head_bytes_max) {
                end_with_failure(each, "the head of a response is too long");
                return false;
            }
            return true;
        case head_state::invalid:
            end_with_failure(each, "the head of a response is malformed");
            return false;
        case head_state::complete:
            break;
        }
        if (const std::string complaint = complaint_about(each, head); !complaint.empty()) {
            end_with_failure(each, complaint);
            return false;
        }
        each.closes = head.closes;
        each.at = stage::awaiting_body;
        const std::size_t rest = each.head_bytes - head.bytes;
        return rest == 0 || take_body(each, each.head.data() + head.bytes, rest);
    }

    std::string complaint_about(const user& each, const response_head& head) const {
        const int wanted_status = run_.chunk_bytes > 0 ? 206 : 200;
        if (head.status != wanted_status) {
            return "status " + std::to_string(head.status) + " instead of " +
                   std::to_string(wanted_status);
        }
        if (head.content_bytes != each.remaining) {
            return "Content-Length is " +
                   (head.content_bytes ? std::to_string(*head.content_bytes) : "missing") +
                   " instead of " + std::to_string(each.remaining);
        }
        const content_range wanted{each.position, each.position + each.remaining - 1,
                                   run_.file_bytes};
        if (run_.chunk_bytes > 0 && head.range != wanted) {
            return "Content-Range is missing or that of another part";
        }
        return "";
    }

    /// @return Whether more of the response is expected.
    bool take_body(user& each, const char* data, std::size_t bytes) {
        if (bytes > each.remaining) {
            end_with_failure(each, "more bytes than Content-Length");
            return false;
        }
        if (run_.verifies && !check_.matches(data, bytes, each.position)) {
            end_with_failure(each,
                             "the content differs, at or after " + std::to_string(each.position));
            return false;
        }
        each.position += bytes;
        each.remaining -= bytes;
        if (each.remaining > 0) {
            return true;
        }
        finish(each);
        return false;
    }

    void finish(user& each) {
        const std::uint64_t end_ns = now_ns();
        const std::uint64_t latency_ns = end_ns - each.begin_ns;
        --under_way_;
        ++counts_.requests_total;
        if (is_measuring_) {
            ++counts_.requests;
            counts_.bytes += run_.chunk_bytes > 0 ? run_.chunk_bytes : run_.file_bytes;
            counts_.latency_sum_ns += latency_ns;
            counts_.latency_max_ns = std::max(counts_.latency_max_ns, latency_ns);
            counts_.latency.add(latency_ns);
        }
        each.at = stage::idle;
        if (!run_.is_persistent || each.closes) {
            disconnect(each);
        }
        plan_next(each, end_ns + to_ns(run_.pause_seconds));
    }

    void plan_next(user& each, std::uint64_t at_ns) {
        if (!is_draining_) {
            due_.push({at_ns, static_cast<std::size_t>(&each - users_.data())});
        }
    }

    // --- connections ---

    void await(user& each, std::uint32_t interest) {
        if (each.interest == interest) {
            return;
        }
        epoll_event event{};
        event.events = each.interest = interest;
        event.data.u32 = static_cast<std::uint32_t>(&each - users_.data());
        if (epoll_ctl(epoll_, EPOLL_CTL_MOD, each.descriptor, &event) != 0) {
            stream_bench::fail("epoll_ctl");
        }
    }

    void disconnect(user& each) {
        if (each.tls != nullptr) {
            SSL_free(std::exchange(each.tls, nullptr));
        }
        if (each.descriptor >= 0) {
            const linger reset{1, 0};
            setsockopt(each.descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            ::close(std::exchange(each.descriptor, -1));
        }
        each.at = stage::closed;
    }

    void note_failure(const std::string& complaint) {
        if (counts_.first_failure.empty()) {
            counts_.first_failure = complaint;
        }
    }

    void end_with_failure(user& each, const std::string& complaint) {
        note_failure(complaint);
        ++counts_.failures;
        --under_way_;
        disconnect(each);
        plan_next(each, now_ns() + std::max(to_ns(run_.pause_seconds), failure_pause_ns));
    }

    const load_settings& run_;
    SSL_CTX* tls_context_;
    window_observer& observer_;
    std::vector<user> users_;
    std::vector<char> scratch_;
    int epoll_;
    std::mt19937_64 random_;
    std::priority_queue<due_entry, std::vector<due_entry>, std::greater<>> due_;
    content_check check_;
    std::string request_;
    load_counts counts_;
    std::uint64_t now_ns_ = 0;
    std::uint64_t under_way_ = 0;
    bool is_measuring_ = false;
    bool is_draining_ = false;
};

} // namespace media_bench
