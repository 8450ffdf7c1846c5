// SPDX-License-Identifier: MPL-2.0
//
// Messages that a STREAM receives in batches and sends on: they are not copied where that can be
// avoided.
#include "stream_batch_fixture.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace api_test;
using namespace std::string_literals;

namespace {

/// Sends all of them, with as many calls as it takes.
void send_batch(socket& to, std::span<const zlink_stream_message_t> messages) {
    while (!messages.empty()) {
        const int count = zlink_stream_send_batch(to, messages.data(), messages.size(), 0);
        REQUIRE(error_of(count) == ok);
        messages = messages.subspan(static_cast<std::size_t>(count));
    }
}

void address(zlink_stream_message_t& message, const std::string& id) {
    std::memcpy(message.routing_id, id.data(), id.size());
}

/// `count` payloads of `bytes` that differ.
std::vector<std::string> payloads(std::size_t count, std::size_t bytes) {
    std::vector<std::string> made;
    for (std::size_t number = 0; number < count; ++number) {
        made.push_back(long_text(bytes + number).substr(number));
    }
    return made;
}

std::string all_framed(const std::vector<std::string>& bodies) {
    std::string data;
    for (const std::string& each : bodies) {
        data += framed(each);
    }
    return data;
}

struct relay {
    explicit relay(int io_threads) : owner(io_threads), server(owner, ZLINK_STREAM) {
        bound = server.bind("tcp://127.0.0.1:*");
    }

    context owner;
    socket server;
    std::string bound;
};

} // namespace

TEST_SUITE("stream forward") {

    TEST_CASE("stream forward: what is sent on arrives unchanged, though its sender has gone and "
              "others send") {
        constexpr std::size_t bytes_min = 300'000;
        for (const int io_threads : every_io_threads) {
            for (const std::size_t bytes : {1U, 60U, 1000U, 4000U, 20'000U}) {
                CAPTURE(io_threads);
                CAPTURE(bytes);
                relay one{io_threads};
                raw_peer from{one.owner, one.bound};
                recv_arrival(one.server);
                raw_peer to{one.owner, one.bound};
                const std::string to_id = recv_arrival(one.server);
                raw_peer other{one.owner, one.bound};
                recv_arrival(one.server);
                const std::vector<std::string> bodies =
                    payloads(std::min<std::size_t>(bytes_min / bytes, 900), bytes);
                from.send(all_framed(bodies));
                from.close();
                std::size_t sent_count = 0;
                bool has_gone = false;
                while (!has_gone) {
                    batch received = recv_batch(one.server);
                    has_gone = received.front().flags == ZLINK_PEER_WENT;
                    if (!has_gone) {
                        for (zlink_stream_message_t& each : received) {
                            address(each, to_id);
                        }
                        send_batch(one.server, received);
                        sent_count += received.size();
                    }
                }
                CHECK(sent_count == bodies.size());
                const std::vector<std::string> noise(20, std::string(10'000, '#'));
                other.send(all_framed(noise));
                for (std::size_t count = 0; count < noise.size();) {
                    count += recv_batch(one.server).size();
                }
                const std::string expected = all_framed(bodies);
                CHECK(to.recv(expected.size()) == expected);
            }
        }
    }

    TEST_CASE("stream forward: any part of what was received may be sent, in any order") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            relay one{io_threads};
            raw_peer from{one.owner, one.bound};
            recv_arrival(one.server);
            raw_peer to{one.owner, one.bound};
            const std::string to_id = recv_arrival(one.server);
            constexpr std::size_t bytes = 2000;
            constexpr std::size_t part_bytes = 1800;
            std::vector<std::string> bodies = payloads(7, bytes);
            // Bytes before a part that look like the frame header of the part.
            bodies[3].replace(96, 4, framed(std::string(part_bytes, '.')), 0, 4);
            from.send(all_framed(bodies));
            // No receive before all of it has arrived: views last until the next call.
            batch received = recv_batch(one.server, 1);
            REQUIRE(std::string(static_cast<const char*>(received[0].data), received[0].size) ==
                    bodies[0]);
            bodies.erase(bodies.begin());
            received = recv_batch(one.server);
            REQUIRE(received.size() == bodies.size());
            batch sent;
            std::vector<std::string> expected;
            const auto add = [&](std::size_t number, std::size_t begin, std::size_t size) {
                zlink_stream_message_t part = received[number];
                part.data = static_cast<const char*>(part.data) + begin;
                part.size = size;
                address(part, to_id);
                sent.push_back(part);
                expected.push_back(bodies[number].substr(begin, size));
            };
            for (std::size_t number = 0; number < bodies.size(); ++number) {
                add(number, 0, bytes);
            }
            add(1, 1, bytes - 1);
            add(2, 0, bytes - 1);
            add(2, 100, part_bytes);
            add(2, 100, part_bytes - 1);
            for (std::size_t number = bodies.size(); number-- > 0;) {
                add(number, 0, bytes);
            }
            add(0, 0, bytes);
            add(0, 0, bytes);
            add(4, bytes, 0);
            add(5, 0, 0);
            send_batch(one.server, sent);
            CHECK(to.recv(all_framed(expected).size()) == all_framed(expected));
        }
    }

    TEST_CASE(
        "stream forward: rows of one size, and single ones between them, go to their addressees") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            relay one{io_threads};
            raw_peer from{one.owner, one.bound};
            recv_arrival(one.server);
            std::deque<raw_peer> sinks;
            std::vector<std::string> ids;
            for (int count = 0; count < 2; ++count) {
                sinks.emplace_back(one.owner, one.bound);
                ids.push_back(recv_arrival(one.server));
            }
            std::vector<std::string> bodies{"first"};
            for (const auto& [count, bytes] :
                 {std::pair{5U, 500U}, {1U, 501U}, {3U, 0U}, {1U, 500U}, {8U, 30U}, {2U, 31U}}) {
                const std::vector<std::string> row = payloads(count, bytes);
                bodies.insert(bodies.end(), row.begin(), row.end());
            }
            from.send(all_framed(bodies));
            // No receive before all of it has arrived: views last until the next call.
            REQUIRE(payload_in(recv_batch(one.server, 1).front()) == bodies.front());
            bodies.erase(bodies.begin());
            batch received = recv_batch(one.server);
            REQUIRE(received.size() == bodies.size());
            std::array<std::string, 2> expected;
            for (std::size_t number = 0; number < bodies.size(); ++number) {
                CHECK(payload_in(received[number]) == bodies[number]);
                const std::size_t sink = number % 4 == 3 ? 1 : 0;
                address(received[number], ids[sink]);
                expected[sink] += framed(bodies[number]);
            }
            send_batch(one.server, received);
            for (std::size_t sink = 0; sink < sinks.size(); ++sink) {
                CHECK(sinks[sink].recv(expected[sink].size()) == expected[sink]);
            }
        }
    }

    TEST_CASE("stream forward: what finds no room is sent on later, in its order") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            relay one{io_threads};
            one.server.set(ZLINK_SNDHWM, 10);
            const std::string bound = one.server.bind("tcp://127.0.0.1:*");
            raw_peer from{one.owner, bound};
            recv_arrival(one.server);
            raw_peer to{one.owner, bound};
            const std::string to_id = recv_arrival(one.server);
            const std::vector<std::string> bodies = payloads(200, 1000);
            from.send(all_framed(bodies));
            std::string expected;
            std::string arrived;
            for (std::size_t done = 0; done < bodies.size();) {
                batch received = recv_batch(one.server);
                for (zlink_stream_message_t& each : received) {
                    address(each, to_id);
                }
                for (std::size_t sent = 0; sent < received.size();) {
                    const int count = zlink_stream_send_batch(
                        one.server, &received[sent], received.size() - sent, ZLINK_DONTWAIT);
                    if (count < 0) {
                        REQUIRE(zlink_errno() == EAGAIN);
                        arrived += to.recv(expected.size() - arrived.size());
                        continue;
                    }
                    for (int number = 0; number < count; ++number) {
                        expected += framed(bodies[done++]);
                    }
                    sent += static_cast<std::size_t>(count);
                }
            }
            arrived += to.recv(expected.size() - arrived.size());
            CHECK(arrived == expected);
            CHECK(expected == all_framed(bodies));
        }
    }

    TEST_CASE("stream forward: one message may be sent on more often than a segment counts") {
        constexpr int sink_count = 6;
        constexpr std::size_t counted_max = 65'535;
        relay one{1};
        one.server.set(ZLINK_SNDHWM, 1'000'000);
        const std::string bound = one.server.bind("tcp://127.0.0.1:*");
        raw_peer from{one.owner, bound};
        recv_arrival(one.server);
        std::deque<raw_peer> sinks;
        std::vector<std::string> ids;
        for (int count = 0; count < sink_count; ++count) {
            sinks.emplace_back(one.owner, bound);
            ids.push_back(recv_arrival(one.server));
        }
        const std::string body = long_text(5000);
        from.send(framed(body));
        zlink_stream_message_t received = recv_batch(one.server, 1).front();
        std::array<std::size_t, sink_count> sent_counts{};
        std::size_t sent_count = 0;
        for (std::size_t sink = 0; sink < sink_count; ++sink) {
            address(received, ids[sink]);
            while (zlink_stream_send_batch(one.server, &received, 1, ZLINK_DONTWAIT) == 1) {
                ++sent_counts[sink];
            }
            CHECK(zlink_errno() == EAGAIN);
            sent_count += sent_counts[sink];
        }
        CHECK(sent_count > counted_max);
        from.send(framed(std::string(5000, '#')));
        CHECK(payload_in(recv_batch(one.server, 1).front()) == std::string(5000, '#'));
        std::size_t wrong_count = 0;
        for (std::size_t count = 0; count < sent_counts.back(); ++count) {
            wrong_count += sinks.back().recv(framed(body).size()) == framed(body) ? 0 : 1;
        }
        CHECK(wrong_count == 0);
    }

    TEST_CASE("stream forward: all of a batch for several peers, over every transport") {
        for (const int io_threads : every_io_threads) {
            for (const std::size_t bytes : {300U, 3000U, 30'000U}) {
                CAPTURE(io_threads);
                CAPTURE(bytes);
                const context owner{io_threads};
                socket server{owner, ZLINK_STREAM};
                std::vector<socket> clients;
                std::vector<std::string> ids;
                std::vector<std::string> at_clients;
                for (const char* const endpoint :
                     {"tcp://127.0.0.1:*", "ws://127.0.0.1:*/", "tcp://127.0.0.1:*"}) {
                    clients.emplace_back(owner, ZLINK_STREAM);
                    clients.back().connect(server.bind(endpoint));
                    ids.push_back(recv_arrival(server));
                    at_clients.push_back(recv_arrival(clients.back()));
                }
                const std::vector<std::string> bodies = payloads(40, bytes);
                for (std::size_t sender = 0; sender < 2; ++sender) {
                    for (const std::string& each : bodies) {
                        REQUIRE(clients[sender].send(message{at_clients[sender], each}) == ok);
                    }
                    for (std::size_t done = 0; done < bodies.size();) {
                        batch received = recv_batch(server);
                        for (const std::string& id : ids) {
                            for (zlink_stream_message_t& each : received) {
                                address(each, id);
                            }
                            send_batch(server, received);
                        }
                        done += received.size();
                    }
                    for (std::size_t each = 0; each < clients.size(); ++each) {
                        for (const std::string& body : bodies) {
                            REQUIRE(clients[each].recv() == message{at_clients[each], body});
                        }
                    }
                }
            }
        }
    }

} // TEST_SUITE
