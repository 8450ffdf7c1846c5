// SPDX-License-Identifier: MPL-2.0
//
// Sockets with Boost.Asio: every completion token, cancellation, and the ends of things.
#include <zlink/asio.hpp>

#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <doctest/doctest.h>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

namespace {

namespace net = boost::asio;
namespace za = zlink::asio;
using namespace std::chrono_literals;
using net::awaitable;
using net::use_awaitable;
using zlink::message;
using zlink::throws;

constexpr auto as_tuple = net::as_tuple(use_awaitable);

/// An io_context, and a sender and receiver on it.
struct pipeline {
    explicit pipeline(int io_threads = 1, const char* endpoint = "tcp://127.0.0.1:*")
        : owner(io_threads), receiver(loop, owner), sender(loop, owner) {
        receiver->set(zlink::option::linger, 0ms, throws);
        sender->set(zlink::option::linger, 0ms, throws);
        receiver->bind(endpoint, throws);
        sender->connect(receiver->last_endpoint(throws), throws);
    }

    /// Runs `what` to its end; the test ends with what it throws.
    void run(awaitable<void> what) {
        std::exception_ptr failed;
        net::co_spawn(loop, std::move(what), [&](std::exception_ptr thrown) { failed = thrown; });
        loop.restart();
        loop.run_for(20s);
        if (failed) {
            std::rethrow_exception(failed);
        }
    }

    zlink::context owner;
    net::io_context loop;
    za::pull_socket receiver;
    za::push_socket sender;
};

} // namespace

TEST_SUITE("asio") {

    TEST_CASE("coroutines send and receive") {
        for (const char* endpoint : {"tcp://127.0.0.1:*", "inproc://coroutines"}) {
            pipeline it{1, endpoint};
            int received = 0;
            net::co_spawn(
                it.loop,
                [&]() -> awaitable<void> {
                    for (int count = 0; count < 5000; ++count) {
                        CHECK(co_await it.sender.async_send(message{std::to_string(count)},
                                                            use_awaitable) != 0);
                    }
                },
                net::detached);
            it.run([](pipeline& on, int& count) -> awaitable<void> {
                for (; count < 5000; ++count) {
                    const message got = co_await on.receiver.async_receive(use_awaitable);
                    CHECK(got == std::to_string(count));
                }
            }(it, received));
            CHECK(received == 5000);
        }
    }

    TEST_CASE("callbacks, futures, deferred and default tokens") {
        pipeline it;
        std::string got;
        it.receiver.async_receive([&](za::error_code failed, message content) {
            CHECK(!failed);
            got = content.text();
        });
        it.sender.async_send(message{"callback"}, [](za::error_code failed, std::size_t bytes) {
            CHECK(!failed);
            CHECK(bytes == 8);
        });
        it.loop.run();
        CHECK(got == "callback");
        it.loop.restart();
        it.sender->send("future", throws);
        std::future<message> later = it.receiver.async_receive(net::use_future);
        it.loop.run();
        CHECK(later.get() == "future");
        it.loop.restart();
        it.sender->send("deferred", throws);
        auto operation = it.receiver.async_receive(net::deferred);
        std::move(operation)([&](za::error_code, message content) { got = content.text(); });
        it.loop.run();
        CHECK(got == "deferred");
        it.loop.restart();
        using socket = net::use_awaitable_t<>::as_default_on_t<za::pull_socket>;
        socket defaulted{it.loop.get_executor(), it.owner};
        defaulted->set(zlink::option::linger, 0ms, throws);
        defaulted->bind("inproc://defaulted", throws);
        it.sender->connect("inproc://defaulted", throws);
        net::co_spawn(
            it.loop,
            [&]() -> awaitable<void> {
                const message content = co_await defaulted.async_receive();
                got = content.text();
            },
            net::detached);
        for (int count = 0; count < 2; ++count) { // To each of its peers.
            it.sender->send("default", throws);
        }
        it.loop.run();
        CHECK(got == "default");
    }

    TEST_CASE("a message of several frames, a batch, and a message that is reused") {
        pipeline it;
        it.run([](pipeline& on) -> awaitable<void> {
            zlink::multipart two{"a", "b"};
            co_await on.sender.async_send(std::move(two), use_awaitable);
            const zlink::multipart both =
                co_await on.receiver.async_receive_multipart(use_awaitable);
            CHECK(both.size() == 2);
            for (int count = 0; count < 100; ++count) {
                on.sender->send("x", throws);
            }
            std::array<message, 16> room;
            for (std::size_t count = 0; count < 100;) {
                const std::size_t now =
                    co_await on.receiver.async_receive_batch(room, use_awaitable);
                CHECK((now >= 1 && now <= 16));
                count += now;
            }
            message reused;
            on.sender->send("reused", throws);
            CHECK(co_await on.receiver.async_receive_into(reused, use_awaitable) == 6);
            CHECK(reused == "reused");
            co_await on.sender.async_wait_send(use_awaitable);
            on.sender->send("waits", throws);
            co_await on.receiver.async_wait_receive(use_awaitable);
            CHECK(on.receiver->recv(zlink::flags::dont_wait, throws) == "waits");
        }(it));
    }

    TEST_CASE("an operation that loses in || has taken no message") {
        pipeline it;
        it.run([](pipeline& on) -> awaitable<void> {
            using namespace net::experimental::awaitable_operators;
            net::steady_timer timer{on.loop};
            int received = 0;
            int timeouts = 0;
            int sent = 0;
            for (int round = 0; round < 2000; ++round) {
                timer.expires_after(std::chrono::microseconds(round % 50));
                if (round % 2 == 0) {
                    on.sender->send(std::to_string(sent++), throws);
                }
                const auto first = co_await (on.receiver.async_receive(use_awaitable) ||
                                             timer.async_wait(use_awaitable));
                if (first.index() == 0) {
                    CHECK(std::get<0>(first) == std::to_string(received));
                    ++received;
                } else {
                    ++timeouts;
                }
            }
            for (; received < sent; ++received) {
                CHECK(co_await on.receiver.async_receive(use_awaitable) ==
                      std::to_string(received));
            }
            CHECK(timeouts > 0);
        }(it));
    }

    TEST_CASE("each kind of cancellation, of waiting operations and of finished ones") {
        pipeline it;
        using net::cancellation_type;
        for (const cancellation_type kind :
             {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
            net::cancellation_signal signal;
            std::optional<za::error_code> came;
            it.receiver.async_receive(net::bind_cancellation_slot(
                signal.slot(), [&](za::error_code failed, const message&) { came = failed; }));
            it.loop.restart();
            it.loop.poll(); // Now it waits.
            signal.emit(cancellation_type::none);
            it.loop.poll();
            CHECK_FALSE(came.has_value());
            signal.emit(kind);
            CHECK_FALSE(came.has_value()); // Never from within the call.
            it.loop.run();
            CHECK(came == net::error::operation_aborted);
            signal.emit(kind); // It is over.
            it.loop.restart();
            it.loop.run();
        }
        it.sender->send("kept", throws);
        std::optional<za::error_code> came;
        it.receiver.async_receive([&](za::error_code failed, const message&) { came = failed; });
        it.receiver.cancel();
        it.receiver.cancel();
        CHECK_FALSE(came.has_value());
        it.loop.restart();
        it.loop.run();
        CHECK(came == net::error::operation_aborted);
        it.loop.restart();
        std::future<message> kept = it.receiver.async_receive(net::use_future);
        it.loop.run();
        CHECK(kept.get() == "kept");
    }

    TEST_CASE("operations are cancelled and started from handlers, without a deadlock") {
        pipeline it;
        int cancelled = 0;
        std::function<void(za::error_code, message)> again = [&](za::error_code failed,
                                                                 const message&) {
            CHECK(failed == net::error::operation_aborted);
            if (++cancelled < 1000) {
                it.receiver.async_receive(again);
                it.receiver.cancel();
            }
        };
        it.receiver.async_receive(again);
        net::post(it.loop, [&] { it.receiver.cancel(); });
        it.loop.run();
        CHECK(cancelled == 1000);
    }

    TEST_CASE("one operation in each direction") {
        pipeline it;
        std::optional<za::error_code> first;
        std::optional<za::error_code> second;
        it.receiver.async_receive([&](za::error_code failed, const message&) { first = failed; });
        it.receiver.async_receive([&](za::error_code failed, const message&) { second = failed; });
        it.loop.poll();
        CHECK(second == net::error::already_started);
        CHECK_FALSE(first.has_value());
        it.sender->send("x", throws);
        it.loop.run();
        CHECK(first == za::error_code{});
    }

    TEST_CASE("room at a full peer is waited for") {
        for (const char* endpoint : {"tcp://127.0.0.1:*", "inproc://full"}) {
            zlink::context owner;
            net::io_context loop;
            za::push_socket sender{loop, owner};
            za::pull_socket receiver{loop, owner};
            sender->set(zlink::option::linger, 0ms, throws);
            sender->set(zlink::option::sndhwm, 1, throws);
            receiver->set(zlink::option::rcvhwm, 1, throws);
            receiver->bind(endpoint, throws);
            sender->connect(receiver->last_endpoint(throws), throws);
            const std::string large(500'000, 'x');
            int sent = 0;
            int received = 0;
            net::co_spawn(
                loop,
                [&]() -> awaitable<void> {
                    for (; sent < 100; ++sent) {
                        co_await sender.async_send(message{large}, use_awaitable);
                    }
                },
                net::detached);
            net::co_spawn(
                loop,
                [&]() -> awaitable<void> {
                    for (; received < 100; ++received) {
                        CHECK((co_await receiver.async_receive(use_awaitable)).size() ==
                              large.size());
                    }
                },
                net::detached);
            loop.run_for(20s);
            CHECK(sent == 100);
            CHECK(received == 100);
        }
    }

    TEST_CASE("errors: the wrong state, a shutdown, a closed socket") {
        pipeline it;
        za::req_socket asks{it.loop, it.owner};
        it.run([](pipeline& on, za::req_socket& request) -> awaitable<void> {
            auto [wrong, none] = co_await request.async_receive(as_tuple);
            CHECK(wrong.value() == EFSM);
            CHECK(wrong.message() == zlink_strerror(EFSM));
            CHECK(request->recv(zlink::flags::dont_wait).error() == zlink::errc::wrong_state);
            net::post(on.loop, [&] { CHECK(on.owner.shut_down().has_value()); });
            auto [ended, nothing] = co_await on.receiver.async_receive(as_tuple);
            CHECK(ended == zlink::errc::terminated);
            CHECK(wrong == zlink::errc::wrong_state);
            CHECK(wrong != zlink::errc::terminated);
            request.close();
            request.close();
            auto [closed, no] = co_await request.async_receive(as_tuple);
            CHECK(closed == za::error_code(ENOTSOCK, boost::system::system_category()));
        }(it, asks));
    }

    TEST_CASE("closing or destroying a socket ends what waits for it") {
        pipeline it;
        std::optional<za::error_code> came;
        auto other = std::make_unique<za::pull_socket>(it.loop, it.owner);
        other->async_receive([&](za::error_code failed, const message&) { came = failed; });
        it.loop.poll();
        other.reset();
        CHECK_FALSE(came.has_value());
        it.loop.restart();
        it.loop.run();
        CHECK(came == net::error::operation_aborted);
        came.reset();
        it.receiver.async_receive([&](za::error_code failed, const message&) { came = failed; });
        it.receiver = za::pull_socket{it.loop, it.owner}; // Closes the former one.
        it.loop.restart();
        it.loop.run();
        CHECK(came == net::error::operation_aborted);
    }

    TEST_CASE("handlers that own the socket go with the execution context") {
        const auto token = std::make_shared<int>(5);
        {
            zlink::context owner;
            {
                net::io_context loop;
                auto owned = std::make_shared<za::pull_socket>(loop, owner);
                owned->async_receive([owned, token](za::error_code, const message&) {
                    FAIL("its executor has gone");
                });
                owned.reset();
                loop.poll();
                auto scheduled = std::make_shared<za::pull_socket>(loop, owner);
                scheduled->async_receive([scheduled, token](za::error_code, const message&) {
                    FAIL("its executor has gone");
                });
                CHECK(token.use_count() == 3);
            }
            CHECK(token.use_count() == 1);
        }
    }

    TEST_CASE("a socket may outlive its execution context, and tells that it has gone") {
        zlink::context owner;
        auto loop = std::make_unique<net::io_context>();
        za::pull_socket receiver{*loop, owner};
        za::push_socket sender{net::make_strand(*loop), owner};
        za::pull_socket idle{*loop, owner};
        receiver->bind("tcp://127.0.0.1:*", throws);
        sender->connect(receiver->last_endpoint(throws), throws);
        receiver.async_receive([](za::error_code, const message&) { FAIL("it has gone"); });
        loop->poll();
        loop.reset();
        sender->send("x", throws); // Notifies the receiver.
        receiver->set(zlink::option::rcvtimeo, 10s, throws);
        CHECK(receiver->recv(throws) == "x");
        const auto receive = [&](za::pull_socket& from) {
            from.async_receive([](za::error_code, const message&) { FAIL("it has gone"); });
        };
        CHECK_THROWS_AS(receive(receiver), net::execution::bad_executor);
        CHECK_THROWS_AS(receive(idle), net::execution::bad_executor);
        receiver.cancel();
        idle.close();
        za::pull_socket moved{std::move(receiver)};
        moved.close();
    }

    TEST_CASE("sockets and their execution context may be destroyed while messages come") {
        for (int round = 0; round < 50; ++round) {
            zlink::context owner;
            auto loop = std::make_unique<net::io_context>();
            za::pull_socket receiver{*loop, owner};
            receiver->bind("inproc://race", throws);
            receiver.async_receive([](za::error_code, const message&) {});
            zlink::push_socket sender{owner};
            sender.connect("inproc://race", throws);
            std::thread sends{[&] {
                for (int count = 0; count < 100; ++count) {
                    sender.send("x", throws);
                }
            }};
            loop->poll();
            loop.reset();
            sends.join();
        }
    }

    TEST_CASE("a reactor may outlive its execution context") {
        zlink::context owner{0};
        auto loop = std::make_unique<net::io_context>();
        std::optional<za::pull_socket> receiver{std::in_place, *loop, owner};
        za::reactor runs{*loop, owner};
        loop->poll();
        loop.reset();
        receiver.reset();
        runs.stop();
    }

    TEST_CASE("a stopped executor goes on later, and a handler may throw") {
        pipeline it;
        int received = 0;
        const auto count = [&](za::error_code failed, const message&) {
            CHECK(!failed);
            ++received;
        };
        it.receiver.async_receive(count);
        it.loop.poll();
        it.loop.stop();
        it.sender->send("a", throws);
        CHECK(it.loop.run() == 0);
        it.loop.restart();
        it.loop.run();
        CHECK(received == 1);
        it.receiver.async_receive(
            [](za::error_code, const message&) { throw std::runtime_error("of a handler"); });
        it.sender->send("b", throws);
        it.loop.restart();
        CHECK_THROWS_AS(it.loop.run(), std::runtime_error);
        it.receiver.async_receive(count);
        it.sender->send("c", throws);
        it.loop.restart();
        it.loop.run();
        CHECK(received == 2);
    }

    TEST_CASE("on several threads, by a strand") {
        zlink::context owner;
        net::thread_pool threads{4};
        const auto strand = net::make_strand(threads);
        za::rep_socket server{strand, owner};
        server->set(zlink::option::linger, 0ms, throws);
        server->bind("tcp://127.0.0.1:*", throws);
        const std::string endpoint = server->last_endpoint(throws);
        net::co_spawn(
            strand,
            [&]() -> awaitable<void> {
                while (true) {
                    auto [failed, asked] = co_await server.async_receive(as_tuple);
                    if (failed) {
                        co_return;
                    }
                    co_await server.async_send(std::move(asked), use_awaitable);
                }
            },
            net::detached);
        std::vector<std::future<void>> clients;
        for (int number = 0; number < 4; ++number) {
            clients.push_back(net::co_spawn(
                net::make_strand(threads),
                [&]() -> awaitable<void> {
                    za::req_socket client{co_await net::this_coro::executor, owner};
                    client->set(zlink::option::linger, 0ms, throws);
                    client->connect(endpoint, throws);
                    for (int count = 0; count < 500; ++count) {
                        co_await client.async_send(message{std::to_string(count)}, use_awaitable);
                        CHECK(co_await client.async_receive(use_awaitable) ==
                              std::to_string(count));
                    }
                },
                net::use_future));
        }
        for (auto& each : clients) {
            each.get();
        }
        net::post(strand, [&] { server.close(); });
        threads.join();
    }

    TEST_CASE("a handler runs on its own executor") {
        pipeline it;
        net::io_context other;
        std::optional<za::error_code> came;
        it.receiver.async_receive(net::bind_executor(
            other, [&](za::error_code failed, const message&) { came = failed; }));
        it.sender->send("x", throws);
        while (!came) { // The one wakes the other.
            it.loop.restart();
            it.loop.poll();
            other.restart();
            other.poll();
        }
        CHECK(came == za::error_code{});
    }

    TEST_CASE("a socket is used on its own executor only, wherever the handlers run") {
        pipeline it;
        net::thread_pool others(2);
        std::atomic<int> count{0};
        constexpr int all = 2000;
        std::function<void()> next = [&] {
            it.receiver.async_receive(
                net::bind_executor(others, [&](za::error_code failed, const message& content) {
                    CHECK(!failed);
                    CHECK(content == "x");
                    if (++count < all) {
                        net::post(it.loop, next);
                    }
                }));
        };
        net::post(it.loop, next);
        // Uses the sender and the receiver in turn with the operations, without a lock.
        std::function<void()> send = [&] {
            CHECK(it.receiver->ready().has_value());
            it.sender->send("x", throws);
            if (count < all) {
                net::post(it.loop, send);
            }
        };
        net::post(it.loop, send);
        it.loop.run_for(20s);
        others.join();
        CHECK(count == all);
        std::future<std::size_t> sent = it.sender.async_send(message{"y"}, net::use_future);
        it.loop.restart();
        it.loop.run();
        CHECK(sent.get() == 1);
    }

    TEST_CASE("an io_context may go once a handler on another executor has been called") {
        for (int round = 0; round < 200; ++round) {
            pipeline it;
            it.sender->send("x", throws);
            // The future is made ready on a thread of the system's executor.
            std::future<message> got = it.receiver.async_receive(net::use_future);
            it.loop.run();
            CHECK(got.get() == "x");
        }
    }

    TEST_CASE("requests are answered, in parts and with files, once the client has room") {
        zlink::context owner;
        net::io_context loop;
        za::stream_socket server{loop, owner};
        za::raw_stream_socket client{loop, owner}; // Bytes over tcp.
        server->set(zlink::option::linger, 0ms, throws);
        server->set(zlink::option::sndhwm, 2, throws);
        client->set(zlink::option::linger, 0ms, throws);
        server->route("/*", zlink::http_route::requests, throws);
        server->bind("http://127.0.0.1:*/", throws);
        std::string endpoint = server->last_endpoint(throws);
        endpoint.pop_back(); // Its slash.
        client->set(zlink::option::rcvhwm, 1, throws);
        client->connect("tcp" + endpoint.substr(endpoint.find(':')), throws);
        const message id = client->recv(throws);
        client->recv(throws); // Connected.
        const std::string part(100'000, 'x');
        constexpr int parts = 200;
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
        std::fputs("content of a file", file.get());
        std::fflush(file.get());
        std::size_t received = 0;
        std::string last;
        std::optional<za::error_code> twice;
        int sent = 0;
        std::exception_ptr failed;
        const zlink::http_fields fields{{"X-Parts", "200"}};
        const auto keep = [&](std::exception_ptr thrown) { failed = failed ? failed : thrown; };
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                auto asked =
                    std::get<zlink::requested>(co_await server.async_receive(use_awaitable));
                co_await server.async_reply(asked.peer, 200, fields, message{"begin"},
                                            zlink::flags::more, use_awaitable);
                for (; sent < parts; ++sent) {
                    co_await server.async_reply_part(asked.peer, message{part}, zlink::flags::more,
                                                     use_awaitable);
                }
                co_await server.async_reply_part(asked.peer, message{}, zlink::flags::none,
                                                 use_awaitable);
                asked = std::get<zlink::requested>(co_await server.async_receive(use_awaitable));
                co_await server.async_reply_file(asked.peer, 200, {}, fileno(file.get()), 11, 6,
                                                 use_awaitable);
                asked = std::get<zlink::requested>(co_await server.async_receive(use_awaitable));
                co_await server.async_reply(asked.peer, 200, {}, message{"the end"}, use_awaitable);
                const auto [error] =
                    co_await server.async_reply(asked.peer, 200, {}, message{"again"}, as_tuple);
                twice = error;
            },
            keep);
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                const auto ask = [&]() -> awaitable<void> {
                    co_await client.async_send(message{id.bytes()}, zlink::flags::more,
                                               use_awaitable);
                    co_await client.async_send(message{"GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
                                               use_awaitable);
                };
                const auto read_to = [&](std::string_view end) -> awaitable<void> {
                    last.clear();
                    while (!last.ends_with(end)) {
                        co_await client.async_receive(use_awaitable);
                        const message bytes = co_await client.async_receive(use_awaitable);
                        received += bytes.size();
                        last += bytes.text();
                    }
                };
                co_await ask();
                // It does not read, until the server waits for room.
                net::steady_timer timer{loop};
                for (int before = -1; before != sent || sent == 0;) {
                    before = sent;
                    timer.expires_after(100ms);
                    co_await timer.async_wait(use_awaitable);
                }
                CHECK(sent < parts);
                co_await read_to("\r\n0\r\n\r\n");
                CHECK(received > parts * part.size());
                co_await ask();
                co_await read_to("a file");
                CHECK(last.find("Content-Length: 6\r\n") != std::string::npos);
                co_await ask();
                co_await read_to("the end");
            },
            keep);
        loop.run_for(20s);
        if (failed) {
            std::rethrow_exception(failed);
        }
        CHECK(last.ends_with("the end"));
        CHECK(twice == zlink::errc::wrong_state);
    }

    TEST_CASE("one thread and one reactor: an echo over ws, without I/O threads") {
        zlink::context owner{0};
        net::io_context loop;
        za::reactor drives{loop, owner};
        za::stream_socket server{loop, owner};
        za::stream_socket client{loop, owner};
        server->set(zlink::option::linger, 0ms, throws);
        client->set(zlink::option::linger, 0ms, throws);
        server->bind("ws://127.0.0.1:*/", throws);
        client->connect(server->last_endpoint(throws), throws);
        std::thread::id ran;
        int echoes = 0;
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                while (echoes < 1000) {
                    auto [failed, event] = co_await server.async_receive(as_tuple);
                    if (failed) {
                        co_return;
                    }
                    if (auto* const got = std::get_if<zlink::received>(&event)) {
                        co_await server.async_send(got->peer, std::move(got->content),
                                                   use_awaitable);
                    }
                }
            },
            net::detached);
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                const auto home =
                    std::get<zlink::connected>(co_await client.async_receive(use_awaitable)).peer;
                for (; echoes < 1000; ++echoes) {
                    co_await client.async_send(home, message{"echo"}, zlink::flags::text,
                                               use_awaitable);
                    const auto event = co_await client.async_receive(use_awaitable);
                    CHECK(std::get<zlink::received>(event).content == "echo");
                }
                drives.stop();
                server.close();
            },
            net::detached);
        loop.run_for(20s);
        CHECK(echoes == 1000);
    }

    TEST_CASE("a batch stays as it is while messages are sent") {
        zlink::context owner;
        net::io_context loop;
        za::stream_socket server{loop, owner};
        za::stream_socket client{loop, owner};
        for (za::stream_socket* each : {&server, &client}) {
            (*each)->set(zlink::option::linger, 0ms, throws);
            (*each)->set(zlink::option::sndhwm, 2, throws);
            (*each)->set(zlink::option::rcvhwm, 2, throws);
        }
        server->bind("tcp://127.0.0.1:*", throws);
        client->connect(server->last_endpoint(throws), throws);
        constexpr int all = 40;
        int echoed = 0;
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                const auto home =
                    std::get<zlink::connected>(co_await client.async_receive(use_awaitable)).peer;
                for (int count = 0; count < all; ++count) {
                    co_await client.async_send(
                        home, message{std::string(100'000, static_cast<char>('a' + count % 26))},
                        use_awaitable);
                }
            },
            net::detached);
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                co_await server.async_receive(use_awaitable); // Connected.
                std::array<zlink::stream_message, 8> room;
                while (echoed < all) {
                    for (const auto& each :
                         co_await server.async_receive_batch(room, use_awaitable)) {
                        const std::string expected(100'000, static_cast<char>('a' + echoed % 26));
                        // Each has to wait, since the client does not receive meanwhile.
                        for (int times = 0; times < 3; ++times) {
                            co_await server.async_send(each.peer(), message{each.text()},
                                                       use_awaitable);
                            CHECK(each.text() == expected);
                        }
                        ++echoed;
                    }
                }
            },
            net::detached);
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                net::steady_timer timer{loop};
                std::array<zlink::stream_message, 4> room;
                for (int received = 0; received < 3 * all;) {
                    timer.expires_after(1ms);
                    co_await timer.async_wait(use_awaitable);
                    const auto batch = client->recv_batch(room, zlink::flags::dont_wait);
                    received += batch ? static_cast<int>(batch->size()) : 0;
                }
            },
            net::detached);
        loop.run_for(20s);
        CHECK(echoed == all);
    }

    TEST_CASE("batches of a STREAM, and a full peer") {
        zlink::context owner;
        net::io_context loop;
        za::stream_socket server{loop, owner};
        za::stream_socket client{loop, owner};
        server->set(zlink::option::linger, 0ms, throws);
        client->set(zlink::option::linger, 0ms, throws);
        client->set(zlink::option::sndhwm, 2, throws);
        server->set(zlink::option::rcvhwm, 2, throws);
        server->bind("tcp://127.0.0.1:*", throws);
        client->connect(server->last_endpoint(throws), throws);
        std::size_t bytes = 0;
        constexpr std::size_t all = 200 * 100'000;
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                const auto home =
                    std::get<zlink::connected>(co_await client.async_receive(use_awaitable)).peer;
                const std::string large(100'000, 'x');
                for (int count = 0; count < 200; ++count) {
                    co_await client.async_send(home, message{large}, use_awaitable);
                }
            },
            net::detached);
        net::co_spawn(
            loop,
            [&]() -> awaitable<void> {
                std::array<zlink::stream_message, 8> room;
                while (bytes < all) {
                    for (const auto& each :
                         co_await server.async_receive_batch(room, use_awaitable)) {
                        bytes += each.is_event() ? 0 : each.bytes().size();
                    }
                }
            },
            net::detached);
        loop.run_for(20s);
        CHECK(bytes == all);
    }

} // TEST_SUITE
