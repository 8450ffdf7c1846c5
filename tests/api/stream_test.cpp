// SPDX-License-Identifier: MPL-2.0
#include "stream_fixture.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

using namespace api_test;
using namespace std::string_literals;

namespace {

constexpr std::array via_sockets{transport::tcp, transport::ipc};

std::vector<setting> settings() {
    std::vector<setting> made;
    for (const transport via : via_sockets) {
        for (const int io_threads : every_io_threads) {
            made.push_back({via, io_threads});
        }
    }
    return made;
}

int close_peer(socket& at, const std::string& id, int code, const char* reason) {
    return error_of(zlink_stream_close(at, id.data(), code, reason));
}

} // namespace

TEST_SUITE("stream") {

    TEST_CASE("stream: exchanges messages with a peer of length frames, and tells of its coming "
              "and going") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            CHECK(stream.get(ZLINK_TYPE) == ZLINK_STREAM);
            raw_peer peer{owner, stream.bind(chosen.via)};

            const news arrival = recv_news(stream);
            CHECK(arrival.is_connect);
            CHECK(arrival.id == id_of(1));
            CHECK(arrival.text.starts_with(chosen.via == transport::tcp ? "tcp://127.0.0.1:"
                                                                        : "ipc://"));
            peer.send(framed("hello") + framed("") + framed("world"));
            CHECK(stream.recv() == message{arrival.id, "hello"});
            CHECK(stream.recv() == message{arrival.id, ""});
            CHECK(stream.recv() == message{arrival.id, "world"});
            CHECK(stream.send(message{arrival.id, "answer"}) == ok);
            CHECK(stream.send(message{arrival.id, ""}) == ok);
            CHECK(peer.recv(10 + 4) == framed("answer") + framed(""));

            peer.send(framed("last") + "\0\0"s);
            peer.close();
            CHECK(stream.recv() == message{arrival.id, "last"});
            CHECK(recv_departure(stream, arrival.id) == "1006 closed by the peer");
            CHECK(stream.recv_error() == EAGAIN);
        }
    }

    TEST_CASE("stream: messages of every size pass both ways, also in small pieces") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            raw_peer peer{owner, stream.bind(chosen.via)};
            const std::string id = recv_arrival(stream);
            for (const std::size_t bytes :
                 {1, 125, 126, 255, 256, 8191, 8192, 65'535, 65'536, 100'000, 1'000'000}) {
                CAPTURE(bytes);
                const std::string text = long_text(bytes);
                const std::string wire = framed(text);
                peer.send(wire.substr(0, 3));
                peer.await_read();
                peer.send(wire.substr(3, bytes / 2));
                peer.await_read();
                peer.send(wire.substr(3 + bytes / 2) + framed("behind"));
                CHECK(stream.recv() == message{id, text});
                CHECK(stream.recv() == message{id, "behind"});
                CHECK(stream.send(message{id, text}) == ok);
                CHECK(stream.send(message{id, "behind"}) == ok);
                CHECK(peer.recv(wire.size()) == wire);
                CHECK(peer.recv(10) == framed("behind"));
            }
        }
    }

    TEST_CASE("stream: two of them talk, and each connection is another peer") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket server{owner, ZLINK_STREAM};
            socket client{owner, ZLINK_STREAM};
            client.set(ZLINK_RECONNECT_IVL, 1);
            client.connect(server.bind(chosen.via));
            std::string at_client = recv_arrival(client);
            std::string at_server = recv_arrival(server);
            for (std::uint32_t round = 1; round <= 3; ++round) {
                CHECK(at_client == id_of(round));
                CHECK(at_server == id_of(round));
                CHECK(client.send(message{at_client, "question"}) == ok);
                CHECK(server.recv() == message{at_server, "question"});
                CHECK(server.send(message{at_server, "answer"}) == ok);
                CHECK(client.recv() == message{at_client, "answer"});
                REQUIRE(close_peer(server, at_server, 1000, "enough") == ok);
                // The dialling side gets the end first.
                CHECK(recv_departure(client, at_client) == "1000 closed by the peer");
                at_client = recv_arrival(client);
                const turnover there = recv_turnover(server, at_server);
                CHECK(there.why == "1000 enough");
                at_server = there.next.id;
            }
        }
    }

    TEST_CASE("stream: a send to an unknown peer is refused once, and affects no other message") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_peer gone{owner, endpoint};
        const std::string old_id = recv_arrival(stream);
        gone.close();
        recv_departure(stream, old_id);
        raw_peer peer{owner, endpoint};
        const std::string id = recv_arrival(stream);
        REQUIRE(id == id_of(2));

        CHECK(stream.send(old_id, ZLINK_SNDMORE) == EHOSTUNREACH);
        // One program checks for the error, and sends another message.
        CHECK(stream.send(message{id, "one"}) == ok);
        // Another program does not, and its payload looks like a routing id.
        CHECK(stream.send(old_id, ZLINK_SNDMORE) == EHOSTUNREACH);
        CHECK(stream.send(id) == ok);
        CHECK(stream.send(message{id, "two"}) == ok);
        CHECK(peer.recv(14) == framed("one") + framed("two"));
        CHECK(stream.send(id_of(0), ZLINK_SNDMORE) == EHOSTUNREACH);
        CHECK(stream.send(id_of(77), ZLINK_SNDMORE) == EHOSTUNREACH);
    }

    TEST_CASE("stream: what is no routing id is refused") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        for (const std::string& wrong : {""s, "123"s, "12345"s}) {
            CHECK(stream.send(wrong, ZLINK_SNDMORE) == EINVAL);
            CHECK(stream.send("payload") == ok); // The rest of that message.
        }
        CHECK(stream.send(id) == EINVAL);
        CHECK(stream.send(id, ZLINK_SNDMORE) == ok);
        CHECK(stream.send("too many", ZLINK_SNDMORE) == EINVAL);
        CHECK(stream.send("x") == ok);
        CHECK(peer.recv(5) == framed("x"));
        CHECK(stream.try_connect("inproc://a") == EPROTONOSUPPORT);
        CHECK(stream.try_bind("inproc://a") == EPROTONOSUPPORT);
    }

    TEST_CASE("stream: a peer that leaves while a message for it is sent takes only that along") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_peer first{owner, endpoint};
        const std::string first_id = recv_arrival(stream);
        raw_peer second{owner, endpoint};
        const std::string second_id = recv_arrival(stream);

        CHECK(stream.send(first_id, ZLINK_SNDMORE) == ok);
        first.close();
        recv_departure(stream, first_id);
        CHECK(stream.send("lost") == ok);
        CHECK(stream.send(message{second_id, "kept"}) == ok);
        CHECK(second.recv(8) == framed("kept"));
    }

    TEST_CASE("stream: without events there are messages only") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            CHECK(stream.get(ZLINK_STREAM_EVENTS) == 1);
            stream.set(ZLINK_STREAM_EVENTS, 0);
            const std::string endpoint = stream.bind(transport::tcp);
            for (std::uint32_t round = 1; round <= 3; ++round) {
                raw_peer peer{owner, endpoint};
                peer.send(framed("hello"));
                CHECK(stream.recv() == message{id_of(round), "hello"});
            }
        }
        context owner{0};
        socket pair{owner, ZLINK_PAIR};
        const int off = 0;
        CHECK(error_of(zlink_setsockopt(pair, ZLINK_STREAM_EVENTS, &off, sizeof off)) == EINVAL);
    }

    TEST_CASE("stream: a message above the limit ends its peer alone") {
        for (const std::uint32_t above : {11U, 0x7fff'ffffU, 0xffff'ffffU}) {
            context owner{0};
            socket stream{owner, ZLINK_STREAM};
            const std::int64_t limit = 10;
            REQUIRE(zlink_setsockopt(stream, ZLINK_MAXMSGSIZE, &limit, sizeof limit) == 0);
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer good{owner, endpoint};
            const std::string good_id = recv_arrival(stream);
            raw_peer bad{owner, endpoint};
            const std::string bad_id = recv_arrival(stream);
            good.send(framed("0123456789"));
            CHECK(stream.recv() == message{good_id, "0123456789"});
            bad.send(framed("ok") + id_of(above));
            CHECK(stream.recv() == message{bad_id, "ok"});
            CHECK(recv_departure(stream, bad_id) == "1009 message too large");
            CHECK(bad.is_disconnected());
            good.send(framed("still here"));
            CHECK(stream.recv() == message{good_id, "still here"});
        }
    }

    TEST_CASE("stream: of a peer that never reads no more waits than the high-water mark, and "
              "nothing is lost") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            stream.set(ZLINK_SNDHWM, 10).set(ZLINK_SNDBUF, 4096).set(ZLINK_SNDTIMEO, 200);
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer lazy{owner, endpoint};
            const std::string id = recv_arrival(stream);
            const std::string text = long_text(1000);
            int count = 0;
            while (stream.send(id, ZLINK_SNDMORE) == ok) {
                REQUIRE(stream.send(text) == ok);
                REQUIRE(++count < 100'000);
            }
            CHECK(zlink_errno() == EAGAIN);
            CHECK(stream.send(id, ZLINK_SNDMORE | ZLINK_DONTWAIT) == EAGAIN);

            raw_peer other{owner, endpoint};
            const std::string other_id = recv_arrival(stream);
            CHECK(stream.send(message{other_id, "x"}) == ok);
            CHECK(other.recv(5) == framed("x"));

            for (int received = 0; received < count; ++received) {
                REQUIRE(lazy.recv(1004) == framed(text));
            }
            stream.set(ZLINK_SNDTIMEO, patience);
            CHECK(stream.send(message{id, "again"}) == ok);
            CHECK(lazy.recv(9) == framed("again"));
        }
    }

    TEST_CASE("stream: closes a peer behind what was sent to it") {
        for (const setting& chosen : settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_STREAM};
            raw_peer peer{owner, stream.bind(chosen.via)};
            const std::string id = recv_arrival(stream);
            const std::string text = long_text(300'000);
            CHECK(stream.send(message{id, text}) == ok);
            CHECK(stream.send(message{id, "bye"}) == ok);
            CHECK(close_peer(stream, id, 4000, "go away") == ok);
            CHECK(close_peer(stream, id, 4000, "go away") == EHOSTUNREACH);
            CHECK(stream.send(id, ZLINK_SNDMORE) == EHOSTUNREACH);
            peer.send(framed("late"));
            CHECK(peer.recv(text.size() + 4) == framed(text));
            CHECK(peer.recv(7) == framed("bye"));
            CHECK(peer.is_disconnected());
            CHECK(stream.recv() == message{id, "late"});
            peer.close();
            CHECK(recv_departure(stream, id) == "4000 go away");
        }
    }

    TEST_CASE("stream: says what is wrong with a call that closes a peer") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        for (const int code : {-1, 0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 66536}) {
            CAPTURE(code);
            CHECK(close_peer(stream, id, code, "") == EINVAL);
        }
        CHECK(close_peer(stream, id, 1000, std::string(124, 'x').c_str()) == EINVAL);
        CHECK(close_peer(stream, id, 1000, "\xff") == EINVAL);
        CHECK(error_of(zlink_stream_close(stream, nullptr, 1000, "")) == EINVAL);
        CHECK(error_of(zlink_stream_close(nullptr, id.data(), 1000, "")) == ENOTSOCK);
        CHECK(close_peer(stream, id_of(5), 1000, "") == EHOSTUNREACH);
        socket router{owner, ZLINK_ROUTER};
        CHECK(close_peer(router, id, 1000, "") == ENOTSUP);
        CHECK(close_peer(stream, id, 1000, nullptr) == ok);
        peer.close();
        CHECK(recv_departure(stream, id) == "1000 ");
    }

    TEST_CASE("stream: a connection that is reset is told as such") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        peer.send(framed("x"));
        CHECK(stream.recv() == message{id, "x"});
        peer.reset();
        CHECK(recv_departure(stream, id) == "1006 Connection reset by peer");
    }

    TEST_CASE("stream: unbinding ends its peers") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_peer peer{owner, endpoint};
        const std::string id = recv_arrival(stream);
        CHECK(stream.unbind(endpoint) == ok);
        CHECK(recv_departure(stream, id) == "1001 unbound");
        CHECK(peer.is_disconnected());
    }

    TEST_CASE("stream: receives from all peers in turn") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        std::vector<std::unique_ptr<raw_peer>> peers;
        for (int count = 0; count < 3; ++count) {
            peers.push_back(std::make_unique<raw_peer>(owner, endpoint));
            recv_arrival(stream);
        }
        constexpr int count_each = 100;
        constexpr int turn_max = 32;
        for (const auto& peer : peers) {
            std::string all;
            for (int count = 0; count < count_each; ++count) {
                all += framed("x");
            }
            peer->send(all);
        }
        for (const auto& peer : peers) {
            peer->await_read();
        }
        std::vector<int> received(peers.size());
        for (int count = 1; count <= 3 * turn_max; ++count) {
            const std::string id = stream.recv().frames[0];
            ++received[static_cast<std::size_t>(id.back()) - 1];
        }
        CHECK(received == std::vector<int>(peers.size(), turn_max));
    }

    TEST_CASE("stream: a peer that sends without end leaves others their turn, answered or not") {
        constexpr std::size_t payload_bytes = 64'000;
        for (const bool answers : {false, true}) {
            CAPTURE(answers);
            // If answered, it has up to 8 turns of 256 KiB in a row, twice if it is found ready
            // first.
            const std::size_t ahead_bytes_max = answers ? 5'300'000 : 1'500'000;
            context owner{0};
            socket server{owner, ZLINK_STREAM};
            server.set(ZLINK_STREAM_EVENTS, 0);
            const std::string endpoint = server.bind(transport::tcp);
            raw_peer modest{owner, endpoint};
            modest.send(framed("first"));
            const std::string modest_id = server.recv().frames[0];
            raw_peer greedy{owner, endpoint};
            const std::jthread sender =
                send_messages(greedy, framed(std::string(payload_bytes, 'g')));
            const auto next_is_modest = [&](std::size_t& ahead_bytes) {
                const message next = server.recv();
                if (next.frames[0] == modest_id) {
                    return true;
                }
                ahead_bytes += next.frames[1].size();
                if (answers) {
                    server.send({next.frames[0], "a"});
                }
                return false;
            };
            for (int round = 0; round < 20; ++round) {
                std::size_t ahead_bytes = 0;
                while (next_is_modest(ahead_bytes)) {
                }
                modest.send(framed("again"));
                ahead_bytes = 0;
                while (!next_is_modest(ahead_bytes)) {
                }
                CHECK(ahead_bytes <= ahead_bytes_max);
            }
        }
    }

    TEST_CASE("stream: a peer that reads nothing before all is sent is served beside others, too") {
        constexpr std::size_t payload_bytes = 64'000;
        constexpr std::size_t message_count = 200;
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            server.set(ZLINK_STREAM_EVENTS, 0);
            const std::string endpoint = server.bind(transport::tcp);
            raw_peer uploader{owner, endpoint};
            const std::string payload(payload_bytes, 'u');
            const std::string data = framed(payload);
            uploader.send(data);
            const std::string uploader_id = server.recv().frames[0];
            const raw_peer greedy{owner, endpoint};
            const std::jthread sender =
                send_messages(greedy, framed(std::string(payload_bytes, 'g')));
            const std::jthread upload = send_messages(uploader, data, message_count - 1);
            CHECK(server.send(message{uploader_id, payload}) == ok);
            for (std::size_t answered = 1; answered < message_count;) {
                const message next = server.recv();
                if (next.frames[0] == uploader_id) {
                    CHECK(server.send(next) == ok);
                    ++answered;
                }
            }
            for (std::size_t count = 0; count < message_count; ++count) {
                CHECK(uploader.recv(data.size()) == data);
            }
        }
    }

    TEST_CASE("stream: a message and its peer by one call") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket stream{owner, ZLINK_STREAM};
            const std::string endpoint = stream.bind(transport::tcp);
            raw_peer peer{owner, endpoint};
            std::string id(4, '\0');
            char event = 0;
            REQUIRE(zlink_stream_recv(stream, id.data(), &event, 1, 0) == 1);
            CHECK(id == id_of(1));
            CHECK(event == 1);
            CHECK(stream.more());
            CHECK(error_of(zlink_stream_recv(stream, id.data(), &event, 1, 0)) == EFSM);
            CHECK(stream.recv_frame().starts_with("tcp://127.0.0.1:"));

            for (const std::size_t bytes : {0, 1, 64, 300, 8192, 100000}) {
                CAPTURE(bytes);
                const std::string body = long_text(bytes);
                peer.send(framed(body) + framed(body));
                std::string buffer(bytes + 1, '\0');
                std::string from(4, '\0');
                REQUIRE(zlink_stream_recv(stream, from.data(), buffer.data(), buffer.size(), 0) ==
                        static_cast<int>(bytes));
                CHECK(from == id);
                CHECK((buffer.substr(0, bytes) == body));
                CHECK(!stream.more());
                frame received;
                REQUIRE(zlink_stream_msg_recv(received.get(), stream, from.data(), 0) ==
                        static_cast<int>(bytes));
                CHECK((received.text() == body));
                REQUIRE(zlink_stream_send(stream, id.data(), body.data(), bytes, 0) ==
                        static_cast<int>(bytes));
                REQUIRE(zlink_stream_msg_send(received.get(), stream, id.data(), 0) ==
                        static_cast<int>(bytes));
                CHECK(received.text().empty());
                CHECK((peer.recv(2 * (bytes + 4)) == framed(body) + framed(body)));
            }
        }
    }

    TEST_CASE("stream: says what is wrong with a message by one call") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        stream.set(ZLINK_STREAM_EVENTS, 0);
        const std::string endpoint = stream.bind(transport::tcp);
        std::string id = id_of(1);
        char byte = 'x';
        CHECK(error_of(zlink_stream_send(stream, id.data(), &byte, 1, 0)) == EHOSTUNREACH);
        CHECK(error_of(zlink_stream_send(stream, nullptr, &byte, 1, 0)) == EINVAL);
        CHECK(error_of(zlink_stream_send(stream, id.data(), &byte, 1, ZLINK_SNDMORE)) == EINVAL);
        CHECK(error_of(zlink_stream_recv(stream, nullptr, &byte, 1, 0)) == EINVAL);
        CHECK(error_of(zlink_stream_recv(stream, id.data(), &byte, 1, ZLINK_DONTWAIT)) == EAGAIN);
        raw_peer peer{owner, endpoint};
        peer.send(framed("a") + framed("b"));
        CHECK(stream.recv_frame() == id);
        CHECK(error_of(zlink_stream_recv(stream, id.data(), &byte, 1, 0)) == EFSM);
        CHECK(stream.recv_frame() == "a");
        CHECK(stream.send(id, ZLINK_SNDMORE) == ok);
        CHECK(error_of(zlink_stream_send(stream, id.data(), &byte, 1, 0)) == EFSM);
        CHECK(stream.send("1") == ok);
        socket other{owner, ZLINK_PAIR};
        CHECK(error_of(zlink_stream_send(other, id.data(), &byte, 1, 0)) == ENOTSUP);
        CHECK(error_of(zlink_stream_recv(other, id.data(), &byte, 1, 0)) == ENOTSUP);
        CHECK(error_of(zlink_stream_send(nullptr, id.data(), &byte, 1, 0)) == ENOTSOCK);
        CHECK(error_of(zlink_stream_recv(nullptr, id.data(), &byte, 1, 0)) == ENOTSOCK);
    }

    TEST_CASE("stream: each frame says whether another one follows") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        peer.send(framed("hello"));
        char buffer[8];
        for (const bool more : {true, true, false, true, false}) {
            REQUIRE(zlink_recv(stream, buffer, sizeof buffer, 0) > 0);
            CHECK(stream.more() == more);
        }
        peer.send(framed("a long one"));
        REQUIRE(zlink_recv(stream, buffer, 3, 0) ==
                4); // As with every socket, the rest is cut off.
        CHECK(stream.more());
        REQUIRE(zlink_recv(stream, buffer, 3, 0) == 10);
        CHECK(!stream.more());
    }

    TEST_CASE("stream: messages know their peer") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        recv_arrival(stream);
        peer.send(framed("hello"));
        stream.recv_frame();
        frame received;
        REQUIRE(zlink_msg_recv(received.get(), stream, 0) == 5);
        CHECK(zlink_msg_gets(received.get(), "Peer-Address") == std::string_view{"127.0.0.1"});
    }

    TEST_CASE("stream: a peer that sends and resets the connection is known all the same") {
        // Without I/O threads, the socket accepts the connection after all of this has happened.
        const context owner{0};
        socket stream{owner, ZLINK_STREAM};
        stream.set(ZLINK_MAX_CONNECTIONS_PER_ADDRESS, 1);
        const std::string endpoint = stream.bind(transport::tcp);
        for (const char* const payload : {"one", "two"}) {
            raw_peer peer{owner, endpoint};
            peer.send(framed(payload));
            peer.reset();
            const news told = recv_news(stream);
            CHECK(told.is_connect);
            CHECK(told.text.starts_with("tcp://127.0.0.1:"));
            CHECK(stream.recv() == message{told.id, payload});
            CHECK(recv_departure(stream, told.id) == "1006 Connection reset by peer");
        }
    }

    TEST_CASE("stream: closing the socket sends what was sent") {
        context owner{1};
        socket stream{owner, ZLINK_STREAM};
        stream.set(ZLINK_LINGER, patience);
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_arrival(stream);
        const std::string text = long_text(500'000);
        CHECK(stream.send(message{id, text}) == ok);
        stream.close();
        CHECK(peer.recv(text.size() + 4) == framed(text));
        CHECK(peer.is_disconnected());
    }

    TEST_CASE("stream: a great many peers come and go, and their memory is returned") {
        context owner{0};
        socket stream{owner, ZLINK_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        for (std::uint32_t number = 1; number <= 2000; ++number) {
            raw_peer peer{owner, endpoint};
            REQUIRE(recv_arrival(stream) == id_of(number));
            peer.send(framed("x"));
            REQUIRE(stream.recv() == message{id_of(number), "x"});
            peer.close();
            REQUIRE(recv_departure(stream, id_of(number)) == "1000 closed by the peer");
        }
        CHECK(zlink_socket_peers(stream, nullptr, 0) == 0);
    }

} // TEST_SUITE
