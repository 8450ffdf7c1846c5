// SPDX-License-Identifier: MPL-2.0
#include "stalling_relay.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace robustness {

using namespace api_test;

namespace {

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(port));
    return address;
}

} // namespace

stalling_relay::stalling_relay(std::string server_endpoint)
    : server_endpoint_(std::move(server_endpoint)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t bytes = sizeof address;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

stalling_relay::~stalling_relay() {
    for (const int each : {listener_, client_.descriptor, server_.descriptor}) {
        if (each >= 0) {
            ::close(each);
        }
    }
}

void stalling_relay::stall(side by, std::size_t bytes) noexcept {
    (by == side::client ? client_ : server_).left_bytes = bytes;
}

milliseconds stalling_relay::lifetime() const {
    return std::chrono::duration_cast<milliseconds>(ended_ - made_);
}

/// Called when the client has connected.
void stalling_relay::begin() {
    client_.descriptor = ::accept(listener_, nullptr, nullptr);
    REQUIRE(client_.descriptor >= 0);
    ::close(std::exchange(listener_, -1));
    server_.descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address =
        loopback(std::stoi(server_endpoint_.substr(server_endpoint_.rfind(':') + 1)));
    REQUIRE(::connect(server_.descriptor, reinterpret_cast<const sockaddr*>(&address),
                      sizeof address) == 0);
}

/// Called when there are bytes to read from `by`. @return  Whether it is still connected.
bool stalling_relay::carry(side by) {
    way& from = by == side::client ? client_ : server_;
    const way& to = by == side::client ? server_ : client_;
    std::array<char, 4096> data;
    const ssize_t bytes = ::recv(from.descriptor, data.data(), data.size(), 0);
    if (bytes <= 0) {
        return false;
    }
    const std::size_t passes = std::min(static_cast<std::size_t>(bytes), from.left_bytes);
    from.left_bytes -= passes;
    from.passed_bytes += passes;
    static_cast<void>(::send(to.descriptor, data.data(), passes, MSG_NOSIGNAL));
    return true;
}

void stalling_relay::end(side by) {
    ended_ = clock::now();
    ended_by_ = by;
    ::close(std::exchange(client_.descriptor, -1));
    ::close(std::exchange(server_.descriptor, -1));
}

void stalling_relay::carry(std::deque<stalling_relay>& all, const std::function<bool()>& is_over) {
    const auto give_up = clock::now() + patience;
    std::vector<pollfd> waiting(all.size() * 3);
    while (!is_over()) {
        REQUIRE(clock::now() < give_up);
        auto next = waiting.begin(); // poll(2) ignores descriptors below 0.
        for (const stalling_relay& each : all) {
            *next++ = {each.listener_, POLLIN, 0};
            *next++ = {each.client_.descriptor, POLLIN, 0};
            *next++ = {each.server_.descriptor, POLLIN, 0};
        }
        REQUIRE(::poll(waiting.data(), waiting.size(), 10) >= 0);
        next = waiting.begin();
        for (stalling_relay& each : all) {
            const bool connects = next++->revents != 0;
            const bool client_says = next++->revents != 0;
            const bool server_says = next++->revents != 0;
            if (connects) {
                each.begin();
            }
            if (client_says && !each.carry(side::client)) {
                each.end(side::client);
            } else if (server_says && !each.carry(side::server)) {
                each.end(side::server);
            }
        }
    }
}

} // namespace robustness
