// SPDX-License-Identifier: MPL-2.0
//
// libzmq's draft socket types and functions, in a build with them and in one without.
#include "draft_fixture.hpp"
#include "zap_handler.hpp"
#include "zmtp_peer.hpp"

#include <cstring>
#include <map>

using namespace api_test;

#ifndef ZLINK_BUILD_DRAFT_API

TEST_CASE("drafts: a build without them says so and opens none of their sockets") {
    CHECK(zlink_has("draft") == 0);
    const context owner;
    for (int type = 12; type <= 20; ++type) {
        CAPTURE(type);
        CHECK(zlink_socket(owner, type) == nullptr);
        CHECK(zlink_errno() == EINVAL);
    }
}

#else

namespace {

/// Sends `content` to the peer with that number.
int send_to(socket& by, std::uint32_t routing_id, std::string_view content,
            int flags = ZLINK_DONTWAIT) {
    frame sent{content};
    zlink_msg_set_routing_id(sent.get(), routing_id);
    return error_of(zlink_msg_send(sent.get(), by, flags));
}

struct numbered {
    std::uint32_t from = 0;
    std::string content;
};
numbered recv_numbered(socket& by) {
    frame received;
    REQUIRE(zlink_msg_recv(received.get(), by, 0) >= 0);
    return {zlink_msg_routing_id(received.get()), received.text()};
}

/// Waits until `dish` gets the messages of `radio` for `group`.
void await_join(const context& owner, socket& radio, socket& dish, const char* group) {
    wait_until(owner, [&] {
        publish(radio, group, "joined?", ZLINK_DONTWAIT);
        return dish.events() != ZLINK_POLLOUT;
    });
    while (dish.poll(ZLINK_POLLIN, moment) != 0) {
        recv_grouped(dish);
    }
}

} // namespace

TEST_CASE("drafts: a build with them says so, and each socket knows its type") {
    CHECK(zlink_has("draft") == 1);
    const context owner;
    for (int type = ZLINK_SERVER; type <= ZLINK_CHANNEL; ++type) {
        CAPTURE(type);
        CHECK(socket{owner, type}.get(ZLINK_TYPE) == type);
    }
    CHECK(zlink_socket(owner, ZLINK_CHANNEL + 1) == nullptr);
}

TEST_CASE("server: answers each of its clients, by their numbers") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        const std::string endpoint = server.bind(over.via);
        std::vector<socket> clients;
        std::map<std::string, std::uint32_t> numbers;
        for (const std::string name : {"a", "b", "c"}) {
            socket& client = clients.emplace_back(owner, ZLINK_CLIENT);
            client.connect(endpoint);
            REQUIRE(client.send("I am " + name) == ok);
        }
        for (std::size_t index = 0; index < clients.size(); ++index) {
            const numbered got = recv_numbered(server);
            CHECK(got.from != 0);
            numbers[got.content] = got.from;
        }
        REQUIRE(numbers.size() == 3);

        for (const auto& [said, from] : numbers) {
            REQUIRE(send_to(server, from, "You said: " + said) == ok);
        }

        CHECK(clients[0].recv() == message{"You said: I am a"});
        CHECK(clients[1].recv() == message{"You said: I am b"});
        CHECK(clients[2].recv() == message{"You said: I am c"});
        // The number stays.
        REQUIRE(clients[1].send("again") == ok);
        CHECK(recv_numbered(server).from == numbers["I am b"]);
    }
}

TEST_CASE("server: a client with the password gets in, one with another does not") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        const zap_handler handler{
            owner, [](const message& question) {
                const bool knows = question.frames.back() == "secret";
                return std::vector<std::string>{knows ? "200" : "400", "", "user", ""};
            }};
        socket server{owner, ZLINK_SERVER};
        server.set(ZLINK_PLAIN_SERVER, 1).set(ZLINK_ZAP_DOMAIN, "global");
        const std::string endpoint = server.bind(over.via);
        socket stranger{owner, ZLINK_CLIENT};
        stranger.set(ZLINK_PLAIN_USERNAME, "joe").set(ZLINK_PLAIN_PASSWORD, "wrong");
        stranger.connect(endpoint);
        REQUIRE(stranger.send("from a stranger") == ok);
        socket client{owner, ZLINK_CLIENT};
        client.set(ZLINK_PLAIN_USERNAME, "joe").set(ZLINK_PLAIN_PASSWORD, "secret");
        client.connect(endpoint);
        REQUIRE(client.send("question") == ok);

        frame received;
        REQUIRE(zlink_msg_recv(received.get(), server, 0) >= 0);
        CHECK(received.text() == "question");
        CHECK(zlink_msg_gets(received.get(), "User-Id") == std::string{"user"});
        REQUIRE(send_to(server, zlink_msg_routing_id(received.get()), "answer") == ok);
        CHECK(client.recv() == message{"answer"});
        CHECK(server.poll(ZLINK_POLLIN, moment) == 0);
    }
}

TEST_CASE("server: messages of any size keep their content and their sender's number") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        socket client{owner, ZLINK_CLIENT};
        client.connect(server.bind(over.via));
        std::uint32_t number = 0;
        frame reused;
        for (const std::size_t bytes : {0, 1, 48, 49, 255, 256, 8191, 8192, 300'000}) {
            CAPTURE(bytes);
            const std::string sent(bytes, 'x');
            REQUIRE(client.send(sent) == ok);
            REQUIRE(zlink_msg_recv(reused.get(), server, 0) == static_cast<int>(bytes));
            CHECK(reused.text() == sent);
            const std::uint32_t from = zlink_msg_routing_id(reused.get());
            CHECK(from != 0);
            CHECK((number == 0 || from == number));
            number = from;
            // As it was received, it goes back to its sender.
            REQUIRE(zlink_msg_send(reused.get(), server, 0) == static_cast<int>(bytes));
            CHECK(zlink_msg_routing_id(reused.get()) == 0);
            CHECK(client.recv() == message{sent});
        }
    }
}

TEST_CASE("server: a message for nobody fails, and stays with the caller") {
    const context owner;
    socket server{owner, ZLINK_SERVER};
    server.bind(transport::tcp);

    CHECK(server.send("without a number") == EHOSTUNREACH);
    frame kept{"kept"};
    REQUIRE(zlink_msg_set_routing_id(kept.get(), 77) == 0);
    CHECK(error_of(zlink_msg_send(kept.get(), server, 0)) == EHOSTUNREACH);
    CHECK(kept.text() == "kept");
    CHECK(zlink_msg_routing_id(kept.get()) == 77);
    CHECK(error_of(zlink_msg_set_routing_id(kept.get(), 0)) == EINVAL);
}

TEST_CASE("server: what a client sent before it closed is received; it cannot be answered") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        socket client{owner, ZLINK_CLIENT};
        client.set(ZLINK_LINGER, -1);
        client.connect(server.bind(over.via));
        REQUIRE(client.send("1") == ok);
        REQUIRE(client.send("2") == ok);
        const numbered first = recv_numbered(server);

        client.close();
        wait_until(owner, [&] { return send_to(server, first.from, "x") == EHOSTUNREACH; });

        const numbered second = recv_numbered(server);
        CHECK(second.content == "2");
        CHECK(second.from == first.from);
    }
}

TEST_CASE("server: waits for a client that is full, as long as SNDTIMEO says") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        server.set(ZLINK_SNDHWM, 1).set(ZLINK_SNDBUF, 4096).set(ZLINK_SNDTIMEO, moment);
        socket client{owner, ZLINK_CLIENT};
        client.set(ZLINK_RCVHWM, 1).set(ZLINK_RCVBUF, 4096);
        client.connect(server.bind(over.via));
        REQUIRE(client.send("hello") == ok);
        const std::uint32_t number = recv_numbered(server).from;
        const std::string large(100'000, 'x');
        int sent = 0;
        milliseconds waited{};
        int error = ok;
        while (error == ok) { // The system may take some more after a moment.
            waited = time_of([&] { error = send_to(server, number, large, 0); });
            sent += error == ok;
            REQUIRE(sent < 10000);
        }
        CHECK(error == EAGAIN);
        CHECK(waited >= moment);
        CHECK(server.events() == ZLINK_POLLOUT);

        for (int number_received = 0; number_received < sent; ++number_received) {
            CHECK(client.recv() == message{large});
        }
        server.set(ZLINK_SNDTIMEO, patience);
        CHECK(send_to(server, number, "after all", 0) == ok);
        CHECK(client.recv() == message{"after all"});
    }
}

TEST_CASE("single frames: no draft type sends a message of several") {
    const context owner;
    for (const int type :
         {ZLINK_SERVER, ZLINK_CLIENT, ZLINK_RADIO, ZLINK_SCATTER, ZLINK_PEER, ZLINK_CHANNEL}) {
        CAPTURE(type);
        socket one{owner, type};
        one.bind(transport::inproc);
        CHECK(one.send("first", ZLINK_SNDMORE | ZLINK_DONTWAIT) == EINVAL);
        frame first{"first"};
        CHECK(error_of(zlink_msg_send(first.get(), one, ZLINK_SNDMORE | ZLINK_DONTWAIT)) == EINVAL);
        CHECK(first.text() == "first");
    }
    for (const int type : {ZLINK_GATHER, ZLINK_DISH}) {
        CHECK(socket{owner, type}.send("x", ZLINK_DONTWAIT) == ENOTSUP);
    }
    for (const int type : {ZLINK_SCATTER, ZLINK_RADIO}) {
        CHECK(socket{owner, type}.recv_error() == ENOTSUP);
    }
}

TEST_CASE("single frames: received messages of several are dropped and counted") {
    struct row {
        int own;
        const char* peers;
    };
    for (const auto& [own, peers] :
         {row{ZLINK_SERVER, "CLIENT"}, row{ZLINK_CLIENT, "SERVER"}, row{ZLINK_GATHER, "SCATTER"},
          row{ZLINK_PEER, "PEER"}, row{ZLINK_CHANNEL, "CHANNEL"}}) {
        CAPTURE(peers);
        const context owner;
        socket one{owner, own};
        zmtp_peer from{one.bind(transport::tcp)};
        from.shake_hands(peers);
        const auto sends_long_ones = [&](int count) {
            for (int number = 0; number < count; ++number) {
                REQUIRE(from.send_frame(1, "several"));
                REQUIRE(from.send_frame(1, std::string(300, 'x').substr(0, 200)));
                REQUIRE(from.send_frame(0, "frames"));
            }
        };
        const auto dropped = [&] {
            std::uint64_t count = 0;
            std::size_t size = sizeof count;
            REQUIRE(zlink_getsockopt(one, ZLINK_DROPPED, &count, &size) == 0);
            return count;
        };

        sends_long_ones(2);
        REQUIRE(from.send_frame(0, "one frame"));
        CHECK(one.recv() == message{"one frame"});
        CHECK(dropped() == 2);
        sends_long_ones(1);
        REQUIRE(from.send_frame(0, "another"));
        CHECK(one.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        CHECK(one.recv_frame() == "another");
        sends_long_ones(3);
        REQUIRE(from.send_frame(0, "into a message"));
        frame into{"before"};
        REQUIRE(zlink_msg_recv(into.get(), one, 0) == 14);
        CHECK(into.text() == "into a message");
        CHECK(zlink_msg_more(into.get()) == 0);
        CHECK(dropped() == 6);
        sends_long_ones(1);
        wait_until(owner, [&] {
            CHECK(one.recv_error() == EAGAIN);
            return dropped() == 7;
        });
    }
}

TEST_CASE("scatter, gather: each message reaches one of the receivers, in turn") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket scatter{owner, ZLINK_SCATTER};
        std::vector<socket> gathers;
        for (int index = 0; index < 3; ++index) {
            scatter.connect(gathers.emplace_back(owner, ZLINK_GATHER).bind(over.via));
        }
        for (int number = 0; number < 30; ++number) {
            REQUIRE(scatter.send(std::to_string(number)) == ok);
        }
        for (int number = 0; number < 30; ++number) {
            CHECK(gathers[number % 3].recv() == message{std::to_string(number)});
        }
    }
}

TEST_CASE("channel: two sockets talk to each other") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket one{owner, ZLINK_CHANNEL};
        socket other{owner, ZLINK_CHANNEL};
        other.connect(one.bind(over.via));
        REQUIRE(other.send("ping") == ok);
        CHECK(one.recv() == message{"ping"});
        REQUIRE(one.send("pong") == ok);
        CHECK(other.recv() == message{"pong"});
    }
}

TEST_CASE("client: sends to its servers in turn and receives from both") {
    const context owner;
    socket client{owner, ZLINK_CLIENT};
    std::vector<socket> servers;
    for (int index = 0; index < 2; ++index) {
        client.connect(servers.emplace_back(owner, ZLINK_SERVER).bind(transport::inproc));
    }
    for (int number = 0; number < 4; ++number) {
        REQUIRE(client.send(std::to_string(number)) == ok);
        const numbered got = recv_numbered(servers[number % 2]);
        CHECK(got.content == std::to_string(number));
        REQUIRE(send_to(servers[number % 2], got.from, "re: " + got.content) == ok);
        CHECK(client.recv() == message{"re: " + std::to_string(number)});
    }
}

TEST_CASE("radio: a dish receives the groups that it joined, and no others") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket radio{owner, ZLINK_RADIO};
        const std::string endpoint = radio.bind(over.via);
        socket news{owner, ZLINK_DISH};
        socket both{owner, ZLINK_DISH};
        REQUIRE(zlink_join(news, "news") == 0);
        news.connect(endpoint);
        both.connect(endpoint);
        REQUIRE(zlink_join(both, "news") == 0);
        await_join(owner, radio, both, "news");
        await_join(owner, radio, news, "news");
        REQUIRE(zlink_join(both, "sports") == 0);
        await_join(owner, radio, both, "sports");
        while (news.poll(ZLINK_POLLIN, moment) != 0) {
            recv_grouped(news);
        }

        CHECK(publish(radio, "sports", "1") == ok);
        CHECK(publish(radio, "news", "2") == ok);
        CHECK(publish(radio, "new", "a prefix is another group") == ok);
        CHECK(publish(radio, "newspaper", "and so is a longer one") == ok);
        CHECK(publish(radio, nullptr, "no group") == ok);
        CHECK(publish(radio, "news", std::string(9000, '3')) == ok);

        CHECK(recv_grouped(both) == "sports: 1");
        CHECK(recv_grouped(both) == "news: 2");
        CHECK(recv_grouped(both) == "news: " + std::string(9000, '3'));
        CHECK(recv_grouped(news) == "news: 2");
        CHECK(recv_grouped(news) == "news: " + std::string(9000, '3'));
        CHECK(news.recv_error() == EAGAIN);
        CHECK(news.events() == ZLINK_POLLOUT);
    }
}

TEST_CASE("dish: a group that it left is not received any more, even what has arrived") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket radio{owner, ZLINK_RADIO};
        socket dish{owner, ZLINK_DISH};
        REQUIRE(zlink_join(dish, "a") == 0);
        REQUIRE(zlink_join(dish, "b") == 0);
        dish.connect(radio.bind(over.via));
        await_join(owner, radio, dish, "a");
        await_join(owner, radio, dish, "b");
        REQUIRE(publish(radio, "a", "1") == ok);
        REQUIRE(publish(radio, "b", "2") == ok);
        wait_until(owner, [&] { return (dish.events() & ZLINK_POLLIN) != 0; });

        REQUIRE(zlink_leave(dish, "a") == 0);

        CHECK(recv_grouped(dish) == "b: 2"); // Although ZLINK_EVENTS has found the other.
        wait_until(owner, [&] {
            REQUIRE(publish(radio, "a", "3") == ok);
            REQUIRE(publish(radio, "b", "4") == ok);
            return recv_grouped(dish) == "b: 4";
        });
    }
}

TEST_CASE("dish: the name of a group has at most 255 bytes, and is joined once") {
    const context owner;
    socket dish{owner, ZLINK_DISH};
    const std::string longest(255, 'g');
    CHECK(zlink_join(dish, longest.c_str()) == 0);
    CHECK(error_of(zlink_join(dish, longest.c_str())) == EINVAL);
    CHECK(error_of(zlink_join(dish, (longest + "g").c_str())) == EINVAL);
    CHECK(error_of(zlink_join(dish, nullptr)) == EINVAL);
    CHECK(error_of(zlink_leave(dish, "never joined")) == EINVAL);
    CHECK(error_of(zlink_leave(dish, nullptr)) == EINVAL);
    CHECK(zlink_leave(dish, longest.c_str()) == 0);
    CHECK(error_of(zlink_leave(dish, longest.c_str())) == EINVAL);
    CHECK(zlink_join(dish, "") == 0);
    socket sub{owner, ZLINK_SUB};
    CHECK(error_of(zlink_join(sub, "group")) == ENOTSUP);
    CHECK(error_of(zlink_leave(sub, "group")) == ENOTSUP);
    CHECK(error_of(zlink_join(nullptr, "group")) == ENOTSOCK);
    CHECK(dish.get(ZLINK_LINGER) == 0);
}

TEST_CASE("drafts: zlink_error_text describes why a group or peer was refused") {
    const context owner;
    socket dish{owner, ZLINK_DISH};
    const auto said = [](int failed) {
        CHECK(failed != 0);
        return std::string{zlink_error_text()};
    };
    REQUIRE(zlink_join(dish, "a") == 0);
    CHECK(said(zlink_join(dish, "a")) == "a: the group was joined already");
    CHECK(said(zlink_leave(dish, "b")) == "b: the group was not joined");
    CHECK(said(zlink_join(dish, std::string(256, 'g').c_str()))
              .ends_with(": a group has at most 255 bytes, not 256"));
    CHECK(said(zlink_join(dish, nullptr)) == "the group is a null pointer");
    CHECK(said(zlink_join(nullptr, "a")) == "a: not a socket, or a closed one");
    REQUIRE(zlink_leave(dish, "a") == 0);
    CHECK(std::string{zlink_error_text()}.empty());
    socket server{owner, ZLINK_SERVER};
    CHECK(said(zlink_join(server, "a")) == "a: only a ZLINK_DISH joins groups");
    CHECK(zlink_connect_peer(server, "inproc://x") == 0);
    CHECK(std::string{zlink_error_text()} ==
          "inproc://x: zlink_connect_peer is for ZLINK_PEER sockets only");
}

TEST_CASE("dish: joins its groups again when the connection was lost") {
    const context owner;
    socket dish{owner, ZLINK_DISH};
    dish.set(ZLINK_RECONNECT_IVL, 1);
    std::string endpoint;
    {
        socket radio{owner, ZLINK_RADIO};
        endpoint = radio.bind(transport::tcp);
        REQUIRE(zlink_join(dish, "kept") == 0);
        REQUIRE(zlink_join(dish, "left") == 0);
        dish.connect(endpoint);
        await_join(owner, radio, dish, "kept");
        REQUIRE(zlink_leave(dish, "left") == 0);
    }

    socket radio{owner, ZLINK_RADIO};
    wait_until(owner, [&] { return radio.try_bind(endpoint) == ok; });
    await_join(owner, radio, dish, "kept");

    REQUIRE(publish(radio, "left", "1") == ok);
    REQUIRE(publish(radio, "kept", "2") == ok);
    CHECK(recv_grouped(dish) == "kept: 2");
}

TEST_CASE("radio: drops messages for a dish that is full, and only for that") {
    const context owner;
    socket radio{owner, ZLINK_RADIO};
    radio.set(ZLINK_SNDHWM, 10);
    socket slow{owner, ZLINK_DISH};
    socket fast{owner, ZLINK_DISH};
    for (socket* const each : {&slow, &fast}) {
        each->set(ZLINK_RCVHWM, 10);
        REQUIRE(zlink_join(*each, "g") == 0);
        each->connect(radio.bind(transport::inproc));
    }
    for (int number = 0; number < 100; ++number) {
        REQUIRE(publish(radio, "g", std::to_string(number)) == ok);
        CHECK(recv_grouped(fast) == "g: " + std::to_string(number));
    }
    for (int number = 0; number < 20; ++number) {
        CHECK(recv_grouped(slow) == "g: " + std::to_string(number));
    }
    CHECK(slow.recv_error() == EAGAIN);

    radio.set(ZLINK_XPUB_NODROP, 1);
    int sent = 0;
    while (publish(radio, "g", "x", ZLINK_DONTWAIT) == ok) {
        REQUIRE(++sent < 1000);
    }
    CHECK(zlink_errno() == EAGAIN);
    CHECK(sent == 20);
}

TEST_CASE("radio: ignores what a hostile peer sends, and still serves it") {
    const context owner;
    socket radio{owner, ZLINK_RADIO};
    const std::string endpoint = radio.bind(transport::tcp);
    socket dish{owner, ZLINK_DISH};
    REQUIRE(zlink_join(dish, "g") == 0);
    dish.connect(endpoint);
    zmtp_peer from{endpoint};
    from.shake_hands("DISH");
    const auto command = [](std::string_view name, std::string_view group) {
        return std::string(1, static_cast<char>(name.size())).append(name).append(group);
    };
    REQUIRE(from.send_frame(4, command("JOIN", std::string(200, 'l'))));
    REQUIRE(from.send_frame(4, command("JOIN", std::string_view{"g\0h", 3})));
    REQUIRE(from.send_frame(4, command("LEAVE", "never joined")));
    REQUIRE(from.send_frame(4, command("JOIN", "")));
    REQUIRE(from.send_frame(4, command("SUBSCRIBE", "g")));
    REQUIRE(from.send_frame(0, "a message"));
    REQUIRE(from.send_frame(1, "a longer"));
    REQUIRE(from.send_frame(0, "message"));
    for (int number = 0; number < 1000; ++number) {
        REQUIRE(from.send_frame(4, command("JOIN", "many" + std::to_string(number))));
    }
    REQUIRE(from.send_frame(4, command("JOIN", "last")));
    await_join(owner, radio, dish, "g");

    wait_until(owner, [&] {
        publish(radio, "last", "joined?");
        return from.has_bytes();
    });
    const auto group = from.recv_frame();
    CHECK(group.flags == 1);
    CHECK(group.body == "last");
    CHECK(from.recv_frame().body == "joined?");
    REQUIRE(publish(radio, "g", "for the dish") == ok);
    CHECK(recv_grouped(dish) == "g: for the dish");
}

TEST_CASE("dish: drops what is no message of a group") {
    const context owner;
    socket dish{owner, ZLINK_DISH};
    REQUIRE(zlink_join(dish, "g") == 0);
    zmtp_peer from{dish.bind(transport::tcp)};
    from.shake_hands("RADIO");
    wait_until(owner, [&] {
        dish.events();
        return from.has_bytes();
    });
    const auto join = from.recv_frame();
    CHECK(join.flags == 4);
    CHECK(join.body == "\4JOINg");

    REQUIRE(from.send_frame(0, "g")); // No content.
    REQUIRE(from.send_frame(1, "g"));
    REQUIRE(from.send_frame(1, "content"));
    REQUIRE(from.send_frame(0, "and more"));
    REQUIRE(from.send_frame(1, std::string(256, 'g'))); // Too long for a group.
    REQUIRE(from.send_frame(0, "content"));
    REQUIRE(from.send_frame(1, "h")); // Not joined.
    REQUIRE(from.send_frame(0, "content"));
    REQUIRE(from.send_frame(1, "g"));
    REQUIRE(from.send_frame(0, "good"));

    CHECK(recv_grouped(dish) == "g: good");
    REQUIRE(from.send_frame(1, "g"));
    REQUIRE(from.send_frame(0, "into a buffer"));
    CHECK(dish.recv() == message{"into a buffer"});
}

TEST_CASE("peer: both sides address each other by numbers") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket one{owner, ZLINK_PEER};
        socket other{owner, ZLINK_PEER};
        const std::uint32_t to_one = zlink_connect_peer(other, one.bind(over.via).c_str());
        REQUIRE(to_one != 0);

        REQUIRE(send_to(other, to_one, "ping") == ok);
        const numbered got = recv_numbered(one);
        CHECK(got.content == "ping");
        REQUIRE(send_to(one, got.from, "pong") == ok);
        const numbered answer = recv_numbered(other);
        CHECK(answer.content == "pong");
        CHECK(answer.from == to_one);
    }
}

TEST_CASE("peer: connect_peer says why it fails") {
    const context owner;
    socket server{owner, ZLINK_SERVER};
    CHECK(zlink_connect_peer(server, "tcp://127.0.0.1:1") == 0);
    CHECK(zlink_errno() == ENOTSUP);
    socket one{owner, ZLINK_PEER};
    CHECK(zlink_connect_peer(one, "nonsense") == 0);
    CHECK(zlink_errno() == EINVAL);
    CHECK(zlink_connect_peer(one, nullptr) == 0);
    CHECK(zlink_errno() == EINVAL);
    CHECK(zlink_connect_peer(nullptr, "tcp://127.0.0.1:1") == 0);
    CHECK(zlink_errno() == ENOTSOCK);
    one.set(ZLINK_IMMEDIATE, 1);
    CHECK(zlink_connect_peer(one, "tcp://127.0.0.1:1") == 0);
    CHECK(zlink_errno() == EFAULT);
}

TEST_CASE("peer: one peer is disconnected, the others stay") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        server.set(ZLINK_LINGER, -1);
        const std::string endpoint = server.bind(over.via);
        socket stays{owner, ZLINK_CLIENT};
        socket goes{owner, ZLINK_CLIENT};
        goes.set(ZLINK_RECONNECT_IVL, -1);
        std::map<std::string, std::uint32_t> numbers;
        for (const auto& [client, name] : {std::pair{&stays, "stays"}, std::pair{&goes, "goes"}}) {
            client->connect(endpoint);
            REQUIRE(client->send(name) == ok);
            const numbered got = recv_numbered(server);
            numbers[got.content] = got.from;
        }
        REQUIRE(send_to(server, numbers["goes"], "farewell") == ok);

        REQUIRE(zlink_disconnect_peer(server, numbers["goes"]) == 0);

        CHECK(send_to(server, numbers["goes"], "x") == EHOSTUNREACH);
        CHECK(error_of(zlink_disconnect_peer(server, numbers["goes"])) == EHOSTUNREACH);
        CHECK(goes.recv() == message{"farewell"});
        wait_until(owner, [&] { return goes.send("x", ZLINK_DONTWAIT) == EAGAIN; });
        REQUIRE(send_to(server, numbers["stays"], "still there") == ok);
        CHECK(stays.recv() == message{"still there"});
        REQUIRE(stays.send("yes") == ok);
        CHECK(server.recv() == message{"yes"});
    }
}

TEST_CASE("peer: disconnecting a peer that was connected to ends the connect call") {
    const context owner;
    socket one{owner, ZLINK_PEER};
    const std::string endpoint = one.bind(transport::tcp);
    socket other{owner, ZLINK_PEER};
    other.set(ZLINK_RECONNECT_IVL, 1);
    const std::uint32_t number = zlink_connect_peer(other, endpoint.c_str());
    REQUIRE(send_to(other, number, "x") == ok);
    const std::uint32_t from = recv_numbered(one).from;

    REQUIRE(zlink_disconnect_peer(other, number) == 0);

    wait_until(owner, [&] { return send_to(one, from, "x") == EHOSTUNREACH; });
    CHECK(other.disconnect(endpoint) == ENOENT);
    CHECK(error_of(zlink_disconnect_peer(one, 0)) == EHOSTUNREACH);
    socket client{owner, ZLINK_CLIENT};
    CHECK(error_of(zlink_disconnect_peer(client, 1)) == ENOTSUP);
    CHECK(error_of(zlink_disconnect_peer(nullptr, 1)) == ENOTSOCK);
}

TEST_CASE("router: tells whether a peer has room") {
    const context owner;
    socket router{owner, ZLINK_ROUTER};
    router.set(ZLINK_SNDHWM, 1);
    socket dealer{owner, ZLINK_DEALER};
    dealer.set(ZLINK_ROUTING_ID, "d").set(ZLINK_RCVHWM, 1);
    dealer.connect(router.bind(transport::inproc));
    REQUIRE(dealer.send("x") == ok);
    router.recv();

    CHECK(zlink_socket_get_peer_state(router, "d", 1) == ZLINK_POLLOUT);
    REQUIRE(router.send(message{"d", "1"}) == ok);
    REQUIRE(router.send(message{"d", "2"}) == ok);
    CHECK(zlink_socket_get_peer_state(router, "d", 1) == 0);
    dealer.recv();
    dealer.recv();
    CHECK(zlink_socket_get_peer_state(router, "d", 1) == ZLINK_POLLOUT);
    CHECK(error_of(zlink_socket_get_peer_state(router, "e", 1)) == EHOSTUNREACH);
    CHECK(error_of(zlink_socket_get_peer_state(router, nullptr, 1)) == EINVAL);
    CHECK(error_of(zlink_socket_get_peer_state(dealer, "d", 1)) == ENOTSUP);
}

TEST_CASE("message: its group and number go where its content goes") {
    frame one{"a content of more than forty-eight bytes is in a block"};
    const void* const data = zlink_msg_data(one.get());
    CHECK(zlink_msg_group(one.get()) == std::string{});
    const std::string longest(255, 'g');
    CHECK(error_of(zlink_msg_set_group(one.get(), (longest + "g").c_str())) == EINVAL);
    CHECK(error_of(zlink_msg_set_group(one.get(), nullptr)) == EINVAL);
    REQUIRE(zlink_msg_set_group(one.get(), longest.c_str()) == 0);
    REQUIRE(zlink_msg_set_routing_id(one.get(), UINT32_MAX) == 0);
    CHECK(zlink_msg_data(one.get()) == data);

    frame copy;
    REQUIRE(zlink_msg_copy(copy.get(), one.get()) == 0);
    frame moved;
    REQUIRE(zlink_msg_move(moved.get(), one.get()) == 0);
    CHECK(zlink_msg_group(one.get()) == std::string{});
    CHECK(zlink_msg_routing_id(one.get()) == 0);
    REQUIRE(zlink_msg_set_group(copy.get(), "another") == 0);
    CHECK(zlink_msg_group(copy.get()) == std::string{"another"});
    REQUIRE(zlink_msg_set_group(copy.get(), "") == 0);
    CHECK(zlink_msg_group(copy.get()) == std::string{});
    CHECK(zlink_msg_group(moved.get()) == longest);
    CHECK(zlink_msg_routing_id(copy.get()) == UINT32_MAX);
    CHECK(copy.text() == moved.text());

    zlink_msg_t small;
    REQUIRE(zlink_msg_init_buffer(&small, "abc", 3) == 0);
    CHECK(std::memcmp(zlink_msg_data(&small), "abc", 3) == 0);
    void* const before = zlink_msg_data(&small);
    REQUIRE(zlink_msg_set_group(&small, "g") == 0);
    CHECK(zlink_msg_data(&small) == before);
    zlink_msg_close(&small);
    CHECK(error_of(zlink_msg_set_group(&small, "g")) == EFAULT);
    CHECK(error_of(zlink_msg_set_routing_id(&small, 1)) == EFAULT);
    CHECK(error_of(zlink_msg_init_buffer(&small, nullptr, 1)) == EFAULT);
    REQUIRE(zlink_msg_init_buffer(&small, nullptr, 0) == 0);
    zlink_msg_close(&small);
}

TEST_CASE("message: received into one with a group or number, has neither") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket pull{owner, ZLINK_PULL};
        socket push{owner, ZLINK_PUSH};
        push.connect(pull.bind(over.via));
        for (const std::size_t bytes : {3, 100, 10'000}) {
            frame into{"before"};
            REQUIRE(zlink_msg_set_group(into.get(), "group") == 0);
            REQUIRE(zlink_msg_set_routing_id(into.get(), 7) == 0);
            REQUIRE(push.send(std::string(bytes, 'x')) == ok);
            REQUIRE(zlink_msg_recv(into.get(), pull, 0) == static_cast<int>(bytes));
            CHECK(zlink_msg_group(into.get()) == std::string{});
            CHECK(zlink_msg_routing_id(into.get()) == 0);
        }
    }
}

TEST_CASE("message: received by a dish, knows its group and its connection") {
    const context owner;
    socket radio{owner, ZLINK_RADIO};
    socket dish{owner, ZLINK_DISH};
    REQUIRE(zlink_join(dish, "g") == 0);
    dish.connect(radio.bind(transport::tcp));
    await_join(owner, radio, dish, "g");
    REQUIRE(publish(radio, "g", "x") == ok);
    frame received;
    REQUIRE(zlink_msg_recv(received.get(), dish, 0) == 1);
    CHECK(zlink_msg_gets(received.get(), "Socket-Type") == std::string{"RADIO"});
    CHECK(zlink_msg_gets(received.get(), "Peer-Address") == std::string{"127.0.0.1"});
}

TEST_CASE("drafts: peers of another type are refused") {
    const context owner;
    socket server{owner, ZLINK_SERVER};
    zmtp_peer from{server.bind(transport::tcp)};
    from.shake_hands("DEALER");
    from.await_end();
}

#endif
