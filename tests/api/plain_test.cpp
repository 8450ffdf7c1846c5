// SPDX-License-Identifier: MPL-2.0
#include "watcher.hpp"
#include "zap_handler.hpp"

#include <atomic>
#include <cerrno>
#include <optional>
#include <unistd.h>

using namespace api_test;

namespace {

socket plain_server(const context& owner) {
    socket made{owner, ZLINK_ROUTER};
    made.set(ZLINK_PLAIN_SERVER, 1).set(ZLINK_ZAP_DOMAIN, "global");
    made.set(ZLINK_ROUTING_ID, "server");
    return made;
}

socket plain_client(const context& owner, std::string_view password = "secret") {
    socket made{owner, ZLINK_DEALER};
    made.set(ZLINK_PLAIN_USERNAME, "joe").set(ZLINK_PLAIN_PASSWORD, password);
    return made;
}

std::string property(frame& of, const char* name) {
    const char* const found = zlink_msg_gets(of.get(), name);
    return found != nullptr ? found : "none";
}

} // namespace

TEST_SUITE("security") {

    TEST_CASE("plain: a client with the password gets in, and messages tell its user") {
        for (const setting& chosen : network_settings()) {
            CAPTURE(chosen);
            context owner{chosen};
            context other{chosen.io_threads == 0 ? 1 : chosen.io_threads};
            zap_handler handler{
                owner, [](const message& question) {
                    const bool knows = question.frames.back() == "secret";
                    return std::vector<std::string>{knows ? "200" : "400", "", "user", ""};
                }};
            socket server = plain_server(owner);
            const std::string endpoint = server.bind(chosen.via);
            socket client = plain_client(other);
            client.connect(endpoint);
            client.send(message{"hello"});
            server.recv_frame();
            frame received;
            REQUIRE(zlink_msg_recv(received.get(), server, 0) == 5);
            CHECK(property(received, "User-Id") == "user");
            CHECK(property(received, "Socket-Type") == "DEALER");

            const auto& questions = handler.stop();
            REQUIRE(questions.size() == 1);
            const std::string address = chosen.via != transport::ipc
                                            ? "127.0.0.1"
                                            : "localhost:" + std::to_string(::getuid()) + ":" +
                                                  std::to_string(::getgid()) + ":" +
                                                  std::to_string(::getpid());
            CHECK(property(received, "Peer-Address") == address);
            CHECK(questions[0] ==
                  message{"", "1.0", "1", "global", address, "server", "PLAIN", "joe", "secret"});
        }
    }

    TEST_CASE("plain: a client with a wrong password, or none, is refused") {
        context owner;
        zap_handler handler{owner, always("400")};
        socket server = plain_server(owner);
        const std::string endpoint = server.bind(transport::tcp);
        socket client = plain_client(owner, "wrong");
        socket stranger{owner, ZLINK_DEALER};
        watcher watched{owner, server,
                        ZLINK_EVENT_HANDSHAKE_SUCCEEDED | ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                            ZLINK_EVENT_HANDSHAKE_FAILED_AUTH};
        for (const auto& [each, failure] :
             {std::pair{&client, ZLINK_EVENT_HANDSHAKE_FAILED_AUTH},
              std::pair{&stranger, ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL}}) {
            each->set(ZLINK_IMMEDIATE, 1).set(ZLINK_RECONNECT_IVL, -1);
            each->connect(endpoint);
            watched.expect(failure, endpoint);
            CHECK(each->send(message{"hello"}, ZLINK_DONTWAIT) == EAGAIN);
        }
        CHECK(server.recv_error() == EAGAIN);
    }

    TEST_CASE("plain: monitors on both sides tell that ZAP refused, and the client stays away") {
        context owner;
        zap_handler handler{owner, always("400")};
        socket server = plain_server(owner);
        socket client = plain_client(owner, "wrong");
        constexpr int endings =
            ZLINK_EVENT_HANDSHAKE_SUCCEEDED | ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
            ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZLINK_EVENT_HANDSHAKE_FAILED_AUTH |
            ZLINK_EVENT_DISCONNECTED | ZLINK_EVENT_CONNECT_RETRIED | ZLINK_EVENT_LISTENING |
            ZLINK_EVENT_ACCEPTED;
        watcher of_server{owner, server, endings};
        watcher of_client{owner, client, endings};
        const std::string endpoint = server.bind(transport::tcp);
        of_server.expect(ZLINK_EVENT_LISTENING, endpoint);
        client.connect(endpoint);
        of_server.expect(ZLINK_EVENT_ACCEPTED, endpoint);
        for (watcher* const each : {&of_server, &of_client}) {
            CHECK(each->expect(ZLINK_EVENT_HANDSHAKE_FAILED_AUTH, endpoint) == 400);
            each->expect(ZLINK_EVENT_DISCONNECTED, endpoint);
        }
        CHECK(of_client.is_silent_until_visited(owner, client));
        CHECK(of_server.is_silent_until_visited(owner, server));
    }

    TEST_CASE("plain: a monitor tells that there is no handler") {
        context owner;
        socket server = plain_server(owner);
        socket client = plain_client(owner);
        watcher watched{owner, server,
                        ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZLINK_EVENT_DISCONNECTED};
        const std::string endpoint = server.bind(transport::tcp);
        client.connect(endpoint);
        CHECK(watched.expect(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL, endpoint) == EFAULT);
        watched.expect(ZLINK_EVENT_DISCONNECTED, endpoint);
    }

    TEST_CASE("plain: without a handler no client gets in") {
        context owner;
        socket server = plain_server(owner);
        socket client = plain_client(owner);
        client.set(ZLINK_IMMEDIATE, 1);
        watcher watched{owner, server,
                        ZLINK_EVENT_HANDSHAKE_SUCCEEDED | ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        const std::string endpoint = server.bind(transport::tcp);
        client.connect(endpoint);
        CHECK(watched.expect(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL, endpoint) == EFAULT);
        CHECK(client.send(message{"hello"}, ZLINK_DONTWAIT) == EAGAIN);
    }

    TEST_CASE("zap: a handler that never answers does not delay the end of a context") {
        context owner;
        zap_handler handler{owner, [](const message&) { return std::vector<std::string>{}; }};
        socket server = plain_server(owner);
        socket client = plain_client(owner);
        client.set(ZLINK_HANDSHAKE_IVL, milliseconds{100});
        client.set(ZLINK_IMMEDIATE, 1);
        watcher watched{owner, client, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        client.connect(server.bind(transport::tcp));
        CHECK(watched.next().value == EAGAIN);
        CHECK(client.send(message{"hello"}, ZLINK_DONTWAIT) == EAGAIN);
        watched.end().close();
        server.close();
        client.close();
        handler.stop();
        owner.end();
    }

    TEST_CASE("zap: NULL with a domain asks, and without a handler does as if there were none") {
        for (const bool has_handler : {false, true}) {
            context owner;
            std::optional<zap_handler> handler;
            if (has_handler) {
                handler.emplace(owner, always("200", "anybody"));
            }
            socket server{owner, ZLINK_PULL};
            server.set(ZLINK_ZAP_DOMAIN, "global");
            socket client{owner, ZLINK_PUSH};
            client.connect(server.bind(transport::tcp));
            client.send(message{"hello"});
            frame received;
            REQUIRE(zlink_msg_recv(received.get(), server, 0) == 5);
            CHECK(property(received, "User-Id") == (has_handler ? "anybody" : "none"));
        }
    }

    TEST_CASE("zap: after a handler has gone no client gets in") {
        for (const setting& chosen : network_settings()) {
            for (const bool was_asked : {false, true}) {
                CAPTURE(chosen);
                CAPTURE(was_asked);
                context owner{chosen.io_threads == 0 ? 1 : chosen.io_threads};
                std::optional<zap_handler> handler;
                std::atomic<bool> is_asked{false};
                handler.emplace(owner, [&](const message&) {
                    is_asked = true;
                    return std::vector<std::string>{};
                });
                socket server{owner, ZLINK_PULL};
                server.set(ZLINK_ZAP_DOMAIN, "global");
                watcher watched{owner, server,
                                ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                    ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
                socket client{owner, ZLINK_PUSH};
                client.set(ZLINK_RECONNECT_IVL, 1);
                const std::string endpoint = server.bind(chosen.via);
                if (was_asked) {
                    client.connect(endpoint);
                    REQUIRE(client.send("secret") == ok);
                    wait_until(owner, [&] { return is_asked.load(); });
                    handler.reset();
                } else {
                    handler.reset();
                    client.connect(endpoint);
                    REQUIRE(client.send("secret") == ok);
                }
                for (int count = 0; count < 5; ++count) { // The client retries.
                    const event told = watched.next();
                    CHECK(told.what == ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
                    CHECK(told.value == EFAULT);
                }
                CHECK(server.recv_error() == EAGAIN);

                handler.emplace(owner, always("200"));
                CHECK(server.recv() == message{"secret"});
            }
        }
    }

    TEST_CASE("zap: a socket that cannot answer accepts no client") {
        const context owner;
        socket handler{owner, ZLINK_DEALER};
        handler.bind("inproc://zeromq.zap.01");
        socket server{owner, ZLINK_PULL};
        server.set(ZLINK_ZAP_DOMAIN, "global");
        watcher watched{owner, server, ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL};
        socket client{owner, ZLINK_PUSH};
        const std::string endpoint = server.bind(transport::tcp);
        client.connect(endpoint);
        CHECK(watched.expect(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL, endpoint) == EFAULT);
    }

} // TEST_SUITE
