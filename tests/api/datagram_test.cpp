// SPDX-License-Identifier: MPL-2.0
//
// RADIO, DISH and DGRAM over udp, with each other and with programs that use the system's sockets.
#include "draft_fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#ifdef ZLINK_BUILD_DRAFT_API

// Here a socket is one of the library.
namespace api_test {

namespace {

constexpr const char* loopback = "udp://127.0.0.1:*";
/// Of udp over IPv4: 65535 without two headers.
constexpr std::size_t datagram_bytes_max = 65507;

std::uint16_t port_of(const std::string& endpoint) {
    return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

sockaddr_in local(std::uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(port);
    made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return made;
}

/// A program with a udp socket at 127.0.0.1.
class udp_peer {
public:
    udp_peer() : descriptor_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        const sockaddr_in any = local(0);
        REQUIRE(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
    }
    udp_peer(const udp_peer&) = delete;
    udp_peer& operator=(const udp_peer&) = delete;
    ~udp_peer() { ::close(descriptor_); }

    std::uint16_t port() const {
        sockaddr_in found{};
        socklen_t bytes = sizeof found;
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&found), &bytes);
        return ntohs(found.sin_port);
    }
    std::string endpoint() const { return "udp://" + address(); }
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

    void send(const std::string& endpoint, std::string_view data) const {
        const sockaddr_in to = local(port_of(endpoint));
        REQUIRE(::sendto(descriptor_, data.data(), data.size(), 0,
                         reinterpret_cast<const sockaddr*>(&to),
                         sizeof to) == static_cast<ssize_t>(data.size()));
    }
    /// The next datagram; empty if there is none yet.
    std::optional<std::string> try_recv() const {
        std::string data(datagram_bytes_max, ' ');
        const ssize_t got = ::recv(descriptor_, data.data(), data.size(), MSG_DONTWAIT);
        return got < 0 ? std::nullopt
                       : std::optional{data.substr(0, static_cast<std::size_t>(got))};
    }
    std::string recv(const context& owner) const {
        std::optional<std::string> got;
        wait_until(owner, [&] { return (got = try_recv()).has_value(); });
        return *got;
    }

private:
    int descriptor_;
};

/// The messages that the sockets of `owner` have dropped for that reason.
double dropped(const context& owner, std::string_view reason) {
    struct search {
        std::string_view reason;
        double found = 0;
    } asked{reason};
    zlink_metrics(
        owner, 0,
        [](const zlink_metric_t* each, void* hint) {
            auto& wanted = *static_cast<search*>(hint);
            if (std::string_view{each->name} == "zlink_context_dropped_messages_total" &&
                each->labels[0].value == wanted.reason) {
                wanted.found = each->value;
            }
        },
        &asked);
    return asked.found;
}

} // namespace

TEST_CASE("datagrams: a dish receives the messages of the groups that it joined") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        socket radio{owner, ZLINK_RADIO};
        socket dish{owner, ZLINK_DISH};
        const std::string endpoint = dish.bind(loopback);
        CHECK(endpoint.starts_with("udp://127.0.0.1:"));
        CHECK(port_of(endpoint) != 0);
        radio.connect(endpoint);
        REQUIRE(zlink_join(dish, "TV") == 0);
        CHECK(publish(radio, "Radio", "not joined") == ok);
        CHECK(publish(radio, "TV", "Friends") == ok);
        CHECK(recv_grouped(dish) == "TV: Friends");
        CHECK(publish(radio, "TV", "") == ok);
        CHECK(recv_grouped(dish) == "TV: ");

        REQUIRE(zlink_join(dish, "") == 0);
        CHECK(publish(radio, nullptr, "no group") == ok);
        CHECK(recv_grouped(dish) == ": no group");
        REQUIRE(zlink_leave(dish, "TV") == 0);
        CHECK(publish(radio, "TV", "left") == ok);
        CHECK(publish(radio, "", "last") == ok);
        CHECK(recv_grouped(dish) == ": last");
    }
}

TEST_CASE("datagrams: on the wire, a group's length, the group and the content") {
    const context owner;
    const udp_peer program;
    socket radio{owner, ZLINK_RADIO};
    radio.connect(program.endpoint());
    REQUIRE(publish(radio, "TV", "Friends") == ok);
    CHECK(program.recv(owner) == "\x02TVFriends");
    const std::string longest(255, 'g');
    REQUIRE(publish(radio, longest.c_str(), "") == ok);
    CHECK(program.recv(owner) == "\xff" + longest);

    socket dish{owner, ZLINK_DISH};
    const std::string endpoint = dish.bind(loopback);
    REQUIRE(zlink_join(dish, "TV") == 0);
    REQUIRE(zlink_join(dish, longest.c_str()) == 0);
    program.send(endpoint, "\x02TVFriends");
    CHECK(recv_grouped(dish) == "TV: Friends");
    program.send(endpoint, "\xff" + longest + "content");
    CHECK(recv_grouped(dish) == longest + ": content");
}

TEST_CASE("datagrams: of any content, only those of the form are messages") {
    const context owner;
    const udp_peer program;
    socket dish{owner, ZLINK_DISH};
    const std::string endpoint = dish.bind(loopback);
    REQUIRE(zlink_join(dish, "TV") == 0);
    const std::string nul_in_group{"\x03TV\0", 4};
    for (const std::string& sent :
         {std::string{}, std::string{"\x01"}, std::string{"\x02T"}, std::string{"\xffTV"},
          nul_in_group, std::string{"\x02TW"}, std::string(datagram_bytes_max, '\xff'),
          std::string(datagram_bytes_max, '\0'), std::string{"\x02TVcontent"}}) {
        program.send(endpoint, sent);
    }
    CHECK(recv_grouped(dish) == "TV: content");
    CHECK(error_of(zlink_recv(dish, nullptr, 0, ZLINK_DONTWAIT)) == EAGAIN);
    CHECK(dropped(owner, "malformed") == 4);
}

TEST_CASE("datagrams: the largest passes, and one that is too large is dropped") {
    const context owner;
    socket radio{owner, ZLINK_RADIO};
    socket dish{owner, ZLINK_DISH};
    radio.connect(dish.bind(loopback));
    REQUIRE(zlink_join(dish, "TV") == 0);
    const std::string largest(datagram_bytes_max - 3, 'x');
    CHECK(publish(radio, "TV", largest + "y") == ok);
    CHECK(publish(radio, "TV", std::string(1 << 20, 'z')) == ok);
    CHECK(publish(radio, "TV", largest) == ok);
    CHECK(recv_grouped(dish) == "TV: " + largest);
    CHECK(dropped(owner, "unsendable") == 2);

    socket small{owner, ZLINK_DISH};
    std::int64_t most = 4;
    REQUIRE(zlink_setsockopt(small, ZLINK_MAXMSGSIZE, &most, sizeof most) == 0);
    socket other{owner, ZLINK_RADIO};
    other.connect(small.bind(loopback));
    REQUIRE(zlink_join(small, "TV") == 0);
    CHECK(publish(other, "TV", "12345") == ok);
    CHECK(publish(other, "TV", "1234") == ok);
    CHECK(recv_grouped(small) == "TV: 1234");
    CHECK(dropped(owner, "malformed") == 1);
}

TEST_CASE("datagrams: many arrive in order, and a full dish leaves the rest to the system") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        const udp_peer program;
        socket dish{owner, ZLINK_DISH};
        dish.set(ZLINK_RCVHWM, 10);
        const std::string endpoint = dish.bind(loopback);
        REQUIRE(zlink_join(dish, "TV") == 0);
        constexpr int count = 100; // Fewer than the system holds by default.
        for (int index = 0; index < count; ++index) {
            program.send(endpoint, "\x02TV" + std::to_string(index));
        }
        for (int index = 0; index < count; ++index) {
            CHECK(recv_grouped(dish) == "TV: " + std::to_string(index));
        }
    }
}

TEST_CASE("datagrams: every dish of a group receives them, at the interface that is named") {
    const context owner;
    for (const std::string endpoint : {"udp://lo;239.192.7.1:*", "udp://127.0.0.1;239.192.7.2:*"}) {
        CAPTURE(endpoint);
        socket first{owner, ZLINK_DISH};
        const std::string group = first.bind(endpoint);
        socket second{owner, ZLINK_DISH};
        second.bind(group);
        REQUIRE(zlink_join(first, "TV") == 0);
        REQUIRE(zlink_join(second, "TV") == 0);
        socket radio{owner, ZLINK_RADIO};
        radio.connect(group);
        CHECK(publish(radio, "TV", "Friends") == ok);
        CHECK(recv_grouped(first) == "TV: Friends");
        CHECK(recv_grouped(second) == "TV: Friends");

        CHECK(first.unbind(group) == ok);
    }
}

TEST_CASE("datagrams: a dish of one group does not receive those of another") {
    const context owner;
    socket wanted{owner, ZLINK_DISH};
    const std::string group = wanted.bind("udp://lo;239.192.7.3:*");
    const std::string port = group.substr(group.rfind(':'));
    socket other{owner, ZLINK_DISH};
    other.bind("udp://lo;239.192.7.4" + port);
    REQUIRE(zlink_join(wanted, "TV") == 0);
    REQUIRE(zlink_join(other, "TV") == 0);
    socket radio{owner, ZLINK_RADIO};
    radio.connect("udp://lo;239.192.7.4" + port);
    socket second{owner, ZLINK_RADIO};
    second.connect(group);
    REQUIRE(publish(radio, "TV", "other") == ok);
    CHECK(recv_grouped(other) == "TV: other");
    REQUIRE(publish(second, "TV", "wanted") == ok);
    CHECK(recv_grouped(wanted) == "TV: wanted");
}

TEST_CASE("datagrams: over IPv6") {
    const context owner;
    socket dish{owner, ZLINK_DISH};
    dish.set(ZLINK_IPV6, 1);
    socket radio{owner, ZLINK_RADIO};
    radio.set(ZLINK_IPV6, 1);
    const std::string endpoint = dish.bind("udp://[::1]:*");
    radio.connect(endpoint);
    REQUIRE(zlink_join(dish, "TV") == 0);
    CHECK(publish(radio, "TV", "Friends") == ok);
    CHECK(recv_grouped(dish) == "TV: Friends");
    // At the loopback interface: others may have no IPv6. Linux sends no such datagram through it.
    CHECK(dish.try_bind("udp://lo;[ff02::7a65:1]:*") == ok);
    socket third{owner, ZLINK_RADIO};
    third.set(ZLINK_IPV6, 1);
    const std::string group = dish.last_endpoint();
    CHECK(group.starts_with("udp://lo;[ff02::7a65:1]:"));
    CHECK(third.try_connect(group) == ok);
}

TEST_CASE("datagrams: a dgram answers whoever has sent something") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const context owner{io_threads};
        const udp_peer program;
        socket dgram{owner, ZLINK_DGRAM};
        CHECK(dgram.get(ZLINK_THREAD_SAFE) == 0);
        const std::string endpoint = dgram.bind(loopback);
        program.send(endpoint, "hello");
        const message got = dgram.recv();
        REQUIRE(got.frames.size() == 2);
        CHECK(got.frames[0] == program.address() + '\0');
        CHECK(got.frames[1] == "hello");
        CHECK(dgram.send(message{got.frames[0], "world"}) == ok);
        CHECK(program.recv(owner) == "world");
        CHECK(dgram.send(message{program.address(), "without the zero"}) == ok);
        CHECK(program.recv(owner) == "without the zero");
        program.send(endpoint, "");
        CHECK(dgram.recv() == message{program.address() + '\0', ""});
        CHECK(dgram.send(message{program.address(), ""}) == ok);
        CHECK(program.recv(owner).empty());
    }
}

TEST_CASE("datagrams: a dgram drops those without an address, and takes two frames") {
    const context owner;
    const udp_peer program;
    socket dgram{owner, ZLINK_DGRAM};
    dgram.bind(loopback);
    for (const char* const address : {"", "x", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999",
                                      "example.org:7", "[::1]:7", "lo;239.0.0.1:7", ":7"}) {
        CAPTURE(address);
        CHECK(dgram.send(message{address, "nowhere"}) == ok);
    }
    CHECK(dgram.send(message{program.address(), std::string(1 << 17, 'x')}) == ok);
    CHECK(dgram.send("an address without a content") == EINVAL);
    CHECK(error_of(zlink_send(dgram, program.address().data(), program.address().size(),
                              ZLINK_SNDMORE)) == ok);
    CHECK(error_of(zlink_send(dgram, "one", 3, ZLINK_SNDMORE)) == EINVAL);
    CHECK(error_of(zlink_send(dgram, "one", 3, 0)) == ok);
    CHECK(program.recv(owner) == "one");
    CHECK(!program.try_recv());
    CHECK(dropped(owner, "unsendable") == 10);
}

TEST_CASE("datagrams: a dgram of IPv6 talks to both families") {
    const context owner;
    const udp_peer program;
    socket dgram{owner, ZLINK_DGRAM};
    dgram.set(ZLINK_IPV6, 1);
    const std::string endpoint = dgram.bind("udp://*:*");
    program.send(endpoint, "hello");
    const message got = dgram.recv();
    CHECK(got == message{program.address() + '\0', "hello"});
    CHECK(dgram.send(message{got.frames[0], "world"}) == ok);
    CHECK(program.recv(owner) == "world");
    socket other{owner, ZLINK_DGRAM};
    other.set(ZLINK_IPV6, 1);
    const std::string sixth = other.bind("udp://[::1]:*").substr(6);
    CHECK(dgram.send(message{sixth, "over IPv6"}) == ok);
    CHECK(other.recv().frames.at(1) == "over IPv6");
}

TEST_CASE("datagrams: only the sockets, directions and endpoints that make sense") {
    const context owner;
    socket dish{owner, ZLINK_DISH};
    socket radio{owner, ZLINK_RADIO};
    socket dgram{owner, ZLINK_DGRAM};
    socket dealer{owner, ZLINK_DEALER};
    CHECK(dish.try_connect("udp://127.0.0.1:7") == ENOCOMPATPROTO);
    CHECK(radio.try_bind("udp://127.0.0.1:7") == ENOCOMPATPROTO);
    CHECK(dgram.try_connect("udp://127.0.0.1:7") == ENOCOMPATPROTO);
    CHECK(dgram.try_bind("tcp://127.0.0.1:*") == ENOCOMPATPROTO);
    CHECK(dgram.try_bind("inproc://x") == ENOCOMPATPROTO);
    CHECK(dealer.try_bind("udp://127.0.0.1:*") == ENOCOMPATPROTO);
    CHECK(dealer.try_connect("udp://127.0.0.1:7") == ENOCOMPATPROTO);
    CHECK(radio.try_connect("udp://127.0.0.1:0") == EINVAL);
    CHECK(radio.try_connect("udp://127.0.0.1") == EINVAL);
    CHECK(radio.try_connect("udp://;127.0.0.1:7") == EINVAL);
    CHECK(radio.try_connect("udp://lo;127.0.0.1:7") == EINVAL);
    CHECK(dish.try_bind("udp://lo;127.0.0.1:7") == EINVAL);
    CHECK(dish.try_bind("udp://239.0.0.1;239.0.0.2:7") == EINVAL);
    CHECK(dish.try_bind("udp://none0;239.0.0.2:7") == ENODEV);
    CHECK(radio.try_connect("udp://none0;239.0.0.2:7") == ENODEV);
    CHECK(dish.try_bind("udp://203.0.113.9;239.0.0.2:7") == ENODEV);
    CHECK(dish.try_bind("udp://nosuchhost:7") == ENODEV);
    CHECK(dish.try_bind("udp://203.0.113.9:7") == EADDRNOTAVAIL);

    const std::string endpoint = dgram.bind(loopback);
    CHECK(dgram.try_bind(loopback) == EINVAL);
    CHECK(dish.try_bind(endpoint) == EADDRINUSE);
    CHECK(dgram.unbind(endpoint) == ok);
    CHECK(dgram.unbind(endpoint) == ENOENT);
    wait_until(owner, [&] { return dish.try_bind(endpoint) == ok; });
    CHECK(dgram.try_bind(loopback) == ok);
}

TEST_CASE("datagrams: what was sent before the close still leaves; disconnect ends it") {
    for (const int io_threads : every_io_threads) {
        CAPTURE(io_threads);
        const udp_peer program;
        {
            const context owner{io_threads};
            socket radio{owner, ZLINK_RADIO};
            radio.set(ZLINK_LINGER, -1);
            radio.connect(program.endpoint());
            REQUIRE(publish(radio, "TV", "Friends") == ok);
        }
        CHECK(program.try_recv() == "\x02TVFriends");
        const context owner{io_threads};
        socket radio{owner, ZLINK_RADIO};
        radio.connect(program.endpoint());
        CHECK(radio.disconnect(program.endpoint()) == ok);
        CHECK(publish(radio, "TV", "nobody") == ok);
        CHECK(radio.disconnect(program.endpoint()) == ENOENT);
    }
}

TEST_CASE("datagrams: a radio whose host has no name tries again, and one without receiver works") {
    const context owner;
    socket radio{owner, ZLINK_RADIO};
    CHECK(radio.try_connect("udp://name.invalid:7") == ok);
    std::string endpoint;
    {
        const udp_peer gone;
        endpoint = gone.endpoint();
    }
    radio.connect(endpoint);
    for (int index = 0; index < 100; ++index) {
        REQUIRE(publish(radio, "TV", "nobody receives it") == ok);
    }
}

} // namespace api_test

#endif
