// SPDX-License-Identifier: MPL-2.0
#include "zmtp_peer.hpp"

#include "fixture.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace api_test {

namespace {

constexpr std::size_t greeting_bytes = 64;

void limit_patience(int descriptor) {
    const timeval longest{patience.count() / 1000, 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
}

} // namespace

std::string data(std::initializer_list<int> values) {
    std::string made;
    for (const int each : values) {
        made += static_cast<char>(each);
    }
    return made;
}

zmtp_peer::zmtp_peer(const std::string& endpoint) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    REQUIRE(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    limit_patience(descriptor_);
}

zmtp_peer::zmtp_peer(int descriptor) : descriptor_(descriptor) {
    REQUIRE(::fcntl(descriptor_, F_SETFL, 0) == 0); // It blocks.
    limit_patience(descriptor_);
}

zmtp_peer::~zmtp_peer() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

void zmtp_peer::reset() {
    const linger at_once{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(std::exchange(descriptor_, -1));
}

void zmtp_peer::shake_hands(std::string_view type, std::string_view metadata) {
    const std::string signature = data({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0});
    REQUIRE(send(signature + "NULL" + std::string(48, '\0')));
    const std::string property = data({11}) + "Socket-Type" +
                                 data({0, 0, 0, static_cast<int>(type.size())}) + std::string{type};
    REQUIRE(send_frame(4, data({5}) + "READY" + property + std::string{metadata}));
    recv(greeting_bytes);
    REQUIRE(recv_frame().body.substr(1, 5) == "READY");
}

bool zmtp_peer::send(std::string_view all) const {
    while (!all.empty()) {
        const ssize_t bytes = ::send(descriptor_, all.data(), all.size(), MSG_NOSIGNAL);
        if (bytes < 0) {
            CHECK((errno == EPIPE || errno == ECONNRESET));
            return false;
        }
        all.remove_prefix(static_cast<std::size_t>(bytes));
    }
    return true;
}

bool zmtp_peer::send_frame(int flags, std::string_view body) const {
    const int size = static_cast<int>(body.size());
    const std::string header = size <= 255
                                   ? data({flags, size})
                                   : data({flags | 2, 0, 0, 0, 0, 0, 0, size >> 8, size & 255});
    return send(header + std::string{body});
}

std::string zmtp_peer::recv(std::size_t bytes) const {
    std::string got(bytes, '\0');
    REQUIRE(::recv(descriptor_, got.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes));
    return got;
}

zmtp_peer::frame zmtp_peer::recv_frame() const {
    const std::string head = recv(2);
    REQUIRE((head[0] & 2) == 0);
    return {head[0], recv(static_cast<unsigned char>(head[1]))};
}

bool zmtp_peer::has_bytes() const {
    char byte;
    return ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

bool zmtp_peer::answers() const {
    char byte;
    const ssize_t bytes = ::recv(descriptor_, &byte, 1, 0);
    REQUIRE((bytes >= 0 || errno == ECONNRESET));
    return bytes > 0;
}

void zmtp_peer::await_end() const {
    char dropped[4096];
    ssize_t bytes = 0;
    do {
        bytes = ::recv(descriptor_, dropped, sizeof dropped, 0);
    } while (bytes > 0);
    REQUIRE((bytes == 0 || errno == ECONNRESET));
}

} // namespace api_test
