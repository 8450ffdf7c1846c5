// SPDX-License-Identifier: MPL-2.0
#include "raw_peer.hpp"
#include "watcher.hpp"

using namespace api_test;

namespace {

int stop_monitor(socket& watched) {
    return error_of(zlink_socket_monitor(watched, nullptr, 0));
}

} // namespace

TEST_CASE("monitor: tells both sides of a connection from its beginning to its end") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_PULL};
        socket client{owner, ZLINK_PUSH};
        watcher of_server{owner, server};
        watcher of_client{owner, client};

        const std::string endpoint = server.bind(over.via);
        client.connect(endpoint);

        const int listening = of_server.expect(ZLINK_EVENT_LISTENING, endpoint);
        const int accepted = of_server.expect(ZLINK_EVENT_ACCEPTED, endpoint);
        CHECK(of_server.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, endpoint) == 0);
        if (over.via != transport::ipc) {
            CHECK(of_client.expect(ZLINK_EVENT_CONNECT_DELAYED, endpoint) == EINPROGRESS);
        }
        const int connected = of_client.expect(ZLINK_EVENT_CONNECTED, endpoint);
        CHECK(of_client.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, endpoint) == 0);

        CHECK(server.unbind(endpoint) == ok);

        CHECK(of_server.expect(ZLINK_EVENT_CLOSED, endpoint) == listening);
        CHECK(of_client.expect(ZLINK_EVENT_DISCONNECTED, endpoint) == connected);
        CHECK(of_client.expect(ZLINK_EVENT_CONNECT_RETRIED, endpoint) >= 100);
        CHECK(of_server.has_told_all(owner, server));
        CHECK(accepted != connected);
    }
}

TEST_CASE("monitor: tells a server that its client went") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_PULL};
        socket client{owner, ZLINK_PUSH};
        const std::string endpoint = server.bind(over.via);
        // The listener existed before.
        watcher watched{owner, server};
        client.connect(endpoint);
        const int accepted = watched.expect(ZLINK_EVENT_ACCEPTED, endpoint);
        watched.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, endpoint);

        client.close();

        CHECK(watched.expect(ZLINK_EVENT_DISCONNECTED, endpoint) == accepted);
    }
}

TEST_CASE("monitor: tells of each attempt to reach a peer that is not there") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket client{owner, ZLINK_PUSH};
        client.set(ZLINK_RECONNECT_IVL, 1);
        watcher watched{owner, client};
        const std::string endpoint = vacant(over.via);

        client.connect(endpoint);

        for (int attempt = 0; attempt < 3; ++attempt) {
            if (over.via != transport::ipc) {
                watched.expect(ZLINK_EVENT_CONNECT_DELAYED, endpoint);
            }
            watched.expect(ZLINK_EVENT_CLOSED, endpoint);
            CHECK(watched.expect(ZLINK_EVENT_CONNECT_RETRIED, endpoint) >= 1);
        }
    }
}

TEST_CASE("monitor: tells that a handshake took too long") {
    const context owner;
    const silent_listener silent;
    socket client{owner, ZLINK_PUSH};
    client.set(ZLINK_HANDSHAKE_IVL, 10ms);
    watcher watched{owner, client,
                    ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZLINK_EVENT_DISCONNECTED};

    client.connect(silent.endpoint());

    CHECK(watched.expect(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL, silent.endpoint()) == EAGAIN);
    watched.expect(ZLINK_EVENT_DISCONNECTED, silent.endpoint());
}

TEST_CASE("monitor: tells why an endpoint could not be bound") {
    const context owner;
    socket one{owner, ZLINK_PULL};
    socket other{owner, ZLINK_PULL};
    const std::string endpoint = one.bind(transport::tcp);
    watcher watched{owner, other};

    CHECK(other.try_bind(endpoint) == EADDRINUSE);
    CHECK(other.try_bind("ipc:///no/such/folder/socket") == ENOENT);

    // As in libzmq, without the transport.
    watched.expect(ZLINK_EVENT_CLOSED, "");
    CHECK(watched.expect(ZLINK_EVENT_BIND_FAILED, endpoint.substr(6)) == EADDRINUSE);
    watched.expect(ZLINK_EVENT_CLOSED, "");
    CHECK(watched.expect(ZLINK_EVENT_BIND_FAILED, "/no/such/folder/socket") == ENOENT);
}

TEST_CASE("monitor: tells only what it was asked for") {
    const context owner;
    socket server{owner, ZLINK_PULL};
    socket client{owner, ZLINK_PUSH};
    watcher watched{owner, server, ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
    const std::string endpoint = server.bind(transport::tcp);
    client.connect(endpoint);

    watched.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, endpoint);
    CHECK(watched.has_told_all(owner, server));
}

TEST_CASE("monitor: ends when it is stopped, replaced, or its socket closed, and says so") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket server{owner, ZLINK_PULL};
        watcher first{owner, server};
        watcher second{owner, server};
        CHECK(first.expect(ZLINK_EVENT_MONITOR_STOPPED, "") == 0);

        CHECK(stop_monitor(server) == ok);
        second.expect(ZLINK_EVENT_MONITOR_STOPPED, "");
        CHECK(stop_monitor(server) == ok);

        // The name is free at once.
        CHECK(error_of(zlink_socket_monitor(server, second.name().c_str(), ZLINK_EVENT_ALL)) == ok);
        watcher third{owner, server};
        server.close();
        third.expect(ZLINK_EVENT_MONITOR_STOPPED, "");
    }
}

TEST_CASE("monitor: may be followed by another reader") {
    const context owner;
    socket server{owner, ZLINK_PULL};
    socket reader{owner, ZLINK_PAIR};
    REQUIRE(zlink_socket_monitor(server, "inproc://monitor", ZLINK_EVENT_LISTENING) == 0);
    reader.connect("inproc://monitor");
    std::string endpoint = server.bind(transport::tcp);
    CHECK(reader.recv().frames[1] == endpoint);
    reader.close();

    reader = socket{owner, ZLINK_PAIR};
    reader.connect("inproc://monitor");

    wait_until(owner, [&] {
        endpoint = server.bind(transport::tcp);
        return reader.poll(ZLINK_POLLIN, 1ms) != 0;
    });
    CHECK(reader.recv().frames.size() == 2);
}

TEST_CASE("monitor: blocks no socket and keeps no more than its limit when it is not read") {
    for (const int io_threads : every_io_threads) {
        for (const bool is_connected : {false, true}) {
            CAPTURE(io_threads);
            CAPTURE(is_connected);
            const context owner{io_threads};
            socket server{owner, ZLINK_PULL};
            socket reader{owner, ZLINK_PAIR};
            reader.set(ZLINK_RCVHWM, 10);
            REQUIRE(zlink_socket_monitor(server, "inproc://monitor", ZLINK_EVENT_BIND_FAILED) == 0);
            if (is_connected) {
                reader.connect("inproc://monitor");
            }
            for (int count = 0; count < 3000; ++count) {
                CHECK(server.try_bind("tcp://192.0.2.1:5555") == EADDRNOTAVAIL);
            }

            if (!is_connected) {
                reader.connect("inproc://monitor");
            }

            const std::string behind = "192.0.2.1:5556";
            int count = 0;
            while (true) {
                if (reader.poll(ZLINK_POLLIN, 0ms) == 0) { // There is room for one more then.
                    CHECK(server.try_bind("tcp://" + behind) == EADDRNOTAVAIL);
                }
                if (reader.recv().frames[1] == behind) {
                    break;
                }
                REQUIRE(++count < 3000);
            }
            // Events that wait for room in the pipe come when there is room.
            CHECK(count >= 1000);
            CHECK(count <= (is_connected ? 1010 + 1000 : 1000));
        }
    }
}

TEST_CASE("monitor: endpoints and events that cannot be are refused") {
    const context owner;
    socket server{owner, ZLINK_PULL};
    socket other{owner, ZLINK_PAIR};
    const std::string taken = other.bind(transport::inproc);
    const auto error_at = [&](const char* endpoint, int events) {
        return error_of(zlink_socket_monitor(server, endpoint, events));
    };
    CHECK(error_at("nonsense", ZLINK_EVENT_ALL) == EINVAL);
    CHECK(error_at("tcp://127.0.0.1:*", ZLINK_EVENT_ALL) == EPROTONOSUPPORT);
    CHECK(error_at("nonsense://x", ZLINK_EVENT_ALL) == EPROTONOSUPPORT);
    CHECK(error_at(taken.c_str(), ZLINK_EVENT_ALL) == EADDRINUSE);
    CHECK(error_at("inproc://monitor", 0x10000) == EINVAL);
    CHECK(error_at("inproc://monitor", 0) == ok);
}

namespace {

/// A greeting of ZMTP 3.0.
std::string greeting(const std::string& mechanism) {
    std::string made("\xff\0\0\0\0\0\0\0\0\x7f\3\0", 12);
    made += mechanism;
    made.resize(64, '\0');
    return made;
}

/// A command, at most 255 bytes long.
std::string command(const std::string& name, const std::string& data) {
    const std::string body = std::string(1, static_cast<char>(name.size())) + name + data;
    return std::string("\4") + static_cast<char>(body.size()) + body;
}

std::string socket_type(const std::string& name) {
    return std::string("\x0bSocket-Type") + std::string("\0\0\0", 3) +
           static_cast<char>(name.size()) + name;
}

constexpr int no_detail = ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
constexpr int protocol = ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL;
constexpr int auth = ZLINK_EVENT_HANDSHAKE_FAILED_AUTH;

} // namespace

TEST_CASE("monitor: tells of each handshake that fails, whatever the peer speaks") {
    const std::string http = "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: somebody\r\n\r\n";
    const std::string tls = std::string("\x16\x03\x01\x02\x00\x01", 6) + std::string(512, 'r');
    const std::string older("\xff\0\0\0\0\0\0\0\1\x7f\1\5\0\0", 14);
    const std::string older_pub("\xff\0\0\0\0\0\0\0\1\x7f\1\1\0\0", 14);
    const struct {
        const char* mechanism; ///< The server's.
        std::string content;
        int what;
        int value;
    } cases[] = {
        {"NULL", http, protocol, ZLINK_PROTOCOL_ERROR_ZMTP_UNSPECIFIED},
        {"NULL", tls, protocol, ZLINK_PROTOCOL_ERROR_ZMTP_UNSPECIFIED},
        {"NULL", older_pub, protocol, ZLINK_PROTOCOL_ERROR_ZMTP_INVALID_METADATA},
        {"PLAIN", http, protocol, ZLINK_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH},
        {"PLAIN", tls, protocol, ZLINK_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH},
        {"PLAIN", older, protocol, ZLINK_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH},
        {"NULL", greeting("PLAIN"), protocol, ZLINK_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH},
        {"PLAIN", greeting("NULL"), protocol, ZLINK_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH},
        {"NULL", greeting("NULL") + command("READY", socket_type("PUB")), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_INVALID_METADATA},
        {"NULL", greeting("NULL") + command("READY", "\x7fx"), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_INVALID_METADATA},
        {"NULL", greeting("NULL") + command("HELLO", ""), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND},
        {"NULL", greeting("NULL") + std::string("\0\1x", 3), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND},
        {"PLAIN", greeting("PLAIN") + std::string("\0\1x", 3), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED},
        {"PLAIN", greeting("PLAIN") + command("HELLO", "\x9u"), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO},
        {"NULL",
         greeting("NULL") + command("ERROR", "\x03"
                                             "400"),
         auth, 400},
        {"NULL", greeting("NULL") + command("ERROR", "\4oops"), no_detail, EACCES},
        {"NULL", greeting("NULL") + command("ERROR", "\x9oops"), protocol,
         ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR},
        {"NULL", greeting("NULL").substr(0, 20), no_detail, EAGAIN},
        {"NULL", "", no_detail, EAGAIN},
    };
    for (const int io_threads : every_io_threads) {
        for (const auto& each : cases) {
            CAPTURE(io_threads);
            CAPTURE(each.mechanism);
            CAPTURE(each.content);
            const context owner{io_threads};
            socket server{owner, ZLINK_DEALER};
            server.set(ZLINK_PLAIN_SERVER, each.mechanism == std::string("PLAIN"));
            server.set(ZLINK_HANDSHAKE_IVL, each.value == EAGAIN ? moment : patience);
            watcher watched{owner, server,
                            no_detail | protocol | auth | ZLINK_EVENT_HANDSHAKE_SUCCEEDED};
            raw_peer peer{owner, server.bind(transport::tcp)};
            peer.send(each.content);
            const event told = watched.next();
            CHECK(told.what == each.what);
            CHECK(told.value == each.value);
            peer.await_end();
            CHECK(watched.has_told_all(owner, server));
        }
    }
}
