// SPDX-License-Identifier: MPL-2.0
//
// permessage-deflate. The far end is a test program that uses zlib itself, or another socket.
#include "edge_fixture.hpp"
#include "payloads.hpp"
#include "stream_fixture.hpp"
#include "testing/web_compression.hpp"
#include "testing/web_upgrade.hpp"
#include "web_peer.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

using namespace api_test;
using namespace std::string_literals;
using zlink::testing::upgrade_request;
using zlink::testing::upgrade_response;
using zlink::testing::upgrade_response_to;
using zlink::testing::web_compressed;
using zlink::testing::web_compressor;
using zlink::testing::web_decompressor;

namespace {

constexpr unsigned fin = 0x80;
constexpr unsigned compressed = 0x40;
constexpr unsigned text = 1;
constexpr unsigned binary = 2;
constexpr unsigned close_frame = 8;

std::string request(const std::string& offer) {
    return upgrade_request("/", offer.empty() ? "" : "Sec-WebSocket-Extensions: " + offer + "\r\n");
}

/// The value of a header field; empty if it is absent.
std::string field(const std::string& header, const std::string& name) {
    const std::size_t at = header.find("\r\n" + name + ": ");
    if (at == std::string::npos) {
        return "";
    }
    const std::size_t begin = at + name.size() + 4;
    return header.substr(begin, header.find("\r\n", begin) - begin);
}

/// A client's frame, masked with zeros.
std::string from_client(unsigned first, const std::string& payload) {
    std::string made{static_cast<char>(first)};
    if (payload.size() < 126) {
        made += static_cast<char>(0x80 | payload.size());
    } else {
        made += "\xff"s;
        for (int shift = 56; shift >= 0; shift -= 8) {
            made += static_cast<char>((payload.size() >> shift) & 0xff);
        }
        if (payload.size() < 65'536) {
            made = made.substr(0, 1) + "\xfe" + made.substr(8);
        }
    }
    return made + "\0\0\0\0"s + payload;
}

struct ws_frame {
    unsigned first;
    std::string payload;

    bool operator==(const ws_frame&) const = default;
};

/// Receives the next frame of a server.
ws_frame recv_frame(raw_peer& by) {
    const std::string head = by.recv(2);
    std::size_t bytes = static_cast<unsigned char>(head[1]);
    if (bytes >= 126) {
        const std::string length = by.recv(bytes == 126 ? 2 : 8);
        bytes = 0;
        for (const char each : length) {
            bytes = bytes << 8 | static_cast<unsigned char>(each);
        }
    }
    return {static_cast<unsigned char>(head[0]), bytes == 0 ? "" : by.recv(bytes)};
}

std::uint64_t deflated_count(const socket& of) {
    std::uint64_t count = 0;
    std::size_t bytes = sizeof count;
    REQUIRE(zlink_getsockopt(of, ZLINK_WS_DEFLATED, &count, &bytes) == 0);
    return count;
}

/// A server that compresses.
struct server_side {
    explicit server_side(const context& of, bool keeps_context = false,
                         std::int64_t message_bytes_max = -1, const std::string& via = "ws",
                         const edge_trust* trust = nullptr)
        : owner(of), at(of, ZLINK_STREAM) {
        if (trust != nullptr) {
            trust->let_listen(at);
        }
        at.set(ZLINK_WS_DEFLATE, 1).set(ZLINK_WS_DEFLATE_CONTEXT, keeps_context ? 1 : 0);
        REQUIRE(zlink_setsockopt(at, ZLINK_MAXMSGSIZE, &message_bytes_max,
                                 sizeof message_bytes_max) == 0);
        endpoint = at.bind(via + "://127.0.0.1:*/");
        tcp_endpoint = tcp_of(endpoint);
    }

    /// A client with that offer. @param answer  The expected answer.
    std::unique_ptr<raw_peer> connect(const std::string& offer, const std::string& answer,
                                      std::string& id) {
        auto client = std::make_unique<raw_peer>(owner, tcp_endpoint);
        client->send(request(offer));
        CHECK(field(recv_header(*client), "Sec-WebSocket-Extensions") == answer);
        const news told = recv_news(at);
        id = told.id;
        CHECK(told.text.find("\nExtensions: " + answer) ==
              (answer.empty() ? std::string::npos : told.text.find("\nExtensions: ")));
        return client;
    }

    const context& owner;
    socket at;
    std::string endpoint;
    std::string tcp_endpoint;
};

const std::string alone_answer =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// A message of so many bytes that compresses well.
std::string compressible(std::size_t bytes) {
    std::string made;
    while (made.size() < bytes) {
        made += "It compresses, number " + std::to_string(made.size() % 77) + ". ";
    }
    made.resize(bytes);
    return made;
}

std::string incompressible(std::size_t bytes) {
    std::string made;
    for (unsigned state = 1; made.size() < bytes; state = state * 1664525 + 1013904223) {
        made += static_cast<char>(state >> 24);
    }
    return made;
}

/// Exchanges messages over two connections of `client`, one after the other.
void exchange_compressed(socket& client, socket& server, bool keeps_context) {
    news at_client = recv_news(client);
    news at_server = recv_news(server);
    for (int round = 0; round < 2; ++round) {
        const std::string line =
            "\nExtensions: " + (keeps_context ? "permessage-deflate"s : alone_answer) +
            "; server_max_window_bits=12; client_max_window_bits=12";
        CHECK(at_client.text.ends_with(line));
        CHECK(at_server.text.ends_with(line));
        for (const std::size_t bytes : payload_sizes_and({1000, 20'000, 3000})) {
            CAPTURE(bytes);
            for (const std::string& payload : {compressible(bytes), incompressible(bytes)}) {
                CHECK(client.send(message{at_client.id, payload}) == ok);
                REQUIRE(server.recv() == message{at_server.id, payload});
                CHECK(server.send(message{at_server.id, payload}) == ok);
                REQUIRE(client.recv() == message{at_client.id, payload});
                frame many{payload};
                CHECK(zlink_stream_send_many(client, at_client.id.data(), 1, many.get(), 0) == 1);
                REQUIRE(server.recv() == message{at_server.id, payload});
            }
        }
        CHECK(deflated_count(client) > 0);
        CHECK(deflated_count(server) > 0);
        CHECK(zlink_stream_close(server, at_server.id.data(), 3000, "again") == 0);
        CHECK(recv_departure(client, at_client.id) == "3000 again");
        at_client = recv_news(client);
        at_server = recv_turnover(server, at_server.id).next;
    }
}

} // namespace

TEST_SUITE("deflate") {

    TEST_CASE("deflate: is off until asked for, and its options have ranges") {
        context owner{0};
        socket at{owner, ZLINK_STREAM};
        CHECK(at.get(ZLINK_WS_DEFLATE) == 0);
        CHECK(at.get(ZLINK_WS_DEFLATE_MIN) == 256);
        CHECK(at.get(ZLINK_WS_DEFLATE_LEVEL) == 6);
        CHECK(at.get(ZLINK_WS_DEFLATE_WINDOW) == 15);
        CHECK(at.get(ZLINK_WS_DEFLATE_CONTEXT) == 0);
        CHECK(deflated_count(at) == 0);
        struct range {
            int option;
            int least;
            int most;
        };
        for (const range& each :
             {range{ZLINK_WS_DEFLATE, 0, 1}, range{ZLINK_WS_DEFLATE_LEVEL, 1, 9},
              range{ZLINK_WS_DEFLATE_WINDOW, 9, 15}, range{ZLINK_WS_DEFLATE_CONTEXT, 0, 1},
              range{ZLINK_WS_DEFLATE_MIN, 0, 1 << 30}}) {
            CAPTURE(each.option);
            for (const int value : {each.least, each.most}) {
                at.set(each.option, value);
                CHECK(at.get(each.option) == value);
            }
            for (const int value : {each.least - 1, each.most + 1}) {
                if (each.option == ZLINK_WS_DEFLATE_MIN && value > 0) {
                    continue;
                }
                CHECK(error_of(zlink_setsockopt(at, each.option, &value, sizeof value)) == EINVAL);
            }
        }
        const int one = 1;
        socket other{owner, ZLINK_PAIR};
        CHECK(error_of(zlink_setsockopt(other, ZLINK_WS_DEFLATE, &one, sizeof one)) == EINVAL);
        const std::uint64_t count = 0;
        CHECK(error_of(zlink_setsockopt(at, ZLINK_WS_DEFLATED, &count, sizeof count)) == EINVAL);

        socket plain{owner, ZLINK_STREAM};
        const std::string endpoint = plain.bind("ws://127.0.0.1:*/");
        raw_peer client{owner, "tcp" + endpoint.substr(2, endpoint.rfind('/') - 2)};
        client.send(request("permessage-deflate"));
        CHECK(recv_header(client) == upgrade_response());
    }

    TEST_CASE("deflate: takes the offers that RFC 7692 lets it take, as it says") {
        struct offered {
            std::string offer;
            std::string answer;
        };
        const std::string name = "permessage-deflate";
        const std::string both = "; server_no_context_takeover; client_no_context_takeover";
        for (const offered& each :
             {offered{"", ""},
              {name, name + both},
              {"x-webkit-deflate-frame", ""},
              {name + "; client_max_window_bits", name + both},
              {name + "; client_max_window_bits=10", name + both + "; client_max_window_bits=10"},
              {name + "; server_max_window_bits=9", name + both + "; server_max_window_bits=9"},
              {name + "; server_max_window_bits=8", ""},
              {name + "; server_max_window_bits=16", ""},
              {name + "; server_max_window_bits", ""},
              {name + "; other", ""},
              {name + "; client_no_context_takeover=1", ""},
              {name + "; client_max_window_bits; client_max_window_bits", ""},
              {name + "; other, " + name, name + both}}) {
            CAPTURE(each.offer);
            context owner{0};
            server_side server{owner};
            std::string id;
            const auto client = server.connect(each.offer, each.answer, id);
            client->send(from_client(fin | binary, "hello"));
            CHECK(server.at.recv() == message{id, "hello"});
        }
        context owner{0};
        server_side keeping{owner, true};
        std::string id;
        keeping.connect(name, name, id);
        keeping.connect(name + both, name + both, id);
        keeping.at.set(ZLINK_WS_DEFLATE_WINDOW, 10);
        const std::string endpoint = keeping.at.bind("ws://127.0.0.1:*/");
        raw_peer client{owner, "tcp" + endpoint.substr(2, endpoint.rfind('/') - 2)};
        client.send(request(name + "; client_max_window_bits"));
        CHECK(field(recv_header(client), "Sec-WebSocket-Extensions") ==
              name + "; server_max_window_bits=10; client_max_window_bits=10");
    }

    TEST_CASE("deflate: messages of every size come and go, compressed or not") {
        for (const int io_threads : every_io_threads) {
            for (const bool keeps_context : {false, true}) {
                context owner{io_threads};
                server_side server{owner, keeps_context};
                std::string id;
                const auto client = server.connect(
                    "permessage-deflate", keeps_context ? "permessage-deflate" : alone_answer, id);
                web_compressor out;
                web_decompressor in;
                for (const std::size_t bytes : payload_sizes_and({300, 100'000})) {
                    CAPTURE(bytes);
                    const std::string payload = compressible(bytes);
                    client->send(from_client(fin | compressed | binary,
                                             keeps_context ? out.compress(payload)
                                                           : web_compressed(payload)) +
                                 from_client(fin | text, payload));
                    REQUIRE(server.at.recv() == message{id, payload});
                    REQUIRE(server.at.recv() == message{id, payload});
                    for (const int flags : {0, ZLINK_SNDTEXT}) {
                        CHECK(server.at.send(id, ZLINK_SNDMORE) == ok);
                        CHECK(server.at.send(payload, flags) == ok);
                        const ws_frame got = recv_frame(*client);
                        const unsigned kind = flags == 0 ? binary : text;
                        if (bytes < 256) {
                            CHECK(got == ws_frame{fin | kind, payload});
                            continue;
                        }
                        CHECK(got.first == (fin | compressed | kind));
                        CHECK(got.payload.size() < payload.size() / 2 + 20);
                        web_decompressor only;
                        const bool is_right =
                            (keeps_context ? in : only).decompress(got.payload) == payload;
                        CHECK(is_right);
                    }
                }
            }
        }
    }

    TEST_CASE("deflate: what does not get smaller goes as it is, also between what does") {
        for (const bool keeps_context : {false, true}) {
            context owner{0};
            server_side server{owner, keeps_context};
            server.at.set(ZLINK_WS_DEFLATE_MIN, 0);
            std::string id;
            const auto client = server.connect(
                "permessage-deflate", keeps_context ? "permessage-deflate" : alone_answer, id);
            web_decompressor in;
            for (int round = 0; round < 3; ++round) {
                for (const std::size_t bytes : {0, 1, 1000, 20'000}) {
                    const std::string noise = incompressible(bytes);
                    REQUIRE(server.at.send(message{id, noise}) == ok);
                    REQUIRE(recv_frame(*client) == ws_frame{fin | binary, noise});
                }
                const std::string payload = compressible(1000);
                REQUIRE(server.at.send(message{id, payload}) == ok);
                const ws_frame got = recv_frame(*client);
                CHECK(got.first == (fin | compressed | binary));
                web_decompressor only;
                CHECK((keeps_context ? in : only).decompress(got.payload) == payload);
            }
        }
    }

    TEST_CASE("deflate: a broadcast is compressed once for all whose windows are as large") {
        context owner{1};
        server_side alone{owner};
        server_side keeping{owner, true};
        for (server_side* const server : {&alone, &keeping}) {
            const bool keeps_context = server == &keeping;
            std::vector<std::unique_ptr<raw_peer>> clients;
            std::vector<std::unique_ptr<web_decompressor>> windows;
            std::string ids;
            for (int count = 0; count < 5; ++count) {
                const std::string answer = keeps_context ? "permessage-deflate" : alone_answer;
                std::string id;
                clients.push_back(
                    count == 4   ? server->connect("", "", id)
                    : count == 3 ? server->connect("permessage-deflate; server_max_window_bits=10",
                                                   answer + "; server_max_window_bits=10", id)
                                 : server->connect("permessage-deflate", answer, id));
                windows.push_back(std::make_unique<web_decompressor>(count == 3 ? 10 : 15));
                ids += id;
            }
            for (const std::size_t bytes : {300, 100'000, 300}) {
                // So that the windows contain more than the broadcasts.
                const std::string own = "own " + compressible(400);
                REQUIRE(server->at.send(message{ids.substr(0, 4), own}) == ok);
                const std::string got_own = recv_frame(*clients[0]).payload;
                CHECK((keeps_context ? *windows[0] : *std::make_unique<web_decompressor>())
                          .decompress(got_own) == own);
                const std::uint64_t before = deflated_count(server->at);
                const std::string payload = compressible(bytes);
                frame sent{payload};
                REQUIRE(zlink_stream_send_many(server->at, ids.data(), 5, sent.get(),
                                               ZLINK_SNDTEXT) == 5);
                CHECK(deflated_count(server->at) == before + 2);
                ws_frame first{};
                for (std::size_t index = 0; index < 4; ++index) {
                    CAPTURE(index);
                    const ws_frame got = recv_frame(*clients[index]);
                    CHECK(got.first == (fin | compressed | text));
                    const bool is_right = windows[index]->decompress(got.payload) == payload;
                    CHECK(is_right);
                    if (index == 0) {
                        first = got;
                    }
                    CHECK((index == 3 || got == first));
                }
                CHECK(recv_frame(*clients[4]) == ws_frame{fin | text, payload});
            }
            const std::uint64_t before = deflated_count(server->at);
            const std::string noise = incompressible(2000);
            frame sent{noise};
            REQUIRE(zlink_stream_send_many(server->at, ids.data(), 5, sent.get(), 0) == 5);
            for (const auto& each : clients) {
                CHECK(recv_frame(*each) == ws_frame{fin | binary, noise});
            }
            CHECK(deflated_count(server->at) == before + 2);
        }
    }

    TEST_CASE(
        "deflate: a peer whose message inflates without end, or not at all, is told, and ended") {
        struct broken {
            std::string payload;
            unsigned kind;
            unsigned code;
            std::string_view reason;
        };
        const std::string bomb = web_compressed(std::string(100'000'000, '\0'));
        CHECK(bomb.size() < 150'000);
        const broken cases[] = {
            {bomb, binary, 1009, "1009 message too large"},
            {"\x07", binary, 1007, "1007 compressed data is corrupt"},
            {web_compressed(incompressible(500)).substr(0, 200), binary, 1007,
             "1007 compressed data is corrupt"},
            {web_compressed("gr\xfcn"), text, 1007, "1007 text is no UTF-8"},
            {web_compressed("gr\xc3"), text, 1007, "1007 text is no UTF-8"},
        };
        for (const std::int64_t message_bytes_max : {-1, 1'000'000}) {
            for (const broken& each : cases) {
                context owner{0};
                server_side server{owner, false, message_bytes_max};
                std::string id;
                const auto client = server.connect("permessage-deflate", alone_answer, id);
                std::string other_id;
                const auto other = server.connect("permessage-deflate", alone_answer, other_id);
                client->send(from_client(fin | compressed | binary, web_compressed("good")) +
                             from_client(fin | compressed | each.kind, each.payload));
                CHECK(server.at.recv() == message{id, "good"});
                const ws_frame said = recv_frame(*client);
                CHECK(said == ws_frame{fin | close_frame,
                                       {static_cast<char>(each.code >> 8),
                                        static_cast<char>(each.code & 0xff)}});
                CHECK(client->is_disconnected());
                client->close();
                CHECK(recv_departure(server.at, id) == each.reason);
                other->send(from_client(fin | compressed | binary, web_compressed("still")));
                CHECK(server.at.recv() == message{other_id, "still"});
            }
        }
    }

    TEST_CASE("deflate: a peer that reads nothing before all is sent is served beside others") {
        constexpr std::size_t message_count = 150;
        constexpr std::size_t greedy_count = 4;
        const std::string answer = incompressible(64'000);
        const std::string data =
            from_client(fin | compressed | binary, web_compressed(compressible(64'000)));
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            context owner{io_threads};
            server_side server{owner};
            std::string id;
            std::vector<std::unique_ptr<raw_peer>> greedy;
            for (std::size_t count = 0; count < greedy_count; ++count) {
                greedy.push_back(server.connect("", "", id));
            }
            server.at.set(ZLINK_RCVHWM, 2);
            server.tcp_endpoint = tcp_of(server.at.bind("ws://127.0.0.1:*/"));
            const auto uploader = server.connect("permessage-deflate", alone_answer, id);
            std::vector<std::jthread> senders;
            for (const auto& each : greedy) {
                senders.push_back(send_messages(*each, from_client(fin | binary, answer)));
            }
            for (std::size_t count = 0; count < message_count; ++count) {
                uploader->send(data);
            }
            for (std::size_t answered = 0; answered < message_count;) {
                if (server.at.recv().frames[0] == id) {
                    CHECK(server.at.send(message{id, answer}) == ok);
                    ++answered;
                }
            }
            for (std::size_t count = 0; count < message_count; ++count) {
                REQUIRE(recv_frame(*uploader) == ws_frame{fin | binary, answer});
            }
        }
    }

    TEST_CASE("deflate: two sockets talk compressed, with masks one way") {
        const edge_trust trust;
        for (const std::string via : {"ws", "wss"}) {
            for (const int io_threads : every_io_threads) {
                for (const bool keeps_context : {false, true}) {
                    CAPTURE(via);
                    CAPTURE(io_threads);
                    CAPTURE(keeps_context);
                    context owner{io_threads};
                    server_side server{owner, keeps_context, -1, via, &trust};
                    socket client{owner, ZLINK_STREAM};
                    trust.let_dial(client);
                    client.set(ZLINK_WS_DEFLATE, 1)
                        .set(ZLINK_WS_DEFLATE_CONTEXT, keeps_context ? 1 : 0)
                        .set(ZLINK_WS_DEFLATE_WINDOW, 12)
                        .set(ZLINK_RECONNECT_IVL, 1);
                    client.connect(server.endpoint);
                    exchange_compressed(client, server.at, keeps_context);
                }
            }
        }
    }

    TEST_CASE("deflate: connecting fails where the answer does not match the offer") {
        struct answered {
            std::string answer;
            bool is_right;
        };
        for (const answered& each :
             {answered{alone_answer, false}, // The server's window is larger than requested.
              {alone_answer + "; server_max_window_bits=12", true},
              {alone_answer + "; client_max_window_bits=9; server_max_window_bits=9", true},
              {"permessage-deflate; server_no_context_takeover; server_max_window_bits=8", true},
              {"permessage-deflate; server_max_window_bits=12", false}, // It keeps its context.
              {alone_answer + "; server_max_window_bits=15", false},
              {alone_answer + "; server_max_window_bits=12; other", false},
              {alone_answer + "; server_max_window_bits=12; client_max_window_bits=13", false},
              {alone_answer + "; server_max_window_bits=12; client_max_window_bits=8", false},
              {alone_answer + "; server_max_window_bits=12, permessage-deflate", false},
              {"x-webkit-deflate-frame", false}}) {
            CAPTURE(each.answer);
            context owner{0};
            raw_listener listener;
            socket client{owner, ZLINK_STREAM};
            client.set(ZLINK_WS_DEFLATE, 1)
                .set(ZLINK_WS_DEFLATE_WINDOW, 12)
                .set(ZLINK_RECONNECT_IVL, -1);
            client.connect("ws" + listener.endpoint().substr(3) + "/");
            raw_peer server{owner, listener.accept(owner)};
            const std::string asked = recv_header(server);
            CHECK(field(asked, "Sec-WebSocket-Extensions") ==
                  alone_answer + "; server_max_window_bits=12; client_max_window_bits=12");
            server.send(
                upgrade_response_to(asked, "Sec-WebSocket-Extensions: " + each.answer + "\r\n"));
            if (each.is_right) {
                CHECK(recv_news(client).text.ends_with("\nExtensions: " + each.answer));
            } else {
                CHECK(server.is_disconnected());
                CHECK(client.recv_error() == EAGAIN);
            }
        }
    }

} // TEST_SUITE
