// SPDX-License-Identifier: MPL-2.0
//
// zlink_stream_recv_batch and zlink_stream_send_batch.
#include "stream_batch_fixture.hpp"
#include "testing/web_upgrade.hpp"
#include "web_peer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <poll.h>
#include <random>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace api_test;
using namespace std::string_literals;
using zlink::testing::upgrade_request;
using zlink::testing::upgrade_response;

namespace {

constexpr unsigned fin = 0x80;
constexpr unsigned text = 1;
constexpr unsigned binary = 2;

std::vector<setting> settings() {
    std::vector<setting> made;
    for (const transport via : {transport::tcp, transport::ws}) {
        for (const int io_threads : every_io_threads) {
            made.push_back({via, io_threads});
        }
    }
    return made;
}

std::string where_to_bind(transport via) {
    return via == transport::ws ? "ws://127.0.0.1:*/" : wildcard(via);
}

/// A program at the other end that frames messages for its transport.
class client {
public:
    client(const context& owner, const std::string& endpoint)
        : is_web_(endpoint.starts_with("ws")), raw_(owner, is_web_ ? tcp_of(endpoint) : endpoint) {
        if (is_web_) {
            raw_.send(upgrade_request());
            CHECK(recv_header(raw_) == upgrade_response());
        }
    }

    raw_peer& raw() noexcept { return raw_; }
    void send(std::string_view payload) { raw_.send(wire(payload)); }
    void send_all(const std::vector<std::string>& payloads) {
        std::string data;
        for (const std::string& each : payloads) {
            data += wire(each);
        }
        raw_.send(data);
    }
    void close() noexcept { raw_.close(); }

    /// @param first  The first byte of a WebSocket frame.
    std::string wire(std::string_view payload, unsigned first = fin | binary) const {
        if (!is_web_) {
            return framed(payload);
        }
        // Masked with zeros.
        std::string made(1, static_cast<char>(first));
        made += static_cast<char>(payload.size() < 126      ? 0x80 | payload.size()
                                  : payload.size() < 65'536 ? 0x80 | 126
                                                            : 0x80 | 127);
        const int shift_max = payload.size() < 126 ? -8 : payload.size() < 65'536 ? 8 : 56;
        for (int shift = shift_max; shift >= 0; shift -= 8) {
            made += static_cast<char>((payload.size() >> shift) & 0xff);
        }
        return made.append(4, '\0').append(payload);
    }

    /// The payload of the next message.
    std::string recv() {
        std::size_t length_bytes = 4;
        std::size_t bytes = 0;
        if (is_web_) {
            const std::string head = raw_.recv(2);
            first_ = static_cast<unsigned char>(head[0]);
            bytes = static_cast<unsigned char>(head[1]);
            length_bytes = bytes < 126 ? 0 : bytes == 126 ? 2 : 8;
            bytes = length_bytes == 0 ? bytes : 0;
        }
        for (const char each : length_bytes == 0 ? "" : raw_.recv(length_bytes)) {
            bytes = bytes << 8 | static_cast<unsigned char>(each);
        }
        return bytes == 0 ? "" : raw_.recv(bytes);
    }
    /// The first byte of the last frame that recv() returned.
    unsigned first() const noexcept { return first_; }

private:
    bool is_web_;
    unsigned first_ = 0;
    raw_peer raw_;
};

int recv_batch_error(socket& by, int flags = ZLINK_DONTWAIT) {
    zlink_stream_message_t room[4];
    return error_of(zlink_stream_recv_batch(by, room, 4, flags));
}

int send_batch(socket& by, const batch& sent, int flags = 0) {
    return zlink_stream_send_batch(by, sent.data(), sent.size(), flags);
}

int send_batch_error(socket& by, const batch& sent, int flags = 0) {
    return error_of(send_batch(by, sent, flags));
}

/// The next message, which must be the only one, as (routing id, payload).
message recv_one(socket& by) {
    const batch received = recv_batch(by, 1);
    CHECK((received[0].flags & ~ZLINK_SNDTEXT) == 0);
    return {id_in(received[0]), payload_in(received[0])};
}

std::vector<std::string> numbered(const std::string& name, int count) {
    std::vector<std::string> made;
    for (int number = 0; number < count; ++number) {
        made.push_back(name + std::to_string(number));
    }
    return made;
}

/// Sends a batch back to its senders, as zlink.h shows.
void echo(void* socket, const zlink_stream_message_t* received, int count) {
    for (int done = 0; done < count;) {
        const int sent = zlink_stream_send_batch(socket, received + done,
                                                 static_cast<std::size_t>(count - done), 0);
        done += sent > 0 ? sent : 1; // A peer that has gone gets nothing.
    }
}

/// Lets the socket notice that a peer has gone, by sending only.
void await_departure_by_sending(const context& owner, socket& by, const std::string& id) {
    wait_until(owner, [&] {
        return error_of(zlink_stream_send(by, id.data(), "x", 1, ZLINK_DONTWAIT)) == EHOSTUNREACH;
    });
}

} // namespace

TEST_SUITE("stream batch") {

    TEST_CASE("stream batch: what several peers send arrives, each one's in order, between the "
              "news of its coming and going") {
        for (const setting& chosen : settings()) {
            for (const std::size_t capacity : {1, 3, 7, 1000}) {
                CAPTURE(chosen);
                CAPTURE(capacity);
                context owner{chosen};
                socket stream{owner, ZLINK_STREAM};
                const std::string endpoint = stream.bind(where_to_bind(chosen.via));
                constexpr int peer_count = 5;
                constexpr int count_each = 40;
                for (int number = 0; number < peer_count; ++number) {
                    client peer{owner, endpoint};
                    peer.send_all(numbered("message ", count_each));
                }
                std::map<std::string, std::vector<std::string>> told;
                int gone_count = 0;
                while (gone_count < peer_count) {
                    for (const zlink_stream_message_t& each : recv_batch(stream, capacity)) {
                        std::vector<std::string>& of_peer = told[id_in(each)];
                        if (each.flags == ZLINK_PEER_CAME) {
                            CHECK(payload_in(each).starts_with(chosen.via == transport::tcp
                                                                   ? "tcp://127.0.0.1:"
                                                                   : "ws://127.0.0.1:"));
                            of_peer.emplace_back("came");
                        } else if (each.flags == ZLINK_PEER_WENT) {
                            CHECK(payload_in(each).starts_with(
                                chosen.via == transport::tcp ? "1000 closed by the peer" : "1006"));
                            of_peer.emplace_back("went");
                            ++gone_count;
                        } else {
                            CHECK(each.flags == 0);
                            of_peer.push_back(payload_in(each));
                        }
                    }
                }
                CHECK(recv_batch_error(stream) == EAGAIN);
                std::vector<std::string> expected = numbered("message ", count_each);
                expected.insert(expected.begin(), "came");
                expected.emplace_back("went");
                CHECK(told.size() == peer_count);
                for (const auto& [id, of_peer] : told) {
                    CHECK(of_peer == expected);
                }
            }
        }
    }

    TEST_CASE("stream batch: news have the text that other calls receive") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer by_frames{owner, endpoint};
            const news arrival = recv_news(stream);
            raw_peer by_batch{owner, endpoint};
            batch received = recv_batch(stream);
            REQUIRE(received.size() == 1);
            CHECK(received[0].flags == ZLINK_PEER_CAME);
            CHECK(id_in(received[0]) == id_of(2));
            const std::string detail = payload_in(received[0]);
            const auto without_port = [](const std::string& of) {
                return of.substr(0, of.rfind(':') + 1);
            };
            CHECK(without_port(detail) == "tcp://127.0.0.1:");
            CHECK(without_port(arrival.text) == "tcp://127.0.0.1:");

            for (raw_peer* const each : {&by_frames, &by_batch}) {
                each->send("\0\0"s);
                each->close();
            }
            std::map<std::string, std::string> why;
            const news departure = recv_news(stream);
            CHECK(!departure.is_connect);
            why[departure.id] = departure.text;
            received = recv_batch(stream);
            REQUIRE(received.size() == 1);
            CHECK(received[0].flags == ZLINK_PEER_WENT);
            why[id_in(received[0])] = payload_in(received[0]);
            CHECK(why == std::map<std::string, std::string>{{id_of(1), "1006 closed by the peer"},
                                                            {id_of(2), "1006 closed by the peer"}});
        }
    }

    TEST_CASE("stream batch: gives what waits, at most what there is room for") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_peer one{owner, endpoint};
        const std::string first_id = recv_arrival(stream);
        raw_peer other{owner, endpoint};
        const std::string second_id = recv_arrival(stream);
        for (raw_peer* const each : {&one, &other}) {
            std::string data;
            for (const std::string& payload : numbered("", 10)) {
                data += framed(payload);
            }
            each->send(data);
            each->await_read();
        }
        CHECK(recv_batch(stream, 5).size() == 5);
        CHECK(recv_batch(stream, 1).size() == 1);
        const batch rest = recv_batch(stream, 1000);
        CHECK(rest.size() == 14);
        CHECK(payload_in(rest.back()) == "9");
        CHECK(recv_batch_error(stream) == EAGAIN);
    }

    TEST_CASE("stream batch: takes all peers in turn") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        std::deque<raw_peer> peers;
        constexpr std::size_t peer_count = 300;
        for (std::size_t number = 0; number < peer_count; ++number) {
            peers.emplace_back(owner, endpoint);
            recv_arrival(stream);
        }
        constexpr std::size_t count_each = 40;
        for (raw_peer& each : peers) {
            std::string data;
            for (std::size_t number = 0; number < count_each; ++number) {
                data += framed(std::to_string(number));
            }
            each.send(data);
        }
        for (const raw_peer& each : peers) {
            each.await_read();
        }
        std::map<std::string, std::size_t> received;
        constexpr std::size_t turn_max = 32;
        std::size_t count = 0;
        while (count < peer_count * count_each) {
            for (const zlink_stream_message_t& each : recv_batch(stream, peer_count * count_each)) {
                CHECK(payload_in(each) == std::to_string(received[id_in(each)]));
                ++received[id_in(each)];
                if (++count == peer_count * turn_max) {
                    CHECK(received.size() == peer_count);
                }
            }
        }
        CHECK(recv_batch_error(stream) == EAGAIN);
    }

    TEST_CASE("stream batch: waits as long as it is told to") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(transport::tcp);
            CHECK(recv_batch_error(stream) == EAGAIN);
            stream.set(ZLINK_RCVTIMEO, moment);
            CHECK(time_of([&] { CHECK(recv_batch_error(stream, 0) == EAGAIN); }) >= moment);
            stream.set(ZLINK_RCVTIMEO, 0);
            CHECK(recv_batch_error(stream, 0) == EAGAIN);

            stream.set(ZLINK_RCVTIMEO, patience);
            raw_peer peer{owner, endpoint};
            CHECK(recv_batch(stream).front().flags == ZLINK_PEER_CAME);
            CHECK(recv_batch_error(stream) == EAGAIN);
            std::atomic<int> waiting = ::gettid();
            std::thread later([&] {
                await_asleep(waiting);
                const std::string data = framed("late");
                CHECK(::write(peer.descriptor(), data.data(), data.size()) == 8);
            });
            const message received = recv_one(stream);
            later.join();
            CHECK(received == message{id_of(1), "late"});
        }
    }

    TEST_CASE("stream batch: what was received stays while messages are sent and more arrive") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(where_to_bind(chosen.via));
            client peer{owner, endpoint};
            const std::string id = recv_arrival(stream);
            client other{owner, endpoint};
            const std::string other_id = recv_arrival(stream);

            std::vector<std::string> expected{"", "short"};
            for (int number = 0; number < 400; ++number) {
                expected.push_back(long_text(300) + std::to_string(number));
            }
            for (const std::size_t bytes : {8191, 8192, 65'536, 70'000, 1'048'576}) {
                expected.push_back(long_text(bytes));
                expected.push_back("behind " + std::to_string(bytes));
            }
            peer.send_all(expected);
            std::size_t next = 0;
            std::size_t sent_count = 0;
            const std::string more = long_text(20'000);
            while (next < expected.size()) {
                const batch received = recv_batch(stream, 1000);
                // As much as one turn of sending, with each call.
                REQUIRE(zlink_stream_send(stream, other_id.data(), "1", 1, 0) == 1);
                frame second{std::string_view{"22"}};
                REQUIRE(zlink_stream_msg_send(second.get(), stream, other_id.data(), 0) == 2);
                REQUIRE(stream.send(message{other_id, more}) == ok);
                REQUIRE(send_batch(stream, {message_to(other_id, more)}) == 1);
                frame third{more};
                REQUIRE(zlink_stream_send_many(stream, other_id.data(), 1, third.get(), 0) == 1);
                CHECK(other.recv() == "1");
                CHECK(other.recv() == "22");
                for (int count = 0; count < 3; ++count) {
                    CHECK((other.recv() == more));
                }
                if (++sent_count < 20) { // Messages of both kinds: lent and not.
                    other.send_all({"x", more});
                    peer.send_all({"more", more});
                    expected.push_back("more");
                    expected.push_back(more);
                    other.raw().await_read();
                    peer.raw().await_read();
                }
                for (const zlink_stream_message_t& each : received) {
                    if (id_in(each) == id) {
                        REQUIRE(next < expected.size());
                        CHECK((payload_in(each) == expected[next]));
                        ++next;
                    } else {
                        CHECK((payload_in(each) == "x" || payload_in(each) == more));
                    }
                }
            }
        }
    }

    TEST_CASE("stream batch: what was received stays when the peer goes, and then that is told") {
        for (const setting& chosen : settings()) {
            for (const std::size_t bytes : {0, 5, 5000, 65'536, 1'048'576}) {
                CAPTURE(chosen);
                CAPTURE(bytes);
                context owner{chosen};
                socket stream{owner, ZLINK_STREAM};
                const std::string endpoint = stream.bind(where_to_bind(chosen.via));
                client staying{owner, endpoint};
                const std::string staying_id = recv_arrival(stream);
                client leaving{owner, endpoint};
                const std::string id = recv_arrival(stream);
                const std::string large = long_text(bytes);
                leaving.send_all({large, "a", large, "last"});

                std::vector<std::string> payloads;
                batch received;
                while (payloads.size() < 4) {
                    received = recv_batch(stream);
                    for (const zlink_stream_message_t& each : received) {
                        payloads.push_back(payload_in(each));
                    }
                }
                CHECK((payloads == std::vector<std::string>{large, "a", large, "last"}));
                leaving.close();
                await_departure_by_sending(owner, stream, id);
                // The memory of the departed peer is not reused for another.
                for (int count = 0; count < 20; ++count) {
                    REQUIRE(send_batch(stream, {message_to(staying_id, large)}) == 1);
                    CHECK((staying.recv() == large));
                }
                client coming{owner, endpoint};
                coming.send(large);
                coming.raw().await_read();
                REQUIRE(zlink_stream_send(stream, staying_id.data(), "x", 1, 0) == 1);
                const std::size_t before = 4 - received.size();
                for (std::size_t index = 0; index < received.size(); ++index) {
                    CHECK(id_in(received[index]) == id);
                    CHECK((payload_in(received[index]) == payloads[before + index]));
                }
                CHECK(send_batch_error(stream, received) == EHOSTUNREACH);

                std::vector<int> flags;
                bool has_more = true;
                while (has_more) {
                    for (const zlink_stream_message_t& each : recv_batch(stream, 1)) {
                        if (id_in(each) == id) {
                            flags.push_back(each.flags);
                        } else if ((each.flags & ZLINK_PEER_CAME) == 0) {
                            CHECK((payload_in(each) == large));
                            has_more = false;
                        }
                    }
                }
                if (flags.empty()) {
                    const batch told = recv_batch(stream);
                    CHECK(id_in(told[0]) == id);
                    flags.push_back(told[0].flags);
                }
                CHECK(flags == std::vector<int>{ZLINK_PEER_WENT});
            }
        }
    }

    TEST_CASE("stream batch: what was received stays when we end the connection") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(where_to_bind(chosen.via));
            client staying{owner, endpoint};
            const std::string staying_id = recv_arrival(stream);
            auto leaving = std::make_unique<client>(owner, endpoint);
            const std::string id = recv_arrival(stream);
            const std::string large = long_text(100'000);
            leaving->send(large);
            const batch received = recv_batch(stream);
            REQUIRE(received.size() == 1);
            REQUIRE(error_of(zlink_stream_close(stream, id.data(), 4000, "enough")) == ok);
            CHECK(send_batch_error(stream, received) == EHOSTUNREACH);
            CHECK((payload_in(received[0]) == large));
            if (chosen.via == transport::ws) {
                CHECK(leaving->recv().substr(2) == "enough");
            } else {
                CHECK(leaving->raw().is_disconnected());
            }
            leaving->close();
            for (int count = 0; count < 20; ++count) {
                REQUIRE(zlink_stream_send(stream, staying_id.data(), large.data(), large.size(),
                                          0) == static_cast<int>(large.size()));
                CHECK((staying.recv() == large));
            }
            CHECK((payload_in(received[0]) == large));
            const batch told = recv_batch(stream);
            REQUIRE(told.size() == 1);
            CHECK(told[0].flags == ZLINK_PEER_WENT);
            CHECK(payload_in(told[0]).starts_with("4000 enough"));
        }
    }

    TEST_CASE("stream batch: the text of news stays while others come and go") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer staying{owner, endpoint};
            const std::string staying_id = recv_arrival(stream);
            auto leaving = std::make_unique<raw_peer>(owner, endpoint);
            const batch arrival = recv_batch(stream);
            REQUIRE(arrival.size() == 1);
            const std::string id = id_in(arrival[0]);
            const std::string detail = payload_in(arrival[0]);
            CHECK(detail.starts_with("tcp://127.0.0.1:"));
            leaving->close();
            await_departure_by_sending(owner, stream, id);
            CHECK(payload_in(arrival[0]) == detail);

            const batch departure = recv_batch(stream);
            REQUIRE(departure.size() == 1);
            CHECK(departure[0].flags == ZLINK_PEER_WENT);
            std::deque<raw_peer> others;
            for (int count = 0; count < 50; ++count) {
                others.emplace_back(owner, endpoint);
                REQUIRE(zlink_stream_send(stream, staying_id.data(), "x", 1, 0) == 1);
            }
            CHECK(id_in(departure[0]) == id);
            CHECK(payload_in(departure[0]) == "1000 closed by the peer");
            for (int count = 0; count < 50;) {
                for (const zlink_stream_message_t& each : recv_batch(stream, 3)) {
                    CHECK(each.flags == ZLINK_PEER_CAME);
                    ++count;
                }
            }
            CHECK(recv_batch_error(stream) == EAGAIN);
        }
    }

    TEST_CASE("stream batch: a socket may be closed while it lends") {
        for (const setting& chosen : settings()) {
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(where_to_bind(chosen.via));
            client gone{owner, endpoint};
            const std::string id = recv_arrival(stream);
            client peer{owner, endpoint};
            recv_arrival(stream);
            gone.send("a");
            peer.send_all({"b", long_text(100'000)});
            for (int count = 0; count < 3;) {
                count += static_cast<int>(recv_batch(stream).size());
            }
            gone.close();
            await_departure_by_sending(owner, stream, id);

            stream.close();

            peer.raw().await_end();
            owner.end();
        }
    }

    TEST_CASE("stream batch: other calls go on where it ended, and it where they did") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            client peer{owner, stream.bind(where_to_bind(chosen.via))};
            std::string id = recv_arrival(stream);
            constexpr int total = 3000;
            peer.send_all(numbered("", total));
            int next = 0;
            const auto is_next = [&](std::string_view payload) {
                CHECK(payload == std::to_string(next));
                ++next;
            };
            for (int step = 0; next < total; ++step) {
                switch (step % 7) {
                case 0: {
                    char buffer[10];
                    const int bytes =
                        zlink_stream_recv(stream, id.data(), buffer, sizeof buffer, 0);
                    REQUIRE(error_of(bytes) == ok);
                    is_next({buffer, static_cast<std::size_t>(bytes)});
                    break;
                }
                case 1: {
                    char buffer[10];
                    REQUIRE(zlink_recv(stream, buffer, sizeof buffer, 0) == 4);
                    CHECK(stream.more());
                    CHECK(std::string(buffer, 4) == id);
                    const int bytes = zlink_recv(stream, buffer, sizeof buffer, 0);
                    REQUIRE(error_of(bytes) == ok);
                    CHECK(!stream.more());
                    is_next({buffer, static_cast<std::size_t>(bytes)});
                    break;
                }
                case 2: {
                    const message received = stream.recv();
                    REQUIRE(received.frames.size() == 2);
                    is_next(received.frames[1]);
                    break;
                }
                case 3: {
                    frame received;
                    REQUIRE(zlink_stream_msg_recv(received.get(), stream, id.data(), 0) > 0);
                    is_next(received.text());
                    break;
                }
                case 4:
                    CHECK(stream.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
                    break;
                case 5:
                    wait_until(owner, [&] { return (stream.events() & ZLINK_POLLIN) != 0; });
                    break;
                default:
                    break;
                }
                if (next < total) {
                    for (const zlink_stream_message_t& each :
                         recv_batch(stream, static_cast<std::size_t>(1 + step % 5))) {
                        CHECK(id_in(each) == id);
                        is_next(payload_in(each));
                    }
                    CHECK(!stream.more());
                }
            }
            CHECK(recv_batch_error(stream) == EAGAIN);
            CHECK(stream.recv_error() == EAGAIN);
            CHECK((stream.events() & ZLINK_POLLIN) == 0);
            peer.send("more");
            CHECK(stream.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
            CHECK(recv_one(stream) == message{id, "more"});
        }
    }

    TEST_CASE("stream batch: news that were given are not told again by another call") {
        const auto by_one_call = [](socket& by) {
            std::string id(4, '\0');
            char event = 0;
            REQUIRE(zlink_stream_recv(by, id.data(), &event, 1, 0) == 1);
            by.recv_frame();
            return id;
        };
        const auto into_message = [](socket& by) {
            std::string id(4, '\0');
            frame event;
            REQUIRE(zlink_stream_msg_recv(event.get(), by, id.data(), 0) == 1);
            by.recv_frame();
            return id;
        };
        const auto into_buffers = [](socket& by) {
            std::string id(4, '\0');
            char rest[1000];
            REQUIRE(zlink_recv(by, id.data(), 4, 0) == 4);
            REQUIRE(zlink_recv(by, rest, sizeof rest, 0) == 1);
            REQUIRE(zlink_recv(by, rest, sizeof rest, 0) > 0);
            return id;
        };
        const auto by_batch = [](socket& by) { return id_in(recv_batch(by, 1)[0]); };
        const std::function<std::string(socket&)> ways[] = {recv_arrival, by_one_call, into_message,
                                                            into_buffers, by_batch};
        for (const auto& recv_next : ways) {
            context owner{0};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer one{owner, endpoint};
            raw_peer two{owner, endpoint};
            raw_peer three{owner, endpoint};
            wait_until(owner, [&] { return zlink_socket_peers(stream, nullptr, 0) == 3; });
            const batch received = recv_batch(stream, 1);
            CHECK(received[0].flags == ZLINK_PEER_CAME);
            CHECK(id_in(received[0]) == id_of(1));
            CHECK(recv_next(stream) == id_of(2));
            CHECK(id_in(recv_batch(stream, 1)[0]) == id_of(3));
            CHECK((stream.events() & ZLINK_POLLIN) == 0);
            CHECK(stream.recv_error() == EAGAIN);
        }
    }

    TEST_CASE("stream batch: between the frames of a message there is none") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        std::string id(4, '\0');
        CHECK(stream.recv_frame() == id_of(1));
        CHECK(recv_batch_error(stream, 0) == EFSM);
        CHECK(stream.recv_frame() == "\1");
        CHECK(recv_batch_error(stream, 0) == EFSM);
        stream.recv_frame();
        peer.send(framed("a") + framed("b") + framed("c"));
        CHECK(recv_one(stream) == message{id_of(1), "a"});
        CHECK(stream.recv_frame() == id_of(1));
        CHECK(recv_batch_error(stream, 0) == EFSM);
        CHECK(stream.recv_frame() == "b");
        CHECK(recv_one(stream) == message{id_of(1), "c"});

        CHECK(stream.send(id_of(1), ZLINK_SNDMORE) == ok);
        CHECK(send_batch_error(stream, {message_to(id_of(1), "x")}) == EFSM);
        CHECK(stream.send("1") == ok);
        // The payload of a refused message still belongs to that message.
        CHECK(stream.send(id_of(77), ZLINK_SNDMORE) == EHOSTUNREACH);
        CHECK(send_batch_error(stream, {message_to(id_of(77), "x")}) == EHOSTUNREACH);
        CHECK(stream.send("dropped") == ok);
        CHECK(send_batch(stream, {message_to(id_of(1), "2")}) == 1);
        CHECK(stream.send(message{id_of(1), "3"}) == ok);
        CHECK(peer.recv(15) == framed("1") + framed("2") + framed("3"));
    }

    TEST_CASE("stream batch: a peer that may not send more goes on with the next call") {
        for (const setting& chosen : settings()) {
            for (const std::size_t capacity : {1, 100}) {
                CAPTURE(chosen);
                CAPTURE(capacity);
                context owner{chosen};
                socket server{owner, ZLINK_STREAM};
                server.set(ZLINK_RCVHWM, 2).set(ZLINK_RCVBUF, 4096);
                socket dialer{owner, ZLINK_STREAM};
                dialer.set(ZLINK_SNDHWM, 5).set(ZLINK_SNDBUF, 4096);
                dialer.connect(server.bind(where_to_bind(chosen.via)));
                const std::string id = recv_arrival(dialer);
                recv_arrival(server);
                constexpr int total = 1000;
                const std::string filler = long_text(500);
                int sent = 0;
                int received = 0;
                while (received < total) {
                    while (sent < total) {
                        const std::string payload = filler + std::to_string(sent);
                        // With nothing in flight there is room soon.
                        const int flags = sent == received ? 0 : ZLINK_DONTWAIT;
                        if (send_batch(dialer, {message_to(id, payload)}, flags) != 1) {
                            REQUIRE(zlink_errno() == EAGAIN);
                            break;
                        }
                        ++sent;
                    }
                    for (const zlink_stream_message_t& each : recv_batch(server, capacity)) {
                        REQUIRE((payload_in(each) == filler + std::to_string(received)));
                        ++received;
                    }
                }
            }
        }
    }

    TEST_CASE("stream batch: what is lent counts as not received, until the next call") {
        const std::string payload = long_text(500'000);
        const auto by_batch = [](socket& by) { return recv_batch(by)[0].size; };
        const auto by_frames = [](socket& by) { return by.recv().frames[1].size(); };
        const auto by_one_call = [](socket& by) {
            char id[4];
            return static_cast<std::size_t>(zlink_stream_recv(by, id, nullptr, 0, 0));
        };
        const auto into_message = [](socket& by) {
            char id[4];
            frame received;
            return static_cast<std::size_t>(zlink_stream_msg_recv(received.get(), by, id, 0));
        };
        const auto into_buffers = [](socket& by) {
            char id[4];
            REQUIRE(zlink_recv(by, id, sizeof id, 0) == 4);
            return static_cast<std::size_t>(zlink_recv(by, nullptr, 0, 0));
        };
        const std::function<std::size_t(socket&)> ways[] = {by_batch, by_frames, by_one_call,
                                                            into_message, into_buffers};
        for (const auto& recv_next : ways) {
            context owner{0};
            socket server{owner, ZLINK_STREAM};
            server.set(ZLINK_RCVHWM, 1).set(ZLINK_RCVBUF, 4096);
            socket dialer{owner, ZLINK_STREAM};
            dialer.set(ZLINK_SNDHWM, 1).set(ZLINK_SNDBUF, 4096);
            dialer.connect(server.bind(transport::tcp));
            const std::string id = recv_arrival(dialer);
            const std::string back = recv_arrival(server);
            const batch sent{message_to(id, payload)};
            const auto send_all = [&] {
                int count = 0;
                for (int tries = 0; tries < 20; ++tries) {
                    count += send_batch(dialer, sent, ZLINK_DONTWAIT) == 1 ? 1 : 0;
                    owner.let_io_happen();
                    REQUIRE(zlink_stream_send(server, back.data(), "x", 1, 0) == 1);
                }
                return count;
            };
            REQUIRE(send_all() > 0);
            const batch lent = recv_batch(server);
            CHECK(send_all() == 0);
            CHECK((payload_in(lent[0]) == payload));
            CHECK(recv_next(server) == payload.size());
            CHECK(send_all() >= 1);
        }
    }

    TEST_CASE("stream batch: what is lent stays until a call receives, polls or reads the events") {
        for (const transport via : {transport::tcp, transport::ws}) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(via);
                CAPTURE(io_threads);
                context owner{io_threads};
                socket server{owner, ZLINK_STREAM};
                const std::string endpoint = server.bind(via);
                socket dialer{owner, ZLINK_STREAM};
                dialer.connect(endpoint);
                const std::string id = recv_arrival(dialer);
                const std::string back = recv_arrival(server);
                std::vector<std::string> sent;
                for (std::size_t bytes = 10; bytes < 100'000; bytes *= 3) {
                    sent.push_back(long_text(bytes));
                    REQUIRE(send_batch(dialer, {message_to(id, sent.back())}) == 1);
                }
                batch lent;
                for (std::size_t count = 0; count < sent.size(); count += lent.size()) {
                    lent = recv_batch(server);
                }
                const auto first = sent.end() - static_cast<std::ptrdiff_t>(lent.size());
                const auto is_unchanged = [&] {
                    return std::equal(lent.begin(), lent.end(), first,
                                      [](const auto& one, const std::string& other) {
                                          return payload_in(one) == other;
                                      });
                };
                // Further messages must not take the memory of those that are lent.
                for (int round = 0; round < 20; ++round) {
                    REQUIRE(zlink_stream_send(dialer, id.data(), "new", 3, 0) == 3);
                    REQUIRE(zlink_stream_send(server, back.data(), "x", 1, 0) == 1);
                    owner.let_io_happen();
                    REQUIRE(is_unchanged());
                }
                zlink_peer_t about{};
                CHECK(zlink_stream_peer(server, back.data(), &about) == 0);
                CHECK(error_of(zlink_http_reply(server, back.data(), 200, "", "", 0, 0)) != ok);
                CHECK(zlink_stream_close(server, back.data(), 1000, nullptr) == 0);
                CHECK(error_of(zlink_unbind(server, endpoint.c_str())) == ok);
                dialer.close();
                CHECK(zlink_socket_drain(server, static_cast<int>(patience.count())) == 0);
                owner.let_io_happen();
                CHECK(is_unchanged());
                CHECK(payload_in(recv_batch(server)[0]) == "new");
            }
        }
    }

    TEST_CASE("stream batch: sends what there is room for, and waits for room for the first one") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            stream.set(ZLINK_SNDHWM, 10).set(ZLINK_SNDBUF, 4096).set(ZLINK_SNDTIMEO, moment);
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer lazy{owner, endpoint};
            const std::string id = recv_arrival(stream);
            raw_peer other{owner, endpoint};
            const std::string other_id = recv_arrival(stream);
            const std::string payload = long_text(1000);
            const batch many(100, message_to(id, payload));
            std::size_t count = 0;
            bool was_partial = false;
            milliseconds last{0};
            // With an I/O thread, room may appear in the system's buffers between two calls.
            for (const int flags : {ZLINK_DONTWAIT, 0}) {
                int sent = 0;
                do {
                    last = time_of([&] { sent = send_batch(stream, many, flags); });
                    count += static_cast<std::size_t>(std::max(sent, 0));
                    was_partial |= sent > 0 && sent < 100;
                    REQUIRE(count < 100'000);
                } while (sent > 0);
                CHECK(zlink_errno() == EAGAIN);
            }
            CHECK(last >= moment);
            CHECK(was_partial);
            // Another peer is not blocked, except for messages behind the blocked one.
            const int past = send_batch(stream, {message_to(other_id, "x"), many[0], many[0]});
            CHECK((io_threads == 0 ? past == 1 : past >= 1));
            count += static_cast<std::size_t>(past - 1);
            CHECK(other.recv(5) == framed("x"));

            stream.set(ZLINK_SNDTIMEO, patience);
            const std::size_t total = count + 500;
            std::string data;
            std::atomic<bool> is_read{false};
            std::thread reader([&, descriptor = lazy.descriptor()] {
                std::vector<char> part(65'536);
                pollfd at{descriptor, POLLIN, 0};
                while (data.size() < total * (payload.size() + 4) &&
                       ::poll(&at, 1, static_cast<int>(patience.count())) > 0) {
                    const ssize_t got = ::read(descriptor, part.data(), part.size());
                    data.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
                }
                is_read = true;
            });
            int failed = ok;
            while (count < total && failed == ok) {
                const std::size_t left = std::min<std::size_t>(100, total - count);
                const int sent = zlink_stream_send_batch(stream, many.data(), left, 0);
                failed = error_of(sent);
                count += sent > 0 ? static_cast<std::size_t>(sent) : 0;
            }
            CHECK(failed == ok);
            while (!is_read) { // A caller that runs the I/O continues until all is written.
                owner.let_io_happen();
            }
            reader.join();
            REQUIRE(data.size() == total * (payload.size() + 4));
            const std::string wire = framed(payload);
            for (std::size_t at = 0; at < data.size(); at += wire.size()) {
                REQUIRE((data.compare(at, wire.size(), wire) == 0));
            }
        }
    }

    TEST_CASE("stream batch: sends runs and single messages of every size to several peers") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(where_to_bind(chosen.via));
            std::deque<client> peers;
            std::vector<std::string> ids;
            for (int count = 0; count < 3; ++count) {
                peers.emplace_back(owner, endpoint);
                ids.push_back(recv_arrival(stream));
            }
            std::vector<std::string> payloads;
            for (const std::size_t bytes : {0, 1, 125, 126, 8191, 8192, 65'536, 100'000}) {
                payloads.push_back(long_text(bytes));
            }
            batch alternating;
            batch runs;
            for (const std::string& payload : payloads) {
                for (const std::string& id : ids) {
                    alternating.push_back(message_to(id, payload));
                }
            }
            for (const std::string& id : ids) {
                for (const std::string& payload : payloads) {
                    runs.push_back(message_to(id, payload));
                }
            }
            runs.push_back(message_to(ids[0], {}));
            runs.back().data = nullptr;
            REQUIRE(send_batch(stream, alternating) == static_cast<int>(alternating.size()));
            REQUIRE(send_batch(stream, runs) == static_cast<int>(runs.size()));
            for (client& each : peers) {
                for (int round = 0; round < 2; ++round) {
                    for (const std::string& payload : payloads) {
                        CHECK((each.recv() == payload));
                    }
                }
            }
            CHECK(peers[0].recv().empty());
        }
    }

    TEST_CASE("stream batch: ends before what cannot be sent, of which the next call tells") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_peer peer{owner, endpoint};
        const std::string id = recv_arrival(stream);
        const batch to_nobody{message_to(id_of(77), "x"), message_to(id, "y")};
        const auto dropped = [&] {
            std::uint64_t count = 0;
            std::size_t bytes = sizeof count;
            REQUIRE(zlink_getsockopt(stream, ZLINK_DROPPED, &count, &bytes) == 0);
            return count;
        };
        const auto before = dropped();
        CHECK(send_batch_error(stream, to_nobody) == EHOSTUNREACH);
        CHECK(dropped() == before + 1);
        const batch between{message_to(id, "1"), message_to(id, "2"), message_to(id_of(0), "x"),
                            message_to(id, "3")};
        CHECK(send_batch(stream, between) == 2);
        CHECK(dropped() == before + 1);
        CHECK(send_batch_error(stream, {between[2], between[3]}) == EHOSTUNREACH);
        for (const int wrong : {ZLINK_PEER_CAME, ZLINK_PEER_WENT, ZLINK_SNDMORE, ZLINK_DONTWAIT,
                                ZLINK_SNDTEXT | ZLINK_PEER_CAME}) {
            CAPTURE(wrong);
            const batch refused{message_to(id, "x", wrong)};
            CHECK(send_batch_error(stream, refused) == EINVAL);
            const batch behind{message_to(id, "4"), message_to(id, "x", wrong),
                               message_to(id, "5")};
            CHECK(send_batch(stream, behind) == 1);
            CHECK(peer.recv(5) == framed(wrong == ZLINK_PEER_CAME ? "1" : "4"));
            if (wrong == ZLINK_PEER_CAME) {
                CHECK(peer.recv(10) == framed("2") + framed("4"));
            }
        }
    }

    TEST_CASE("stream batch: text is marked, and goes out as text") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            client peer{owner, stream.bind(where_to_bind(transport::ws))};
            const std::string id = recv_arrival(stream);
            const std::string large = "large " + std::string(100'000, 'x');
            const std::vector<std::pair<std::string, unsigned>> sent{
                {"grün", text}, {"\xff", binary}, {"", text},
                {"", binary},   {large, text},    {large, binary}};
            std::string data;
            for (const auto& [payload, kind] : sent) {
                data += peer.wire(payload, fin | kind);
            }
            peer.raw().send(data);
            for (std::size_t next = 0; next < sent.size();) {
                const batch received = recv_batch(stream);
                for (const zlink_stream_message_t& each : received) {
                    CHECK(each.flags == (sent[next].second == text ? ZLINK_SNDTEXT : 0));
                    CHECK((payload_in(each) == sent[next].first));
                    ++next;
                }
                REQUIRE(send_batch(stream, received) == static_cast<int>(received.size()));
            }
            for (const auto& [payload, kind] : sent) {
                CHECK((peer.recv() == payload));
                CHECK(peer.first() == (fin | kind));
            }
        }
    }

    TEST_CASE("stream batch: what is compressed on its way arrives whole") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            socket dialer{owner, ZLINK_STREAM};
            server.set(ZLINK_WS_DEFLATE, 1);
            dialer.set(ZLINK_WS_DEFLATE, 1);
            dialer.connect(server.bind(where_to_bind(transport::ws)));
            const std::string id = recv_arrival(dialer);
            recv_arrival(server);
            std::vector<std::string> payloads;
            for (const std::size_t bytes : {0, 10, 1000, 10'000, 300'000}) {
                payloads.emplace_back(bytes, 'x');
            }
            batch sent;
            for (const std::string& payload : payloads) {
                sent.push_back(message_to(id, payload, ZLINK_SNDTEXT));
            }
            REQUIRE(send_batch(dialer, sent) == static_cast<int>(sent.size()));
            std::uint64_t deflated = 0;
            std::size_t bytes = sizeof deflated;
            REQUIRE(zlink_getsockopt(dialer, ZLINK_WS_DEFLATED, &deflated, &bytes) == 0);
            CHECK(deflated >= 3);
            for (std::size_t next = 0; next < payloads.size();) {
                const batch received = recv_batch(server);
                echo(server, received.data(), static_cast<int>(received.size()));
                for (const zlink_stream_message_t& each : received) {
                    CHECK(each.flags == ZLINK_SNDTEXT);
                    CHECK((payload_in(each) == payloads[next]));
                    ++next;
                }
            }
            for (const std::string& payload : payloads) {
                CHECK((dialer.recv() == message{id, payload}));
            }
        }
    }

    TEST_CASE("stream batch: a whole one is echoed, and a peer that has gone gets nothing") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(where_to_bind(chosen.via));
            std::deque<client> peers;
            std::vector<std::string> ids;
            for (int count = 0; count < 4; ++count) {
                peers.emplace_back(owner, endpoint);
                ids.push_back(recv_arrival(stream));
            }
            constexpr int count_each = 50;
            for (client& each : peers) {
                each.send_all(numbered("number ", count_each));
            }
            peers[1].raw().reset();
            int left = 3 * count_each;
            for (bool has_gone = false; left > 0 || !has_gone;) {
                const batch received = recv_batch(stream);
                for (const zlink_stream_message_t& each : received) {
                    if (id_in(each) != ids[1]) {
                        CHECK(each.flags == 0);
                        --left;
                    }
                    has_gone |= each.flags == ZLINK_PEER_WENT;
                }
                echo(stream, received.data(), static_cast<int>(received.size()));
            }
            for (const std::size_t index : {0, 2, 3}) {
                for (const std::string& payload : numbered("number ", count_each)) {
                    CHECK(peers[index].recv() == payload);
                }
            }
        }
    }

    TEST_CASE("stream batch: says what is wrong with a call") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        peer.send(framed("x"));
        zlink_stream_message_t one = message_to(id, "y");
        const auto send_error = [&](void* socket, const zlink_stream_message_t* messages,
                                    std::size_t count, int flags) {
            return error_of(zlink_stream_send_batch(socket, messages, count, flags));
        };
        const auto recv_error = [&](void* socket, zlink_stream_message_t* messages,
                                    std::size_t capacity, int flags) {
            return error_of(zlink_stream_recv_batch(socket, messages, capacity, flags));
        };
        CHECK(send_error(stream, nullptr, 1, 0) == EINVAL);
        CHECK(send_error(stream, &one, 0, 0) == EINVAL);
        CHECK(send_error(stream, &one, std::size_t{INT_MAX} + 1, 0) == EINVAL);
        CHECK(recv_error(stream, nullptr, 1, 0) == EINVAL);
        CHECK(recv_error(stream, &one, 0, 0) == EINVAL);
        CHECK(recv_error(stream, &one, std::size_t{INT_MAX} + 1, 0) == EINVAL);
        for (const int wrong : {ZLINK_SNDMORE, ZLINK_SNDTEXT, 8, -1}) {
            CHECK(send_error(stream, &one, 1, wrong) == EINVAL);
            CHECK(recv_error(stream, &one, 1, wrong) == EINVAL);
        }
        CHECK(send_error(nullptr, &one, 1, 0) == ENOTSOCK);
        CHECK(recv_error(nullptr, &one, 1, 0) == ENOTSOCK);
        CHECK(send_error(owner, &one, 1, 0) == ENOTSOCK);
        CHECK(recv_error(owner, &one, 1, 0) == ENOTSOCK);
        for (const int type : {ZLINK_PAIR, ZLINK_ROUTER, ZLINK_DEALER, ZLINK_PUB, ZLINK_REP}) {
            CAPTURE(type);
            socket other{owner, type};
            CHECK(send_error(other, &one, 1, 0) == ENOTSUP);
            CHECK(recv_error(other, &one, 1, 0) == ENOTSUP);
        }
        // None of these calls has taken the message.
        CHECK(recv_one(stream) == message{id, "x"});
        CHECK(recv_batch_error(stream) == EAGAIN);
    }

    TEST_CASE("stream batch: fails when the context is shut down, also while it waits") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            raw_peer peer{owner, stream.bind(transport::tcp)};
            const batch arrival = recv_batch(stream);
            const batch answer{message_to(id_in(arrival[0]), "x")};
            std::atomic<int> waiting = ::gettid();
            std::thread other([&] {
                await_asleep(waiting);
                zlink_ctx_shutdown(owner);
            });
            CHECK(recv_batch_error(stream, 0) == ETERM);
            other.join();
            CHECK(recv_batch_error(stream) == ETERM);
            CHECK(send_batch_error(stream, answer) == ETERM);
            CHECK(payload_in(arrival[0]).starts_with("tcp://"));
        }
    }

    TEST_CASE("stream batch: without events there are messages only") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            stream.set(ZLINK_STREAM_EVENTS, 0);
            const std::string endpoint = stream.bind(transport::tcp);
            for (std::uint32_t round = 1; round <= 3; ++round) {
                raw_peer peer{owner, endpoint};
                peer.send(framed("hello"));
                const batch received = recv_batch(stream);
                REQUIRE(received.size() == 1);
                CHECK(received[0].flags == 0);
                CHECK(id_in(received[0]) == id_of(round));
                CHECK(payload_in(received[0]) == "hello");
                peer.close();
                await_departure_by_sending(owner, stream, id_of(round));
                CHECK(payload_in(received[0]) == "hello");
                CHECK(recv_batch_error(stream) == EAGAIN);
            }
        }
    }

    TEST_CASE("stream batch: a server echoes whatever comes, to many at a time") {
        // The payload of a peer's message.
        const std::string pattern = long_text(300 * 1024);
        const auto payload_of = [&](std::size_t peer, std::size_t number) {
            std::minstd_rand draw(static_cast<unsigned>(peer * 7919 + number * 104'729 + 1));
            draw.discard(3);
            constexpr std::size_t bytes_max[] = {16,   300,  300,    3000,
                                                 9000, 9000, 70'000, 200 * 1024};
            const std::size_t bytes = draw() % (bytes_max[draw() % 8] + 1);
            return std::string_view{pattern}.substr(draw() % (100 * 1024), bytes);
        };
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket server{owner, ZLINK_STREAM};
            server.set(ZLINK_RCVTIMEO, -1).set(ZLINK_RCVHWM, 20);
            const std::string endpoint = server.bind(where_to_bind(chosen.via));
            int ended_by = ok;
            std::thread echoing([&] {
                zlink_stream_message_t received[64];
                int count = 0;
                while ((count = zlink_stream_recv_batch(server, received, 64, 0)) > 0) {
                    echo(server, received, count);
                }
                ended_by = zlink_errno();
            });
            struct joiner {
                const context& owner;
                std::thread& ended;
                ~joiner() {
                    zlink_ctx_shutdown(owner);
                    ended.join();
                }
            };
            {
                const joiner at_the_end{owner, echoing};
                const context far;
                socket dialer{far, ZLINK_STREAM};
                constexpr std::size_t peer_count = 5;
                constexpr std::size_t count_each = 60;
                constexpr std::size_t window = 8;
                struct progress {
                    std::size_t peer;
                    std::size_t sent = 0;
                    std::size_t received = 0;
                };
                std::map<std::string, progress> peers;
                for (std::size_t number = 0; number < peer_count; ++number) {
                    dialer.connect(endpoint);
                    peers[recv_arrival(dialer)] = {number};
                }
                std::size_t left = peer_count * count_each;
                while (left > 0) {
                    for (auto& [id, at] : peers) {
                        while (at.sent < count_each && at.sent < at.received + window) {
                            const std::string_view payload = payload_of(at.peer, at.sent);
                            REQUIRE(send_batch(dialer, {message_to(id, payload)}) == 1);
                            ++at.sent;
                        }
                    }
                    if (left % 10 == 0) { // A peer that goes before all is read, or echoed.
                        client passing{far, endpoint};
                        passing.send_all({"hello", std::string(pattern, 0, 20'000), "bye"});
                        if (left % 20 == 0) {
                            passing.raw().reset();
                        }
                    }
                    for (const zlink_stream_message_t& each : recv_batch(dialer, 16)) {
                        REQUIRE(each.flags == 0);
                        progress& at = peers.at(id_in(each));
                        REQUIRE((payload_in(each) == payload_of(at.peer, at.received)));
                        ++at.received;
                        --left;
                    }
                }
            }
            CHECK(ended_by == ETERM);
        }
    }

} // TEST_SUITE
