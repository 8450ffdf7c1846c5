// SPDX-License-Identifier: MPL-2.0
//
// Counts how often the bytes of a STREAM's messages are copied in user space between the
// application and the system. The peer is a socket in another process, so that only this process
// counts: all bytes that memcpy and memmove move outside of the test's own code, and inline copies,
// which base/copied.hpp counts.
//
// A program of its own: it replaces memcpy and memmove.
#include "api/fixture.hpp"
#include "base/copied.hpp"
#include "robustness/other_process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

/// Whether this thread runs test code now. Always false on the library's threads.
thread_local bool is_test = false;

std::atomic<bool> is_counting{false};

void count(std::size_t bytes) noexcept {
    if (is_counting.load(std::memory_order_relaxed) && !is_test) {
        zlink::count_copied(bytes);
    }
}

} // namespace

extern "C" void* memcpy(void* to, const void* from, std::size_t bytes) {
    count(bytes);
    void* out = to;
    asm volatile("rep movsb" : "+D"(out), "+S"(from), "+c"(bytes) : : "memory");
    return to;
}
extern "C" void* memmove(void* to, const void* from, std::size_t bytes) {
    count(bytes);
    auto* out = static_cast<unsigned char*>(to);
    auto* in = static_cast<const unsigned char*>(from);
    if (out > in && out < in + bytes) {
        out += bytes;
        in += bytes;
        while (bytes-- != 0) {
            *--out = *--in;
            asm volatile("" ::: "memory");
        }
    } else {
        asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
    }
    return to;
}

using namespace api_test;
using robustness::line;
using robustness::other_process;

namespace {

constexpr std::size_t id_bytes = 4;

enum class role { server, client };
enum class direction { in, out };
enum class by { buffer, message };

struct flow {
    std::string_view scheme;
    role own;
    direction way;
    by means;
    int io_threads;
    std::size_t bytes;
    int count;
    bool in_lockstep = false; ///< The next message is sent when the previous one was received.
};

std::string name_of(const flow& shown) {
    return std::string(shown.scheme) + (shown.own == role::server ? " server" : " client") +
           (shown.way == direction::in ? " receives " : " sends ") + std::to_string(shown.count) +
           " of " + std::to_string(shown.bytes) +
           (shown.means == by::buffer ? " by buffer" : " by message") +
           (shown.in_lockstep ? ", one by one, " : ", ") + std::to_string(shown.io_threads) +
           " I/O threads";
}

/// Runs a call of the library: bytes copied meanwhile count.
template<class Call>
auto counted(Call&& call) {
    is_test = false;
    const auto outcome = call();
    is_test = true;
    return outcome;
}

void send_all(void* socket, const std::string& id, const flow& planned) {
    const std::string payload(planned.bytes, 'x');
    for (int number = 0; number < planned.count; ++number) {
        if (planned.means == by::buffer) {
            REQUIRE(counted([&] {
                        return zlink_stream_send(socket, id.data(), payload.data(), payload.size(),
                                                 0);
                    }) >= 0);
        } else {
            frame sent{planned.bytes};
            std::memset(zlink_msg_data(sent.get()), 'x', planned.bytes);
            REQUIRE(counted([&] {
                        return zlink_stream_msg_send(sent.get(), socket, id.data(), 0);
                    }) >= 0);
        }
        if (planned.in_lockstep) {
            std::array<char, id_bytes> from;
            REQUIRE(counted([&] {
                        return zlink_stream_recv(socket, from.data(), nullptr, 0, 0);
                    }) == 0);
        }
    }
}

void recv_all(void* socket, const flow& planned) {
    std::string room(planned.bytes, '\0');
    std::array<char, id_bytes> id;
    frame received;
    for (int number = 0; number < planned.count; ++number) {
        const int bytes =
            planned.means == by::buffer
                ? counted([&] {
                      return zlink_stream_recv(socket, id.data(), room.data(), room.size(), 0);
                  })
                : counted(
                      [&] { return zlink_stream_msg_recv(received.get(), socket, id.data(), 0); });
        REQUIRE(bytes == static_cast<int>(planned.bytes));
        if (planned.in_lockstep) {
            REQUIRE(counted([&] { return zlink_stream_send(socket, id.data(), nullptr, 0, 0); }) ==
                    0);
        }
    }
}

std::string recv_peer(socket& by_whom) {
    const message told = by_whom.recv();
    REQUIRE(told.frames.size() == 3);
    return told.frames[0];
}

/// Plays the peer of `planned`.
void play_peer(const line& to_test, const flow& planned) {
    is_test = true;
    const context owner{1};
    socket own{owner, ZLINK_STREAM};
    if (planned.own == role::server) {
        own.connect(to_test.hear());
    } else {
        to_test.say(own.bind(std::string(planned.scheme) + "://127.0.0.1:*"));
    }
    const std::string id = recv_peer(own);
    flow mirrored = planned;
    mirrored.means = by::message;
    to_test.hear();
    if (planned.way == direction::in) {
        send_all(own, id, mirrored);
    } else {
        recv_all(own, mirrored);
        REQUIRE(own.send(message{id, "received"}) == ok);
    }
    to_test.hear();
}

/// @return The bytes copied per byte of payload, in thousandths.
std::uint64_t copies_of(const flow& planned) {
    const other_process peer{[&](const line& to_test) { play_peer(to_test, planned); }};
    const context owner{planned.io_threads};
    socket own{owner, ZLINK_STREAM};
    if (planned.own == role::server) {
        peer.say(own.bind(std::string(planned.scheme) + "://127.0.0.1:*"));
    } else {
        own.connect(peer.hear());
    }
    const std::string id = recv_peer(own);
    zlink::copied_byte_count = 0;
    is_counting = true;
    peer.say("begin");
    if (planned.way == direction::in) {
        recv_all(own, planned);
    } else {
        send_all(own, id, planned);
        std::array<char, id_bytes> from;
        std::array<char, 16> answer;
        // Without I/O threads, this call sends the messages that wait.
        REQUIRE(counted([&] {
                    return zlink_stream_recv(own, from.data(), answer.data(), answer.size(), 0);
                }) > 0);
    }
    is_counting = false;
    return zlink::copied_byte_count * 1000 /
           (planned.bytes * static_cast<std::uint64_t>(planned.count));
}

/// Messages of `payload_bytes` in all, or fewer one by one.
int count_of(std::size_t bytes, bool in_lockstep) {
    constexpr std::size_t payload_bytes = std::size_t{16} << 20;
    constexpr std::size_t lockstep_count_max = 300;
    const std::size_t count = payload_bytes / bytes;
    return static_cast<int>(in_lockstep ? std::min(count, lockstep_count_max) : count);
}

/// A twentieth more: for a new connection, for messages that lie across two segments, and for bytes
/// that are read behind a large message.
constexpr std::uint64_t thousandths_max = 1050;

void check(role own, direction way) {
    is_test = true;
    for (const std::string_view scheme : {"tcp", "ws"}) {
        for (const int io_threads : {0, 1}) {
            for (const by means : {by::buffer, by::message}) {
                for (const std::size_t bytes : {64, 1024, 65'536, 1 << 20}) {
                    for (const bool in_lockstep : {false, true}) {
                        const flow planned{.scheme = scheme,
                                           .own = own,
                                           .way = way,
                                           .means = means,
                                           .io_threads = io_threads,
                                           .bytes = bytes,
                                           .count = count_of(bytes, in_lockstep),
                                           .in_lockstep = in_lockstep};
                        CAPTURE(name_of(planned));
                        CHECK(copies_of(planned) <= thousandths_max);
                    }
                }
            }
        }
    }
}

/// Sends messages a few at a time and receives their echoes.
void play_echoed_peer(const line& to_test, std::size_t bytes, int count) {
    is_test = true;
    constexpr int window = 64;
    const context owner{1};
    socket own{owner, ZLINK_STREAM};
    own.connect(to_test.hear());
    const std::string id = recv_peer(own);
    to_test.hear();
    const std::string payload(bytes, 'x');
    for (int done = 0; done < count; done += window) {
        for (int number = 0; number < window; ++number) {
            REQUIRE(own.send(message{id, payload}) == ok);
        }
        for (int number = 0; number < window; ++number) {
            REQUIRE(own.recv() == message{id, payload});
        }
    }
    REQUIRE(own.send(message{id, ""}) == ok);
    to_test.hear();
}

/// @return  As copies_of(), for a server that sends back what it receives.
std::uint64_t copies_of_echo(std::string_view scheme, int io_threads, std::size_t bytes) {
    const int count = count_of(bytes, false);
    const other_process peer{[&](const line& to_test) { play_echoed_peer(to_test, bytes, count); }};
    const context owner{io_threads};
    socket own{owner, ZLINK_STREAM};
    peer.say(own.bind(std::string(scheme) + "://127.0.0.1:*"));
    recv_peer(own);
    zlink::copied_byte_count = 0;
    is_counting = true;
    peer.say("begin");
    std::array<zlink_stream_message_t, 256> batch;
    for (bool is_over = false; !is_over;) {
        const int received =
            counted([&] { return zlink_stream_recv_batch(own, batch.data(), batch.size(), 0); });
        REQUIRE(received > 0);
        for (int done = 0; done < received;) {
            const int sent = counted([&] {
                return zlink_stream_send_batch(own, &batch[static_cast<std::size_t>(done)],
                                               static_cast<std::size_t>(received - done), 0);
            });
            REQUIRE(sent > 0);
            done += sent;
        }
        is_over = batch[static_cast<std::size_t>(received) - 1].size == 0;
    }
    is_counting = false;
    return zlink::copied_byte_count * 1000 / (bytes * static_cast<std::uint64_t>(count));
}

} // namespace

TEST_CASE("copies: what a server sends on unchanged is copied once at most on its whole way") {
    is_test = true;
    for (const int io_threads : {0, 1}) {
        for (const std::size_t bytes : {1024, 4096, 65'536, 1 << 20}) {
            CAPTURE(io_threads);
            CAPTURE(bytes);
            CHECK(copies_of_echo("tcp", io_threads, bytes) <= thousandths_max);
            if (bytes >= 65'536) {
                CHECK(copies_of_echo("ws", io_threads, bytes) <= thousandths_max);
            }
        }
    }
}

TEST_CASE("copies: what a server sends is copied once at most") {
    check(role::server, direction::out);
}

TEST_CASE("copies: what a client sends is copied once at most") {
    check(role::client, direction::out);
}

TEST_CASE("copies: what a server receives is copied once at most") {
    check(role::server, direction::in);
}

TEST_CASE("copies: what a client receives is copied once at most") {
    check(role::client, direction::in);
}
