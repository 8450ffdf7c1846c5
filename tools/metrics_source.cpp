// SPDX-License-Identifier: MPL-2.0
#include "metrics_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <netdb.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace zlink_tool {

namespace {

constexpr int timeout_seconds = 5;
constexpr std::size_t head_bytes_max = std::size_t{64} * 1024;
constexpr std::size_t content_bytes_max = std::size_t{256} * 1024 * 1024;

std::string reason() {
    return std::strerror(errno);
}

bool is_number(std::string_view text) noexcept {
    return !text.empty() &&
           std::ranges::all_of(text, [](char each) { return each >= '0' && each <= '9'; });
}

/// The names of the abstract sockets at which the contexts of a process serve their metrics.
std::vector<std::string> names_of_process(int id) {
    const std::string folder = "/proc/" + std::to_string(id);
    if (::kill(id, 0) != 0 && errno == ESRCH) {
        throw std::runtime_error("there is no process " + std::to_string(id));
    }
    std::ifstream list{folder + "/net/unix"};
    if (!list) {
        throw std::runtime_error("process " + std::to_string(id) + ": " + folder +
                                 "/net/unix cannot be read: " + reason());
    }
    const std::string begin = "@zlink-metrics-" + std::to_string(id) + "-";
    std::vector<std::string> found;
    for (std::string line; std::getline(list, line);) {
        const std::size_t place = line.rfind(' ');
        if (place != std::string::npos && line.compare(place + 1, begin.size(), begin) == 0 &&
            is_number(std::string_view{line}.substr(place + 1 + begin.size()))) {
            found.push_back(line.substr(place + 2));
        }
    }
    // Connections that were accepted have the name of their listener.
    std::ranges::sort(found, [](const std::string& left, const std::string& right) {
        return std::pair{left.size(), left} < std::pair{right.size(), right};
    });
    found.erase(std::ranges::unique(found).begin(), found.end());
    if (found.empty()) {
        throw std::runtime_error("process " + std::to_string(id) +
                                 " serves no metrics: its program has to set the context option "
                                 "ZLINK_METRICS_ENDPOINT, to \"local\" or http://HOST:PORT");
    }
    return found;
}

int connect_unix(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof address.sun_path) {
        throw std::runtime_error("the name of the socket is too long");
    }
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (descriptor >= 0 &&
        ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
        const int error = errno;
        ::close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

void limit_waits(int descriptor) noexcept {
    const timeval limit{.tv_sec = timeout_seconds, .tv_usec = 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int connect_tcp(const std::string& host, const std::string& port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
        failed != 0) {
        throw std::runtime_error(host + ": " + ::gai_strerror(failed));
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        const int descriptor =
            ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
        if (descriptor < 0) {
            continue;
        }
        limit_waits(descriptor); // Connecting, too.
        if (::connect(descriptor, each->ai_addr, each->ai_addrlen) == 0) {
            return descriptor;
        }
        const int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
        ::close(descriptor);
        errno = error;
    }
    return -1;
}

/// The value of a field in a head; empty if there is none.
std::string_view field(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        const std::string_view line = head.substr(0, head.find("\r\n"));
        head.remove_prefix(std::min(line.size() + 2, head.size()));
        const bool is_it =
            line.size() > name.size() && line[name.size()] == ':' &&
            std::ranges::equal(line.substr(0, name.size()), name, [](char left, char right) {
                return std::tolower(static_cast<unsigned char>(left)) == right;
            });
        if (is_it) {
            std::string_view value = line.substr(name.size() + 1);
            value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
            return value;
        }
    }
    return {};
}

} // namespace

std::vector<metrics_source> metrics_source::find(const std::string& target) {
    std::vector<metrics_source> found;
    if (is_number(target)) {
        int id = 0;
        const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), id);
        if (error != std::errc{} || id == 0) {
            throw std::invalid_argument(target + " is no process id");
        }
        for (const std::string& each : names_of_process(id)) {
            found.push_back(metrics_source{"process " + target, each, {}, {}, "/metrics"});
        }
        return found;
    }
    constexpr std::string_view scheme = "http://";
    if (!target.starts_with(scheme)) {
        throw std::invalid_argument(target + ": it has to be a process id or http://HOST:PORT");
    }
    const std::string rest = target.substr(scheme.size());
    const std::string authority = rest.substr(0, rest.find('/'));
    std::string path = rest.substr(authority.size());
    if (path.empty() || path == "/") {
        path = "/metrics";
    }
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
    std::string host = has_port ? authority.substr(0, colon) : authority;
    std::string port = has_port ? authority.substr(colon + 1) : "80";
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty() || !is_number(port)) {
        throw std::invalid_argument(target + ": it has to be a process id or http://HOST:PORT");
    }
    found.push_back(metrics_source{target, {}, std::move(host), std::move(port), std::move(path)});
    return found;
}

metrics_source::metrics_source(metrics_source&& from) noexcept
    : name_(std::move(from.name_)), unix_name_(std::move(from.unix_name_)),
      host_(std::move(from.host_)), port_(std::move(from.port_)), path_(std::move(from.path_)),
      descriptor_(std::exchange(from.descriptor_, -1)), received_(std::move(from.received_)) {}

metrics_source::~metrics_source() {
    close();
}

void metrics_source::close() noexcept {
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
    received_.clear();
}

void metrics_source::connect() {
    descriptor_ = unix_name_.empty() ? connect_tcp(host_, port_) : connect_unix(unix_name_);
    if (descriptor_ < 0) {
        throw std::runtime_error(unix_name_.empty() || errno != ECONNREFUSED
                                     ? name_ + ": " + reason()
                                     : name_ + " has ended, or is in another network namespace");
    }
    limit_waits(descriptor_);
}

void metrics_source::send_request() {
    const std::string host = host_.find(':') != std::string::npos ? "[" + host_ + "]" : host_;
    const std::string request = "GET " + path_ + " HTTP/1.1\r\nHost: " +
                                (host_.empty() ? "localhost" : host + ":" + port_) + "\r\n\r\n";
    for (std::size_t done = 0; done < request.size();) {
        const ssize_t sent =
            ::send(descriptor_, request.data() + done, request.size() - done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            throw std::runtime_error(name_ + ": " + reason());
        }
        done += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
}

/// @return Whether more may follow.
bool metrics_source::receive_some() {
    std::array<char, 65536> room;
    const ssize_t got = ::recv(descriptor_, room.data(), room.size(), 0);
    if (got < 0) {
        if (errno == EINTR) {
            return true;
        }
        throw std::runtime_error(name_ + ": " +
                                 (errno == EAGAIN ? "no answer within 5 s" : reason()));
    }
    received_.append(room.data(), static_cast<std::size_t>(got));
    return got > 0;
}

std::string metrics_source::receive_content() {
    const auto lacks = [&](const char* what) { return std::runtime_error(name_ + ": " + what); };
    std::size_t head_end = std::string::npos;
    while ((head_end = received_.find("\r\n\r\n")) == std::string::npos) {
        if (received_.size() > head_bytes_max) {
            throw lacks("the answer is not HTTP");
        }
        if (!receive_some()) {
            throw lacks(received_.empty() && !unix_name_.empty()
                            ? "the connection was refused: it takes the process's user, or root"
                            : "the connection ended before the answer");
        }
    }
    const std::string head = received_.substr(0, head_end + 2);
    constexpr std::size_t version_bytes = 8;
    if (!head.starts_with("HTTP/1.") || head.compare(version_bytes, 5, " 200 ") != 0) {
        throw lacks(
            ("the answer is \"" + head.substr(0, head.find("\r\n")) + "\", where 200 was expected")
                .c_str());
    }
    std::size_t bytes = 0;
    const std::string_view length = field(head, "content-length");
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
    if (length.empty() || error != std::errc{} || bytes > content_bytes_max) {
        throw lacks("the answer has no valid Content-Length");
    }
    received_.erase(0, head_end + 4);
    while (received_.size() < bytes) {
        if (!receive_some()) {
            throw lacks("the connection ended within the answer");
        }
    }
    std::string content = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return content;
}

std::string metrics_source::fetch() {
    const bool is_new = descriptor_ < 0;
    try {
        if (is_new) {
            connect();
        }
        send_request();
        return receive_content();
    } catch (const std::runtime_error&) {
        close();
        if (is_new) {
            throw;
        }
    }
    // The server may close connections that were idle.
    connect();
    send_request();
    return receive_content();
}

} // namespace zlink_tool
