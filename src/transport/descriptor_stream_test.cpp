// SPDX-License-Identifier: MPL-2.0
#include "transport/descriptor_stream.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

using boost::intrusive_ptr;
using zlink::transport::end_of_input;
using zlink::transport::io_outcome;
using zlink::transport::make_descriptor_stream;
using zlink::transport::stream_ptr;
using zlink::transport::stream_user;
using status = zlink::transport::io_outcome::status;

namespace {

struct counting_user final : stream_user {
    explicit counting_user(int& count) : alive(count) { ++alive; }
    ~counting_user() override { --alive; }

    void on_readable() noexcept override { ++readable_count; }
    void on_writable() noexcept override { ++writable_count; }
    void on_end() noexcept override { ++end_count; }

    int& alive;
    int end_count = 0;
    int readable_count = 0;
    int writable_count = 0;
};

/// A stream, and the descriptor at the other end of its connection.
struct connection {
    connection() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        stream = make_descriptor_stream(reactor, ends[0]);
        peer = ends[1];
        REQUIRE(stream);
    }
    ~connection() {
        stream->close();
        close_peer();
        run();
    }

    void close_peer() {
        if (peer >= 0) {
            ::close(peer);
            peer = -1;
        }
    }

    void run() {
        reactor.restart();
        reactor.poll();
    }

    void peer_sends(std::string_view data) const {
        REQUIRE(::send(peer, data.data(), data.size(), 0) == static_cast<ssize_t>(data.size()));
    }

    std::string peer_receives() const {
        std::string data(1000, '\0');
        const ssize_t bytes = ::recv(peer, data.data(), data.size(), 0);
        data.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
        return data;
    }

    io_outcome write(std::string data) const {
        const iovec part{data.data(), data.size()};
        return stream->try_write({&part, 1});
    }

    io_outcome read() const {
        char data[1000];
        const iovec part{data, sizeof data};
        return stream->try_read({&part, 1});
    }

    boost::asio::io_context reactor;
    stream_ptr stream;
    int peer = -1;
};

} // namespace

TEST_SUITE("transport") {

    TEST_CASE("descriptor stream: reads what is there into one part after the other") {
        connection joined;
        joined.peer_sends("abcdefg");
        std::string parts[] = {"###", "######"};
        const iovec room[] = {{parts[0].data(), 3}, {parts[1].data(), 6}};

        const io_outcome outcome = joined.stream->try_read(room);

        CHECK(outcome.what == status::moved);
        CHECK(outcome.bytes == 7);
        CHECK(parts[0] == "abc");
        CHECK(parts[1] == "defg##");
        CHECK(joined.read().what == status::would_block);
    }

    TEST_CASE("descriptor stream: writes one part after the other") {
        connection joined;
        std::string parts[] = {"abc", "defg"};
        const iovec data[] = {{parts[0].data(), 3}, {parts[1].data(), 4}};

        const io_outcome outcome = joined.stream->try_write(data);

        CHECK(outcome.what == status::moved);
        CHECK(outcome.bytes == 7);
        CHECK(joined.peer_receives() == "abcdefg");
    }

    TEST_CASE("descriptor stream: knows what a packet of TCP takes, and that others have none") {
        CHECK(connection{}.stream->unit_bytes() == 0);

        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof where;
        auto* const address = reinterpret_cast<sockaddr*>(&where);
        REQUIRE(::bind(listener, address, sizeof where) == 0);
        REQUIRE(::listen(listener, 1) == 0);
        REQUIRE(::getsockname(listener, address, &bytes) == 0);
        REQUIRE(::connect(descriptor, address, sizeof where) == 0);
        boost::asio::io_context reactor;
        const stream_ptr stream = make_descriptor_stream(reactor, descriptor);
        int segment = 0;
        socklen_t size = sizeof segment;
        REQUIRE(::getsockopt(descriptor, IPPROTO_TCP, TCP_MAXSEG, &segment, &size) == 0);

        const std::size_t unit = stream->unit_bytes();

        CHECK(unit > 0);
        CHECK(unit < 65536);
        CHECK(unit % static_cast<std::size_t>(segment) == 0);
        CHECK(unit + static_cast<std::size_t>(segment) > 65215);
        stream->close();
        ::close(listener);
    }

    TEST_CASE("descriptor stream: reads to the end what a peer sent before it went") {
        connection joined;
        joined.peer_sends("last");
        joined.close_peer();
        CHECK(joined.read().bytes == 4);
        CHECK(joined.read().what == status::ended);
    }

    TEST_CASE("descriptor stream: fails without a signal when nobody is there any more") {
        connection joined;
        joined.close_peer();
        const io_outcome outcome = joined.write("x");
        CHECK(outcome.what == status::failed);
        CHECK(outcome.error == EPIPE);
    }

    TEST_CASE("descriptor stream: says why reading failed") {
        connection joined;
        REQUIRE(joined.write("never read").what == status::moved);
        joined.close_peer(); // With bytes unread, which resets the connection.
        const io_outcome outcome = joined.read();
        CHECK(outcome.what == status::failed);
        CHECK(outcome.error == ECONNRESET);
    }

    TEST_CASE("descriptor stream: tells once of each wait that it may be read") {
        int alive = 0;
        connection joined;
        const intrusive_ptr<counting_user> user{new counting_user{alive}};
        joined.stream->wait_readable(*user);
        joined.stream->wait_readable(*user);
        joined.run();
        CHECK(user->readable_count == 0);

        joined.peer_sends("x");
        CHECK(user->readable_count == 0);
        joined.run();
        CHECK(user->readable_count == 1);
        joined.run();
        CHECK(user->readable_count == 1);

        joined.stream->wait_readable(*user);
        CHECK(user->readable_count == 1); // Not from within the call.
        joined.run();
        CHECK(user->readable_count == 2);
        CHECK(user->writable_count == 0);
    }

    TEST_CASE(
        "descriptor stream: a reader stays for another turn where it is told, not elsewhere") {
        struct staying_user final : stream_user {
            explicit staying_user(stream_ptr at) : stream(std::move(at)) {}
            void on_readable() noexcept override {
                if (++readable_count < 3) {
                    CHECK(stream->stay_readable(*this));
                    CHECK(!stream->stay_readable(*this)); // A wait is pending already.
                }
            }
            void on_writable() noexcept override {}

            stream_ptr stream;
            int readable_count = 0;
        };
        connection joined;
        const intrusive_ptr<staying_user> user{new staying_user{joined.stream}};
        CHECK(!joined.stream->stay_readable(*user));
        joined.stream->wait_readable(*user);
        joined.run();
        CHECK(user->readable_count == 0);
        joined.peer_sends("x");
        joined.run();
        CHECK(user->readable_count == 3);
        CHECK(joined.read().bytes == 1);
        user->stream.reset();
    }

    TEST_CASE("descriptor stream: tells a reader that the peer has gone") {
        int alive = 0;
        connection joined;
        const intrusive_ptr<counting_user> user{new counting_user{alive}};
        joined.stream->wait_readable(*user);
        joined.close_peer();
        joined.run();
        CHECK(user->readable_count == 1);
    }

    TEST_CASE("descriptor stream: tells of an end behind bytes that nobody reads, once") {
        for (const bool is_known : {false, true}) {
            CAPTURE(is_known);
            connection joined;
            int alive = 0;
            const intrusive_ptr<counting_user> user{new counting_user(alive)};
            if (!is_known) {
                joined.stream->wait_readable(*user); // Replaced.
                joined.stream->wait_end(*user, end_of_input::ended);
            }
            joined.peer_sends("unread");
            joined.run();
            CHECK(joined.stream->end_ahead() == end_of_input::none);
            CHECK(user->end_count == 0);

            joined.close_peer();
            joined.run();
            CHECK(joined.stream->end_ahead() == end_of_input::ended);
            if (is_known) {
                joined.stream->wait_end(*user, end_of_input::ended);
                CHECK(user->end_count == 0); // Not from within the call.
            }
            joined.run();
            joined.run();
            CHECK(user->end_count == 1);
            CHECK(user->readable_count == 0);
            joined.stream->wait_end(*user, end_of_input::lost);
            joined.run();
            CHECK(user->end_count == 1);
            joined.stream->wait_readable(*user); // Replaces the wait for the end.
            joined.run();
            CHECK(user->readable_count == 1);
            CHECK(joined.read().bytes == 6);
            CHECK(joined.read().what == status::ended);
        }
    }

    TEST_CASE("descriptor stream: a lost connection is more than an end") {
        connection joined;
        int alive = 0;
        const intrusive_ptr<counting_user> user{new counting_user(alive)};
        joined.stream->wait_end(*user, end_of_input::lost);
        joined.peer_sends("unread");
        REQUIRE(joined.write("not read by the peer").what == status::moved);
        joined.close_peer(); // In the Unix domain unread bytes make it a reset.
        joined.run();
        CHECK(joined.stream->end_ahead() == end_of_input::lost);
        CHECK(user->end_count == 1);
        CHECK(joined.read().bytes == 6);
        CHECK(joined.read().error == ECONNRESET);
    }

    TEST_CASE("descriptor stream: tells of an end that came together with the last bytes") {
        connection joined;
        int alive = 0;
        const intrusive_ptr<counting_user> user{new counting_user(alive)};
        joined.stream->wait_readable(*user);
        joined.peer_sends("last words");
        joined.close_peer();
        joined.run();
        CHECK(user->readable_count == 1);
        CHECK(joined.read().bytes == 10); // Less than the room.

        joined.stream->wait_readable(*user);
        joined.run();
        CHECK(user->readable_count == 2);
        CHECK(joined.read().what == status::ended);
    }

    TEST_CASE("descriptor stream: tells when there is room again, and when there will be none") {
        int alive = 0;
        for (const bool is_read : {true, false}) {
            CAPTURE(is_read);
            connection joined;
            const intrusive_ptr<counting_user> user{new counting_user{alive}};
            while (joined.write(std::string(10'000, 'x')).what == status::moved) {
            }
            CHECK(joined.write("x").what == status::would_block);
            joined.stream->wait_writable(*user);
            joined.stream->wait_writable(*user);
            joined.run();
            CHECK(user->writable_count == 0);

            if (is_read) {
                while (!joined.peer_receives().empty()) {
                }
            } else {
                joined.close_peer();
            }
            joined.run();
            CHECK(user->writable_count == 1);
            CHECK(joined.write("x").what == (is_read ? status::moved : status::failed));
        }
    }

    TEST_CASE("descriptor stream: tells of room before bytes, but not where the peer is gone") {
        struct ordered_user final : stream_user {
            void on_readable() noexcept override { told += 'r'; }
            void on_writable() noexcept override { told += 'w'; }
            std::string told;
        };
        for (const bool is_gone : {false, true}) {
            CAPTURE(is_gone);
            connection joined;
            while (joined.write(std::string(10'000, 'x')).what == status::moved) {
            }
            const intrusive_ptr<ordered_user> user{new ordered_user};
            joined.stream->wait_readable(*user);
            joined.stream->wait_writable(*user);
            joined.run();
            CHECK(user->told.empty());
            joined.peer_sends("last words");
            if (is_gone) {
                joined.close_peer();
            } else {
                while (!joined.peer_receives().empty()) {
                }
            }
            joined.run();
            CHECK(user->told == (is_gone ? "rw" : "wr"));
        }
    }

    TEST_CASE("descriptor stream: tells nobody anything once it is closed, and lets go of users") {
        int alive = 0;
        connection joined;
        intrusive_ptr<counting_user> user{new counting_user{alive}};
        joined.stream->wait_readable(*user);
        joined.stream->wait_writable(*user);
        joined.peer_sends("x");
        joined.stream->close();
        joined.stream->close();
        joined.run();
        CHECK(user->readable_count == 0);
        CHECK(user->writable_count == 0);
        user.reset();
        CHECK(alive == 0);
    }

    TEST_CASE("descriptor stream: keeps who waits alive") {
        int alive = 0;
        {
            connection joined;
            joined.stream->wait_readable(*intrusive_ptr<counting_user>{new counting_user{alive}});
            CHECK(alive == 1);
            joined.peer_sends("x");
            joined.run();
            CHECK(alive == 0);
        }
    }

    TEST_CASE("descriptor stream: sends what it has taken before it was closed") {
        connection joined;
        REQUIRE(joined.write("last words").what == status::moved);
        joined.stream->close();
        CHECK(joined.peer_receives() == "last words");
    }

    TEST_CASE("descriptor stream: is none over a descriptor that the reactor does not take") {
        connection joined;
        CHECK(make_descriptor_stream(joined.reactor, -1) == nullptr);
    }

} // TEST_SUITE
