// SPDX-License-Identifier: MPL-2.0
//
// Files over HTTP, on the port to which WebSocket peers connect.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "testing/temporary_folder.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <set>
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

    TEST_CASE("the folder to which the path leads now is served") {
        const temporary_folder outer;
        outer.write("first/a", "one");
        outer.write("second/a", "two");
        std::filesystem::create_directory_symlink("first", outer.path() / "current");
        const context owner;
        socket server{owner, ZLINK_STREAM};
        REQUIRE(zlink_http_serve(server, "/", outer.file("current").c_str(), nullptr) == 0);
        raw_peer client{owner, tcp_of(server.bind("http://127.0.0.1:*"))};
        const auto await = [&](const std::string& content) {
            const auto begin = std::chrono::steady_clock::now();
            std::string got;
            while (got != content &&
                   std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) {
                client.send(get("/a"));
                const std::string head = recv_header(client);
                got = client.recv(std::stoul(head.substr(head.find("Content-Length: ") + 16)));
            }
            CHECK(got == content);
        };
        await("one");
        // A link that is replaced, as a release does it.
        std::filesystem::create_directory_symlink("second", outer.path() / "new");
        std::filesystem::rename(outer.path() / "new", outer.path() / "current");
        await("two");
        // A folder that is removed, and made again.
        std::filesystem::remove_all(outer.path() / "second");
        outer.write("second/a", "three");
        await("three");
        // One that is moved away, and another that comes later.
        std::filesystem::rename(outer.path() / "second", outer.path() / "third");
        await("three");
        outer.write("second/a", "four");
        await("four");
    }

    TEST_CASE("the index of a folder is sent compressed, as any file") {
        serving it{1};
        it.folder.write("in/index.html", "plain");
        it.folder.write("in/index.html.gz", "gzip");
        it.folder.write("in/index.html.br", "br");
        raw_peer client{it.owner, tcp_of(it.endpoint)};
        for (const char* const target : {"/in/", "/in/index.html"}) {
            CAPTURE(target);
            client.send(get(target, "Accept-Encoding: gzip\r\n"));
            const std::string head = recv_header(client);
            CHECK(head.find("\r\nContent-Encoding: gzip\r\n") != std::string::npos);
            CHECK(head.find("\r\nVary: Accept-Encoding\r\n") != std::string::npos);
            CHECK(head.find("\r\nContent-Type: text/html") != std::string::npos);
            CHECK(client.recv(4) == "gzip");
            client.send(get(target, "Accept-Encoding: gzip, br\r\n"));
            CHECK(recv_content(client, "200") == "br");
            client.send(get(target));
            CHECK(recv_content(client, "200") == "plain");
        }
    }

    TEST_CASE("every name that is listed can be fetched") {
        zlink_http_folder_t settings{};
        settings.struct_size = sizeof settings;
        settings.lists = 1;
        serving it{1, &settings};
        const std::vector<std::string> names{"back\\slash",
                                             "%2e",
                                             "%2e%2e",
                                             "a%2fb",
                                             "%5c",
                                             "100%",
                                             "%25",
                                             "%00",
                                             "a b?c#d",
                                             "a\nb",
                                             "a\x7f"
                                             "b",
                                             "\xff\xfe",
                                             "<&\"'>",
                                             "a:b",
                                             "a\\..\\..\\etc",
                                             "%252e%252e",
                                             "+",
                                             std::string(255, '%')};
        for (const std::string& each : names) {
            it.folder.write("in/" + each, "of " + each);
            it.folder.write("folders/" + each + "/inner", "in " + each);
        }
        raw_peer client{it.owner, tcp_of(it.endpoint)};
        const auto links_at = [&](const std::string& path) {
            client.send(get(path));
            const std::string page = recv_content(client, "200");
            std::vector<std::string> found;
            const std::string begin = "href=\"./";
            for (std::size_t at = page.find(begin); at != std::string::npos;
                 at = page.find(begin, at)) {
                at += begin.size();
                found.push_back(page.substr(at, page.find('"', at) - at));
            }
            return found;
        };
        std::set<std::string> contents;
        for (const std::string& link : links_at("/in/")) {
            CAPTURE(link);
            client.send(get("/in/" + link));
            contents.insert(recv_content(client, "200"));
        }
        for (const std::string& link : links_at("/folders/")) {
            CAPTURE(link);
            REQUIRE(links_at("/folders/" + link) == std::vector<std::string>{"inner"});
            client.send(get("/folders/" + link + "inner"));
            contents.insert(recv_content(client, "200"));
        }
        CHECK(contents.size() == 2 * names.size());
        for (const std::string& each : names) {
            CHECK(contents.contains("of " + each));
            CHECK(contents.contains("in " + each));
        }
        // A slash that is written as an escape separates nothing.
        for (const char* const path : {"/in%2fa", "/in/..%2f..%2fetc", "/in/%2e%2e/a.txt"}) {
            client.send(get(path));
            recv_content(client, "404");
        }
    }

    TEST_CASE("Last-Modified is never later than Date") {
        serving it{1};
        const auto tomorrow =
            std::filesystem::file_time_type::clock::now() + std::chrono::hours(24);
        std::filesystem::last_write_time(it.folder.file("a.txt"), tomorrow);
        raw_peer client{it.owner, tcp_of(it.endpoint)};
        const auto value = [](const std::string& head, const std::string& name) {
            const std::size_t at = head.find("\r\n" + name + ": ");
            REQUIRE(at != std::string::npos);
            const std::size_t begin = at + name.size() + 4;
            return head.substr(begin, head.find("\r\n", begin) - begin);
        };
        client.send(get("/a.txt"));
        const std::string head = recv_header(client);
        CHECK(client.recv(5) == "hello");
        CHECK(value(head, "Last-Modified") == value(head, "Date"));
        std::filesystem::last_write_time(it.folder.file("a.txt"),
                                         tomorrow - std::chrono::hours(48));
        client.send(get("/a.txt"));
        const std::string later = recv_header(client);
        CHECK(value(later, "Last-Modified") != value(later, "Date"));
    }

    TEST_CASE("entity tags are equal for copies, if they are to be") {
        const temporary_folder one;
        const temporary_folder two;
        one.write("a", "same");
        two.write("a", "same");
        std::filesystem::last_write_time(two.file("a"),
                                         std::filesystem::last_write_time(one.file("a")));
        const context owner;
        socket server{owner, ZLINK_STREAM};
        zlink_http_folder_t settings{};
        settings.struct_size = sizeof settings;
        const auto serve = [&](const char* prefix, const temporary_folder& folder) {
            REQUIRE(zlink_http_serve(server, prefix, folder.path().c_str(), &settings) == 0);
        };
        serve("/one/", one);
        serve("/two/", two);
        // Programs that were compiled before there was the member.
        settings.struct_size = offsetof(zlink_http_folder_t, portable_etags);
        settings.portable_etags = 1;
        serve("/old/", one);
        settings.struct_size = sizeof settings;
        serve("/same/one/", one);
        serve("/same/two/", two);
        raw_peer client{owner, tcp_of(server.bind("http://127.0.0.1:*"))};
        const auto tag = [&](const std::string& target) {
            client.send(get(target));
            const std::string head = recv_header(client);
            CHECK(client.recv(4) == "same");
            const std::size_t at = head.find("\r\nETag: \"");
            REQUIRE(at != std::string::npos);
            return head.substr(at, head.find("\r\n", at + 2) - at);
        };
        CHECK(tag("/one/a") != tag("/two/a"));
        CHECK(tag("/one/a") == tag("/old/a"));
        CHECK(tag("/same/one/a") == tag("/same/two/a"));
        CHECK(tag("/same/one/a") != tag("/one/a"));
        const std::string before = tag("/same/one/a");
        std::filesystem::last_write_time(one.file("a"),
                                         std::filesystem::last_write_time(one.file("a")) -
                                             std::chrono::nanoseconds(1));
        CHECK(tag("/same/one/a") != before);
    }

    TEST_CASE("where connections are limited, the one that waits longest gives way") {
        for (const int io_threads : {0, 1}) { // With more, the order is not certain.
            CAPTURE(io_threads);
            const temporary_folder folder;
            folder.write("a.txt", "hello");
            folder.write("large", long_text(large_bytes));
            const context owner{io_threads};
            socket server{owner, ZLINK_STREAM};
            REQUIRE(zlink_http_serve(server, "/", folder.path().c_str(), nullptr) == 0);
            server.set(ZLINK_MAX_CONNECTIONS, 3);
            const std::string endpoint = tcp_of(server.bind("http://127.0.0.1:*"));
            const auto ask = [&](raw_peer& by) {
                by.send(get("/a.txt"));
                CHECK(recv_content(by, "200") == "hello");
            };
            raw_peer busy{owner, endpoint}; // Its answer is not read.
            busy.send(get("/large"));
            CHECK(recv_header(busy).starts_with("HTTP/1.1 200"));
            raw_peer first{owner, endpoint};
            ask(first);
            raw_peer second{owner, endpoint};
            ask(second);
            ask(first); // The second has waited longer now.
            raw_peer third{owner, endpoint};
            ask(third);
            second.await_end();
            ask(first);
            ask(third);
            raw_peer fourth{owner, endpoint};
            ask(fourth);
            first.await_end();
            ask(third);
            CHECK(busy.recv(large_bytes) == long_text(large_bytes));
        }
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
