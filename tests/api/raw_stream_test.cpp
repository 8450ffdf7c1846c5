// SPDX-License-Identifier: MPL-2.0
#include "raw_peer.hpp"

#include <cerrno>

using namespace api_test;

namespace {

constexpr std::size_t id_bytes = 5;

/// The routing id of the peer that has just come or gone.
std::string recv_news(socket& by) {
    const message news = by.recv();
    REQUIRE(news.frames.size() == 2);
    CHECK(news.frames[0].size() == id_bytes);
    CHECK(news.frames[1].empty());
    return news.frames[0];
}

/// The bytes that `id` sent, in messages of any size, up to `bytes` bytes.
std::string recv_all(socket& by, const std::string& id, std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) {
        const message part = by.recv();
        REQUIRE(part.frames.size() == 2);
        CHECK(part.frames[0] == id);
        CHECK(part.frames[1].size() <= 8192);
        all += part.frames[1];
    }
    return all;
}

void await_unreachable(const context& owner, socket& from, const std::string& id) {
    wait_until(owner, [&] {
        return from.send(id, ZLINK_SNDMORE) == EHOSTUNREACH || from.send("x") != ok;
    });
}

std::string long_text(std::size_t bytes) {
    std::string made(bytes, '\0');
    for (std::size_t index = 0; index < bytes; ++index) {
        made[index] = static_cast<char>(index * 7 + index / 251);
    }
    return made;
}

std::string bytes_option(socket& of, int option) {
    std::string value(255, '\0');
    std::size_t bytes = value.size();
    REQUIRE(zlink_getsockopt(of, option, value.data(), &bytes) == 0);
    return value.substr(0, bytes);
}

} // namespace

TEST_SUITE("raw stream") {

    TEST_CASE("raw stream: talks to a peer without ZMTP, and tells when it comes and goes") {
        for (const setting& chosen : raw_settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_RAW_STREAM};
            CHECK(stream.get(ZLINK_TYPE) == ZLINK_RAW_STREAM);
            raw_peer peer{owner, stream.bind(chosen.via)};
            const std::string id = recv_news(stream);
            CHECK(id[0] == '\0');
            CHECK(bytes_option(stream, ZLINK_ROUTING_ID) == id);

            peer.send("GET /");
            CHECK(stream.recv() == message{id, "GET /"});
            CHECK(stream.send(message{id, "200"}) == ok);
            CHECK(peer.recv(3) == "200");

            peer.send("bye");
            CHECK(stream.recv() == message{id, "bye"});
            peer.close();
            CHECK(recv_news(stream) == id);
            await_unreachable(owner, stream, id);
        }
    }

    TEST_CASE("raw stream: passes on many bytes as they are, in both directions") {
        for (const setting& chosen : raw_settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_RAW_STREAM};
            raw_peer peer{owner, stream.bind(chosen.via)};
            const std::string id = recv_news(stream);
            const std::string sent = long_text(300'000);
            peer.send(sent.substr(0, 100'000));
            CHECK((recv_all(stream, id, 100'000) == sent.substr(0, 100'000)));
            for (const std::size_t bytes : {1, 255, 256, 5000, 8191, 8192, 100'000}) {
                CAPTURE(bytes);
                for (int count = 0; count < 20; ++count) {
                    REQUIRE(stream.send(message{id, sent.substr(0, bytes)}) == ok);
                }
                for (int count = 0; count < 20; ++count) {
                    REQUIRE((peer.recv(bytes) == sent.substr(0, bytes)));
                }
            }
        }
    }

    TEST_CASE("raw stream: an empty frame ends the connection, behind what was sent") {
        for (const setting& chosen : raw_settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket stream{owner, ZLINK_RAW_STREAM};
            stream.set(ZLINK_LINGER, 0);
            raw_peer peer{owner, stream.bind(chosen.via)};
            const std::string id = recv_news(stream);
            const std::string body = long_text(2'000'000);
            REQUIRE(stream.send(message{id, body}) == ok);
            REQUIRE(stream.send(message{id, ""}) == ok);

            CHECK(stream.send(id, ZLINK_SNDMORE) == EHOSTUNREACH);
            CHECK((peer.recv(body.size()) == body));
            CHECK(peer.is_disconnected());
            CHECK(stream.recv_error() == EAGAIN); // The side that ends it gets no event.
        }
    }

    TEST_CASE(
        "raw stream: a connection that is to end, and whose peer takes nothing, ends with the "
        "socket") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_news(stream);
        for (int count = 0; count < 50; ++count) {
            REQUIRE(stream.send(message{id, long_text(1'000'000)}) == ok);
        }
        REQUIRE(stream.send(message{id, ""}) == ok);
        stream.close();
        CHECK(time_of([&] { owner.end(); }) < patience);
    }

    TEST_CASE("raw stream: messages of a peer that was disconnected are not received") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_peer peer{owner, endpoint};
        const std::string id = recv_news(stream);
        peer.send("late");
        CHECK(stream.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        REQUIRE(stream.send(message{id, ""}) == ok);
        CHECK(peer.is_disconnected());

        raw_peer other{owner, endpoint};
        CHECK(recv_news(stream) != id);
    }

    TEST_CASE(
        "raw stream: a peer that was sent away between its name and its bytes is still heard") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_news(stream);
        peer.send("last words");
        CHECK(stream.recv_frame() == id);
        REQUIRE(stream.send(message{id, ""}) == ok);
        CHECK(peer.is_disconnected());
        CHECK(stream.recv_frame() == "last words");
        CHECK(stream.recv_error() == EAGAIN);
    }

    TEST_CASE("raw stream: a peer that was sent away and resets the connection is gone") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        stream.set(ZLINK_LINGER, -1);
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_news(stream);
        for (int count = 0; count < 50; ++count) {
            REQUIRE(stream.send(message{id, long_text(1'000'000)}) == ok);
        }
        REQUIRE(stream.send(message{id, ""}) == ok);
        peer.reset();
        stream.close();
        owner.end(); // The peer is not waited for.
    }

    TEST_CASE("raw stream: sends nothing to a peer that does not exist") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_news(stream);
        CHECK(stream.send("nobody", ZLINK_SNDMORE) == EHOSTUNREACH);
        CHECK(stream.send(message{id, "x"}) == ok);
        CHECK(peer.recv(1) == "x");
        CHECK(stream.events() == ZLINK_POLLOUT);
    }

    TEST_CASE(
        "raw stream: each frame behind a name is a message of its own, with MORE or without") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_news(stream);
        for (const char* const each : {"a", "b"}) {
            CHECK(stream.send(id, ZLINK_SNDMORE) == ok);
            CHECK(stream.send(each, ZLINK_SNDMORE) == ok);
        }
        CHECK(peer.recv(2) == "ab");
    }

    TEST_CASE("raw stream: waits where a peer takes nothing, and goes on when it does") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        stream.set(ZLINK_SNDHWM, 10).set(ZLINK_SNDTIMEO, moment);
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string id = recv_news(stream);
        const std::string part = long_text(1'000'000);
        const filled full = fill(stream, {id, part}, 0);
        CHECK(full.error == EAGAIN);
        REQUIRE(full.count >= 10);
        CHECK((peer.recv(part.size()) == part));
        stream.set(ZLINK_SNDTIMEO, patience);
        for (int count = 1; count < full.count; ++count) {
            peer.recv(part.size());
        }
        CHECK(stream.send(message{id, "end"}) == ok);
        CHECK(peer.recv(3) == "end");
    }

    TEST_CASE("raw stream: reads no more of a peer than its application takes") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        stream.set(ZLINK_RCVHWM, 2);
        raw_peer peer{owner, stream.bind(transport::tcp)};
        const std::string sent = long_text(1'000'000);
        std::thread sending{[&] {
            peer.send(sent);
            peer.close();
        }};
        const std::string id = recv_news(stream);
        CHECK((recv_all(stream, id, sent.size()) == sent));
        CHECK(recv_news(stream) == id);
        sending.join();
    }

    TEST_CASE("raw stream: does without news of peers") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        stream.set(ZLINK_STREAM_NOTIFY, 0);
        raw_peer peer{owner, stream.bind(transport::tcp)};
        peer.send("hello");
        const message first = stream.recv();
        CHECK(first.frames.at(1) == "hello");
        peer.close();
        await_unreachable(owner, stream, first.frames[0]);
        CHECK(stream.recv_error() == EAGAIN);
    }

    TEST_CASE("raw stream: messages tell where they came from") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        raw_peer peer{owner, stream.bind(transport::tcp)};
        for (int count = 0; count < 2; ++count) {
            frame part;
            REQUIRE(zlink_msg_recv(part.get(), stream, 0) >= 0);
            CHECK(std::string(zlink_msg_gets(part.get(), "Peer-Address")) == "127.0.0.1");
            CHECK(zlink_msg_get(part.get(), ZLINK_SRCFD) >= 0);
        }
    }

    TEST_CASE("raw stream: reaches a server, under the name it was given or one to read") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            socket stream{owner, ZLINK_RAW_STREAM};
            raw_listener server;
            stream.set(ZLINK_CONNECT_ROUTING_ID, "server");
            stream.connect(server.endpoint());
            CHECK(bytes_option(stream, ZLINK_ROUTING_ID).empty());
            CHECK(stream.send(message{"server", "early"}) == ok);
            raw_peer first{owner, server.accept(owner)};
            CHECK(first.recv(5) == "early");
            CHECK(stream.recv() == message{"server", ""});

            stream.connect(server.endpoint());
            const std::string id = bytes_option(stream, ZLINK_ROUTING_ID);
            CHECK(id.size() == id_bytes);
            CHECK(stream.send(message{id, "hello"}) == ok);
            raw_peer second{owner, server.accept(owner)};
            CHECK(second.recv(5) == "hello");
            CHECK(recv_news(stream) == id);
            second.send("answer");
            CHECK(stream.recv() == message{id, "answer"});
        }
    }

    TEST_CASE("raw stream: a name for the next connection is not for one that comes in") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        const std::string endpoint = stream.bind(transport::tcp);
        raw_listener server;
        stream.set(ZLINK_CONNECT_ROUTING_ID, "server");
        raw_peer stranger{owner, endpoint};
        recv_news(stream);
        stream.connect(server.endpoint());
        raw_peer accepted{owner, server.accept(owner)};
        CHECK(stream.recv() == message{"server", ""});
    }

    TEST_CASE("raw stream: comes back to a server that went, and not to one that it sent away") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        stream.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_CONNECT_ROUTING_ID, "server");
        raw_listener server;
        stream.connect(server.endpoint());
        for (int count = 0; count < 3; ++count) {
            raw_peer accepted{owner, server.accept(owner)};
            CHECK(stream.recv() == message{"server", ""});
            accepted.close();
            CHECK(stream.recv() == message{"server", ""});
        }
        raw_peer last{owner, server.accept(owner)};
        CHECK(stream.send(message{"server", "bye"}) == ok);
        CHECK(stream.send(message{"server", ""}) == ok);
        CHECK(last.recv(3) == "bye");
        CHECK(last.is_disconnected());
        CHECK(stream.send("server", ZLINK_SNDMORE) == EHOSTUNREACH);
    }

    TEST_CASE("raw stream: a server that was sent away before it was reached gets what was sent") {
        for (const int io_threads : every_io_threads) {
            context owner{io_threads};
            socket stream{owner, ZLINK_RAW_STREAM};
            stream.set(ZLINK_CONNECT_ROUTING_ID, "server");
            raw_listener server;
            stream.connect(server.endpoint());
            CHECK(stream.send(message{"server", "all"}) == ok);
            CHECK(stream.send(message{"server", ""}) == ok);
            raw_peer accepted{owner, server.accept(owner)};
            CHECK(accepted.recv(3) == "all");
            CHECK(accepted.is_disconnected());
        }
    }

    TEST_CASE("raw stream: news of a server that comes and goes is complete, also without room") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        stream.set(ZLINK_RCVHWM, 3).set(ZLINK_RECONNECT_IVL, 1);
        raw_listener server;
        stream.connect(server.endpoint());
        const std::string id = bytes_option(stream, ZLINK_ROUTING_ID);
        for (int count = 0; count < 2; ++count) {
            raw_peer accepted{owner, server.accept(owner)};
        }
        // It has come, gone, come and gone, although there is room for three of these.
        for (int count = 0; count < 3 + 1; ++count) {
            CHECK(recv_news(stream) == id);
        }
        raw_peer last{owner, server.accept(owner)};
        last.send("end");
        CHECK(recv_news(stream) == id);
        CHECK(stream.recv() == message{id, "end"});
    }

    TEST_CASE("raw stream: has no other transports and no other options") {
        context owner;
        socket stream{owner, ZLINK_RAW_STREAM};
        CHECK(stream.try_bind("inproc://raw") == EPROTONOSUPPORT);
        CHECK(stream.try_connect("inproc://raw") == EPROTONOSUPPORT);
        const int on = 1;
        for (const int option : {ZLINK_ROUTER_RAW, ZLINK_ROUTER_MANDATORY, ZLINK_ROUTER_HANDOVER,
                                 ZLINK_PROBE_ROUTER}) {
            CHECK(error_of(zlink_setsockopt(stream, option, &on, sizeof on)) == EINVAL);
        }
        socket dealer{owner, ZLINK_DEALER};
        for (const int option : {ZLINK_ROUTER_RAW, ZLINK_STREAM_NOTIFY}) {
            CHECK(error_of(zlink_setsockopt(dealer, option, &on, sizeof on)) == EINVAL);
        }
        CHECK(zlink_socket(owner, ZLINK_STREAM + 1) == nullptr);
        CHECK(zlink_errno() == EINVAL);
    }

    TEST_CASE("router: with ZMQ_ROUTER_RAW its peers speak no ZMTP") {
        for (const setting& chosen : raw_settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            socket router{owner, ZLINK_ROUTER};
            router.set(ZLINK_ROUTER_RAW, 1);
            raw_peer peer{owner, router.bind(chosen.via)};
            const std::string id = recv_news(router);
            peer.send("hello");
            CHECK(router.recv() == message{id, "hello"});
            CHECK(router.send(message{"nobody", "lost"}) == ok);
            CHECK(router.send(message{id, "world"}) == ok);
            CHECK(peer.recv(5) == "world");
            CHECK(router.send(message{id, ""}) == ok);
            CHECK(peer.is_disconnected());
        }
    }

} // TEST_SUITE
