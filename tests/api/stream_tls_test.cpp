// SPDX-License-Identifier: MPL-2.0
#include "payloads.hpp"
#include "stream_fixture.hpp"
#include "testing/certificates.hpp"

#include <cstdint>

using namespace api_test;
using zlink::testing::authority;
using zlink::testing::identity;
using zlink::testing::temporary_folder;

namespace {

constexpr const char* endpoints[] = {"tls://127.0.0.1:*", "wss://127.0.0.1:*/chat"};

/// Two sockets; `server` has a certificate that `client` trusts.
struct stream_pair {
    explicit stream_pair(int io_threads)
        : owner(io_threads), server(owner, ZLINK_STREAM), client(owner, ZLINK_STREAM) {
        const identity shown = ours.issue();
        server.set(ZLINK_TLS_CERTIFICATE, shown.certificate).set(ZLINK_TLS_KEY, shown.key);
        client.set(ZLINK_TLS_CA, ours.path()).set(ZLINK_RECONNECT_IVL, -1);
    }

    temporary_folder folder;
    authority ours{folder, "ours"};
    context owner;
    socket server;
    socket client;
};

} // namespace

TEST_SUITE("stream over tls") {

    TEST_CASE("stream over tls: messages of all sizes pass both ways, and what was sent "
              "before the end") {
        for (const std::string endpoint : endpoints) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(endpoint);
                CAPTURE(io_threads);
                stream_pair both{io_threads};
                both.client.connect(both.server.bind(endpoint));
                const std::string scheme = endpoint.substr(0, 6);
                const news at_client = recv_news(both.client);
                const news at_server = recv_news(both.server);
                CHECK(at_client.text.starts_with(scheme));
                CHECK(at_server.text.starts_with(scheme));
                for (const std::size_t bytes : payload_sizes_and({126, 16'384, 70'000})) {
                    const std::string payload = long_text(bytes);
                    CHECK(both.client.send(message{at_client.id, payload}) == ok);
                    CHECK(both.server.recv() == message{at_server.id, payload});
                    CHECK(both.server.send(message{at_server.id, payload}) == ok);
                    CHECK(both.client.recv() == message{at_client.id, payload});
                }
                const std::string last = long_text(300'000);
                CHECK(both.server.send(message{at_server.id, last}) == ok);
                CHECK(zlink_stream_close(both.server, at_server.id.data(), 3000, "done") == 0);
                CHECK(both.client.recv() == message{at_client.id, last});
                CHECK(recv_departure(both.client, at_client.id) ==
                      (scheme == "wss://" ? "3000 done" : "1000 closed by the peer"));
                CHECK(recv_departure(both.server, at_server.id) == "3000 done");
            }
        }
    }

    TEST_CASE("stream over tls: a peer that speaks no TLS is ended, and never reported") {
        for (const std::string endpoint : endpoints) {
            stream_pair both{0};
            const std::string bound = both.server.bind(endpoint);
            const std::size_t begin = bound.find("://");
            raw_peer stranger{both.owner,
                              "tcp" + bound.substr(begin, bound.find('/', begin + 3) - begin)};
            stranger.send(framed("hello"));
            both.client.connect(bound);
            CHECK(recv_arrival(both.server) == id_of(1));
        }
    }

} // TEST_SUITE
