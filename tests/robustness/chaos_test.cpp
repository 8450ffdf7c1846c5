// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "trial.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>

// Proxies among clients and workers that come and go, with messages of 0 bytes to 1 MiB: what is
// received is what was sent, each payload is released once, and all descriptors are given back.

using namespace api_test;
using namespace robustness;

namespace {

/// Below and above each size from which the library treats a payload differently.
constexpr std::array<std::size_t, 11> edges{0, 1, 8, 48, 49, 255, 256, 8191, 8192, 8193, 65536};
constexpr std::size_t longest_bytes = 1024 * 1024;
constexpr std::size_t seed_bytes = sizeof(std::uint64_t);

/// Payloads that were lent to the library, and those that it has released.
std::atomic<std::uint64_t> lent_count;
std::atomic<std::uint64_t> released_count;
std::atomic<std::uint64_t> wrong_count; ///< Frames with other content than they were sent with.

class chance {
public:
    explicit chance(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t number() { return engine_(); }
    bool once_in(std::uint64_t count) { return engine_() % count == 0; }
    std::size_t size() {
        return once_in(40)  ? engine_() % (longest_bytes + 1)
               : once_in(3) ? edges[engine_() % edges.size()]
                            : engine_() % 20'000;
    }

private:
    std::mt19937_64 engine_;
};

/// Fills a frame so that its content follows from its first 8 bytes and its size.
void write_content(std::byte* into, std::size_t bytes, std::uint64_t seed) {
    std::size_t at = 0;
    if (bytes >= seed_bytes) {
        std::memcpy(into, &seed, seed_bytes);
        at = seed_bytes;
    }
    std::uint64_t word = seed ^ bytes;
    for (; at + seed_bytes <= bytes; at += seed_bytes) {
        word = word * 6364136223846793005U + 1442695040888963407U;
        std::memcpy(into + at, &word, seed_bytes);
    }
    std::fill(into + at, into + bytes, static_cast<std::byte>(bytes));
}

void check_content(const std::byte* content, std::size_t bytes) {
    std::uint64_t seed = 0;
    if (bytes >= seed_bytes) {
        std::memcpy(&seed, content, seed_bytes);
    }
    std::vector<std::byte> wanted(bytes);
    write_content(wanted.data(), bytes, seed);
    if (bytes != 0 && std::memcmp(wanted.data(), content, bytes) != 0) {
        ++wrong_count;
    }
}

void release_lent(void* data, void*) {
    delete[] static_cast<std::byte*>(data);
    ++released_count;
}

/// Sends a frame with one of the calls that send.
/// @return Whether it was sent.
bool send_frame(void* to, chance& by, int flags) {
    const std::size_t bytes = by.size();
    const std::uint64_t seed = by.number();
    if (by.once_in(3)) {
        std::vector<std::byte> content(bytes);
        write_content(content.data(), bytes, seed);
        return zlink_send(to, content.data(), bytes, flags) >= 0;
    }
    zlink_msg_t sent;
    if (by.once_in(2)) {
        auto* const content = new std::byte[bytes];
        write_content(content, bytes, seed);
        ++lent_count;
        REQUIRE(zlink_msg_init_data(&sent, content, bytes, release_lent, nullptr) == 0);
    } else {
        REQUIRE(zlink_msg_init_size(&sent, bytes) == 0);
        write_content(static_cast<std::byte*>(zlink_msg_data(&sent)), bytes, seed);
    }
    zlink_msg_t kept;
    zlink_msg_init(&kept);
    if (by.once_in(4)) {
        zlink_msg_copy(&kept, &sent);
    }
    const bool is_sent = zlink_msg_send(&sent, to, flags) >= 0;
    if (!is_sent) { // What was refused is as it was.
        check_content(static_cast<const std::byte*>(zlink_msg_data(&sent)), zlink_msg_size(&sent));
    }
    check_content(static_cast<const std::byte*>(zlink_msg_data(&kept)), zlink_msg_size(&kept));
    zlink_msg_close(&kept);
    zlink_msg_close(&sent);
    return is_sent;
}

/// Sends a message of one to three frames.
bool send_message(void* to, chance& by, int flags = 0) {
    for (std::uint64_t left = by.number() % 3; left > 0; --left) {
        if (!send_frame(to, by, flags | ZLINK_SNDMORE)) {
            return false;
        }
    }
    return send_frame(to, by, flags);
}

/// Whether a captured frame is none that a client or worker sent: a routing id of a ROUTER, or a
/// subscription to everything or its end.
bool is_of_proxy(const std::byte* content, std::size_t bytes) noexcept {
    constexpr std::size_t routing_id_bytes = 5;
    return (bytes == routing_id_bytes || bytes == 1) && content[0] == std::byte{0};
}

/// Receives a message and checks each frame.
/// @param is_captured  Frames may be the proxy's own.
/// @return Whether there was one.
bool recv_message(void* from, bool is_captured = false) {
    int more = 1;
    while (more != 0) {
        zlink_msg_t got;
        zlink_msg_init(&got);
        const bool has_come = zlink_msg_recv(&got, from, 0) >= 0;
        if (has_come) {
            const auto* const content = static_cast<const std::byte*>(zlink_msg_data(&got));
            const std::size_t bytes = zlink_msg_size(&got);
            if (!is_captured || !is_of_proxy(content, bytes)) {
                check_content(content, bytes);
            }
            more = zlink_msg_more(&got);
        }
        zlink_msg_close(&got);
        if (!has_come) {
            return false;
        }
    }
    return true;
}

/// A proxy with a capture socket and a control socket, on its own thread.
class proxy {
public:
    proxy(const context& owner, int front_type, int back_type)
        : front_(owner, front_type), back_(owner, back_type), captured_(owner, ZLINK_PUSH),
          drain_(owner, ZLINK_PULL), control_(owner, ZLINK_PAIR), steering_(owner, ZLINK_PAIR) {
        for (socket* each : {&front_, &back_}) {
            each->set(ZLINK_SNDHWM, 10).set(ZLINK_RCVHWM, 10);
        }
        for (const transport via :
             {transport::inproc, transport::tcp, transport::ipc, transport::ws}) {
            front_endpoints_.push_back(front_.bind(via));
            back_endpoints_.push_back(back_.bind(via));
        }
        captured_.set(ZLINK_SNDTIMEO, 0);
        captured_.connect(drain_.bind(transport::inproc));
        steering_.connect(control_.bind(transport::inproc));
        drain_.set(ZLINK_RCVTIMEO, 50ms);
        runner_ =
            std::thread{[this] { zlink_proxy_steerable(front_, back_, captured_, control_); }};
        drainer_ = std::thread{[this] {
            while (!is_over_) {
                captured_count_ += recv_message(drain_, true) ? 1 : 0;
            }
        }};
    }
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;
    ~proxy() {
        steer("TERMINATE");
        runner_.join();
        is_over_ = true;
        drainer_.join();
    }

    void steer(const char* command) {
        zlink_send(steering_, command, std::strlen(command), ZLINK_DONTWAIT);
        std::array<char, 64> answer;
        while (zlink_recv(steering_, answer.data(), answer.size(), ZLINK_DONTWAIT) >= 0) {
        }
    }

    const std::string& front(chance& by) const {
        return front_endpoints_[by.number() % front_endpoints_.size()];
    }
    const std::string& back(chance& by) const {
        return back_endpoints_[by.number() % back_endpoints_.size()];
    }
    std::uint64_t captured_count() const { return captured_count_; }

private:
    socket front_;
    socket back_;
    socket captured_;
    socket drain_;
    socket control_;
    socket steering_;
    std::vector<std::string> front_endpoints_;
    std::vector<std::string> back_endpoints_;
    std::atomic<bool> is_over_ = false;
    std::atomic<std::uint64_t> captured_count_ = 0;
    std::thread runner_;
    std::thread drainer_;
};

/// One life of a socket: it connects, works for some messages, and goes.
template<class Work>
void live(const context& owner, int type, const std::string& endpoint, Work&& work) {
    socket mine{owner, type};
    mine.set(ZLINK_RCVTIMEO, 100ms).set(ZLINK_SNDTIMEO, 100ms).set(ZLINK_SNDHWM, 10);
    mine.set(ZLINK_RCVHWM, 10).set(ZLINK_LINGER, 0);
    if (type == ZLINK_SUB) {
        mine.set(ZLINK_SUBSCRIBE, "");
    }
    mine.connect(endpoint);
    work(mine);
}

struct crowd {
    const context& owner;
    clock::time_point until;
    std::uint64_t seed;
    std::vector<std::thread> threads;

    /// A thread on which sockets of `type` live one after the other. `work(socket, chance)` is
    /// called up to 30 times in each life, until it returns false.
    template<class Work>
    void add(int type, const std::string& (proxy::*side)(chance&) const, const proxy& at,
             Work work) {
        threads.emplace_back([this, type, side, &at, work, own = seed + threads.size()] {
            chance by{own};
            while (clock::now() < until) {
                live(owner, type, (at.*side)(by), [&](socket& mine) {
                    for (std::uint64_t left = by.number() % 30 + 1; left > 0; --left) {
                        if (!work(mine, by) || clock::now() >= until) {
                            return;
                        }
                    }
                });
            }
        });
    }
    void join() {
        for (std::thread& each : threads) {
            each.join();
        }
    }
};

} // namespace

TEST_SUITE("chaos") {
    TEST_CASE("chaos: proxies forward what was sent while clients and workers come and go") {
        const std::uint64_t seed = std::random_device{}();
        figures() << "seed " << seed;
        const int descriptors = descriptor_count();
        std::array<std::atomic<std::uint64_t>, 3> counts{};
        std::uint64_t captured = 0;
        {
            context owner{2};
            {
                proxy broker{owner, ZLINK_ROUTER, ZLINK_DEALER};
                proxy forwarder{owner, ZLINK_XSUB, ZLINK_XPUB};
                proxy streamer{owner, ZLINK_PULL, ZLINK_PUSH};
                crowd all{owner, clock::now() + std::chrono::seconds{chosen(600, 2, 4)}, seed, {}};
                for (int index = 0; index < 3; ++index) {
                    all.add(ZLINK_REQ, &proxy::front, broker, [&](socket& mine, chance& by) {
                        if (!send_message(mine, by) || by.once_in(10) || !recv_message(mine)) {
                            return false;
                        }
                        ++counts[0];
                        return true;
                    });
                    all.add(ZLINK_REP, &proxy::back, broker, [](socket& mine, chance& by) {
                        return !recv_message(mine) || send_message(mine, by);
                    });
                    all.add(ZLINK_PUB, &proxy::front, forwarder,
                            [](socket& mine, chance& by) { return send_message(mine, by); });
                    all.add(ZLINK_SUB, &proxy::back, forwarder, [&](socket& mine, chance& by) {
                        counts[1] += recv_message(mine) ? 1 : 0;
                        return !by.once_in(20);
                    });
                    all.add(ZLINK_PUSH, &proxy::front, streamer, [](socket& mine, chance& by) {
                        send_message(mine, by);
                        return true;
                    });
                    all.add(ZLINK_PULL, &proxy::back, streamer, [&](socket& mine, chance&) {
                        counts[2] += recv_message(mine) ? 1 : 0;
                        return true;
                    });
                }
                chance by{seed};
                while (clock::now() < all.until) {
                    proxy* const steered = by.once_in(3)   ? &broker
                                           : by.once_in(2) ? &forwarder
                                                           : &streamer;
                    steered->steer(by.once_in(2) ? "STATISTICS" : "PAUSE");
                    owner.let_io_happen();
                    steered->steer("RESUME");
                }
                all.join();
                for (proxy* each : {&broker, &forwarder, &streamer}) {
                    captured += each->captured_count();
                }
            }
            owner.end();
        }
        figures() << ", " << counts[0] << " replies, " << counts[1] << " published, " << counts[2]
                  << " pushed, " << captured << " captured, " << lent_count << " lent";
        CHECK(wrong_count == 0);
        CHECK(released_count == lent_count);
        CHECK(descriptor_count() <= descriptors);
        for (const auto& each : counts) {
            CHECK(each > 0);
        }
        CHECK(captured > 0);
    }
}
