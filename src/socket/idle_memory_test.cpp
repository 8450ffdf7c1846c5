// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"
#include "socket/context.hpp"
#include "socket/socket.hpp"
#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

// A PAIR socket, its session and, at the other end of the connection, the test, all on one thread.
// The test decides when the session is swept.

using namespace std::chrono_literals;
using namespace zlink;
using socket::incoming;
using socket::outgoing;

namespace {

/// The mailbox in which the session reports its pipe, before the socket gets the pipe.
class door final : public pipe::waiting_mailbox {
public:
    pipe::pipe_end* open() {
        pipe::pipe_end* found = nullptr;
        collect([&](pipe::letter& about, std::uint32_t) {
            found = &static_cast<pipe::pipe_end&>(about);
        });
        return found;
    }
};

class connected_pair {
public:
    connected_pair() {
        context_.change_options([](socket::context_options& each) {
            each.io_threads = 0;
            each.blocky = false;
        });
        application = *context_.open_socket(socket_type::pair);
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        peer_ = ends[0];
        const boost::intrusive_ptr<door> entrance{new door};
        auto call = std::make_shared<session::endpoint_call>();
        call->host = &context_;
        call->socket = entrance;
        call->options = std::make_shared<const socket_options>(application->options());
        context_.add_dependant();
        session::session::accept(context_.reactor(), call, ends[1]);
        const auto opening = testing::hex("ff 00*8 7f 03 00 'NULL' 00*16 00*32 "
                                          "04 1a 05 'READY' 0b 'Socket-Type' 00000004 'PAIR'");
        REQUIRE(::write(peer_, opening.data(), opening.size()) == std::ssize(opening));
        context_.poll();
        end = entrance->open();
        REQUIRE(end != nullptr);
        end->set_home(application->shared_mailbox(), nullptr);
        end->deliver(pipe::event::attached);
        REQUIRE(application->ready());
        read();
    }

    ~connected_pair() {
        application->close();
        CHECK(context_.terminate());
        ::close(peer_);
    }

    void send(const std::string& body) {
        outgoing message{reinterpret_cast<const std::byte*>(body.data()), body.size(), false};
        REQUIRE(application->send(message, true));
    }

    /// The bytes that the peer has got so far.
    std::string read() {
        std::string all;
        std::array<char, 65536> room;
        for (ssize_t bytes = 1; bytes > 0;) {
            context_.poll();
            bytes = ::read(peer_, room.data(), room.size());
            all.append(room.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
        }
        context_.poll();
        return all;
    }

    /// Sends so many messages that the pipe holds memory, and delivers them.
    void send_many() {
        std::string expected;
        for (int count = 0; count < 500; ++count) {
            send(std::string(200, 'x'));
            expected += std::string("\0\xc8", 2) + std::string(200, 'x');
        }
        CHECK(read() == expected);
        CHECK(end->out.holds_memory());
    }

    /// @return Whether the session is to be swept again.
    bool sweep() { return static_cast<session::session*>(end->other().owner())->on_sweep(); }

    socket::socket* application;
    pipe::pipe_end* end; ///< The application's.

private:
    socket::context context_;
    int peer_;
};

} // namespace

TEST_CASE("socket: gives back the memory of what was sent when nothing is sent any more") {
    connected_pair pair;

    for (int period = 0; period < 3; ++period) {
        pair.send_many();
        CHECK(pair.sweep());
        CHECK(pair.end->out.holds_memory());
        CHECK(!pair.sweep());
        CHECK(pair.application->ready());

        CHECK(!pair.end->out.holds_memory());
        CHECK(!pair.application->mailbox().has_mail());
    }
}

TEST_CASE("session: asks for the memory of what was sent once, and not while it is used") {
    connected_pair pair;

    pair.send_many();
    CHECK(pair.sweep());
    pair.send("last");
    CHECK(pair.read() == std::string("\0\4last", 6));
    CHECK(pair.sweep());
    CHECK(!pair.application->mailbox().has_mail());
    CHECK(!pair.sweep());
    CHECK(pair.application->ready());
    CHECK(!pair.sweep());
    CHECK(!pair.application->mailbox().has_mail());
}

TEST_CASE("socket: keeps the memory of a message that is not whole, and of one that is not taken") {
    connected_pair pair;
    pair.send_many();
    pair.sweep();
    pair.sweep();

    outgoing part{nullptr, 0, true};
    REQUIRE(pair.application->send(part, true));
    REQUIRE(pair.application->ready());
    CHECK(pair.end->out.holds_memory());
    pair.send("end");
    pair.end->trim();
    CHECK(pair.end->out.holds_memory());

    CHECK(pair.read() == std::string("\1\0\0\3end", 7));
}

TEST_CASE("socket: one that waits to receive goes on waiting after it gave memory back") {
    connected_pair pair;
    pair.application->options().recv_timeout = 20;
    pair.send_many();
    pair.sweep();
    pair.sweep();
    REQUIRE(pair.application->mailbox().has_mail());

    std::array<char, 8> room;
    incoming received{.buffer = room.data(), .capacity = room.size()};
    const auto begin = pipe::clock::now();
    CHECK(pair.application->recv(received, false).error() == errc::again);

    CHECK(pipe::clock::now() - begin >= 20ms);
    CHECK(!pair.end->out.holds_memory());
}

TEST_CASE("socket: its descriptor tells of memory to give back until ready() was asked") {
    connected_pair pair;
    pollfd asked{*pair.application->descriptor(), POLLIN, 0};
    pair.send_many();
    pair.sweep();
    REQUIRE(pair.application->ready());
    REQUIRE(::poll(&asked, 1, 0) == 0);
    pair.sweep();
    CHECK(::poll(&asked, 1, 0) == 1);

    const auto now = pair.application->ready();

    CHECK(!now->can_recv);
    CHECK(now->can_send);
    CHECK(::poll(&asked, 1, 0) == 0);
}
