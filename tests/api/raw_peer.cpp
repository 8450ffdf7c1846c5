// SPDX-License-Identifier: MPL-2.0
#include "raw_peer.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stop_token>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace api_test {

namespace {

constexpr std::string_view ipc_prefix = "ipc://";

int dial_ipc(const std::string& path) {
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return made;
}

int dial_tcp(const std::string& endpoint) {
    const int made = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<in_port_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    REQUIRE(::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return made;
}

void make_non_blocking(int descriptor) {
    REQUIRE(::fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0);
}

bool would_wait(std::ptrdiff_t outcome) {
    return outcome < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

using address_of = int(int, sockaddr*, socklen_t*);

/// @return The bytes of an address, in the system's form; empty if there is none.
std::string address(address_of* whose, int descriptor) {
    std::string data(sizeof(sockaddr_storage), '\0');
    auto bytes = static_cast<socklen_t>(data.size());
    const int outcome = whose(descriptor, reinterpret_cast<sockaddr*>(data.data()), &bytes);
    data.resize(outcome == 0 ? bytes : 0);
    return data;
}

/// The descriptor of this process at the other end of a tcp connection; -1 if it is not accepted
/// yet.
int far_end(int descriptor) {
    const std::string near = address(::getsockname, descriptor);
    const std::string far = address(::getpeername, descriptor);
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        const int found = std::stoi(each.path().filename());
        if (address(::getpeername, found) == near && address(::getsockname, found) == far) {
            return found;
        }
    }
    return -1;
}

tcp_info state_of(int descriptor) {
    tcp_info told{};
    socklen_t bytes = sizeof told;
    ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &told, &bytes);
    return told;
}

} // namespace

bool is_read(int descriptor) {
    int waiting = 0;
    if (reinterpret_cast<const sockaddr*>(address(::getsockname, descriptor).data())->sa_family ==
        AF_UNIX) {
        REQUIRE(::ioctl(descriptor, SIOCOUTQ, &waiting) == 0);
        return waiting == 0;
    }
    const int far = far_end(descriptor);
    const tcp_info sent = state_of(descriptor);
    return far >= 0 && sent.tcpi_notsent_bytes == 0 &&
           state_of(far).tcpi_bytes_received >= sent.tcpi_bytes_sent - sent.tcpi_bytes_retrans &&
           ::ioctl(far, FIONREAD, &waiting) == 0 && waiting == 0;
}

raw_peer::raw_peer(const context& owner, const std::string& endpoint)
    : raw_peer(owner, endpoint.starts_with(ipc_prefix)
                          ? dial_ipc(endpoint.substr(ipc_prefix.size()))
                          : dial_tcp(endpoint)) {
    make_non_blocking(descriptor_);
}

void raw_peer::send(std::string_view data) {
    wait_until(owner_, [&] {
        const ssize_t sent = ::send(descriptor_, data.data(), data.size(), MSG_NOSIGNAL);
        REQUIRE((sent >= 0 || would_wait(sent)));
        data.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
        return data.empty();
    });
}

void raw_peer::await_read() const {
    wait_until(owner_, [&] { return is_read(descriptor_); });
}

/// @return The result of recv(2) once it would not block.
std::ptrdiff_t raw_peer::read(char* to, std::size_t bytes) {
    ssize_t got = -1;
    wait_until(owner_, [&] {
        got = ::recv(descriptor_, to, bytes, 0);
        return !would_wait(got);
    });
    return got;
}

std::string raw_peer::recv(std::size_t bytes) {
    std::string data(bytes, '\0');
    std::size_t filled = 0;
    while (filled < bytes) {
        const std::ptrdiff_t got = read(data.data() + filled, bytes - filled);
        REQUIRE(got > 0);
        filled += static_cast<std::size_t>(got);
    }
    return data;
}

bool raw_peer::is_disconnected() {
    char byte;
    return read(&byte, 1) <= 0;
}

void raw_peer::await_end() {
    char data[4096];
    while (read(data, sizeof data) > 0) {
    }
}

bool raw_peer::is_connected() const {
    char byte;
    const ssize_t bytes = ::recv(descriptor_, &byte, 1, MSG_PEEK);
    return bytes > 0 || would_wait(bytes);
}

void raw_peer::close() noexcept {
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
}

void raw_peer::reset() noexcept {
    const linger at_once{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

raw_listener::raw_listener() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    REQUIRE(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    REQUIRE(::listen(descriptor_, 100) == 0);
    REQUIRE(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    make_non_blocking(descriptor_);
}

raw_listener::~raw_listener() {
    ::close(descriptor_);
}

int raw_listener::accept(const context& owner) {
    int accepted = -1;
    wait_until(owner, [&] {
        accepted = ::accept(descriptor_, nullptr, nullptr);
        return !would_wait(accepted);
    });
    REQUIRE(accepted >= 0);
    make_non_blocking(accepted);
    return accepted;
}

std::jthread send_messages(const raw_peer& from, const std::string& data, std::size_t count) {
    return std::jthread{
        [data, count, descriptor = from.descriptor()](const std::stop_token& is_over) {
            std::size_t sent_count = 0;
            for (std::size_t sent = 0; sent_count < count && !is_over.stop_requested();) {
                pollfd room{descriptor, POLLOUT, 0};
                poll(&room, 1, 100);
                const auto put =
                    ::send(descriptor, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
                sent += put > 0 ? static_cast<std::size_t>(put) : 0;
                if (sent == data.size()) {
                    sent = 0;
                    ++sent_count;
                }
            }
        }};
}

} // namespace api_test
