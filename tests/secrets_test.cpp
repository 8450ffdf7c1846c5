// SPDX-License-Identifier: MPL-2.0
//
// After the end of the context that used a password, no copy of the password is left in memory. A
// program of its own, so that its memory is small and contains nothing else.
#define DOCTEST_CONFIG_IMPLEMENT
#include "zlink.h"

#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr std::size_t password_bytes = 40;

/// Unknown to the compiler, which would otherwise keep the password as a constant.
volatile std::uint64_t seed = 0x9e3779b97f4a7c15;

char password_byte(std::size_t index) {
    return static_cast<char>('a' + (((index + 1) * seed) >> 32) % 26);
}

/// @param first_index  The position in the password that `at` corresponds to.
bool is_password(const char* at, std::size_t first_index = 0) {
    std::size_t index = first_index;
    while (index < password_bytes && at[index - first_index] == password_byte(index)) {
        ++index;
    }
    return index == password_bytes;
}

/// The password, in memory during the object's lifetime only.
class spelled_password {
public:
    spelled_password() {
        for (std::size_t index = 0; index < password_bytes; ++index) {
            text[index] = password_byte(index);
        }
    }
    spelled_password(const spelled_password&) = delete;
    spelled_password& operator=(const spelled_password&) = delete;
    ~spelled_password() { explicit_bzero(text.data(), text.size()); }

    std::array<char, password_bytes> text;
};

/// Counts the copies of the second half of the password in memory that this process can write. The
/// allocator may have overwritten the first half.
int count_in_memory() {
    constexpr std::size_t half_bytes = password_bytes / 2;
    int count = 0;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::string access;
        words >> std::hex >> begin >> dash >> end >> access;
        if (!access.starts_with("rw")) {
            continue;
        }
        const auto* at = reinterpret_cast<const char*>(begin);
        const auto* const last = reinterpret_cast<const char*>(end) - half_bytes;
        while (at <= last) {
            const auto room = static_cast<std::size_t>(last - at) + 1;
            at = static_cast<const char*>(std::memchr(at, password_byte(half_bytes), room));
            if (at == nullptr) {
                break;
            }
            count += is_password(at, half_bytes) ? 1 : 0;
            ++at;
        }
    }
    return count;
}

/// A context whose termination is a part of the test.
struct context {
    ~context() { zlink_ctx_term(handle); }
    void* handle = zlink_ctx_new();
};

struct socket_handle {
    socket_handle(const context& owner, int type) : handle(zlink_socket(owner.handle, type)) {
        REQUIRE(handle != nullptr);
        set(ZLINK_LINGER, 0);
        set(ZLINK_RCVTIMEO, 20000);
    }
    socket_handle(const socket_handle&) = delete;
    socket_handle& operator=(const socket_handle&) = delete;
    ~socket_handle() { zlink_close(handle); }

    void set(int option, int value) {
        REQUIRE(zlink_setsockopt(handle, option, &value, sizeof value) == 0);
    }
    void set(int option, std::string_view value) {
        REQUIRE(zlink_setsockopt(handle, option, value.data(), value.size()) == 0);
    }
    void set_password(int option) {
        const spelled_password spelled;
        set(option, std::string_view{spelled.text.data(), spelled.text.size()});
    }

    void* handle;
};

/// Accepts the client of one ZAP request.
/// @return Whether the request had the password.
bool admit_one(void* handler) {
    bool was_right = false;
    for (int more = 1; more != 0;) {
        zlink_msg_t part;
        zlink_msg_init(&part);
        if (zlink_msg_recv(&part, handler, 0) < 0) {
            return false;
        }
        more = zlink_msg_more(&part);
        was_right = zlink_msg_size(&part) == password_bytes &&
                    is_password(static_cast<const char*>(zlink_msg_data(&part)));
        zlink_msg_close(&part);
    }
    for (const std::string_view part : {"1.0", "1", "200", "", ""}) {
        zlink_send(handler, part.data(), part.size(), ZLINK_SNDMORE);
    }
    zlink_send(handler, "", 0, 0);
    return was_right;
}

/// A SOCKS5 proxy for one client, which ends once it has received the password.
class proxy {
public:
    proxy() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof own;
        REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&own), bytes) == 0);
        REQUIRE(::listen(listener_, 1) == 0);
        REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &bytes) == 0);
        address = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    }
    ~proxy() { ::close(listener_); }

    /// @return Whether the client sent the password.
    bool serve() const {
        const int client = ::accept(listener_, nullptr, nullptr);
        std::array<char, 2 + 2> greeting;
        std::array<char, 1 + 1 + 3 + 1 + password_bytes> credentials;
        std::array<char, 10> request;
        ::recv(client, greeting.data(), greeting.size(), MSG_WAITALL);
        ::send(client, "\x05\x02", 2, MSG_NOSIGNAL);
        ::recv(client, credentials.data(), credentials.size(), MSG_WAITALL);
        const bool was_right = is_password(&credentials[1 + 1 + 3 + 1]);
        explicit_bzero(credentials.data(), credentials.size());
        ::send(client, "\x01\x00", 2, MSG_NOSIGNAL);
        ::recv(client, request.data(), request.size(), MSG_WAITALL);
        ::close(client);
        return was_right;
    }

    std::string address;

private:
    int listener_;
};

} // namespace

TEST_SUITE("secrets") {

    TEST_CASE("secrets: a password in memory is found, and gone afterwards") {
        {
            const spelled_password spelled;
            CHECK(is_password(spelled.text.data()));
            CHECK(count_in_memory() == 1);
        }
        CHECK(count_in_memory() == 0);
    }

    TEST_CASE("secrets: PLAIN's password, at the client, the server and on its way to ZAP") {
        {
            const context owner;
            socket_handle handler{owner, ZLINK_REP};
            REQUIRE(zlink_bind(handler.handle, "inproc://zeromq.zap.01") == 0);
            bool was_right = false;
            std::jthread admitting{[&] { was_right = admit_one(handler.handle); }};
            socket_handle server{owner, ZLINK_PULL};
            server.set(ZLINK_PLAIN_SERVER, 1);
            REQUIRE(zlink_bind(server.handle, "tcp://127.0.0.1:*") == 0);
            std::array<char, 64> endpoint;
            std::size_t bytes = endpoint.size();
            REQUIRE(zlink_getsockopt(server.handle, ZLINK_LAST_ENDPOINT, endpoint.data(), &bytes) ==
                    0);
            socket_handle client{owner, ZLINK_PUSH};
            client.set(ZLINK_PLAIN_USERNAME, "joe");
            client.set_password(ZLINK_PLAIN_PASSWORD);
            CHECK(count_in_memory() == 1);
            REQUIRE(zlink_connect(client.handle, endpoint.data()) == 0);
            CHECK(zlink_send(client.handle, "hello", 5, 0) == 5);
            std::array<char, 5> received;
            CHECK(zlink_recv(server.handle, received.data(), received.size(), 0) == 5);
            admitting.join();
            CHECK(was_right);
        }
        CHECK(count_in_memory() == 0);
    }

    TEST_CASE("secrets: the password for a SOCKS proxy") {
        {
            const proxy between;
            bool was_right = false;
            std::jthread serving{[&] { was_right = between.serve(); }};
            const context owner;
            socket_handle client{owner, ZLINK_PUSH};
            client.set(ZLINK_SOCKS_PROXY, between.address);
            client.set(ZLINK_SOCKS_USERNAME, "joe");
            client.set_password(ZLINK_SOCKS_PASSWORD);
            CHECK(count_in_memory() == 1);
            REQUIRE(zlink_connect(client.handle, "tcp://127.0.0.1:9") == 0);
            serving.join();
            CHECK(was_right);
        }
        CHECK(count_in_memory() == 0);
    }

} // TEST_SUITE

int main(int count, char** words) {
    // With lazy binding, the linker saves the vector registers on the stack when a function is
    // first called, and their contents stay there.
    if (std::getenv("LD_BIND_NOW") == nullptr) {
        ::setenv("LD_BIND_NOW", "1", 1);
        ::execv("/proc/self/exe", words);
    }
    return doctest::Context{count, words}.run();
}
