// SPDX-License-Identifier: MPL-2.0
//
// The metrics of a context: each counter with values that were worked out by hand, the text format,
// the server, and readers that come while sockets come and go.
#include "fixture.hpp"
#include "raw_peer.hpp"
#include "zmtp_peer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

using namespace api_test;

namespace {

/// A value with its labels.
struct reading {
    std::map<std::string, std::string> labels;
    double value;
    std::string family;
    int kind;
};
using readings = std::multimap<std::string, reading>;

readings metrics_of(const context& asked, int flags = 0) {
    readings found;
    const int count = zlink_metrics(
        asked, flags,
        [](const zlink_metric_t* each, void* hint) {
            reading made{{}, each->value, each->family, each->kind};
            for (std::size_t index = 0; index < each->label_count; ++index) {
                made.labels[each->labels[index].name] = each->labels[index].value;
            }
            static_cast<readings*>(hint)->emplace(each->name, std::move(made));
        },
        &found);
    REQUIRE(count == static_cast<int>(found.size()));
    return found;
}

/// The values of one moment; those of a socket are asked for by its ZLINK_SOCKET_NAME.
class look {
public:
    explicit look(const context& asked, int flags = 0) : all_(metrics_of(asked, flags)) {}

    /// The sum of all values of `name` with these labels; -1: there is none.
    double operator()(const std::string& name,
                      const std::map<std::string, std::string>& labels = {}) const {
        double sum = -1;
        const auto [first, last] = all_.equal_range("zlink_" + name);
        for (auto each = first; each != last; ++each) {
            const bool is_meant = std::ranges::all_of(labels, [&](const auto& wanted) {
                const auto found = each->second.labels.find(wanted.first);
                return found != each->second.labels.end() && found->second == wanted.second;
            });
            if (is_meant) {
                sum = std::max(sum, 0.0) + each->second.value;
            }
        }
        return sum;
    }
    double of(const std::string& socket_name, const std::string& name) const {
        return (*this)("socket_" + name, {{"name", socket_name}});
    }
    double of(const std::string& socket_name, const std::string& name,
              const std::string& reason) const {
        return (*this)("socket_" + name, {{"name", socket_name}, {"reason", reason}});
    }

    const readings& all() const noexcept { return all_; }

private:
    readings all_;
};

std::string text_of(const context& asked, int flags = 0) {
    frame text;
    REQUIRE(zlink_metrics_text(asked, flags, text.get()) == 0);
    return text.text();
}

api_test::socket named(const context& owner, int type, const std::string& name) {
    api_test::socket made{owner, type};
    made.set(ZLINK_SOCKET_NAME, name);
    return made;
}

std::string metrics_endpoint(const context& asked) {
    std::string text(300, '\0');
    std::size_t bytes = text.size();
    REQUIRE(zlink_ctx_get_text(asked, ZLINK_METRICS_ENDPOINT, text.data(), &bytes) == 0);
    text.resize(bytes - 1);
    return text;
}

/// Connects to http://127.0.0.1:PORT.
int connect_to(const std::string& endpoint) {
    const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    return descriptor;
}

int connect_to_abstract(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
        ::close(descriptor);
        return -1;
    }
    return descriptor;
}

/// The head and the content of the answer to a request.
struct answer {
    std::string head;
    std::string content;
};

answer request(raw_peer& server, const std::string& line, const std::string& fields = "") {
    server.send(line + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
    answer got;
    while (!got.head.ends_with("\r\n\r\n")) {
        got.head += server.recv(1);
    }
    const std::size_t place = got.head.find("Content-Length: ");
    if (place != std::string::npos && !line.starts_with("HEAD ")) {
        got.content = server.recv(std::stoul(got.head.substr(place + 16)));
    }
    return got;
}

} // namespace

TEST_CASE("metrics: messages and bytes of each socket, endpoint and peer") {
    for (const setting& chosen : every_setting()) {
        CAPTURE(chosen);
        const context owner{chosen};
        api_test::socket pull = named(owner, ZLINK_PULL, "in");
        api_test::socket push = named(owner, ZLINK_PUSH, "out");
        const std::string endpoint = pull.bind(chosen.via);
        push.connect(endpoint);
        // Frames of ZMTP: 2 bytes of header and the body, two frames in the second message.
        REQUIRE(push.send("12345") == ok);
        REQUIRE(push.send(message{"1", "123"}) == ok);
        REQUIRE(push.send(std::string(300, 'x')) == ok); // 9 bytes of header.
        constexpr double bytes = 2 + 5 + 2 + 1 + 2 + 3 + 9 + 300;
        for (int count = 0; count < 3; ++count) {
            pull.recv();
        }
        wait_until(owner, [&] { return look{owner}.of("out", "send_queue_messages") == 0; });

        const look now{owner, ZLINK_METRICS_PEERS};
        CHECK(now.of("out", "sent_messages_total") == 3);
        CHECK(now.of("out", "sent_bytes_total") == bytes);
        CHECK(now.of("out", "received_messages_total") == 0);
        CHECK(now.of("out", "received_bytes_total") == 0);
        CHECK(now.of("in", "received_messages_total") == 3);
        CHECK(now.of("in", "received_bytes_total") == bytes);
        CHECK(now.of("in", "sent_messages_total") == 0);
        CHECK(now.of("in", "receive_queue_messages") == 0);
        CHECK(now.of("in", "peers") == 1);
        CHECK(now("endpoint_sent_messages_total",
                  {{"name", "out"}, {"endpoint", endpoint}, {"direction", "connect"}}) == 3);
        CHECK(now("endpoint_sent_bytes_total", {{"name", "out"}, {"endpoint", endpoint}}) == bytes);
        CHECK(now("peer_sent_messages_total", {{"name", "out"}}) == 3);
        CHECK(now("peer_received_bytes_total", {{"name", "in"}}) == bytes);
        if (chosen.via != transport::inproc) { // An inproc peer belongs to no bind call.
            CHECK(now("endpoint_received_bytes_total",
                      {{"name", "in"}, {"endpoint", endpoint}, {"direction", "bind"}}) == bytes);
            CHECK(now.of("in", "connections") == 1);
            CHECK(now.of("in", "established_connections_total") == 1);
            CHECK(now.of("out", "opened_connections_total") == 1);
        } else {
            CHECK(now.of("in", "connections") == 0);
        }
        CHECK(now("context_sent_messages_total") == 3);
        CHECK(now("context_received_bytes_total") == bytes);
        CHECK(now("context_sockets") == 2);
        CHECK(now("context_opened_sockets_total") >= 2); // Waiting may open some, too.
        CHECK(now("context_io_threads") == chosen.io_threads);
        CHECK(now("peer_sent_messages_total", {{"name", "nobody"}}) == -1);
        CHECK(look{owner}("peer_sent_messages_total") == -1); // Not without the flag.
    }
}

TEST_CASE("metrics: a STREAM's bytes are those of its own frames") {
    const context owner;
    api_test::socket server = named(owner, ZLINK_STREAM, "stream");
    server.set(ZLINK_STREAM_EVENTS, 0);
    raw_peer client{owner, server.bind(transport::tcp)};
    client.send(std::string{"\0\0\0\5hello\0\0\0\2ab", 15});
    const std::string id = server.recv_frame();
    REQUIRE(server.recv_frame() == "hello");
    server.recv();
    REQUIRE(server.send(message{id, "answer"}) == ok);
    CHECK(client.recv(10) == std::string{"\0\0\0\6answer", 10});
    const look now{owner, ZLINK_METRICS_PEERS};
    CHECK(now.of("stream", "received_messages_total") == 2);
    CHECK(now.of("stream", "received_bytes_total") == 15);
    CHECK(now.of("stream", "sent_bytes_total") == 10);
    CHECK(now("peer_sent_bytes_total", {{"type", "STREAM"}, {"routing_id", "00000001"}}) == 10);
}

TEST_CASE("metrics: queues now and at their highest, and sends that are refused or wait") {
    const context owner;
    api_test::socket pull = named(owner, ZLINK_PULL, "in");
    api_test::socket push = named(owner, ZLINK_PUSH, "out");
    pull.set(ZLINK_RCVHWM, 3);
    push.set(ZLINK_SNDHWM, 2);
    pull.bind("inproc://queue");
    push.connect("inproc://queue");
    for (int count = 0; count < 5; ++count) { // As many as both marks allow.
        REQUIRE(push.send("x", ZLINK_DONTWAIT) == ok);
    }
    CHECK(push.send("x", ZLINK_DONTWAIT) == EAGAIN);
    CHECK(push.send("x", ZLINK_DONTWAIT) == EAGAIN);
    CHECK(pull.events() == ZLINK_POLLIN); // It has seen its peer.
    {
        const look now{owner};
        CHECK(now.of("out", "send_queue_messages") == 5);
        CHECK(now.of("out", "send_queue_bytes") == 15);
        CHECK(now.of("out", "send_queue_highest_messages") == 5);
        CHECK(now.of("in", "receive_queue_messages") == 5);
        CHECK(now.of("in", "receive_queue_highest_messages") == 5);
        CHECK(now.of("out", "refused_sends_total") == 2);
        CHECK(now.of("out", "blocked_sends_total") == 0);
        CHECK(now.of("out", "send_blocked_seconds_total") == 0);
    }
    for (int count = 0; count < 5; ++count) {
        pull.recv();
    }
    REQUIRE(push.send("y") == ok);
    pull.recv();
    {
        const look now{owner};
        CHECK(now.of("out", "send_queue_messages") == 0);
        CHECK(now.of("out", "send_queue_bytes") == 0);
        CHECK(now.of("out", "send_queue_highest_messages") == 5);
        CHECK(now.of("in", "receive_queue_highest_messages") == 5);
        CHECK(now("context_receive_queue_highest_messages") == 5);
    }

    // A send that waits counts while it waits.
    fill(push);
    std::jthread sender{[&] { CHECK(push.send("late") == ok); }};
    wait_until(owner, [&] { return look{owner}.of("out", "send_blocked_seconds_total") > 0.01; });
    CHECK(look{owner}.of("out", "blocked_sends_total") == 1);
    while (pull.recv() != message{"late"}) {
    }
    sender.join();
    const double blocked = look{owner}.of("out", "send_blocked_seconds_total");
    CHECK(blocked > 0.01);
    CHECK(blocked < 10);
    CHECK(look{owner}.of("out", "send_blocked_seconds_total") == blocked);
}

TEST_CASE("metrics: why messages were dropped") {
    const context owner;
    SUBCASE("the queue of a subscriber is full") {
        api_test::socket publisher = named(owner, ZLINK_PUB, "out");
        api_test::socket subscriber = named(owner, ZLINK_SUB, "in");
        publisher.set(ZLINK_SNDHWM, 2);
        subscriber.set(ZLINK_RCVHWM, 2).set(ZLINK_SUBSCRIBE, "");
        publisher.bind("inproc://news");
        subscriber.connect("inproc://news");
        for (int count = 0; count < 7; ++count) {
            REQUIRE(publisher.send("x") == ok);
        }
        const look now{owner, ZLINK_METRICS_PEERS};
        CHECK(now.of("out", "dropped_messages_total", "full") == 3);
        CHECK(now.of("out", "sent_messages_total") == 4);
        CHECK(now("context_dropped_messages_total", {{"reason", "full"}}) == 3);
        CHECK(now("peer_dropped_messages_total", {{"name", "out"}, {"reason", "full"}}) == 3);
        CHECK(now("context_dropped_messages_total", {{"reason", "full"}}) ==
              now("socket_dropped_messages_total", {{"reason", "full"}}));
    }
    SUBCASE("a newer one replaces it") {
        api_test::socket push = named(owner, ZLINK_PUSH, "out");
        api_test::socket pull = named(owner, ZLINK_PULL, "in");
        push.set(ZLINK_CONFLATE, 1);
        pull.bind("inproc://newest");
        push.connect("inproc://newest");
        for (int count = 0; count < 4; ++count) {
            REQUIRE(push.send("abc") == ok);
        }
        const look now{owner};
        CHECK(now.of("out", "dropped_messages_total", "replaced") == 3);
        CHECK(now.of("out", "sent_messages_total") == 4);
        CHECK(now.of("out", "sent_bytes_total") == 4 * 5);
        CHECK(now.of("out", "send_queue_messages") == 1);
    }
    SUBCASE("there is no such peer") {
        api_test::socket router = named(owner, ZLINK_ROUTER, "out");
        router.bind("inproc://nobody");
        REQUIRE(router.send(message{"unknown", "x"}) == ok);
        CHECK(look{owner}.of("out", "dropped_messages_total", "unreachable") == 1);
        router.close();
        CHECK(look{owner}("context_dropped_messages_total", {{"reason", "unreachable"}}) == 1);
    }
    SUBCASE("its peer disconnects for good") {
        api_test::socket push = named(owner, ZLINK_PUSH, "out");
        push.bind("inproc://leaving");
        {
            api_test::socket pull{owner, ZLINK_PULL};
            pull.connect("inproc://leaving");
            REQUIRE(push.send("a") == ok);
            REQUIRE(push.send("b") == ok);
        }
        CHECK(push.send("c", ZLINK_DONTWAIT) == EAGAIN);
        const look now{owner};
        CHECK(now.of("out", "dropped_messages_total", "disconnected") == 2);
        CHECK(now.of("out", "sent_messages_total") == 2); // Of a peer that is gone.
        CHECK(now.of("out", "peers") == 0);
    }
    SUBCASE("its socket is closed, and does not linger") {
        const silent_listener nobody;
        api_test::socket push{owner, ZLINK_PUSH};
        push.connect(nobody.endpoint());
        REQUIRE(push.send("a") == ok);
        REQUIRE(push.send("b") == ok);
        push.close();
        wait_until(owner, [&] {
            return look{owner}("context_dropped_messages_total", {{"reason", "linger"}}) == 2;
        });
    }
}

TEST_CASE("metrics: connections, reconnects and why handshakes fail") {
    const context owner;
    SUBCASE("a connection that ends, and is made again") {
        api_test::socket dealer = named(owner, ZLINK_DEALER, "out");
        const raw_listener listener;
        dealer.set(ZLINK_RECONNECT_IVL, 1).set(ZLINK_SNDHWM, 10);
        dealer.connect(listener.endpoint());
        for (int round = 0; round < 3; ++round) {
            zmtp_peer peer{const_cast<raw_listener&>(listener).accept(owner)};
            peer.shake_hands("ROUTER");
            wait_until(owner, [&] {
                return look{owner}.of("out", "established_connections_total") == round + 1;
            });
        }
        wait_until(owner,
                   [&] { return look{owner}.of("out", "disconnections_total", "closed") == 3; });
        const look now{owner};
        CHECK(now.of("out", "reconnects_total") == 2);
        CHECK(now.of("out", "connect_retries_total") >= 3);
        CHECK(now("endpoint_reconnects_total",
                  {{"name", "out"}, {"endpoint", listener.endpoint()}}) == 2);
        CHECK(now("context_reconnects_total") == 2);
    }
    SUBCASE("handshakes") {
        api_test::socket pull = named(owner, ZLINK_PULL, "in");
        pull.set(ZLINK_HANDSHAKE_IVL, 50);
        const std::string endpoint = pull.bind(transport::tcp);
        {
            raw_peer web{owner, endpoint};
            web.send("GET / HTTP/1.1\r\n\r\n");
            web.await_end();
            raw_peer gone{owner, endpoint};
            gone.close();
            raw_peer silent{owner, endpoint};
            silent.await_end();
        }
        wait_until(owner, [&] { return look{owner}.of("in", "connections") == 0; });
        const look now{owner};
        CHECK(now.of("in", "handshake_failures_total", "protocol") == 1);
        CHECK(now.of("in", "handshake_failures_total", "closed") == 1);
        CHECK(now.of("in", "handshake_failures_total", "timeout") == 1);
        CHECK(now.of("in", "handshake_failures_total", "denied") == 0);
        CHECK(now.of("in", "opened_connections_total") == 3);
        CHECK(now.of("in", "established_connections_total") == 0);
        CHECK(now("endpoint_handshake_failures_total",
                  {{"endpoint", endpoint}, {"reason", "denied"}}) == -1); // Only what happened.
        CHECK(now("endpoint_handshake_failures_total",
                  {{"endpoint", endpoint}, {"reason", "timeout"}}) == 1);
    }
    SUBCASE("peers that break rules") {
        api_test::socket pull = named(owner, ZLINK_PULL, "in");
        const std::int64_t bytes_max = 10;
        REQUIRE(zlink_setsockopt(pull, ZLINK_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0);
        zmtp_peer large{pull.bind(transport::tcp)};
        large.shake_hands("PUSH");
        large.send_frame(0, std::string(11, 'x'));
        large.await_end();
        wait_until(owner, [&] {
            return look{owner}.of("in", "disconnections_total", "message_too_large") == 1;
        });
    }
    SUBCASE("connections beyond a limit") {
        api_test::socket pull = named(owner, ZLINK_PULL, "in");
        pull.set(ZLINK_MAX_CONNECTIONS, 1);
        const std::string endpoint = pull.bind(transport::tcp);
        raw_peer first{owner, endpoint};
        wait_until(owner, [&] { return look{owner}.of("in", "connections") == 1; });
        raw_peer second{owner, endpoint};
        second.await_end();
        wait_until(owner, [&] { return look{owner}.of("in", "accept_failures_total") == 1; });
    }
}

TEST_CASE("metrics: totals stay when endpoints are undone, and the context's when sockets close") {
    const context owner;
    api_test::socket pull = named(owner, ZLINK_PULL, "in");
    api_test::socket push = named(owner, ZLINK_PUSH, "out");
    const std::string endpoint = pull.bind(transport::tcp);
    push.connect(endpoint);
    REQUIRE(push.send("12345") == ok);
    pull.recv();
    REQUIRE(push.disconnect(endpoint) == ok);
    wait_until(owner, [&] { return look{owner}("context_connections") == 0; });
    CHECK(look{owner}.of("out", "sent_bytes_total") == 7);
    CHECK(look{owner}.of("out", "opened_connections_total") == 1);
    CHECK(look{owner}("endpoint_sent_bytes_total", {{"name", "out"}}) == -1);
    push.close();
    pull.close();
    const look now{owner};
    CHECK(now("context_sent_bytes_total") == 7);
    CHECK(now("context_received_messages_total") == 1);
    CHECK(now("context_opened_connections_total") == 2);
    CHECK(now("context_sockets") == 0);
    CHECK(now("context_opened_sockets_total") >= 2); // Waiting may open some, too.
    CHECK(now("socket_sent_bytes_total") == -1);
}

TEST_CASE("metrics: the endpoints of a socket beyond a hundred are added up") {
    const context owner;
    api_test::socket push = named(owner, ZLINK_PUSH, "out");
    std::vector<api_test::socket> targets;
    for (int number = 0; number < 103; ++number) {
        const std::string endpoint = "inproc://target-" + std::to_string(number);
        targets.emplace_back(owner, ZLINK_PULL).bind(endpoint);
        push.connect(endpoint);
        REQUIRE(push.send("abc") == ok);
    }
    const auto count_of = [&](const look& now) {
        return std::ranges::count_if(now.all(), [](const auto& each) {
            const auto found = each.second.labels.find("name");
            return each.first == "zlink_endpoint_sent_bytes_total" &&
                   found != each.second.labels.end() && found->second == "out";
        });
    };
    const std::map<std::string, std::string> others{{"name", "out"}, {"endpoint", "others"}};
    {
        const look now{owner};
        CHECK(count_of(now) == 101);
        CHECK(now("endpoint_sent_bytes_total", {{"name", "out"}}) ==
              now.of("out", "sent_bytes_total"));
        CHECK(now("endpoint_peers", others) == 3);
    }
    // The sum of the others does not shrink when one of them goes, nor when a place becomes free.
    const double before = look{owner}("endpoint_sent_bytes_total", others);
    REQUIRE(push.disconnect("inproc://target-102") == ok);
    REQUIRE(push.disconnect("inproc://target-5") == ok);
    const look now{owner};
    CHECK(now("endpoint_sent_bytes_total", others) == before);
    CHECK(now("endpoint_peers", others) == 2);
    CHECK(count_of(now) == 100);
}

TEST_CASE("metrics: HTTP requests of a STREAM") {
    const context owner;
    api_test::socket server = named(owner, ZLINK_STREAM, "web");
    REQUIRE(zlink_http_route(server, "/api", ZLINK_HTTP_REQUESTS) == 0);
    const std::string endpoint = server.bind("http://127.0.0.1:*");
    raw_peer client{owner, connect_to(endpoint.substr(0, endpoint.rfind('/')))};
    CHECK(request(client, "GET /none").head.starts_with("HTTP/1.1 404"));
    CHECK(request(client, "GET /nothing").head.starts_with("HTTP/1.1 404"));
    wait_until(owner, [&] {
        return look{owner}("http_requests_total", {{"name", "web"}, {"code", "404"}}) == 2;
    });
    const look now{owner};
    CHECK(now("http_request_duration_seconds_count", {{"name", "web"}}) == 2);
    CHECK(now("http_request_duration_seconds_bucket", {{"le", "+Inf"}}) == 2);
    CHECK(now("http_connections") == 1);
    CHECK(now("http_accepted_connections_total") == 1);
    CHECK(now("http_sent_bytes_total") > 100);
    const auto found = now.all().find("zlink_http_request_duration_seconds_sum");
    REQUIRE(found != now.all().end());
    CHECK(found->second.family == "zlink_http_request_duration_seconds");
    CHECK(found->second.kind == ZLINK_METRIC_HISTOGRAM);
}

TEST_CASE("metrics: the text escapes labels, and lists each family once") {
    const context owner;
    api_test::socket pull = named(owner, ZLINK_PULL, "a \"quote\", a \\ and a\nline");
    api_test::socket bad = named(owner, ZLINK_PULL, "\xff\xfe");
    pull.bind("inproc://text");
    const std::string text = text_of(owner, ZLINK_METRICS_PEERS);
    CHECK(text.find(
              "zlink_socket_peers{socket=\"1\",type=\"PULL\",name=\"a \\\"quote\\\", a \\\\ and "
              "a\\nline\"} 0\n") != std::string::npos);
    CHECK(text.find("zlink_socket_peers{socket=\"2\",type=\"PULL\",name=\"??\"} 0\n") !=
          std::string::npos);
    std::multiset<std::string> families;
    std::set<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        REQUIRE(end != std::string::npos); // The last line has its end, too.
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        if (line.starts_with("# TYPE ")) {
            families.insert(line.substr(7, line.find(' ', 7) - 7));
        } else if (!line.starts_with("#")) {
            CHECK(lines.insert(line.substr(0, line.rfind(' '))).second);
        }
    }
    CHECK(families.size() > 60);
    for (const std::string& each : families) {
        CHECK(families.count(each) == 1);
    }
}

TEST_CASE("metrics: bad arguments") {
    context owner;
    frame text;
    zlink_metric_fn* const ignore = [](const zlink_metric_t*, void*) {};
    CHECK(error_of(zlink_metrics(nullptr, 0, ignore, nullptr)) == EFAULT);
    CHECK(error_of(zlink_metrics(owner, 0, nullptr, nullptr)) == EINVAL);
    CHECK(error_of(zlink_metrics(owner, 2, ignore, nullptr)) == EINVAL);
    CHECK(error_of(zlink_metrics_text(owner, 2, text.get())) == EINVAL);
    CHECK(error_of(zlink_metrics_text(owner, 0, nullptr)) == EFAULT);
    CHECK(error_of(zlink_metrics_text(nullptr, 0, text.get())) == EFAULT);
    CHECK(error_of(zlink_ctx_set_text(owner, ZLINK_IO_THREADS, "1")) == EINVAL);
    CHECK(error_of(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, nullptr)) == EINVAL);
    for (const char* const each : {"tcp://127.0.0.1:1", "http://127.0.0.1", "http://127.0.0.1:1/x",
                                   "https://127.0.0.1:1", "9090", "LOCAL"}) {
        CAPTURE(each);
        CHECK(error_of(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, each)) == EINVAL);
        CHECK(std::string_view{zlink_error_text()}.find("http://HOST:PORT") !=
              std::string_view::npos);
        CHECK(metrics_endpoint(owner).empty());
    }
    api_test::socket listening{owner, ZLINK_PULL};
    const std::string taken = "http" + listening.bind(transport::tcp).substr(3);
    CHECK(error_of(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, taken.c_str())) == EADDRINUSE);
    CHECK(zlink_error_text() == taken + ": the address is already in use");
    listening.close();
    char room[4];
    std::size_t bytes = sizeof room;
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "local") == 0);
    CHECK(error_of(zlink_ctx_get_text(owner, ZLINK_METRICS_ENDPOINT, room, &bytes)) == EINVAL);
    CHECK(bytes == sizeof "local");
    owner.shut_down();
    CHECK(error_of(zlink_metrics(owner, 0, ignore, nullptr)) == ETERM);
    CHECK(error_of(zlink_metrics_text(owner, 0, text.get())) == ETERM);
    CHECK(error_of(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*")) ==
          ETERM);
}

TEST_CASE("metrics: a visitor may use the context, and even terminate it") {
    void* const owner = zlink_ctx_new();
    zlink_close(zlink_socket(owner, ZLINK_PULL));
    void* hint = owner;
    CHECK(zlink_metrics(
              owner, 0,
              [](const zlink_metric_t*, void* given) {
                  void*& rest = *static_cast<void**>(given);
                  if (rest != nullptr) {
                      zlink_close(zlink_socket(rest, ZLINK_PUSH));
                      CHECK(zlink_ctx_term(rest) == 0);
                      rest = nullptr;
                  }
              },
              &hint) > 0);
}

TEST_CASE("metrics server: answers over HTTP, while no call of the application waits") {
    context owner;
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*") == 0);
    const std::string endpoint = metrics_endpoint(owner);
    CHECK(endpoint.starts_with("http://127.0.0.1:"));
    api_test::socket pull = named(owner, ZLINK_PULL, "in");
    {
        raw_peer client{owner, connect_to(endpoint)};
        const answer got = request(client, "GET /metrics");
        CHECK(got.head.starts_with("HTTP/1.1 200 OK\r\n"));
        CHECK(got.head.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") !=
              std::string::npos);
        CHECK(got.content.find("zlink_socket_peers{socket=\"1\",type=\"PULL\",name=\"in\"} 0\n") !=
              std::string::npos);
        CHECK(got.content.find("zlink_peer_") == std::string::npos);
        CHECK(request(client, "HEAD /metrics").head.starts_with("HTTP/1.1 200 OK\r\n"));
        CHECK(request(client, "GET /metrics?peers").content.find("zlink_context_sockets 1\n") !=
              std::string::npos);
        CHECK(request(client, "GET /").head.starts_with("HTTP/1.1 404"));
        const answer refused = request(client, "POST /metrics");
        CHECK(refused.head.starts_with("HTTP/1.1 405"));
        CHECK(refused.head.find("Allow: GET, HEAD") != std::string::npos);
        // It takes no WebSocket peers.
        const answer no_peer = request(client, "GET /metrics",
                                       "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                       "Sec-WebSocket-Version: 13\r\n"
                                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
        CHECK(no_peer.head.starts_with("HTTP/1.1 200"));
    }
    // The server itself is no socket of the application.
    CHECK(look{owner}("context_sockets") == 1);
    CHECK(look{owner}("context_connections") == 0);

    const context second;
    CHECK(error_of(zlink_ctx_set_text(second, ZLINK_METRICS_ENDPOINT, endpoint.c_str())) ==
          EADDRINUSE);
    CHECK(metrics_endpoint(second).empty());
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "") == 0);
    CHECK(metrics_endpoint(owner).empty());
    CHECK(error_of(zlink_ctx_set_text(second, ZLINK_METRICS_ENDPOINT, endpoint.c_str())) == ok);
    raw_peer again{second, connect_to(endpoint)};
    CHECK(request(again, "GET /metrics").content.find("zlink_context_sockets 0\n") !=
          std::string::npos);

    // An open connection keeps no context from ending.
    pull.close();
    owner.end();
}

TEST_CASE("metrics server: silent clients keep nobody out") {
    const context owner;
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*") == 0);
    const std::string endpoint = metrics_endpoint(owner);
    raw_peer first{owner, connect_to(endpoint)};
    CHECK(request(first, "GET /metrics").head.starts_with("HTTP/1.1 200 OK\r\n"));
    std::vector<std::unique_ptr<raw_peer>> silent;
    for (int count = 0; count < 300; ++count) {
        silent.push_back(std::make_unique<raw_peer>(owner, connect_to(endpoint)));
    }
    silent.back()->send("GET /met");
    raw_peer scraper{owner, connect_to(endpoint)};
    CHECK(request(scraper, "GET /metrics").head.starts_with("HTTP/1.1 200 OK\r\n"));
    first.await_end();
    silent.front()->await_end();
}

TEST_CASE("metrics server: a client that says nothing is let go of after seconds") {
    const context owner;
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*") == 0);
    const auto begin = std::chrono::steady_clock::now();
    raw_peer silent{owner, connect_to(metrics_endpoint(owner))};
    silent.await_end();
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
}

TEST_CASE("metrics server: the local one has the process's name") {
    const context owner;
    const std::string name = "zlink-metrics-" + std::to_string(::getpid()) + "-";
    CHECK(connect_to_abstract(name + "1") < 0);
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "local") == 0);
    CHECK(metrics_endpoint(owner) == "local");
    const context second;
    REQUIRE(zlink_ctx_set_text(second, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*") == 0);
    for (const char* const number : {"1", "2"}) {
        const int descriptor = connect_to_abstract(name + number);
        REQUIRE(descriptor >= 0);
        raw_peer client{owner, descriptor};
        CHECK(request(client, "GET /metrics").head.starts_with("HTTP/1.1 200"));
    }
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "") == 0);
    CHECK(connect_to_abstract(name + "1") < 0);
}

TEST_CASE("metrics server: without I/O threads, calls of the application serve it") {
    const context owner{0};
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*") == 0);
    const int descriptor = connect_to(metrics_endpoint(owner));
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK); // So that the test drives the I/O while it waits.
    raw_peer client{owner, descriptor};
    client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(client.recv(15) == "HTTP/1.1 200 OK");
}

TEST_CASE("metrics: a hundred readers while sockets come and go") {
    constexpr int reader_count = 100;
    constexpr int rounds = 30;
    constexpr int reads_max = 15; // Of each reader, who would starve the sockets.
    context owner{2};
    REQUIRE(zlink_ctx_set_text(owner, ZLINK_METRICS_ENDPOINT, "http://127.0.0.1:*") == 0);
    const std::string endpoint = metrics_endpoint(owner);
    std::atomic<int> fault_count{0};
    {
        std::vector<std::jthread> readers;
        for (int number = 0; number < reader_count; ++number) {
            readers.emplace_back([&, number] {
                if (number % 10 == 0) { // Over HTTP.
                    const int descriptor = connect_to(endpoint);
                    constexpr std::string_view asked =
                        "GET /metrics?peers HTTP/1.1\r\nHost: x\r\n\r\n";
                    std::vector<char> room(std::size_t{1} << 20);
                    for (int read = 0; read < reads_max; ++read) {
                        const auto sent =
                            ::send(descriptor, asked.data(), asked.size(), MSG_NOSIGNAL);
                        const auto got = ::recv(descriptor, room.data(), room.size(), 0);
                        fault_count += sent > 0 && got > 0 ? 0 : 1;
                    }
                    ::close(descriptor);
                    return;
                }
                double last = 0;
                for (int read = 0; read < reads_max; ++read) {
                    double now = 0;
                    zlink_metrics(
                        owner, number % 2 == 0 ? ZLINK_METRICS_PEERS : 0,
                        [](const zlink_metric_t* each, void* hint) {
                            if (std::string_view{each->name} == "zlink_context_sent_bytes_total") {
                                *static_cast<double*>(hint) = each->value;
                            }
                        },
                        &now);
                    fault_count += now >= last ? 0 : 1; // A total never decreases.
                    last = now;
                }
            });
        }
        std::vector<std::jthread> users;
        for (int number = 0; number < 2; ++number) {
            users.emplace_back([&, number] {
                for (int round = 0; round < rounds; ++round) {
                    api_test::socket router = named(owner, ZLINK_ROUTER, "round");
                    const std::string where =
                        router.bind(round % 2 == 0 ? transport::tcp : transport::inproc);
                    api_test::socket dealer{owner, ZLINK_DEALER};
                    dealer.set(ZLINK_ROUTING_ID, "dealer" + std::to_string(number));
                    dealer.connect(where);
                    CHECK(dealer.send("question") == ok);
                    CHECK(router.recv().frames.size() == 2);
                    router.set(ZLINK_SOCKET_NAME, std::to_string(round));
                }
            });
        }
    }
    CHECK(fault_count == 0);
    const look now{owner};
    CHECK(now("context_sent_messages_total") == 2 * rounds);
    CHECK(now("context_received_messages_total") == 2 * rounds);
    CHECK(now("context_opened_sockets_total") >= 4 * rounds);
    CHECK(now("context_sockets") == 0);
    owner.end();
}
