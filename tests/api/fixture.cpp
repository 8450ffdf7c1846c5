// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace api_test {

namespace {

std::vector<setting> settings(std::initializer_list<transport> transports,
                              std::initializer_list<int> io_threads) {
    std::vector<setting> made;
    for (const transport via : transports) {
        for (const int count : io_threads) {
            made.push_back({via, count});
        }
    }
    return made;
}

std::string serial_number() {
    static std::atomic<int> count{0};
    return std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// Binds `descriptor` to a free port of the loopback interface.
std::string bind_to_free_port(int descriptor) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    REQUIRE(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    return "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

/// A port without a listener. A socket of ours holds it until the process ends, so that the system
/// assigns it to no other; sockets under test can bind to it, because both sides set SO_REUSEADDR.
std::string vacant_port() {
    const int holder = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    REQUIRE(::setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    return bind_to_free_port(holder);
}

} // namespace

std::ostream& operator<<(std::ostream& out, const setting& shown) {
    static constexpr std::array names{"inproc", "tcp", "ipc", "ws"};
    return out << names[static_cast<unsigned>(shown.via)] << ", " << shown.io_threads
               << " I/O threads";
}

std::ostream& operator<<(std::ostream& out, const message& shown) {
    out << '[';
    constexpr std::size_t shown_bytes_max = 100;
    for (const std::string& each : shown.frames) {
        out << (&each == shown.frames.data() ? "\"" : ", \"") << each.substr(0, shown_bytes_max)
            << '"';
        if (each.size() > shown_bytes_max) {
            out << " and " << each.size() - shown_bytes_max << " more bytes";
        }
    }
    return out << ']';
}

std::vector<setting> every_setting() {
    return settings({transport::inproc, transport::tcp, transport::ipc, transport::ws}, {0, 1, 3});
}

std::vector<setting> network_settings() {
    return settings({transport::tcp, transport::ipc, transport::ws}, {0, 1, 3});
}

std::vector<setting> raw_settings() {
    return settings({transport::tcp, transport::ipc}, {0, 1, 3});
}

std::vector<setting> threaded_settings() {
    return settings({transport::inproc, transport::tcp, transport::ipc, transport::ws}, {1, 3});
}

std::string wildcard(transport via) {
    switch (via) {
    case transport::inproc:
        return "inproc://" + serial_number();
    case transport::tcp:
        return "tcp://127.0.0.1:*";
    case transport::ipc:
        return "ipc://*";
    case transport::ws:
        return "ws://127.0.0.1:*/zws";
    }
    return {};
}

std::string vacant(transport via) {
    switch (via) {
    case transport::inproc:
        return "inproc://" + serial_number();
    case transport::tcp:
        return vacant_port();
    case transport::ipc:
        return "ipc:///tmp/zlink-api-" + serial_number();
    case transport::ws:
        return "ws" + vacant_port().substr(3) + "/zws";
    }
    return {};
}

context::context(int io_threads) : handle_(zlink_ctx_new()) {
    REQUIRE(handle_ != nullptr);
    REQUIRE(zlink_ctx_set(handle_, ZLINK_IO_THREADS, io_threads) == 0);
    REQUIRE(zlink_ctx_set(handle_, ZLINK_BLOCKY, 0) == 0);
}

void context::end() {
    if (void* const ended = std::exchange(handle_, nullptr); ended != nullptr) {
        CHECK(zlink_ctx_term(ended) == 0);
    }
}

void context::shut_down() {
    CHECK(zlink_ctx_shutdown(handle_) == 0);
}

void context::let_io_happen() const {
    void* const idle = zlink_socket(handle_, ZLINK_PULL);
    REQUIRE(idle != nullptr);
    zlink_pollitem_t item{idle, -1, ZLINK_POLLIN, 0};
    CHECK(zlink_poll(&item, 1, 1) == 0);
    zlink_close(idle);
}

void wait_until(const context& owner, const std::function<bool()>& is_true) {
    // Time during which the whole machine or process stands still is not counted.
    constexpr clock::duration step_max = milliseconds{500};
    clock::duration waited{0};
    for (auto last = clock::now(); !is_true();) {
        REQUIRE(waited < patience);
        owner.let_io_happen();
        const auto now = clock::now();
        waited += std::min(now - last, step_max);
        last = now;
    }
}

void await_asleep(const std::atomic<int>& thread) {
    thread.wait(0);
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    const auto give_up = clock::now() + patience;
    std::string told;
    do {
        REQUIRE(clock::now() < give_up);
        std::this_thread::yield();
        std::getline(std::ifstream{path}, told);
        // The state follows the name, which is in parentheses.
    } while (told.compare(told.rfind(')') + 1, 2, " S") != 0);
}

socket::socket(const context& owner, int type) : handle_(zlink_socket(owner, type)) {
    REQUIRE(handle_ != nullptr);
    set(ZLINK_SNDTIMEO, patience);
    set(ZLINK_RCVTIMEO, patience);
}

socket& socket::operator=(socket&& from) noexcept {
    close();
    handle_ = std::exchange(from.handle_, nullptr);
    return *this;
}

void socket::close() {
    if (void* const closed = std::exchange(handle_, nullptr); closed != nullptr) {
        CHECK(zlink_close(closed) == 0);
    }
}

socket& socket::set(int option, int value) {
    REQUIRE(error_of(zlink_setsockopt(handle_, option, &value, sizeof value)) == ok);
    return *this;
}

socket& socket::set(int option, milliseconds value) {
    return set(option, static_cast<int>(value.count()));
}

socket& socket::set(int option, std::string_view value) {
    REQUIRE(error_of(zlink_setsockopt(handle_, option, value.data(), value.size())) == ok);
    return *this;
}

int socket::get(int option) const {
    int value = -1;
    std::size_t bytes = sizeof value;
    REQUIRE(error_of(zlink_getsockopt(handle_, option, &value, &bytes)) == ok);
    return value;
}

std::string socket::text(int option) const {
    std::string value(1024, '\0');
    std::size_t bytes = value.size();
    REQUIRE(error_of(zlink_getsockopt(handle_, option, value.data(), &bytes)) == ok);
    return value.substr(0, bytes - 1);
}

std::string socket::bind(const std::string& endpoint) {
    REQUIRE(try_bind(endpoint) == ok);
    return last_endpoint();
}

void socket::connect(const std::string& endpoint) {
    REQUIRE(try_connect(endpoint) == ok);
}

int socket::try_bind(const std::string& endpoint) {
    return error_of(zlink_bind(handle_, endpoint.c_str()));
}

int socket::try_connect(const std::string& endpoint) {
    return error_of(zlink_connect(handle_, endpoint.c_str()));
}

int socket::unbind(const std::string& endpoint) {
    return error_of(zlink_unbind(handle_, endpoint.c_str()));
}

int socket::disconnect(const std::string& endpoint) {
    return error_of(zlink_disconnect(handle_, endpoint.c_str()));
}

int socket::send(const message& outgoing, int flags) {
    for (const std::string& each : outgoing.frames) {
        const bool is_last = &each == &outgoing.frames.back();
        if (const int error = send(each, is_last ? flags : flags | ZLINK_SNDMORE); error != ok) {
            return error;
        }
    }
    return ok;
}

int socket::send(std::string_view frame, int flags) {
    return error_of(zlink_send(handle_, frame.data(), frame.size(), flags));
}

message socket::recv(int flags) {
    message whole;
    do {
        whole.frames.push_back(recv_frame(flags));
    } while (more());
    return whole;
}

std::string socket::recv_frame(int flags) {
    frame received;
    REQUIRE(error_of(zlink_msg_recv(received.get(), handle_, flags)) == ok);
    return received.text();
}

int socket::recv_error(int flags) {
    frame received;
    const int error = error_of(zlink_msg_recv(received.get(), handle_, flags));
    REQUIRE_MESSAGE(error != ok, "received ", received.text());
    return error;
}

int socket::poll(int events, milliseconds longest) const {
    zlink_pollitem_t item{handle_, -1, static_cast<short>(events), 0};
    const int count = zlink_poll(&item, 1, static_cast<long>(longest.count()));
    REQUIRE(error_of(count) == ok);
    CHECK(count == (item.revents != 0 ? 1 : 0));
    return item.revents;
}

frame::frame(std::size_t bytes) {
    REQUIRE(zlink_msg_init_size(&raw_, bytes) == 0);
}

frame::frame(std::string_view content) : frame(content.size()) {
    content.copy(static_cast<char*>(zlink_msg_data(&raw_)), content.size());
}

frame::frame(void* data, std::size_t bytes, zlink_free_fn* release, void* hint) {
    REQUIRE(zlink_msg_init_data(&raw_, data, bytes, release, hint) == 0);
}

void count_release(void*, void* hint) {
    static_cast<std::atomic<int>*>(hint)->fetch_add(1);
}

silent_listener::silent_listener()
    : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)), endpoint_(bind_to_free_port(descriptor_)) {
    REQUIRE(::listen(descriptor_, 100) == 0);
}

silent_listener::~silent_listener() {
    ::close(descriptor_);
}

filled fill(socket& from, const message& sent, int flags, int count_max) {
    for (int count = 0; count < count_max; ++count) {
        if (const int error = from.send(sent, flags); error != ok) {
            return {count, error};
        }
    }
    return {count_max, ok};
}

std::uint64_t unsent_to_peer(const socket& by) {
    zlink_peer_t peer;
    REQUIRE(zlink_socket_peers(by, &peer, 1) == 1);
    return peer.bytes;
}

void await_subscription(socket& publisher, socket& subscriber, const std::string& topic) {
    const auto give_up = clock::now() + patience;
    do {
        REQUIRE(clock::now() < give_up);
        REQUIRE(publisher.send(topic + "?") == ok);
    } while (subscriber.poll(ZLINK_POLLIN, 1ms) == 0);
    REQUIRE(publisher.send(topic + "!") == ok);
    while (subscriber.recv() != message{topic + "!"}) {
    }
}

milliseconds time_of(const std::function<void()>& body) {
    const auto begin = clock::now();
    body();
    return std::chrono::duration_cast<milliseconds>(clock::now() - begin);
}

} // namespace api_test
