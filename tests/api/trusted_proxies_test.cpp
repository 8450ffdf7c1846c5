// SPDX-License-Identifier: MPL-2.0
//
// Proxies that tell the client of a request in X-Forwarded-For and Forwarded. The peers here are at
// 127.0.0.1, which is the proxy's address.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "testing/temporary_folder.hpp"

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace api_test {

using namespace std::string_literals;

namespace {

void note_client(const zlink_http_record_t* record, void* into);

/// A STREAM with a file, a path of the application, and WebSocket peers.
class forwarding_server {
public:
    explicit forwarding_server(const std::string& proxies, const std::string& scheme = "http",
                               int option = ZLINK_MAX_CONNECTIONS, int value = 0)
        : owner(1), server(owner, ZLINK_STREAM) {
        folder_.write("a.txt", "hello");
        trust.let_listen(server);
        REQUIRE(zlink_http_serve(server, "/", folder_.path().c_str(), nullptr) == 0);
        REQUIRE(zlink_http_route(server, "/api/*", ZLINK_HTTP_REQUESTS) == 0);
        REQUIRE(zlink_http_observe(server, &note_client, this) == 0);
        server.set(option, value).set(ZLINK_TRUSTED_PROXIES, proxies);
        endpoint = server.bind(scheme + "://127.0.0.1:*/");
    }

    /// The client that the observer is told for a request of a file with these fields.
    std::string logged_client(const std::string& fields) {
        raw_peer proxy{owner, tcp_of(endpoint)};
        proxy.send("GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + fields + "\r\n");
        proxy.await_end();
        const std::lock_guard lock{mutex_};
        REQUIRE(clients_.size() == 1);
        const std::string only = clients_.front();
        clients_.clear();
        return only;
    }

    void note(std::string client) {
        const std::lock_guard lock{mutex_};
        clients_.push_back(std::move(client));
    }

private:
    zlink::testing::temporary_folder folder_;
    std::mutex mutex_;
    std::vector<std::string> clients_;

public:
    edge_trust trust;
    context owner; // Ends before what its threads tell is gone.
    socket server;
    std::string endpoint;
};

void note_client(const zlink_http_record_t* record, void* into) {
    static_cast<forwarding_server*>(into)->note({record->client, record->client_size});
}

std::string status_of(raw_peer& by) {
    return recv_header(by).substr(0, 12);
}

std::string peer_address_of(const zlink_msg_t* received) {
    const char* const said = zlink_msg_gets(received, "Peer-Address");
    return said != nullptr ? said : "none";
}

} // namespace

TEST_SUITE("trusted_proxies") {

    TEST_CASE("a trusted proxy's request is its client's in the log") {
        forwarding_server it{"127.0.0.1, 10.0.0.0/8"};
        CHECK(it.logged_client("X-Forwarded-For: 192.0.2.7\r\n") == "192.0.2.7");
        CHECK(it.logged_client("X-Forwarded-For: 198.51.100.1, 192.0.2.7, 10.1.1.1\r\n") ==
              "192.0.2.7");
        CHECK(it.logged_client("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 10.1.1.1\r\n") ==
              "192.0.2.7");
        CHECK(it.logged_client("Forwarded: for=\"[2001:db8::7]:99\";proto=https\r\n") ==
              "2001:db8::7");
    }

    TEST_CASE("malformed fields count for nothing") {
        forwarding_server it{"127.0.0.1"};
        CHECK(it.logged_client("") == "127.0.0.1");
        CHECK(it.logged_client("X-Forwarded-For: client.example.org\r\n") == "127.0.0.1");
        CHECK(it.logged_client("Forwarded: for=unknown\r\n") == "127.0.0.1");
        CHECK(it.logged_client("X-Forwarded-For: 192.0.2.7\r\nForwarded: for=192.0.2.8\r\n") ==
              "127.0.0.1");
    }

    TEST_CASE("nobody else's fields count") {
        for (const char* const proxies : {"", "127.0.0.2", "unix", "::1/128"}) {
            CAPTURE(proxies);
            forwarding_server it{proxies};
            CHECK(it.logged_client("X-Forwarded-For: 192.0.2.7\r\n") == "127.0.0.1");
        }
    }

    TEST_CASE("each request on a connection of a proxy has its own client") {
        forwarding_server it{"127.0.0.1"};
        raw_peer proxy{it.owner, tcp_of(it.endpoint)};
        const auto field_of_request = [&](const std::string& fields, const char* name) {
            proxy.send("GET /api/x HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
            const message asked = it.server.recv();
            zlink_http_request_t parts{};
            parts.struct_size = sizeof parts;
            REQUIRE(zlink_http_request(asked.frames[1].data(), asked.frames[1].size(), &parts) ==
                    0);
            const char* value = nullptr;
            std::size_t bytes = 0;
            const bool has = zlink_http_field(&parts, name, &value, &bytes) == 0;
            const std::string found = has ? std::string{value, bytes} : "none";
            REQUIRE(zlink_http_reply(it.server, asked.frames[0].data(), 204, nullptr, nullptr, 0,
                                     0) == 0);
            CHECK(status_of(proxy) == "HTTP/1.1 204");
            return found;
        };
        CHECK(field_of_request("X-Forwarded-For: 9.9.9.9, 192.0.2.7\r\n", "x-forwarded-for") ==
              "192.0.2.7");
        CHECK(field_of_request("X-Forwarded-For: 192.0.2.8:80\r\n", "X-Forwarded-For") ==
              "192.0.2.8");
        CHECK(field_of_request("Forwarded: for=192.0.2.9\r\n", "X-Forwarded-For") == "192.0.2.9");
        CHECK(field_of_request("Forwarded: for=192.0.2.9\r\n", "Forwarded") == "none");
        CHECK(field_of_request("X-Forwarded-Proto: https\r\n", "X-Forwarded-Proto") == "https");
        CHECK(field_of_request("X-Forwarded-Proto: javascript\r\n", "X-Forwarded-Proto") == "none");
        CHECK(field_of_request("", "X-Forwarded-For") == "none");
    }

    TEST_CASE("the application sees no fields that are not trusted, unless it trusts nobody") {
        for (const auto& [proxies, seen] : {std::pair{"10.0.0.1", "none"}, {"", "192.0.2.7"}}) {
            forwarding_server it{proxies};
            raw_peer client{it.owner, tcp_of(it.endpoint)};
            client.send("GET /api/x HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n");
            const message asked = it.server.recv();
            const bool has = asked.frames[1].find("192.0.2.7") != std::string::npos;
            CHECK(has == (seen != "none"s));
        }
    }

    TEST_CASE("a WebSocket peer behind a proxy has its own address") {
        for (const std::string scheme : {"http", "ws"}) {
            CAPTURE(scheme);
            forwarding_server it{"127.0.0.0/8", scheme};
            raw_peer proxy{it.owner, tcp_of(it.endpoint)};
            proxy.send(zlink::testing::upgrade_request(
                "/", "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"));
            const news told = recv_news(it.server);
            CHECK(told.text.starts_with(scheme + "://192.0.2.7"));
            CHECK(status_of(proxy) == "HTTP/1.1 101");
            proxy.send("\x82\x82\0\0\0\0hi"s);
            frame id;
            frame body;
            REQUIRE(zlink_msg_recv(id.get(), it.server, 0) == 4);
            REQUIRE(zlink_msg_recv(body.get(), it.server, 0) == 2);
            CHECK(peer_address_of(body.get()) == "192.0.2.7");
        }
    }

    TEST_CASE("peers behind a proxy are limited by their own addresses, and the proxy is not") {
        for (const std::string scheme : {"http", "ws"}) {
            CAPTURE(scheme);
            forwarding_server it{"127.0.0.1", scheme, ZLINK_MAX_CONNECTIONS_PER_ADDRESS, 1};
            std::vector<std::unique_ptr<raw_peer>> proxied;
            const auto dial = [&](const std::string& client) {
                proxied.push_back(std::make_unique<raw_peer>(it.owner, tcp_of(it.endpoint)));
                proxied.back()->send(
                    zlink::testing::upgrade_request("/", "X-Forwarded-For: " + client + "\r\n"));
                return status_of(*proxied.back());
            };
            CHECK(dial("192.0.2.7") == "HTTP/1.1 101");
            CHECK(dial("192.0.2.8") == "HTTP/1.1 101");
            CHECK(dial("192.0.2.7") == "HTTP/1.1 429");
            CHECK(proxied.back()->is_disconnected());
            CHECK(dial("2001:db8:0:1::1") == "HTTP/1.1 101");
            CHECK(dial("2001:db8:0:1::2") == "HTTP/1.1 429");
            proxied.front()->close();
            wait_until(it.owner, [&] { return dial("192.0.2.7") == "HTTP/1.1 101"; });
        }
    }

    TEST_CASE("the rate of requests is limited for each client behind a proxy") {
        forwarding_server it{"127.0.0.1", "http", ZLINK_HTTP_REQUEST_RATE, 1};
        const auto get = [&](const std::string& client) {
            raw_peer proxy{it.owner, tcp_of(it.endpoint)};
            proxy.send("GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: " +
                       client + "\r\n\r\n");
            return status_of(proxy);
        };
        int refused = 0;
        for (int count = 0; count < 30; ++count) {
            refused += get("192.0.2.7") == "HTTP/1.1 429" ? 1 : 0;
        }
        CHECK(refused > 0); // At most one a second more is allowed than 10.
        CHECK(get("192.0.2.8") == "HTTP/1.1 200");
    }

    TEST_CASE("a list that is wrong is refused with the part that is") {
        const context owner{1};
        socket stream{owner, ZLINK_STREAM};
        const std::string list = "10.0.0.0/8,proxy.example.org";
        stream.set(ZLINK_TRUSTED_PROXIES, "unix");
        CHECK(zlink_setsockopt(stream, ZLINK_TRUSTED_PROXIES, list.data(), list.size()) == -1);
        CHECK(zlink_errno() == EINVAL);
        CHECK(zlink_error_text() == "ZLINK_TRUSTED_PROXIES: \"proxy.example.org\" is none of "
                                    "ADDRESS, ADDRESS/BITS and unix"s);
        char text[16] = {};
        std::size_t bytes = sizeof text;
        REQUIRE(zlink_getsockopt(stream, ZLINK_TRUSTED_PROXIES, text, &bytes) == 0);
        CHECK(text == "unix"s);
    }
}

} // namespace api_test
