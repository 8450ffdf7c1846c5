// SPDX-License-Identifier: MPL-2.0
//
// Proxies, and the commands that control them. A proxy handles one command at a time, and before
// the next one it forwards the messages that are there: so the second answer to STATISTICS counts
// every message that came before the first request.
#include "fixture.hpp"
#include "payloads.hpp"

#include <csignal>
#include <cstdint>
#include <cstring>
#include <pthread.h>

using namespace api_test;

namespace {

/// An answer to STATISTICS: of each side the frames and bytes received, then sent.
using statistics = std::vector<std::uint64_t>;

statistics numbers_in(const message& answer) {
    statistics found;
    for (const std::string& each : answer.frames) {
        REQUIRE(each.size() == sizeof(std::uint64_t));
        std::memcpy(&found.emplace_back(), each.data(), each.size());
    }
    return found;
}

/// A DEALER on each side, a proxy between them, and a socket that controls it.
class steered_proxy {
public:
    explicit steered_proxy(const setting& over, int control_type = ZLINK_PAIR,
                           int orders_type = ZLINK_PAIR)
        : owner{over}, front{owner, ZLINK_DEALER}, back{owner, ZLINK_DEALER}, control{owner,
                                                                                      control_type},
          client{owner, ZLINK_DEALER}, server{owner, ZLINK_DEALER}, orders{owner, orders_type} {
        client.connect(front.bind(over.via));
        back_at = back.bind(over.via);
        server.connect(back_at);
        control_at = control.bind(over.via);
        orders.connect(control_at);
        // A wait of a call inside the proxy must not end the proxy.
        for (socket* const each : {&front, &back, &control}) {
            each->set(ZLINK_SNDTIMEO, -1).set(ZLINK_RCVTIMEO, -1);
        }
    }
    ~steered_proxy() {
        owner.shut_down();
        await_end();
    }

    void start(void* capture = nullptr) {
        thread_ = std::thread{[this, capture] {
            outcome_ = error_of(zlink_proxy_steerable(front, back, capture, control));
            front.close();
            back.close();
            control.close();
        }};
    }
    /// @return The error with which the proxy ended.
    int await_end() {
        if (thread_.joinable()) {
            thread_.join();
        }
        return outcome_;
    }

    statistics ask() {
        REQUIRE(orders.send("STATISTICS") == ok);
        return numbers_in(orders.recv());
    }
    /// The statistics, with all messages sent before, if they are forwarded.
    statistics ask_twice() {
        ask();
        return ask();
    }
    void pass(std::string_view text) {
        REQUIRE(client.send(text) == ok);
        CHECK(server.recv() == message{std::string{text}});
    }

    context owner;
    socket front;
    socket back;
    socket control;
    socket client;
    socket server;
    socket orders;
    std::string back_at;
    std::string control_at;

private:
    std::thread thread_;
    int outcome_ = -1;
};

const setting over_inproc{transport::inproc, 1};

} // namespace

TEST_CASE("proxy: statistics count the frames and bytes of each direction") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over};
        proxy.start();
        CHECK(proxy.ask() == statistics{0, 0, 0, 0, 0, 0, 0, 0});

        REQUIRE(proxy.client.send(message{"one", "two", "three"}) == ok);
        CHECK(proxy.server.recv() == message{"one", "two", "three"});
        CHECK(proxy.ask() == statistics{3, 11, 0, 0, 0, 0, 3, 11});

        REQUIRE(proxy.server.send(message{"", "reply"}) == ok);
        CHECK(proxy.client.recv() == message{"", "reply"});
        CHECK(proxy.ask() == statistics{3, 11, 2, 5, 2, 5, 3, 11});
    }
}

TEST_CASE("proxy: paused, it passes nothing either way, and resumed, what came meanwhile") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over};
        proxy.start();
        proxy.pass("before");

        REQUIRE(proxy.orders.send("PAUSE") == ok);
        const statistics at_pause = proxy.ask();
        REQUIRE(proxy.client.send("there") == ok);
        REQUIRE(proxy.server.send("back") == ok);
        for (int count = 0; count < 5; ++count) {
            CHECK(proxy.ask() == at_pause);
        }
        CHECK(proxy.server.recv_error() == EAGAIN);
        CHECK(proxy.client.recv_error() == EAGAIN);

        REQUIRE(proxy.orders.send("RESUME") == ok);
        CHECK(proxy.server.recv() == message{"there"});
        CHECK(proxy.client.recv() == message{"back"});
    }
}

TEST_CASE("proxy: pausing or resuming twice is as once") {
    steered_proxy proxy{over_inproc};
    proxy.start();
    REQUIRE(proxy.orders.send("RESUME") == ok);
    proxy.pass("resumed before any pause");
    REQUIRE(proxy.orders.send("PAUSE") == ok);
    REQUIRE(proxy.orders.send("PAUSE") == ok);
    const statistics at_pause = proxy.ask();
    REQUIRE(proxy.client.send("waits") == ok);
    CHECK(proxy.ask_twice() == at_pause);
    REQUIRE(proxy.orders.send("RESUME") == ok);
    CHECK(proxy.server.recv() == message{"waits"});
    REQUIRE(proxy.orders.send("RESUME") == ok);
    proxy.pass("resumed twice");
}

TEST_CASE("proxy: terminated, it returns 0, and its sockets are the application's again") {
    for (const setting& over : threaded_settings()) {
        for (const bool is_paused : {false, true}) {
            CAPTURE(over);
            CAPTURE(is_paused);
            const context owner{over};
            socket front{owner, ZLINK_DEALER};
            socket back{owner, ZLINK_DEALER};
            socket control{owner, ZLINK_PAIR};
            socket client{owner, ZLINK_DEALER};
            socket orders{owner, ZLINK_PAIR};
            client.connect(front.bind(over.via));
            back.bind(over.via);
            orders.connect(control.bind(over.via));
            if (is_paused) {
                REQUIRE(orders.send("PAUSE") == ok);
            }
            REQUIRE(orders.send("TERMINATE") == ok);
            REQUIRE(orders.send("of no proxy") == ok);

            CHECK(zlink_proxy_steerable(front, back, nullptr, control) == 0);

            CHECK(control.recv() == message{"of no proxy"});
            REQUIRE(client.send("hello") == ok);
            CHECK(front.recv() == message{"hello"});
        }
    }
}

TEST_CASE("proxy: a REP that takes the orders answers each of them") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over, ZLINK_REP, ZLINK_REQ};
        proxy.start();

        for (const std::string_view order : {"PAUSE", "RESUME", "pause", "", "PAUSE "}) {
            CAPTURE(order);
            REQUIRE(proxy.orders.send(order) == ok);
            CHECK(proxy.orders.recv() == message{""});
        }
        CHECK(proxy.ask() == statistics(8, 0));
        proxy.pass("not paused");
        REQUIRE(proxy.orders.send("TERMINATE") == ok);
        CHECK(proxy.orders.recv() == message{""});
        CHECK(proxy.await_end() == ok);
    }
}

TEST_CASE("proxy: an unknown command has no effect, and no answer") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over};
        proxy.start();

        for (const message& nonsense :
             {message{"nonsense"}, message{""}, message{"pause"}, message{"PAUSE "},
              message{std::string{"PAUSE\0", 6}}, message{"TERMINAT"}, message{"PAUSE", "more"},
              message{"more", "TERMINATE"}, message{"STATISTICS", "STATISTICS", "PAUSE"}}) {
            CAPTURE(nonsense);
            REQUIRE(proxy.orders.send(nonsense) == ok);
            // The next answer is the one to this.
            CHECK(proxy.ask().size() == 8);
            proxy.pass("goes on");
        }
    }
}

TEST_CASE("proxy: a REP's multipart message is no command, but is answered") {
    steered_proxy proxy{over_inproc, ZLINK_REP, ZLINK_REQ};
    proxy.start();
    for (const message& nonsense : {message{"PAUSE", "more"}, message{"more", "TERMINATE"}}) {
        CAPTURE(nonsense);
        REQUIRE(proxy.orders.send(nonsense) == ok);
        CHECK(proxy.orders.recv() == message{""});
        proxy.pass("goes on");
    }
}

TEST_CASE("proxy: a control that cannot send takes orders, but none that needs an answer") {
    for (const auto& [control_type, orders_type] :
         {std::pair{ZLINK_PULL, ZLINK_PUSH}, std::pair{ZLINK_SUB, ZLINK_XPUB}}) {
        CAPTURE(control_type);
        steered_proxy proxy{over_inproc, control_type, orders_type};
        if (control_type == ZLINK_SUB) {
            proxy.control.set(ZLINK_SUBSCRIBE, "");
            proxy.control.events(); // Makes the socket notice the peer, and subscribe.
            CHECK(proxy.orders.recv() == message{std::string{'\1'}});
        }
        proxy.start();
        proxy.pass("before");
        REQUIRE(proxy.orders.send("PAUSE") == ok);
        REQUIRE(proxy.orders.send("RESUME") == ok);
        proxy.pass("after");
        REQUIRE(proxy.orders.send("STATISTICS") == ok);
        CHECK(proxy.await_end() == ENOTSUP);
    }
}

TEST_CASE("proxy: goes on when its controller has gone, and obeys the next one") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over};
        proxy.start();
        CHECK(proxy.ask() == statistics(8, 0));

        proxy.orders.close();
        proxy.pass("nobody gives orders");
        proxy.orders = socket{proxy.owner, ZLINK_PAIR};
        proxy.orders.connect(proxy.control_at);

        CHECK(proxy.ask() == statistics{1, 19, 0, 0, 0, 0, 1, 19});
        REQUIRE(proxy.orders.send("TERMINATE") == ok);
        CHECK(proxy.await_end() == ok);
    }
}

TEST_CASE("proxy: goes on when its controller does not wait for the statistics") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over};
        proxy.orders.set(ZLINK_LINGER, patience);
        REQUIRE(proxy.orders.send("STATISTICS") == ok);
        REQUIRE(proxy.control.poll(ZLINK_POLLIN) == ZLINK_POLLIN);
        proxy.orders.close();
        wait_until(proxy.owner, [&] { return (proxy.control.events() & ZLINK_POLLOUT) == 0; });

        proxy.start();

        proxy.pass("goes on");
    }
}

TEST_CASE("proxy: goes on when its controller does not read the statistics") {
    steered_proxy proxy{over_inproc};
    proxy.control.set(ZLINK_SNDHWM, 1);
    proxy.orders.close();
    proxy.orders = socket{proxy.owner, ZLINK_PAIR};
    proxy.orders.set(ZLINK_RCVHWM, 1).connect(proxy.control_at);
    proxy.start();
    for (int count = 0; count < 100; ++count) {
        REQUIRE(proxy.orders.send("STATISTICS") == ok);
    }
    proxy.pass("goes on");

    // No answer lacks a frame.
    for (const statistics& told : {numbers_in(proxy.orders.recv()), proxy.ask_twice()}) {
        CHECK(told.size() == 8);
    }
}

TEST_CASE("proxy: answers while messages wait because no peer takes them") {
    steered_proxy proxy{over_inproc};
    proxy.server.close();
    wait_until(proxy.owner, [&] { return (proxy.back.events() & ZLINK_POLLOUT) == 0; });
    proxy.start();
    REQUIRE(proxy.client.send("waits") == ok);
    CHECK(proxy.ask_twice() == statistics(8, 0));

    proxy.server = socket{proxy.owner, ZLINK_DEALER};
    proxy.server.connect(proxy.back_at);
    CHECK(proxy.server.recv() == message{"waits"});
}

TEST_CASE("proxy: its capture socket gets each message of either way whole, and no orders") {
    for (const setting& over : threaded_settings()) {
        CAPTURE(over);
        steered_proxy proxy{over};
        socket capture{proxy.owner, ZLINK_PUSH};
        socket captured{proxy.owner, ZLINK_PULL};
        captured.connect(capture.bind(over.via));
        proxy.start(capture);

        REQUIRE(proxy.orders.send("PAUSE") == ok);
        REQUIRE(proxy.orders.send("RESUME") == ok);
        REQUIRE(proxy.client.send(message{"there", "", "more"}) == ok);
        CHECK(proxy.server.recv() == message{"there", "", "more"});
        CHECK(captured.recv() == message{"there", "", "more"});
        CHECK(proxy.ask().size() == 8);
        REQUIRE(proxy.server.send("back") == ok);
        CHECK(proxy.client.recv() == message{"back"});
        CHECK(captured.recv() == message{"back"});

        REQUIRE(proxy.orders.send("TERMINATE") == ok);
        CHECK(proxy.await_end() == ok);
        REQUIRE(capture.send("last") == ok);
        CHECK(captured.recv() == message{"last"});
    }
}

TEST_CASE("proxy: passes payloads of every size both ways, with a capture and without") {
    for (const bool has_capture : {false, true}) {
        for (const setting& over : threaded_settings()) {
            CAPTURE(has_capture);
            CAPTURE(over);
            steered_proxy proxy{over};
            socket capture{proxy.owner, ZLINK_PUSH};
            socket captured{proxy.owner, ZLINK_PULL};
            captured.connect(capture.bind(over.via));
            proxy.start(has_capture ? static_cast<void*>(capture) : nullptr);

            for (const std::string& each : every_payload()) {
                const message sent{each, "", each};
                REQUIRE(proxy.client.send(sent) == ok);
                const message received = proxy.server.recv();
                CHECK(received == sent);
                REQUIRE(proxy.server.send(received) == ok);
                CHECK(proxy.client.recv() == sent);
                if (has_capture) {
                    CHECK(captured.recv() == sent);
                    CHECK(captured.recv() == sent);
                }
            }
        }
    }
}

TEST_CASE("proxy: ends with its context, whether paused or not") {
    for (const setting& over : threaded_settings()) {
        for (const bool is_paused : {false, true}) {
            CAPTURE(over);
            CAPTURE(is_paused);
            steered_proxy proxy{over};
            proxy.start();
            if (is_paused) {
                REQUIRE(proxy.orders.send("PAUSE") == ok);
            }
            CHECK(proxy.ask().size() == 8);

            proxy.owner.shut_down();

            CHECK(proxy.await_end() == ETERM);
        }
    }
}

TEST_CASE("proxy: ends when the context of its control is shut down, or that of one side") {
    for (const std::size_t ended : {0U, 1U, 2U}) {
        CAPTURE(ended);
        std::array<context, 3> owners;
        socket front{owners[0], ZLINK_PULL};
        socket back{owners[1], ZLINK_PUSH};
        socket control{owners[2], ZLINK_PAIR};
        socket push{owners[0], ZLINK_PUSH};
        socket pull{owners[1], ZLINK_PULL};
        push.connect(front.bind(transport::inproc));
        pull.connect(back.bind(transport::inproc));
        control.bind(transport::inproc);
        std::jthread running{[&] {
            CHECK(error_of(zlink_proxy_steerable(front, back, nullptr, control)) == ETERM);
        }};
        REQUIRE(push.send("x") == ok);
        CHECK(pull.recv() == message{"x"});

        owners[ended].shut_down();
    }
}

TEST_CASE("proxy: is interrupted by a signal, paused or not") {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    struct sigaction before {};
    sigaction(SIGUSR1, &action, &before);
    for (const bool is_paused : {false, true}) {
        CAPTURE(is_paused);
        const context owner;
        socket front{owner, ZLINK_PULL};
        socket back{owner, ZLINK_PUSH};
        socket control{owner, ZLINK_PAIR};
        socket orders{owner, ZLINK_PAIR};
        orders.connect(control.bind(transport::inproc));
        if (is_paused) {
            REQUIRE(orders.send("PAUSE") == ok);
        }
        std::atomic<bool> is_over{false};
        std::jthread running{[&] {
            CHECK(error_of(zlink_proxy_steerable(front, back, nullptr, control)) == EINTR);
            is_over = true;
        }};
        // A signal that comes before the call blocks is lost, so several are sent.
        while (!is_over) {
            pthread_kill(running.native_handle(), SIGUSR1);
            std::this_thread::yield();
        }
    }
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("proxy: without a control it is zlink_proxy, and passes until its context is shut down") {
    for (const bool is_steerable : {false, true}) {
        CAPTURE(is_steerable);
        context owner;
        socket front{owner, ZLINK_DEALER};
        socket back{owner, ZLINK_DEALER};
        socket client{owner, ZLINK_DEALER};
        socket server{owner, ZLINK_DEALER};
        client.connect(front.bind(transport::inproc));
        server.connect(back.bind(transport::inproc));
        std::jthread running{[&] {
            const int given = is_steerable ? zlink_proxy_steerable(front, back, nullptr, nullptr)
                                           : zlink_proxy(front, back, nullptr);
            CHECK(error_of(given) == ETERM);
        }};
        REQUIRE(client.send("TERMINATE") == ok);
        CHECK(server.recv() == message{"TERMINATE"});
        REQUIRE(server.send("back") == ok);
        CHECK(client.recv() == message{"back"});
        owner.shut_down();
    }
}

TEST_CASE("proxy: one socket may be both sides, and gets back what it gives") {
    const context owner;
    socket mirror{owner, ZLINK_DEALER};
    socket control{owner, ZLINK_PAIR};
    socket client{owner, ZLINK_DEALER};
    socket orders{owner, ZLINK_PAIR};
    client.connect(mirror.bind(transport::inproc));
    orders.connect(control.bind(transport::inproc));
    std::jthread running{
        [&] { CHECK(zlink_proxy_steerable(mirror, mirror, nullptr, control) == 0); }};

    for (int count = 0; count < 3; ++count) {
        REQUIRE(client.send(message{"echo", "me"}) == ok);
        CHECK(client.recv() == message{"echo", "me"});
    }
    REQUIRE(orders.send("STATISTICS") == ok);
    CHECK(numbers_in(orders.recv()) == statistics{6, 18, 0, 0, 0, 0, 6, 18});
    REQUIRE(orders.send("TERMINATE") == ok);
}

TEST_CASE("proxy: what is no socket is refused, wherever it stands") {
    const context owner;
    socket front{owner, ZLINK_PULL};
    socket back{owner, ZLINK_PUSH};
    void* const closed = zlink_socket(owner, ZLINK_PAIR);
    REQUIRE(zlink_close(closed) == 0);

    CHECK(error_of(zlink_proxy_steerable(nullptr, back, nullptr, nullptr)) == EFAULT);
    CHECK(error_of(zlink_proxy_steerable(front, nullptr, nullptr, nullptr)) == EFAULT);
    CHECK(error_of(zlink_proxy(nullptr, back, nullptr)) == EFAULT);
    CHECK(error_of(zlink_proxy(front, nullptr, nullptr)) == EFAULT);
    CHECK(error_of(zlink_device(ZLINK_QUEUE, nullptr, back)) == EFAULT);
    CHECK(error_of(zlink_device(ZLINK_QUEUE, front, nullptr)) == EFAULT);
    for (void* const bad : {closed, static_cast<void*>(owner)}) {
        CHECK(error_of(zlink_proxy_steerable(bad, back, nullptr, nullptr)) == ENOTSOCK);
        CHECK(error_of(zlink_proxy_steerable(front, bad, nullptr, nullptr)) == ENOTSOCK);
        CHECK(error_of(zlink_proxy_steerable(front, back, bad, nullptr)) == ENOTSOCK);
        CHECK(error_of(zlink_proxy_steerable(front, back, nullptr, bad)) == ENOTSOCK);
        CHECK(error_of(zlink_proxy(front, back, bad)) == ENOTSOCK);
        CHECK(error_of(zlink_device(ZLINK_QUEUE, bad, back)) == ENOTSOCK);
        CHECK(error_of(zlink_device(ZLINK_QUEUE, front, bad)) == ENOTSOCK);
    }
}

TEST_CASE("device: of each kind passes both ways until its context is shut down") {
    for (const int kind : {ZLINK_STREAMER, ZLINK_FORWARDER, ZLINK_QUEUE, -1}) {
        CAPTURE(kind);
        context owner;
        socket front{owner, ZLINK_ROUTER};
        socket back{owner, ZLINK_DEALER};
        socket client{owner, ZLINK_REQ};
        socket server{owner, ZLINK_REP};
        client.connect(front.bind(transport::inproc));
        server.connect(back.bind(transport::inproc));
        std::jthread running{[&] { CHECK(error_of(zlink_device(kind, front, back)) == ETERM); }};

        REQUIRE(client.send(message{"question", "more"}) == ok);
        CHECK(server.recv() == message{"question", "more"});
        REQUIRE(server.send("answer") == ok);
        CHECK(client.recv() == message{"answer"});
        owner.shut_down();
    }
}
