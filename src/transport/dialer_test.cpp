// SPDX-License-Identifier: MPL-2.0
#include "transport/dialer.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

using zlink::decode_endpoint;
using zlink::endpoint_use;
using zlink::result;
using zlink::socket_options;
using zlink::transport::dialer_ptr;
using zlink::transport::make_dialer;
using zlink::transport::stream_ptr;

namespace {

/// A port of the loopback interface that is ours; nobody listens there until listen().
class own_port {
public:
    own_port() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const int on = 1;
        REQUIRE(::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        REQUIRE(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
        REQUIRE(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
        place_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ~own_port() { ::close(descriptor_); }
    own_port(const own_port&) = delete;
    own_port& operator=(const own_port&) = delete;

    void listen() { REQUIRE(::listen(descriptor_, 1) == 0); }
    const std::string& place() const { return place_; }

private:
    int descriptor_;
    std::string place_;
};

/// Dials `endpoint` once and hangs up. @returns  0, or the error.
int dial(const std::string& endpoint) {
    boost::asio::io_context reactor;
    const dialer_ptr dialer = make_dialer(reactor, *decode_endpoint(endpoint, endpoint_use::dial),
                                          std::make_shared<const socket_options>(), nullptr);
    std::optional<int> error;
    dialer->start([&](const result<stream_ptr>& made) {
        error = made ? 0 : static_cast<int>(made.error());
        if (made) {
            (*made)->close();
        }
    });
    CHECK_FALSE(error);
    reactor.run();
    REQUIRE(error);
    return *error;
}

} // namespace

TEST_CASE("dialer: reaches who listens, and is refused by who does not") {
    own_port port;
    CHECK(dial("tcp://" + port.place()) == ECONNREFUSED);
    port.listen();
    CHECK(dial("tcp://" + port.place()) == 0);
}

TEST_CASE("dialer: a connection to itself is nobody's") {
    const own_port port;
    CHECK(dial("tcp://" + port.place() + ";" + port.place()) == ECONNREFUSED);
}
