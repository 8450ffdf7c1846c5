// SPDX-License-Identifier: MPL-2.0
//
// Files over HTTP, on the port to which WebSocket peers connect.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "testing/temporary_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace api_test {

using namespace std::string_literals;
using zlink::testing::temporary_folder;

namespace {

constexpr std::size_t large_bytes = 5'000'000;

/// A STREAM that serves a folder.
struct serving {
    explicit serving(int io_threads, const zlink_http_folder_t* settings = nullptr)
        : owner(io_threads), server(owner, ZLINK_STREAM) {
        folder.write("a.txt", "hello");
        folder.write("large", long_text(large_bytes));
        REQUIRE(zlink_http_serve(server, "/", folder.path().c_str(), settings) == 0);
        endpoint = server.bind("http://127.0.0.1:*/chat");
    }

    temporary_folder folder;
    context owner;
    socket server;
    std::string endpoint;
};

std::string get(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

/// The content of the next response, whose status must be that.
std::string recv_content(raw_peer& by, const std::string& status) {
    const std::string head = recv_header(by);
    CHECK(head.starts_with("HTTP/1.1 " + status));
    const std::size_t at = head.find("Content-Length: ");
    REQUIRE(at != std::string::npos);
    return by.recv(std::stoul(head.substr(at + 16)));
}

} // namespace

TEST_SUITE("http") {

    TEST_CASE("files of every size, over one connection") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            serving it{io_threads};
            raw_peer client{it.owner, tcp_of(it.endpoint)};
            for (const std::size_t bytes : {0, 1, 8'191, 16'383, 16'384, 100'000, 1'048'577}) {
                CAPTURE(bytes);
                it.folder.write("sized", long_text(bytes));
                client.send(get("/sized"));
                CHECK(recv_content(client, "200") == long_text(bytes));
            }
            client.send(get("/large", "Range: bytes=4999000-\r\n"));
            CHECK(recv_content(client, "206") == long_text(large_bytes).substr(4'999'000));
            client.send(get("/none"));
            CHECK(recv_content(client, "404").find("404 Not Found") != std::string::npos);
            client.send(get("/large"));
            CHECK(recv_content(client, "200") == long_text(large_bytes));
        }
    }

    TEST_CASE("many clients at a time, one of which does not read") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            serving it{io_threads};
            raw_peer stalled{it.owner, tcp_of(it.endpoint)};
            stalled.send(get("/large") + get("/large"));
            constexpr int client_count = 100;
            std::vector<std::unique_ptr<raw_peer>> clients;
            clients.reserve(client_count);
            for (int count = 0; count < client_count; ++count) {
                clients.push_back(std::make_unique<raw_peer>(it.owner, tcp_of(it.endpoint)));
            }
            for (int round = 0; round < 3; ++round) {
                for (const auto& each : clients) {
                    each->send(get("/a.txt") + get("/a.txt"));
                }
                for (const auto& each : clients) {
                    CHECK(recv_content(*each, "200") == "hello");
                    CHECK(recv_content(*each, "200") == "hello");
                }
            }
            CHECK(recv_content(stalled, "200") == long_text(large_bytes));
        }
    }

    /// Written to the disk, and no longer in memory, as far as the system does so.
    TEST_CASE("files that have to be read from a disk") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            serving it{io_threads};
            const std::string path = it.folder.file("large");
            const auto evict = [&] {
                const int file = ::open(path.c_str(), O_RDONLY);
                REQUIRE(file >= 0);
                CHECK(::fsync(file) == 0);
                CHECK(::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
                ::close(file);
            };
            raw_peer one{it.owner, tcp_of(it.endpoint)};
            raw_peer other{it.owner, tcp_of(it.endpoint)};
            for (int round = 0; round < 3; ++round) {
                evict();
                one.send(get("/large"));
                other.send(get("/a.txt"));
                CHECK(recv_content(other, "200") == "hello");
                CHECK(recv_content(one, "200") == long_text(large_bytes));
            }
        }
    }

    /// A reset behind the end of the client's direction raises SIGPIPE where it is not withheld.
    TEST_CASE("clients that end and reset the connection while a file is sent") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            serving it{io_threads};
            for (int count = 0; count < 20; ++count) {
                raw_peer client{it.owner, tcp_of(it.endpoint)};
                client.send(get("/large"));
                static_cast<void>(recv_header(client));
                REQUIRE(::shutdown(client.descriptor(), SHUT_WR) == 0);
                client.reset();
                CHECK(it.server.poll(ZLINK_POLLIN, milliseconds{1}) == 0);
            }
            raw_peer client{it.owner, tcp_of(it.endpoint)};
            client.send(get("/a.txt"));
            CHECK(recv_content(client, "200") == "hello");
        }
    }

    TEST_CASE("a WebSocket peer on the same port, by its path") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            serving it{io_threads};
            raw_peer client{it.owner, tcp_of(it.endpoint)};
            client.send(get("/a.txt"));
            CHECK(recv_content(client, "200") == "hello");
            client.send(zlink::testing::upgrade_request("/chat"));
            CHECK(recv_header(client) == zlink::testing::upgrade_response());
            const std::string id = recv_arrival(it.server);
            client.send("\x82\x85\0\0\0\0hello"s);
            CHECK(it.server.recv() == message{id, "hello"});
            CHECK(it.server.send(message{id, "world"}) == ok);
            CHECK(client.recv(7) == "\x82\5world");

            raw_peer lost{it.owner, tcp_of(it.endpoint)};
            lost.send(zlink::testing::upgrade_request("/other"));
            CHECK(recv_header(lost).starts_with("HTTP/1.1 404"));
            lost.await_end();
        }
    }

    TEST_CASE("closing the socket and unbinding end the connections") {
        for (const bool unbinds : {false, true}) {
            CAPTURE(unbinds);
            serving it{1};
            raw_peer idle{it.owner, tcp_of(it.endpoint)};
            idle.send(get("/a.txt"));
            CHECK(recv_content(idle, "200") == "hello");
            raw_peer busy{it.owner, tcp_of(it.endpoint)};
            busy.send(get("/large"));
            CHECK(recv_header(busy).starts_with("HTTP/1.1 200"));
            if (unbinds) {
                CHECK(it.server.unbind(it.endpoint) == ok);
            } else {
                it.server.close();
            }
            idle.await_end();
            busy.await_end();
        }
    }

    TEST_CASE("settings of a folder") {
        zlink_http_folder_t settings{};
        settings.struct_size = sizeof settings;
        settings.index = "a.txt";
        settings.cache_control = "*.txt: max-age=60; *: no-store";
        settings.cors_origin = "https://example.org";
        serving it{1, &settings};
        raw_peer client{it.owner, tcp_of(it.endpoint)};
        client.send(get("/"));
        const std::string head = recv_header(client);
        CHECK(head.find("\r\nCache-Control: max-age=60\r\n") != std::string::npos);
        CHECK(head.find("\r\nAccess-Control-Allow-Origin: https://example.org\r\n") !=
              std::string::npos);
        CHECK(head.find("\r\nVary: Origin\r\n") != std::string::npos);
        CHECK(client.recv(5) == "hello");
    }

    TEST_CASE("several folders, the longest prefix first") {
        const temporary_folder one;
        const temporary_folder two;
        one.write("a", "one");
        one.write("in/a", "hidden");
        two.write("a", "two");
        const context owner;
        socket server{owner, ZLINK_STREAM};
        REQUIRE(zlink_http_serve(server, "/", one.path().c_str(), nullptr) == 0);
        REQUIRE(zlink_http_serve(server, "/in/", two.path().c_str(), nullptr) == 0);
        raw_peer client{owner, tcp_of(server.bind("http://127.0.0.1:*"))};
        client.send(get("/a") + get("/in/a") + get("/in"));
        CHECK(recv_content(client, "200") == "one");
        CHECK(recv_content(client, "200") == "two");
        CHECK(recv_header(client).find("\r\nLocation: /in/\r\n") != std::string::npos);
    }

    TEST_CASE("what is refused, and why") {
        const temporary_folder folder;
        folder.write("file", "");
        const context owner;
        socket server{owner, ZLINK_STREAM};
        const auto serve = [&](const char* prefix, const std::string& path,
                               const zlink_http_folder_t* settings = nullptr) {
            return zlink_http_serve(server, prefix, path.c_str(), settings) == 0 ? ok : errno;
        };
        for (const char* const prefix : {"", "video", "/video", "video/", "//", "/a//b/", "/.a/"}) {
            CAPTURE(prefix);
            CHECK(serve(prefix, folder.path()) == EINVAL);
            CHECK(std::string(zlink_error_text()).find("begin and end with a slash") !=
                  std::string::npos);
        }
        CHECK(serve("/", folder.file("none")) == ENOENT);
        CHECK(serve("/", folder.file("file")) == ENOTDIR);
        zlink_http_folder_t settings{};
        CHECK(serve("/", folder.path(), &settings) == EINVAL);
        settings.struct_size = sizeof settings;
        CHECK(serve("/", folder.path(), &settings) == ok);
        for (const char* const rules : {"*.js", "*.js:", ": x", "a*b: x"}) {
            CAPTURE(rules);
            settings.cache_control = rules;
            CHECK(serve("/", folder.path(), &settings) == EINVAL);
        }
        socket pair{owner, ZLINK_PAIR};
        CHECK(
            (zlink_http_serve(pair, "/", folder.path().c_str(), nullptr) != 0 && errno == ENOTSUP));
        CHECK(pair.try_bind("http://127.0.0.1:*") == EPROTONOSUPPORT);
        CHECK(server.try_connect("http://127.0.0.1:1") == EPROTONOSUPPORT);
    }

} // TEST_SUITE

} // namespace api_test
