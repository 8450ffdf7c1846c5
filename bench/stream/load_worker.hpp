// SPDX-License-Identifier: MPL-2.0
//
// One thread of the load client: its share of the connections, an epoll of its own, and its counts.

#pragma once

#include "batch.hpp"
#include "byte_stream.hpp"
#include "histogram.hpp"
#include "load_settings.hpp"
#include "reply_reader.hpp"
#include "upgrade_client.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace stream_bench {

inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds{1});
}

inline std::uint64_t to_ns(double seconds) {
    return static_cast<std::uint64_t>(seconds * 1e9);
}

/// Counts of a worker; those of all workers are added up.
struct load_counts {
    std::uint64_t connect_success = 0;
    std::uint64_t connect_fail = 0;
    std::uint64_t connect_timeout = 0;
    std::uint64_t connect_retries = 0;
    std::uint64_t connection_lost = 0; // After it was made.
    std::uint64_t sent_measuring = 0;
    std::uint64_t received_measuring = 0;
    std::uint64_t sent_total = 0;
    std::uint64_t received_total = 0;
    std::uint64_t window_echoes = 0; // Came while the window was open.
    std::uint64_t drain_timeout = 0; // 1: this worker had echoes outstanding after the drain.
    std::uint64_t outstanding = 0;   // After the drain.
    std::uint64_t gating_violation = 0;
    double rate = 0; // Echoes per second of the window.
    double window_seconds = 0;
    histogram latency;      // Nanoseconds.
    histogram connect_time; // Nanoseconds.

    void merge(const load_counts& other) {
        connect_success += other.connect_success;
        connect_fail += other.connect_fail;
        connect_timeout += other.connect_timeout;
        connect_retries += other.connect_retries;
        connection_lost += other.connection_lost;
        sent_measuring += other.sent_measuring;
        received_measuring += other.received_measuring;
        sent_total += other.sent_total;
        received_total += other.received_total;
        window_echoes += other.window_echoes;
        drain_timeout += other.drain_timeout;
        outstanding += other.outstanding;
        gating_violation += other.gating_violation;
        rate += other.rate;
        window_seconds = std::max(window_seconds, other.window_seconds);
        latency.merge(other.latency);
        connect_time.merge(other.connect_time);
    }
};

/// Notified when the worker's window opens and closes.
struct window_observer {
    virtual void on_window_open() = 0;
    virtual void on_window_closed() = 0;

protected:
    ~window_observer() = default;
};

/// A closed loop over many connections: each has `inflight` messages outstanding, and the worker
/// answers every echo with the next message.
///
/// 1. A connection may send `credit` messages. They are sent in batches of one stamp, one batch at
///    a time. Of an unfinished one only the stamp, the message count and the bytes done are kept;
///    the same bytes are laid out again from these.
/// 2. Readiness is edge-triggered, so a connection is read until a short read, and written until a
///    short write.
///
/// @threads One at a time; open() is called first, then run(), any number of times: each run ends
/// when all echoes are back, or its counts say that they are not.
template<class Reader>
class load_worker {
public:
    load_worker(const load_settings& run, SSL_CTX* tls_context, std::size_t connection_count,
                std::size_t concurrency, window_observer* observer)
        : run_{run}, tls_context_{tls_context}, observer_{observer},
          concurrency_{std::max<std::size_t>(concurrency, 1)}, expected_{run.body_bytes,
                                                                         run.verifies_filling},
          batch_{run.is_websocket(), run.body_bytes, messages_per_batch(run)},
          connections_(connection_count),
          scratch_(read_bytes_max), epoll_{epoll_create1(EPOLL_CLOEXEC)} {
        if (epoll_ < 0) {
            fail("epoll_create1");
        }
        for (std::size_t index = 0; index < connection_count; ++index) {
            waiting_.push_back({0, index});
        }
    }
    load_worker(const load_worker&) = delete;
    load_worker& operator=(const load_worker&) = delete;
    ~load_worker() { ::close(epoll_); }

    /// Makes all connections; counts those that fail.
    void open() {
        while (!waiting_.empty() || !in_progress_.empty()) {
            now_ns_ = now_ns();
            while (!waiting_.empty() && in_progress_.size() < concurrency_ &&
                   waiting_.front().not_before_ns <= now_ns_) {
                const std::size_t index = waiting_.front().index;
                waiting_.pop_front();
                in_progress_.push_back(index);
                dial(index);
            }
            poll(1);
            end_overdue();
        }
        opened_ = counts_;
    }

    /// Runs the scenario on the connections that were made and are still open.
    void run() {
        opened_.connection_lost = counts_.connection_lost;
        counts_ = opened_;
        phase_ = message_phase::warming;
        if (run_.kind == scenario::one_echo) {
            phase_ = message_phase::measuring;
            kick();
            is_sending_ = false;
            drain();
        } else if (run_.kind == scenario::echo_load) {
            load();
            drain();
        } else {
            // Notices connections that the server ended at once.
            while (poll(poll_ms) > 0) {
            }
        }
    }

    /// Counts of the last run, and of making the connections.
    [[nodiscard]] const load_counts& counts() const noexcept { return counts_; }

private:
    static constexpr std::size_t read_bytes_max = 256 * 1024;
    static constexpr std::size_t batch_bytes_max = 256 * 1024;
    static constexpr int events_max = 512;
    static constexpr std::size_t kicks_between_polls = 64;
    static constexpr int poll_ms = 10;

    enum class connection_state : std::uint8_t { closed, connecting, securing, upgrading, open };

    struct connection {
        byte_stream stream;
        connection_state state = connection_state::closed;
        message_phase batch_phase = message_phase::warming;
        std::uint16_t attempt_count = 0;
        std::uint32_t batch_count = 0; // Messages of the batch under way, or 0.
        std::size_t batch_done = 0;    // Bytes of the batch that are written.
        std::uint64_t batch_sent_ns = 0;
        std::uint64_t started_ns = 0;
        std::size_t credit = 0;      // Messages that may be sent.
        std::size_t outstanding = 0; // Messages put into a batch whose echo has not come.
        Reader reader;
        std::unique_ptr<upgrade_client> upgrade;
    };

    struct waiting_dial {
        std::uint64_t not_before_ns;
        std::size_t index;
    };

    static std::size_t messages_per_batch(const load_settings& run) {
        const std::size_t fitting = std::max<std::size_t>(batch_bytes_max / run.body_bytes, 1);
        return std::min({run.batch_messages, fitting, run.inflight});
    }

    // --- connecting ---

    void dial(std::size_t index) {
        connection& peer = connections_[index];
        const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (descriptor < 0) {
            fail("socket");
        }
        set_options(descriptor, run_.sockets);
        peer.stream = byte_stream{descriptor, tls_context_};
        peer.reader = Reader{};
        peer.state = connection_state::connecting;
        peer.started_ns = now_ns();
        ++peer.attempt_count;
        const sockaddr_in address = loopback_address(run_.port);
        if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
                0 &&
            errno != EINPROGRESS) {
            end_dial(index, counts_.connect_fail);
            return;
        }
        epoll_event interest{};
        interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        interest.data.u64 = index;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &interest) != 0) {
            fail("epoll_ctl");
        }
    }

    void advance_dial(std::size_t index, std::uint32_t events) {
        connection& peer = connections_[index];
        if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
            end_dial(index, counts_.connect_fail);
            return;
        }
        if (peer.state == connection_state::connecting) {
            if ((events & EPOLLOUT) == 0) {
                return;
            }
            peer.state = connection_state::securing;
        }
        if (peer.state == connection_state::securing) {
            const long status = peer.stream.handshake();
            if (status == byte_stream::is_gone) {
                end_dial(index, counts_.connect_fail);
            }
            if (status <= 0) {
                return;
            }
            peer.state = connection_state::upgrading;
            if (run_.is_websocket()) {
                peer.upgrade = std::make_unique<upgrade_client>(run_.path);
            }
        }
        if (peer.upgrade != nullptr) {
            const long status = peer.upgrade->advance(peer.stream);
            if (status == byte_stream::is_gone) {
                end_dial(index, counts_.connect_fail);
            }
            if (status <= 0) {
                return;
            }
            const std::string& surplus = peer.upgrade->surplus();
            peer.reader.read(reinterpret_cast<const unsigned char*>(surplus.data()), surplus.size(),
                             expected_, [](const unsigned char*) {});
            peer.upgrade.reset();
        }
        peer.state = connection_state::open;
        ++counts_.connect_success;
        counts_.connect_time.add(now_ns() - peer.started_ns);
        remove_in_progress(index);
    }

    // Tries again later, or counts the connection as failed.
    void end_dial(std::size_t index, std::uint64_t& reason_count) {
        connection& peer = connections_[index];
        peer.stream.close();
        peer.upgrade.reset();
        peer.state = connection_state::closed;
        remove_in_progress(index);
        if (peer.attempt_count <= run_.retry_count) {
            ++counts_.connect_retries;
            waiting_.push_back({now_ns() + run_.retry_delay_ms * 1'000'000ULL, index});
        } else {
            ++reason_count;
        }
    }

    void remove_in_progress(std::size_t index) {
        const auto found = std::find(in_progress_.begin(), in_progress_.end(), index);
        *found = in_progress_.back();
        in_progress_.pop_back();
    }

    void end_overdue() {
        const std::uint64_t now = now_ns();
        const std::uint64_t longest = to_ns(run_.connect_timeout_seconds);
        for (std::size_t place = in_progress_.size(); place-- > 0;) {
            const std::size_t index = in_progress_[place];
            if (now - connections_[index].started_ns > longest) {
                end_dial(index, counts_.connect_timeout);
            }
        }
    }

    // --- echoes ---

    void load() {
        const std::uint64_t start = now_ns();
        const std::uint64_t window_opens = start + to_ns(run_.warmup_seconds);
        kick();
        while (now_ns() < window_opens && open_count() > 0) {
            poll(poll_ms);
        }
        phase_ = message_phase::measuring;
        const std::uint64_t opened = now_ns();
        const std::uint64_t received_before = counts_.received_total;
        if (observer_ != nullptr) {
            observer_->on_window_open();
        }
        const std::uint64_t window_closes = opened + to_ns(run_.measure_seconds);
        while (now_ns() < window_closes && open_count() > 0) {
            poll(poll_ms);
        }
        is_sending_ = false;
        counts_.window_seconds = static_cast<double>(now_ns() - opened) * 1e-9;
        counts_.window_echoes = counts_.received_total - received_before;
        counts_.rate = static_cast<double>(counts_.window_echoes) / counts_.window_seconds;
        if (observer_ != nullptr) {
            observer_->on_window_closed();
        }
    }

    // Gives every connection its first credit. Polls for echoes in between, or buffers would fill.
    void kick() {
        is_sending_ = true;
        std::size_t kicked = 0;
        for (connection& peer : connections_) {
            if (peer.state != connection_state::open) {
                continue;
            }
            peer.credit = run_.inflight;
            now_ns_ = now_ns();
            send_credit(peer);
            if (++kicked % kicks_between_polls == 0) {
                poll(0);
            }
        }
    }

    void drain() {
        const std::uint64_t deadline = now_ns() + to_ns(run_.drain_seconds);
        while (outstanding_ > 0 && now_ns() < deadline) {
            poll(poll_ms);
        }
        counts_.outstanding = outstanding_ + lost_outstanding_;
        counts_.drain_timeout = counts_.outstanding > 0 ? 1 : 0;
    }

    // @return The number of connections that had events.
    int poll(int timeout_ms) {
        epoll_event events[events_max];
        const int count = epoll_wait(epoll_, events, events_max, timeout_ms);
        if (count < 0 && errno != EINTR) {
            fail("epoll_wait");
        }
        for (int event = 0; event < count; ++event) {
            const std::size_t index = events[event].data.u64;
            connection& peer = connections_[index];
            if (peer.state == connection_state::open) {
                on_ready(peer, events[event].events);
            } else if (peer.state != connection_state::closed) {
                advance_dial(index, events[event].events);
            }
        }
        return count;
    }

    void on_ready(connection& peer, std::uint32_t events) {
        now_ns_ = now_ns();
        if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) {
            read(peer);
        }
        if (peer.state == connection_state::open) {
            continue_batch(peer);
            send_credit(peer);
        }
    }

    void read(connection& peer) {
        std::uint64_t replies = 0;
        std::uint64_t replies_measuring = 0;
        const auto on_reply = [&](const unsigned char* stamp_bytes) {
            ++replies;
            if (stamp_bytes[0] == static_cast<unsigned char>(message_phase::measuring)) {
                ++replies_measuring;
                if (--until_sample_ == 0) {
                    until_sample_ = run_.latency_sample_rate;
                    counts_.latency.add(now_ns_ - stamp::decode(stamp_bytes).sent_ns);
                }
            }
        };
        long count = 0;
        bool is_usable = true;
        do {
            count = peer.stream.read(scratch_.data(), scratch_.size());
            is_usable = count != byte_stream::is_gone &&
                        peer.reader.read(scratch_.data(), static_cast<std::size_t>(count),
                                         expected_, on_reply);
        } while (is_usable && static_cast<std::size_t>(count) == scratch_.size());
        counts_.received_total += replies;
        counts_.received_measuring += replies_measuring;
        const std::uint64_t answered = std::min<std::uint64_t>(replies, peer.outstanding);
        counts_.gating_violation += replies - answered;
        peer.outstanding -= answered;
        outstanding_ -= answered;
        if (is_sending_) {
            peer.credit += answered;
        }
        if (!is_usable) {
            lose(peer);
        } else if constexpr (requires(std::string & payload) { peer.reader.take_ping(payload); }) {
            answer_ping(peer);
        }
    }

    // Only while no batch is under way: otherwise there is traffic, which shows as much as a pong.
    void answer_ping(connection& peer) {
        if (std::string payload; peer.reader.take_ping(payload) && peer.batch_count == 0) {
            const std::string pong = make_pong(payload);
            peer.stream.write(reinterpret_cast<const unsigned char*>(pong.data()), pong.size());
        }
    }

    void send_credit(connection& peer) {
        while (is_sending_ && peer.credit > 0 && peer.batch_count == 0 &&
               peer.state == connection_state::open) {
            const std::size_t count = std::min(peer.credit, batch_.message_count_max());
            peer.credit -= count;
            peer.outstanding += count;
            outstanding_ += count;
            counts_.sent_total += count;
            counts_.sent_measuring += phase_ == message_phase::measuring ? count : 0;
            peer.batch_count = static_cast<std::uint32_t>(count);
            peer.batch_done = 0;
            peer.batch_phase = phase_;
            peer.batch_sent_ns = now_ns_;
            continue_batch(peer);
        }
    }

    void continue_batch(connection& peer) {
        if (peer.batch_count == 0) {
            return;
        }
        const unsigned char* const data =
            batch_.bytes(peer.batch_count, {peer.batch_phase, peer.batch_sent_ns});
        const std::size_t total = peer.batch_count * batch_.frame_bytes();
        while (peer.batch_done < total) {
            const long count = peer.stream.write(data + peer.batch_done, total - peer.batch_done);
            if (count == byte_stream::would_block) {
                return;
            }
            if (count == byte_stream::is_gone) {
                lose(peer);
                return;
            }
            peer.batch_done += static_cast<std::size_t>(count);
        }
        peer.batch_count = 0;
    }

    void lose(connection& peer) {
        ++counts_.connection_lost;
        peer.stream.close();
        peer.state = connection_state::closed;
        outstanding_ -= peer.outstanding;
        lost_outstanding_ += peer.outstanding;
        peer.outstanding = 0;
        peer.credit = 0;
        peer.batch_count = 0;
    }

    [[nodiscard]] std::uint64_t open_count() const noexcept {
        return counts_.connect_success - counts_.connection_lost;
    }

    const load_settings& run_;
    SSL_CTX* tls_context_;
    window_observer* observer_;
    std::size_t concurrency_;
    expected_reply expected_;
    batch batch_;
    std::vector<connection> connections_;
    std::vector<unsigned char> scratch_;
    int epoll_;
    std::deque<waiting_dial> waiting_;
    std::vector<std::size_t> in_progress_;
    message_phase phase_ = message_phase::warming;
    bool is_sending_ = false;
    std::uint64_t now_ns_ = 0;
    std::uint64_t until_sample_ = 1;
    std::uint64_t outstanding_ = 0;
    std::uint64_t lost_outstanding_ = 0; // Of connections that were lost: their echoes never come.
    load_counts opened_;                 // The counts before the last run.
    load_counts counts_;
};

} // namespace stream_bench
