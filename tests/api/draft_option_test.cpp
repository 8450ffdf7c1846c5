// SPDX-License-Identifier: MPL-2.0
//
// Options and events of libzmq's draft interface.
#include "draft_fixture.hpp"
#include "raw_peer.hpp"
#include "testing/certificates.hpp"
#include "watcher.hpp"
#include "zmtp_peer.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <list>
#include <string>
#include <vector>

using namespace api_test;

TEST_CASE("metadata: peers receive the properties of a socket") {
    for (const setting& over : network_settings()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_DEALER};
        socket client{owner, ZLINK_DEALER};
        client.set(ZLINK_METADATA, "X-hello:world");
        client.set(ZLINK_METADATA, "X-colons:a:b");
        client.set(ZLINK_METADATA, "X-hello:again");
        client.connect(server.bind(over.via));
        REQUIRE(client.send("x") == ok);
        frame received;
        REQUIRE(zlink_msg_recv(received.get(), server, 0) == 1);
        const auto property = [&](const char* name) {
            const char* const found = zlink_msg_gets(received.get(), name);
            return std::string{found != nullptr ? found : "none"};
        };
        CHECK(property("X-hello") == "world");
        CHECK(property("X-colons") == "a:b");
        CHECK(property("X-other") == "none");
    }
}

TEST_CASE("metadata: only X-NAME:VALUE, and not without end") {
    const context owner;
    socket pair{owner, ZLINK_PAIR};
    for (const std::string& bad :
         {std::string{}, std::string{"hello:world"}, std::string{"X-hello"},
          std::string{"X-hello:"}, "X-" + std::string(254, 'n') + ":v"}) {
        CAPTURE(bad);
        CHECK(error_of(zlink_setsockopt(pair, ZLINK_METADATA, bad.data(), bad.size())) == EINVAL);
    }
    CHECK(error_of(zlink_setsockopt(pair, ZLINK_METADATA, nullptr, 4)) == EINVAL);
    int count = 0;
    for (int error = ok; error == ok; ++count) {
        const std::string property = "X-" + std::to_string(count) + ":v";
        error = error_of(zlink_setsockopt(pair, ZLINK_METADATA, property.data(), property.size()));
    }
    CHECK(count == 129);
    socket other{owner, ZLINK_PAIR};
    other.set(ZLINK_METADATA, "X-n:" + std::string(32000, 'v'));
    const std::string large = "X-m:" + std::string(1000, 'v');
    CHECK(error_of(zlink_setsockopt(other, ZLINK_METADATA, large.data(), large.size())) == EINVAL);
    pair.connect(other.bind(transport::tcp));
    CHECK(pair.send("they connect all the same") == ok);
    CHECK(other.recv_frame() == "they connect all the same");
}

#ifndef ZLINK_BUILD_DRAFT_API

TEST_CASE("drafts: a build without them does not have their options") {
    const context owner;
    socket router{owner, ZLINK_ROUTER};
    for (const int option : {97, 101, 102, 110, 111, 113, 114}) {
        CAPTURE(option);
        const int one = 1;
        int value = 0;
        std::size_t bytes = sizeof value;
        CHECK(error_of(zlink_setsockopt(router, option, &one, sizeof one)) == EINVAL);
        CHECK(error_of(zlink_getsockopt(router, option, &value, &bytes)) == EINVAL);
    }
}

#else

namespace {

/// A message for option `by` of `target`.
void set_message(socket& target, int by, std::string_view content) {
    REQUIRE(zlink_setsockopt(target, by, content.data(), content.size()) == 0);
}

} // namespace

TEST_CASE("hello: is the first message of each connection, in both directions") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket router{owner, ZLINK_ROUTER};
        set_message(router, ZLINK_HELLO_MSG, "welcome");
        socket dealer{owner, ZLINK_DEALER};
        set_message(dealer, ZLINK_HELLO_MSG, std::string(1000, 'h'));
        dealer.set(ZLINK_ROUTING_ID, "client");
        const std::string endpoint = router.bind(over.via);
        dealer.connect(endpoint);
        REQUIRE(dealer.send("x") == ok);
        CHECK(router.recv() == message{"client", std::string(1000, 'h')});
        CHECK(router.recv() == message{"client", "x"});
        CHECK(dealer.recv_frame() == "welcome");

        // Another bound socket of a type without it says nothing.
        socket pull{owner, ZLINK_PULL};
        socket push{owner, ZLINK_PUSH};
        set_message(push, ZLINK_HELLO_MSG, "never");
        push.connect(pull.bind(over.via));
        REQUIRE(push.send("x") == ok);
        CHECK(pull.recv_frame() == "x");
    }
}

TEST_CASE("hello: over inproc also before the other side is bound; empty again it is none") {
    const context owner;
    socket client{owner, ZLINK_CLIENT};
    set_message(client, ZLINK_HELLO_MSG, "hello");
    client.connect("inproc://late");
    socket server{owner, ZLINK_SERVER};
    set_message(server, ZLINK_HELLO_MSG, "gone");
    set_message(server, ZLINK_HELLO_MSG, "");
    server.bind("inproc://late");
    CHECK(server.recv_frame() == "hello");
    REQUIRE(client.send("x") == ok);
    CHECK(server.recv_frame() == "x");
    CHECK(client.recv_error() == EAGAIN);
}

TEST_CASE("hello: a connection that is made again begins with it, too") {
    const context owner;
    socket dealer{owner, ZLINK_DEALER};
    dealer.set(ZLINK_RECONNECT_IVL, 1);
    set_message(dealer, ZLINK_HELLO_MSG, "hello");
    set_message(dealer, ZLINK_HICCUP_MSG, "hiccup");
    std::string endpoint;
    {
        socket first{owner, ZLINK_ROUTER};
        endpoint = first.bind(transport::tcp);
        dealer.connect(endpoint);
        REQUIRE(first.recv().frames.back() == "hello");
    }
    CHECK(dealer.recv_frame() == "hiccup");
    socket second{owner, ZLINK_ROUTER};
    wait_until(owner, [&] { return second.try_bind(endpoint) == ok; });
    CHECK(second.recv().frames.back() == "hello");
    REQUIRE(dealer.send("x") == ok);
    CHECK(second.recv().frames.back() == "x");
}

TEST_CASE("disconnect message: is the last one of a peer") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket server{owner, ZLINK_SERVER};
        set_message(server, ZLINK_DISCONNECT_MSG, "bye");
        const std::string endpoint = server.bind(over.via);
        {
            socket client{owner, ZLINK_CLIENT};
            client.set(ZLINK_LINGER, -1);
            client.connect(endpoint);
            REQUIRE(client.send("x") == ok);
            CHECK(server.recv_frame() == "x");
            REQUIRE(client.send("y") == ok);
        }
        CHECK(server.recv_frame() == "y");
        CHECK(server.recv_frame() == "bye");
        {
            socket client{owner, ZLINK_CLIENT};
            client.connect(endpoint);
            REQUIRE(client.send("x") == ok);
            CHECK(server.recv_frame() == "x");
            CHECK(client.disconnect(endpoint) == ok);
            CHECK(server.recv_frame() == "bye");
        }
        CHECK(server.recv_error() == EAGAIN);
    }
}

TEST_CASE("disconnect message: over inproc only that of the socket that was connected to") {
    const context owner;
    socket first{owner, ZLINK_SERVER};
    first.bind("inproc://name");
    socket client{owner, ZLINK_CLIENT};
    client.connect("inproc://name");
    REQUIRE(client.send("x") == ok);
    CHECK(first.recv_frame() == "x");
    first.unbind("inproc://name");
    socket second{owner, ZLINK_SERVER};
    set_message(second, ZLINK_DISCONNECT_MSG, "of another");
    second.bind("inproc://name");
    client.close();
    CHECK(first.poll(ZLINK_POLLIN, moment) == 0);
    CHECK(second.recv_error() == EAGAIN);
}

TEST_CASE("disconnect message: comes in place of a message that was cut off") {
    const context owner;
    socket router{owner, ZLINK_ROUTER};
    set_message(router, ZLINK_DISCONNECT_MSG, "bye");
    const std::string endpoint = router.bind(transport::tcp);
    {
        zmtp_peer peer{endpoint};
        peer.shake_hands("DEALER");
        peer.send_frame(1, "begun, but never ended");
    }
    const message got = router.recv();
    REQUIRE(got.frames.size() == 2);
    CHECK(got.frames[1] == "bye");
    CHECK(router.recv_error() == EAGAIN);
}

TEST_CASE("router notify: an empty message tells of each connection and its end") {
    for (const setting& over : network_settings()) {
        for (const int wanted : {ZLINK_NOTIFY_CONNECT, ZLINK_NOTIFY_DISCONNECT,
                                 ZLINK_NOTIFY_CONNECT | ZLINK_NOTIFY_DISCONNECT}) {
            CAPTURE(over);
            CAPTURE(wanted);
            const context owner{over};
            socket router{owner, ZLINK_ROUTER};
            router.set(ZLINK_ROUTER_NOTIFY, wanted);
            CHECK(router.get(ZLINK_ROUTER_NOTIFY) == wanted);
            const std::string endpoint = router.bind(over.via);
            {
                socket dealer{owner, ZLINK_DEALER};
                dealer.set(ZLINK_ROUTING_ID, "X").set(ZLINK_LINGER, -1);
                dealer.connect(endpoint);
                REQUIRE(dealer.send("hello") == ok);
                if ((wanted & ZLINK_NOTIFY_CONNECT) != 0) {
                    CHECK(router.recv() == message{"X", ""});
                }
                CHECK(router.recv() == message{"X", "hello"});
            }
            if ((wanted & ZLINK_NOTIFY_DISCONNECT) != 0) {
                CHECK(router.recv() == message{"X", ""});
            }
            owner.let_io_happen();
            CHECK(router.recv_error() == EAGAIN);
        }
    }
    const context owner;
    socket router{owner, ZLINK_ROUTER};
    const int bad = 4;
    CHECK(error_of(zlink_setsockopt(router, ZLINK_ROUTER_NOTIFY, &bad, sizeof bad)) == EINVAL);
    socket dealer{owner, ZLINK_DEALER};
    const int one = 1;
    CHECK(error_of(zlink_setsockopt(dealer, ZLINK_ROUTER_NOTIFY, &one, sizeof one)) == EINVAL);
}

TEST_CASE("notices: with too many that were not received no peer is accepted") {
    constexpr int departures_max = 1000; // limits::unreported_disconnects_max
    struct notices {
        std::function<void(socket&)> ask_for;
        int count_per_peer;
    };
    const notices all[] = {
        {[](socket& router) { router.set(ZLINK_ROUTER_NOTIFY, ZLINK_NOTIFY_CONNECT); }, 1},
        {[](socket& router) {
             router.set(ZLINK_ROUTER_NOTIFY, ZLINK_NOTIFY_CONNECT | ZLINK_NOTIFY_DISCONNECT);
         },
         2},
        {[](socket& router) { set_message(router, ZLINK_DISCONNECT_MSG, "bye"); }, 1}};
    for (const notices& each : all) {
        CAPTURE(each.count_per_peer);
        const context owner;
        socket router{owner, ZLINK_ROUTER};
        each.ask_for(router);
        watcher events{owner, router, ZLINK_EVENT_ACCEPT_FAILED};
        const std::string endpoint = router.bind(transport::tcp);
        for (int number = 0; number < departures_max; ++number) {
            zmtp_peer peer{endpoint};
            peer.shake_hands("DEALER");
        }
        // Some are accepted, as long as the ends of the last ones have not been noticed.
        std::list<zmtp_peer> late;
        wait_until(owner, [&] {
            REQUIRE(late.size() < departures_max);
            late.emplace_back(endpoint);
            return events.has_news();
        });
        CHECK(events.next().value == ENOBUFS);
        for (int number = 0; number < departures_max * each.count_per_peer; ++number) {
            CHECK(router.recv().frames.size() == 2);
        }
        CHECK(router.recv_error() == EAGAIN); // The last of them are looked at once more.
        late.back().shake_hands("DEALER");
    }
}

TEST_CASE("xsub: may pass on every unsubscription") {
    const context owner;
    socket xpub{owner, ZLINK_XPUB};
    xpub.set(ZLINK_XPUB_VERBOSER, 1);
    socket xsub{owner, ZLINK_XSUB};
    xsub.set(ZLINK_XSUB_VERBOSE_UNSUBSCRIBE, 1);
    xsub.connect(xpub.bind(transport::inproc));
    for (const std::string& sent :
         {std::string{"\1A"}, std::string{"\1A"}, std::string{"\0A", 2}, std::string{"\0A", 2}}) {
        REQUIRE(xsub.send(sent) == ok);
        CHECK(xpub.recv_frame() == sent);
    }
}

TEST_CASE("draft options: are kept, or reach the system") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    CHECK(push.get(ZLINK_IN_BATCH_SIZE) == 8192);
    push.set(ZLINK_IN_BATCH_SIZE, 1).set(ZLINK_OUT_BATCH_SIZE, 65536);
    CHECK(push.get(ZLINK_IN_BATCH_SIZE) == 1);
    CHECK(push.get(ZLINK_OUT_BATCH_SIZE) == 65536);
    const int none = 0;
    CHECK(error_of(zlink_setsockopt(push, ZLINK_IN_BATCH_SIZE, &none, sizeof none)) == EINVAL);
    push.set(ZLINK_SO_BUSY_POLL, 50);
    CHECK(push.get(ZLINK_SO_BUSY_POLL) == 50);
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::tcp));
    REQUIRE(push.send("x") == ok);
    CHECK(pull.recv_frame() == "x");
}

TEST_CASE("wss: the options of libzmq hold certificates and keys, not files") {
    const zlink::testing::temporary_folder folder;
    zlink::testing::authority ours{folder, "ours"};
    const zlink::testing::identity shown = ours.issue();
    const auto contents = [](const std::string& path) {
        std::ifstream file{path};
        return std::string{std::istreambuf_iterator<char>{file}, {}};
    };
    const context owner;
    socket server{owner, ZLINK_DEALER};
    server.set(ZLINK_WSS_CERT_PEM, contents(shown.certificate));
    server.set(ZLINK_WSS_KEY_PEM, contents(shown.key));
    socket client{owner, ZLINK_DEALER};
    client.set(ZLINK_WSS_TRUST_PEM, contents(ours.path()));
    client.set(ZLINK_WSS_HOSTNAME, "127.0.0.1");
    client.connect(server.bind("wss://127.0.0.1:*"));
    REQUIRE(client.send("x") == ok);
    CHECK(server.recv_frame() == "x");
    const int one = 1;
    CHECK(error_of(zlink_setsockopt(client, ZLINK_WSS_TRUST_SYSTEM, &one, sizeof one)) == ok);
    CHECK(client.text(ZLINK_TLS_CA).empty());
}

TEST_CASE("context options: may be texts") {
    const context owner;
    std::array<char, 16> text{};
    std::size_t bytes = text.size();
    CHECK(error_of(zlink_ctx_get_ext(owner, ZLINK_THREAD_NAME_PREFIX, text.data(), &bytes)) == ok);
    CHECK(bytes == 0);
    CHECK(error_of(zlink_ctx_set_ext(owner, ZLINK_THREAD_NAME_PREFIX, "games", 5)) == ok);
    bytes = text.size();
    CHECK(error_of(zlink_ctx_get_ext(owner, ZLINK_THREAD_NAME_PREFIX, text.data(), &bytes)) == ok);
    CHECK(std::string(text.data(), bytes) == "games");
    CHECK(zlink_ctx_get(owner, ZLINK_THREAD_NAME_PREFIX) == 0);
    const int number = 1234;
    CHECK(error_of(zlink_ctx_set_ext(owner, ZLINK_THREAD_NAME_PREFIX, &number, sizeof number)) ==
          ok);
    CHECK(zlink_ctx_get(owner, ZLINK_THREAD_NAME_PREFIX) == 1234);
    int read = 0;
    bytes = sizeof read;
    CHECK(error_of(zlink_ctx_get_ext(owner, ZLINK_MAX_SOCKETS, &read, &bytes)) == ok);
    CHECK(read == 1023);
    bytes = 2;
    CHECK(error_of(zlink_ctx_get_ext(owner, ZLINK_MAX_SOCKETS, &read, &bytes)) == EINVAL);
    CHECK(error_of(zlink_ctx_get_ext(owner, ZLINK_MAX_SOCKETS, nullptr, &bytes)) == EINVAL);
    CHECK(error_of(zlink_ctx_set_ext(owner, ZLINK_MAX_SOCKETS, "many of them", 12)) == EINVAL);
    CHECK(error_of(zlink_ctx_set_ext(owner, ZLINK_THREAD_NAME_PREFIX, "seventeen letters", 17)) ==
          EINVAL);
    CHECK(error_of(zlink_ctx_set_ext(owner, ZLINK_THREAD_NAME_PREFIX, nullptr, 3)) == EINVAL);
    CHECK(error_of(zlink_ctx_set_ext(nullptr, ZLINK_MAX_SOCKETS, &number, sizeof number)) ==
          EFAULT);
    CHECK(error_of(zlink_ctx_get_ext(nullptr, ZLINK_MAX_SOCKETS, &read, &bytes)) == EFAULT);

    constexpr std::string_view metrics = "http://127.0.0.1:*";
    REQUIRE(error_of(zlink_ctx_set_ext(owner, ZLINK_METRICS_ENDPOINT, metrics.data(),
                                       metrics.size())) == ok);
    std::array<char, 64> address{};
    bytes = address.size();
    CHECK(error_of(zlink_ctx_get_ext(owner, ZLINK_METRICS_ENDPOINT, address.data(), &bytes)) == ok);
    CHECK(std::string{address.data()}.starts_with("http://127.0.0.1:"));
}

namespace {

/// An event of version 2.
struct full_event {
    std::uint64_t what = 0;
    std::vector<std::uint64_t> values;
    std::string local;
    std::string peer;
};

full_event recv_event(socket& from) {
    const message got = from.recv();
    REQUIRE(got.frames.size() >= 5);
    const auto number = [&](std::size_t index) {
        std::uint64_t read = 0;
        REQUIRE(got.frames[index].size() == sizeof read);
        std::memcpy(&read, got.frames[index].data(), sizeof read);
        return read;
    };
    full_event made;
    made.what = number(0);
    REQUIRE(number(1) == got.frames.size() - 4);
    for (std::size_t index = 2; index < got.frames.size() - 2; ++index) {
        made.values.push_back(number(index));
    }
    made.local = got.frames[got.frames.size() - 2];
    made.peer = got.frames.back();
    return made;
}

full_event await_event(socket& from, std::uint64_t what) {
    while (true) {
        full_event next = recv_event(from);
        if (next.what == what) {
            return next;
        }
    }
}

} // namespace

TEST_CASE("monitor of version 2: names both ends, to readers of three types") {
    const struct {
        int type;
        int readers_type;
    } kinds[] = {{ZLINK_PAIR, ZLINK_PAIR}, {ZLINK_PUB, ZLINK_SUB}, {ZLINK_PUSH, ZLINK_PULL}};
    for (const transport via : {transport::tcp, transport::ipc, transport::ws}) {
        for (const auto& kind : kinds) {
            CAPTURE(kind.type);
            const context owner;
            const auto watch = [&](socket& watched, const char* name) {
                socket reader{owner, kind.readers_type};
                if (kind.readers_type == ZLINK_SUB) {
                    reader.set(ZLINK_SUBSCRIBE, "");
                }
                REQUIRE(error_of(zlink_socket_monitor_versioned(watched, name, ZLINK_EVENT_ALL_V2,
                                                                2, kind.type)) == ok);
                reader.connect(name);
                return reader;
            };
            socket server{owner, ZLINK_DEALER};
            socket server_events = watch(server, "inproc://server");
            socket client{owner, ZLINK_DEALER};
            socket client_events = watch(client, "inproc://client");
            const std::string endpoint = server.bind(via);
            CHECK(recv_event(server_events).local == endpoint);
            client.connect(endpoint);
            REQUIRE(client.send("x") == ok);
            CHECK(server.recv_frame() == "x");

            const full_event connected = await_event(client_events, ZLINK_EVENT_CONNECTED);
            CHECK(connected.values.size() == 1);
            CHECK(connected.peer == endpoint);
            const full_event accepted = await_event(server_events, ZLINK_EVENT_ACCEPTED);
            CHECK(accepted.local == endpoint);
            CHECK(accepted.peer == connected.local);
            for (socket* const events : {&client_events, &server_events}) {
                const full_event done = await_event(*events, ZLINK_EVENT_HANDSHAKE_SUCCEEDED);
                CHECK(done.local == (events == &client_events ? connected.local : endpoint));
                CHECK(done.peer == (events == &client_events ? endpoint : connected.local));
            }
            client.close();
            CHECK(await_event(client_events, ZLINK_EVENT_MONITOR_STOPPED).local.empty());
            CHECK(await_event(server_events, ZLINK_EVENT_DISCONNECTED).local == endpoint);
        }
    }
}

TEST_CASE("monitor of version 2: each subscriber gets all events, pullers share them") {
    const context owner;
    for (const int type : {ZLINK_PUB, ZLINK_PUSH}) {
        CAPTURE(type);
        socket watched{owner, ZLINK_PULL};
        REQUIRE(error_of(zlink_socket_monitor_versioned(watched, "inproc://events",
                                                        ZLINK_EVENT_LISTENING, 1, type)) == ok);
        std::vector<socket> readers;
        for (int index = 0; index < 2; ++index) {
            socket& added = readers.emplace_back(owner, type == ZLINK_PUB ? ZLINK_SUB : ZLINK_PULL);
            if (type == ZLINK_PUB) {
                added.set(ZLINK_SUBSCRIBE, "");
            }
            added.connect("inproc://events");
        }
        for (int index = 0; index < 4; ++index) {
            watched.bind(transport::tcp);
        }
        // The second reader may connect after the first events.
        const auto count = [&](socket& reader) {
            int found = 0;
            while (reader.poll(ZLINK_POLLIN, found == 0 ? patience : moment) != 0) {
                CHECK(reader.recv().frames.size() == 2);
                ++found;
            }
            return found;
        };
        const int first = count(readers[0]);
        if (type == ZLINK_PUB) {
            CHECK(first == 4);
        } else {
            CHECK(first < 4);
            CHECK(first + count(readers[1]) == 4);
        }
    }
}

TEST_CASE("monitor of version 2: reports the messages that wait in queues") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    CHECK(error_of(zlink_socket_monitor_pipes_stats(push)) == EINVAL);
    REQUIRE(error_of(zlink_socket_monitor_versioned(push, "inproc://events",
                                                    ZLINK_EVENT_PIPES_STATS, 2, ZLINK_PAIR)) == ok);
    CHECK(error_of(zlink_socket_monitor_pipes_stats(push)) == EAGAIN);
    socket events{owner, ZLINK_PAIR};
    events.connect("inproc://events");
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::inproc));
    for (int index = 0; index < 7; ++index) {
        REQUIRE(push.send("x") == ok);
    }
    CHECK(error_of(zlink_socket_monitor_pipes_stats(push)) == ok);
    const full_event first = recv_event(events);
    CHECK(first.what == ZLINK_EVENT_PIPES_STATS);
    CHECK(first.values == std::vector<std::uint64_t>{7, 0});
    CHECK(error_of(zlink_socket_monitor_pipes_stats(nullptr)) == ENOTSOCK);

    push.disconnect(pull.last_endpoint());
    const std::string endpoint = push.bind(transport::tcp);
    pull.connect(endpoint);
    while (pull.poll(ZLINK_POLLIN, moment) != 0) { // What came over inproc.
        pull.recv();
    }
    REQUIRE(push.send("x") == ok);
    CHECK(pull.recv_frame() == "x");
    REQUIRE(error_of(zlink_socket_monitor_pipes_stats(push)) == ok);
    const full_event second = recv_event(events);
    CHECK(second.local == endpoint);
    CHECK(second.peer.starts_with("tcp://127.0.0.1:"));
}

TEST_CASE("monitor of version 2: refuses what makes no sense") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    const auto error = [&](const char* endpoint, std::uint64_t events, int version, int type) {
        return error_of(zlink_socket_monitor_versioned(push, endpoint, events, version, type));
    };
    constexpr std::uint64_t all = ZLINK_EVENT_ALL_V2;
    CHECK(error("inproc://x", all, 1, ZLINK_PAIR) == EINVAL);
    CHECK(error("inproc://x", all, 3, ZLINK_PAIR) == EINVAL);
    CHECK(error("inproc://x", all, 0, ZLINK_PAIR) == EINVAL);
    for (const int type : {ZLINK_DEALER, ZLINK_SUB, ZLINK_PULL, ZLINK_ROUTER, -1, 99}) {
        CHECK(error("inproc://x", all, 2, type) == EINVAL);
    }
    CHECK(error("tcp://127.0.0.1:*", all, 2, ZLINK_PAIR) == EPROTONOSUPPORT);
    CHECK(error("x", all, 2, ZLINK_PAIR) == EINVAL);
    CHECK(error("inproc://x", all, 2, ZLINK_PAIR) == ok);
    CHECK(error(nullptr, all, 2, ZLINK_PAIR) == ok);
    CHECK(error("inproc://x", UINT64_MAX, 2, ZLINK_PUB) == ok);
    CHECK(error_of(zlink_socket_monitor_versioned(nullptr, "inproc://y", all, 2, ZLINK_PAIR)) ==
          ENOTSOCK);
}

#endif
