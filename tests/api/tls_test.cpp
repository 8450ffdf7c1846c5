// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "payloads.hpp"
#include "raw_peer.hpp"
#include "testing/certificates.hpp"
#include "watcher.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

using namespace api_test;
using zlink::testing::authority;
using zlink::testing::certificate_request;
using zlink::testing::identity;
using zlink::testing::temporary_folder;

namespace {

/// Certificates, and two sockets: `bound` has one, and `connecting` trusts its issuer.
struct tls_pair {
    explicit tls_pair(int io_threads = 1, int bound_type = ZLINK_PAIR,
                      int connecting_type = ZLINK_PAIR)
        : owner(io_threads), bound(owner, bound_type), connecting(owner, connecting_type) {
        present(bound, ours.issue());
        connecting.set(ZLINK_TLS_CA, ours.path());
        connecting.set(ZLINK_RECONNECT_STOP, ZLINK_RECONNECT_STOP_HANDSHAKE_FAILED);
    }

    static void present(socket& by, const identity& shown) {
        by.set(ZLINK_TLS_CERTIFICATE, shown.certificate).set(ZLINK_TLS_KEY, shown.key);
    }

    /// Connects, and waits until a message has arrived.
    void join() {
        connecting.connect(bound.bind("tls://127.0.0.1:*"));
        REQUIRE(connecting.send("joined") == ok);
        REQUIRE(bound.recv() == message{"joined"});
    }

    /// The error of the handshake at `connecting`.
    int failure() {
        watcher events(owner, connecting);
        connecting.connect(bound.bind("tls://127.0.0.1:*"));
        return events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    }

    temporary_folder folder;
    authority ours{folder, "ours"};
    authority others{folder, "others"};
    context owner;
    socket bound;
    socket connecting;
};

std::string property(const socket& asked, const char* name) {
    frame received;
    REQUIRE(zlink_msg_recv(received.get(), asked, 0) >= 0);
    const char* const value = zlink_msg_gets(received.get(), name);
    return value != nullptr ? value : "(none)";
}

std::string text_of_last_error() {
    return zlink_error_text();
}

void write_file(const std::string& path, std::string_view content) {
    std::ofstream(path) << content;
}

} // namespace

TEST_SUITE("tls") {

    TEST_CASE("tls: carries messages of all sizes both ways") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            tls_pair pair(io_threads);
            pair.join();
            for (const std::size_t bytes :
                 payload_sizes_and({16383, 16384, 16385, 70000, 5 << 20})) {
                CAPTURE(bytes);
                std::string body(bytes, '\0');
                for (std::size_t index = 0; index < bytes; ++index) {
                    body[index] = static_cast<char>(index * 7 + index / 251);
                }
                REQUIRE(pair.connecting.send({"there", body}) == ok);
                CHECK((pair.bound.recv() == message{"there", body}));
                REQUIRE(pair.bound.send({body, "back"}) == ok);
                CHECK((pair.connecting.recv() == message{body, "back"}));
            }
        }
    }

    TEST_CASE("tls: carries many small messages in order") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            tls_pair pair(io_threads, ZLINK_PULL, ZLINK_PUSH);
            pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
            constexpr int count = 20000;
            int sent = 0;
            for (int received = 0; received < count; ++received) {
                while (sent < count &&
                       pair.connecting.send(std::to_string(sent), ZLINK_DONTWAIT) == ok) {
                    ++sent;
                }
                REQUIRE(pair.bound.recv_frame() == std::to_string(received));
            }
        }
    }

    TEST_CASE("tls: says where it is bound, and tells a monitor by that name") {
        tls_pair pair;
        watcher events(pair.owner, pair.bound);
        const std::string where = pair.bound.bind("tls://127.0.0.1:*");
        CHECK(where.starts_with("tls://127.0.0.1:"));
        events.expect(ZLINK_EVENT_LISTENING, where);
        pair.connecting.connect(where);
        CHECK(pair.connecting.last_endpoint() == where);
        events.expect(ZLINK_EVENT_ACCEPTED, where);
        events.expect(ZLINK_EVENT_HANDSHAKE_SUCCEEDED, where);
        CHECK(pair.connecting.disconnect(where) == ok);
        events.expect(ZLINK_EVENT_DISCONNECTED, where);
        CHECK(pair.bound.unbind(where) == ok);
        events.expect(ZLINK_EVENT_CLOSED, where);
    }

    TEST_CASE("tls: sends what waits when the socket closes") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            tls_pair pair(io_threads, ZLINK_PULL, ZLINK_PUSH);
            pair.connecting.set(ZLINK_LINGER, -1);
            pair.connecting.set(ZLINK_SNDBUF, 4096);
            pair.bound.set(ZLINK_RCVBUF, 4096).set(ZLINK_RCVHWM, 1);
            pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
            const std::string body(100000, 'x');
            for (int count = 0; count < 20; ++count) {
                REQUIRE(pair.connecting.send(body) == ok);
            }
            pair.connecting.close();
            for (int count = 0; count < 20; ++count) {
                REQUIRE(pair.bound.recv_frame() == body);
            }
        }
    }

    TEST_CASE("tls: does not accept a certificate that is not the peer's") {
        struct {
            const char* what;
            certificate_request asked;
            int error;
        } const examples[] = {
            {"another name", {.names = "DNS:example.org"}, EKEYREJECTED},
            {"another address", {.names = "IP:127.0.0.2"}, EKEYREJECTED},
            {"no name", {.common_name = "127.0.0.1", .names = {}}, EKEYREJECTED},
            {"expired", {.valid_from_day = -20, .valid_to_day = -10}, EKEYEXPIRED},
            {"not valid yet", {.valid_from_day = 10}, EKEYEXPIRED},
        };
        for (const auto& example : examples) {
            CAPTURE(example.what);
            tls_pair pair;
            tls_pair::present(pair.bound, pair.ours.issue(example.asked));
            CHECK(pair.failure() == example.error);
        }
    }

    TEST_CASE("tls: does not accept a certificate of an authority that it does not trust") {
        tls_pair pair;
        tls_pair::present(pair.bound, pair.others.issue());
        CHECK(pair.failure() == EKEYREJECTED);
    }

    TEST_CASE("tls: does not trust a made-up authority by default") {
        tls_pair pair;
        pair.connecting.set(ZLINK_TLS_CA, "");
        CHECK(pair.failure() == EKEYREJECTED);
    }

    TEST_CASE("tls: tells the listener that its certificate was refused") {
        tls_pair pair;
        watcher events(pair.owner, pair.bound);
        tls_pair::present(pair.bound, pair.others.issue());
        pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
        CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == EKEYREJECTED);
    }

    TEST_CASE("tls: accepts anybody's certificate without ZLINK_TLS_VERIFY") {
        tls_pair pair;
        tls_pair::present(pair.bound, pair.others.issue({.names = "DNS:example.org"}));
        pair.connecting.set(ZLINK_TLS_VERIFY, 0);
        pair.join();
    }

    TEST_CASE("tls: checks the name of ZLINK_TLS_HOSTNAME") {
        tls_pair pair;
        tls_pair::present(pair.bound, pair.ours.issue({.names = "DNS:*.example.org"}));
        SUBCASE("that is in it") {
            pair.connecting.set(ZLINK_TLS_HOSTNAME, "chat.example.org");
            pair.join();
        }
        SUBCASE("that is not") {
            pair.connecting.set(ZLINK_TLS_HOSTNAME, "example.org");
            CHECK(pair.failure() == EKEYREJECTED);
        }
    }

    TEST_CASE("tls: does not accept a common name as the certificate's subject name") {
        tls_pair pair;
        tls_pair::present(pair.bound,
                          pair.ours.issue({.common_name = "chat.example.org", .names = {}}));
        pair.connecting.set(ZLINK_TLS_HOSTNAME, "chat.example.org");
        CHECK(pair.failure() == EKEYREJECTED);
    }

    TEST_CASE("tls: takes the forms of a name, and refuses what is none") {
        tls_pair pair;
        tls_pair::present(pair.bound,
                          pair.ours.issue({.names = "DNS:xn--bcher-kva.example,IP:::1"}));
        for (const char* const name :
             {"xn--bcher-kva.example.", "XN--BCHER-KVA.EXAMPLE", "[::1]"}) {
            CAPTURE(name);
            socket client{pair.owner, ZLINK_PAIR};
            client.set(ZLINK_TLS_CA, pair.ours.path()).set(ZLINK_TLS_HOSTNAME, name);
            watcher events{pair.owner, client};
            const std::string where = pair.bound.bind("tls://127.0.0.1:*");
            client.connect(where);
            events.await(ZLINK_EVENT_HANDSHAKE_SUCCEEDED);
            CHECK(pair.bound.unbind(where) == ok);
        }
        for (const char* const name : {"b\xc3\xbc"
                                       "cher.example",
                                       "a..example", ".", "a b", "example.org:443",
                                       "https://example.org", "*.example.org"}) {
            CAPTURE(name);
            pair.connecting.set(ZLINK_TLS_HOSTNAME, name);
            CHECK(pair.connecting.try_connect("tls://127.0.0.1:9") == EINVAL);
            CHECK(text_of_last_error().find("ZLINK_TLS_HOSTNAME") != std::string::npos);
        }
    }

    TEST_CASE("tls: tells when a certificate of ours expires, or has expired") {
        constexpr int day = 24 * 3600;
        struct {
            int days;
            bool is_told;
        } const examples[] = {{15, false}, {13, true}, {1, true}, {-3, true}};
        for (const auto& example : examples) {
            CAPTURE(example.days);
            tls_pair pair;
            tls_pair::present(
                pair.bound, pair.ours.issue({.valid_from_day = -10, .valid_to_day = example.days}));
            watcher events{pair.owner, pair.bound, ZLINK_EVENT_CERTIFICATE_EXPIRES};
            const std::string where = pair.bound.bind("tls://127.0.0.1:*");
            if (!example.is_told) {
                CHECK(events.has_told_all(pair.owner, pair.bound));
                continue;
            }
            const int seconds = events.expect(ZLINK_EVENT_CERTIFICATE_EXPIRES, where);
            CHECK(seconds <= example.days * day);
            CHECK(seconds > example.days * day - 600);
            REQUIRE(zlink_setsockopt(pair.bound, ZLINK_TLS_RELOAD, nullptr, 0) == 0);
            events.expect(ZLINK_EVENT_CERTIFICATE_EXPIRES, where);
            CHECK(events.has_told_all(pair.owner, pair.bound));
        }
    }

    TEST_CASE("tls: tells of a client's certificate, too, by where it connects") {
        tls_pair pair;
        tls_pair::present(pair.connecting, pair.ours.issue({.valid_to_day = 2}));
        watcher events{pair.owner, pair.connecting, ZLINK_EVENT_CERTIFICATE_EXPIRES};
        pair.join();
        const std::string where = pair.connecting.last_endpoint();
        CHECK(events.expect(ZLINK_EVENT_CERTIFICATE_EXPIRES, where) > 0);
        CHECK(events.has_told_all(pair.owner, pair.connecting));
    }

    TEST_CASE("tls: connects by name") {
        tls_pair pair;
        const std::string where = pair.bound.bind("tls://127.0.0.1:*");
        pair.connecting.connect("tls://localhost:" + where.substr(where.rfind(':') + 1));
        REQUIRE(pair.connecting.send("x") == ok);
        CHECK(pair.bound.recv() == message{"x"});
    }

    TEST_CASE("tls: accepts a client with a certificate, if one is required") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_CLIENT_CERTIFICATES, 2).set(ZLINK_TLS_CA, pair.ours.path());
        SUBCASE("of an authority that it trusts") {
            tls_pair::present(pair.connecting, pair.ours.issue({.common_name = "client"}));
            pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
            REQUIRE(pair.connecting.send("x") == ok);
            CHECK(property(pair.bound, "Tls-Subject") == "CN=client");
        }
        SUBCASE("of another one: not") {
            tls_pair::present(pair.connecting, pair.others.issue({.common_name = "client"}));
            watcher events(pair.owner, pair.bound);
            CHECK(pair.failure() == EKEYREJECTED);
            CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == EKEYREJECTED);
        }
        SUBCASE("none: not") {
            watcher events(pair.owner, pair.bound);
            CHECK(pair.failure() == ENOKEY);
            CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == ENOKEY);
        }
    }

    TEST_CASE("tls: accepts a client without a certificate, if one is only asked for") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_CLIENT_CERTIFICATES, 1).set(ZLINK_TLS_CA, pair.ours.path());
        pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
        REQUIRE(pair.connecting.send("x") == ok);
        CHECK(property(pair.bound, "Tls-Subject") == "(none)");
    }

    TEST_CASE("tls: says what was agreed on") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_ALPN, "b,a");
        pair.connecting.set(ZLINK_TLS_ALPN, "a,b,c");
        pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
        for (const auto& [name, value] :
             {std::pair{"Tls-Version", "TLSv1.3"}, std::pair{"Tls-Alpn", "b"},
              std::pair{"Tls-Resumed", "0"}, std::pair{"Tls-Cipher", "TLS_AES_128_GCM_SHA256"}}) {
            REQUIRE(pair.connecting.send("x") == ok);
            CHECK(property(pair.bound, name) == value);
        }
        REQUIRE(pair.bound.send("x") == ok);
        CHECK(property(pair.connecting, "Tls-Subject") == "CN=server");
    }

    TEST_CASE("tls: parts where no protocol is common") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_ALPN, "a");
        pair.connecting.set(ZLINK_TLS_ALPN, "b");
        CHECK(pair.failure() == EPROTO);
    }

    TEST_CASE("tls: resumes its session when it connects again") {
        for (const bool is_on : {true, false}) {
            CAPTURE(is_on);
            tls_pair pair(1, ZLINK_DEALER, ZLINK_DEALER);
            pair.connecting.set(ZLINK_TLS_SESSION_RESUMPTION, int{is_on});
            pair.connecting.set(ZLINK_RECONNECT_IVL, 1);
            const std::int64_t bytes_max = 10;
            REQUIRE(zlink_setsockopt(pair.connecting, ZLINK_MAXMSGSIZE, &bytes_max,
                                     sizeof bytes_max) == 0);
            pair.connecting.connect(pair.bound.bind("tls://127.0.0.1:*"));
            REQUIRE(pair.bound.send("x") == ok);
            CHECK(property(pair.connecting, "Tls-Resumed") == "0");
            watcher events(pair.owner, pair.connecting);
            REQUIRE(pair.bound.send("too long, so the connection ends") == ok);
            events.await(ZLINK_EVENT_HANDSHAKE_SUCCEEDED);
            REQUIRE(pair.connecting.send("here again") == ok);
            REQUIRE(pair.bound.recv() == message{"here again"});
            REQUIRE(pair.bound.send("x") == ok);
            CHECK(property(pair.connecting, "Tls-Resumed") == (is_on ? "1" : "0"));
        }
    }

    TEST_CASE("tls: speaks 1.3 only, if told so") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_MIN_VERSION, 13);
        pair.join();
    }

    TEST_CASE("tls: binds and connects only with files that are right, and says what is wrong") {
        tls_pair pair;
        const identity good = pair.ours.issue();
        const identity other = pair.ours.issue();
        const identity locked = pair.ours.issue({.password = "secret"});
        const std::string absent = pair.folder.file("absent");
        const std::string junk = pair.folder.file("junk");
        write_file(junk, "junk");
        struct {
            identity shown;
            const char* password;
            int error;
            std::string text;
        } const examples[] = {
            {{"", ""}, "", EINVAL, "ZLINK_TLS_CERTIFICATE is not set"},
            {{absent, good.key}, "", ENOENT, "ZLINK_TLS_CERTIFICATE \"" + absent + "\": No such"},
            {{junk, good.key},
             "",
             EINVAL,
             "ZLINK_TLS_CERTIFICATE \"" + junk + "\": no certificate"},
            {{good.certificate, absent}, "", ENOENT, "ZLINK_TLS_KEY \"" + absent + "\": No such"},
            {{good.certificate, junk}, "", EINVAL, "ZLINK_TLS_KEY \"" + junk + "\": "},
            {{good.certificate, ""}, "", EINVAL, "ZLINK_TLS_KEY \"" + good.certificate + "\": "},
            {{good.certificate, other.key}, "", EINVAL, "it is not the key of"},
            {{locked.certificate, locked.key}, "", EACCES, "ZLINK_TLS_KEY_PASSWORD is not set"},
            {{locked.certificate, locked.key},
             "wrong",
             EACCES,
             "ZLINK_TLS_KEY_PASSWORD does not open it"},
            {{locked.certificate, locked.key}, "secret", ok, ""},
        };
        for (const auto& example : examples) {
            CAPTURE(example.shown.certificate);
            CAPTURE(example.shown.key);
            CAPTURE(example.password);
            tls_pair::present(pair.bound, example.shown);
            pair.bound.set(ZLINK_TLS_KEY_PASSWORD, example.password);
            CHECK(pair.bound.try_bind("tls://127.0.0.1:*") == example.error);
            const std::string text = text_of_last_error();
            CAPTURE(text);
            CHECK(text.find(example.text) != std::string::npos);
            CHECK(text.empty() == (example.error == ok));
        }
    }

    TEST_CASE("tls: names the authorities that cannot be read") {
        tls_pair pair;
        const std::string absent = pair.folder.file("absent");
        pair.connecting.set(ZLINK_TLS_CA, absent);
        CHECK(pair.connecting.try_connect("tls://127.0.0.1:1") == ENOENT);
        CHECK(text_of_last_error() == "ZLINK_TLS_CA \"" + absent + "\": No such file or directory");
        pair.connecting.set(ZLINK_TLS_VERIFY, 0);
        CHECK(pair.connecting.try_connect("tls://127.0.0.1:1") == ok);
        CHECK(text_of_last_error().empty());
        pair.bound.set(ZLINK_TLS_CLIENT_CERTIFICATES, 2);
        CHECK(pair.bound.try_bind("tls://127.0.0.1:*") == EINVAL);
        CHECK(text_of_last_error() ==
              "ZLINK_TLS_CLIENT_CERTIFICATES: set ZLINK_TLS_CA to the authority that signs them");
    }

    TEST_CASE("tls: refuses ciphers that there are not, and protocols without a name") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_CIPHERS, "NONE-SUCH");
        CHECK(pair.bound.try_bind("tls://127.0.0.1:*") == EINVAL);
        CHECK(text_of_last_error().starts_with("ZLINK_TLS_CIPHERS: none of \"NONE-SUCH\""));
        pair.bound.set(ZLINK_TLS_CIPHERS, "").set(ZLINK_TLS_CIPHERSUITES, "NONE_SUCH");
        CHECK(pair.bound.try_bind("tls://127.0.0.1:*") == EINVAL);
        CHECK(text_of_last_error().starts_with("ZLINK_TLS_CIPHERSUITES: "));
        pair.bound.set(ZLINK_TLS_CIPHERSUITES, "");
        for (const char* names : {",", "a,", ",a", "a,,b"}) {
            pair.bound.set(ZLINK_TLS_ALPN, names);
            CHECK(pair.bound.try_bind("tls://127.0.0.1:*") == EINVAL);
            CHECK(text_of_last_error().starts_with("ZLINK_TLS_ALPN: "));
        }
    }

    TEST_CASE("tls: does not give the password of a key away") {
        tls_pair pair;
        pair.bound.set(ZLINK_TLS_KEY_PASSWORD, "secret");
        char value[32];
        std::size_t bytes = sizeof value;
        CHECK(error_of(zlink_getsockopt(pair.bound, ZLINK_TLS_KEY_PASSWORD, value, &bytes)) ==
              EINVAL);
    }

    TEST_CASE("tls: ends a peer that speaks something else, and no other") {
        for (const int io_threads : every_io_threads) {
            CAPTURE(io_threads);
            tls_pair pair(io_threads);
            pair.join();
            watcher events(pair.owner, pair.bound);
            const std::string where = pair.bound.last_endpoint();
            for (const std::string_view said : {std::string_view("GET / HTTP/1.1\r\n\r\n"),
                                                std::string_view("\xff\0\0\0\0\0\0\0\1\x7f", 10),
                                                std::string_view("\x16\x03\x01\xff\xff\x01", 6)}) {
                raw_peer peer(pair.owner, "tcp" + where.substr(3));
                peer.send(said);
                peer.send(std::string(20000, 'x'));
                CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == EPROTO);
            }
            REQUIRE(pair.connecting.send("still here") == ok);
            CHECK(pair.bound.recv() == message{"still here"});
        }
    }

    TEST_CASE("tls: ends a peer that stalls in the handshake") {
        tls_pair pair;
        pair.bound.set(ZLINK_HANDSHAKE_IVL, 50);
        watcher events(pair.owner, pair.bound);
        const std::string where = pair.bound.bind("tls://127.0.0.1:*");
        raw_peer peer(pair.owner, "tcp" + where.substr(3));
        peer.send(std::string_view("\x16\x03\x01\x01\x00", 5));
        CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == EAGAIN);
        CHECK(peer.is_disconnected());
    }

    TEST_CASE("tls: gives up a server that says nothing, and tells") {
        tls_pair pair;
        const silent_listener silent;
        pair.connecting.set(ZLINK_HANDSHAKE_IVL, 50);
        watcher events(pair.owner, pair.connecting);
        pair.connecting.connect("tls" + silent.endpoint().substr(3));
        CHECK(events.await(ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL) == EAGAIN);
    }

    TEST_CASE("tls: shows new peers new certificates after ZLINK_TLS_RELOAD, and keeps old peers") {
        tls_pair pair(1, ZLINK_DEALER, ZLINK_DEALER);
        const std::string where = pair.bound.bind("tls://127.0.0.1:*");
        pair.connecting.connect(where);
        REQUIRE(pair.bound.send("x") == ok);
        CHECK(property(pair.connecting, "Tls-Subject") == "CN=server");

        const auto reload = [&] {
            return error_of(zlink_setsockopt(pair.bound, ZLINK_TLS_RELOAD, nullptr, 0));
        };
        tls_pair::present(pair.bound, {pair.folder.file("absent"), pair.folder.file("absent")});
        CHECK(reload() == ENOENT);
        CHECK(text_of_last_error().find("absent") != std::string::npos);
        tls_pair::present(pair.bound, pair.ours.issue({.common_name = "renewed"}));
        CHECK(reload() == ok);

        socket newcomer(pair.owner, ZLINK_DEALER);
        newcomer.set(ZLINK_TLS_CA, pair.ours.path());
        newcomer.connect(where);
        REQUIRE(newcomer.send("here") == ok);
        REQUIRE(pair.bound.recv() == message{"here"});
        // Goes to both peers, in turn.
        REQUIRE(pair.bound.send("x") == ok);
        REQUIRE(pair.bound.send("x") == ok);
        CHECK(property(newcomer, "Tls-Subject") == "CN=renewed");
        CHECK(property(pair.connecting, "Tls-Subject") == "CN=server");
    }

    TEST_CASE("tls: has nothing to reload where nothing is bound") {
        tls_pair pair;
        CHECK(error_of(zlink_setsockopt(pair.bound, ZLINK_TLS_RELOAD, nullptr, 0)) == ENOENT);
        pair.bound.bind("tcp://127.0.0.1:*");
        CHECK(error_of(zlink_setsockopt(pair.bound, ZLINK_TLS_RELOAD, nullptr, 0)) == ENOENT);
        CHECK(error_of(zlink_setsockopt(pair.bound, ZLINK_TLS_RELOAD, "x", 1)) == EINVAL);
    }

    TEST_CASE("tls: is one of the library's capabilities") {
        CHECK(zlink_has("tls") == 1);
    }

} // TEST_SUITE

TEST_CASE("tls: certificates, keys and authorities may be given as what is in their files") {
    const auto contents = [](const std::string& path) {
        std::ifstream file{path};
        return std::string{std::istreambuf_iterator<char>{file}, {}};
    };
    const temporary_folder folder;
    authority ours{folder, "ours"};
    authority others{folder, "others"};
    const identity shown = ours.issue();
    const identity encrypted = ours.issue({.password = "secret"});
    const identity clients = ours.issue();
    const std::string text_before = "subject=/CN=example\n";
    {
        const context owner;
        socket server{owner, ZLINK_PAIR};
        server.set(ZLINK_TLS_CERTIFICATE,
                   text_before + contents(encrypted.certificate) + contents(ours.path()));
        server.set(ZLINK_TLS_KEY, contents(encrypted.key)).set(ZLINK_TLS_KEY_PASSWORD, "secret");
        server.set(ZLINK_TLS_CLIENT_CERTIFICATES, 2);
        server.set(ZLINK_TLS_CA, contents(others.path()) + contents(ours.path()));
        socket client{owner, ZLINK_PAIR};
        client.set(ZLINK_TLS_CA, contents(ours.path()));
        client.set(ZLINK_TLS_CERTIFICATE, contents(clients.certificate) + contents(clients.key));
        client.connect(server.bind("tls://127.0.0.1:*"));
        REQUIRE(client.send("joined") == ok);
        CHECK(server.recv() == message{"joined"});
    }
    const context owner;
    socket server{owner, ZLINK_PAIR};
    const auto why = [&](const std::string& certificate, const std::string& key) {
        server.set(ZLINK_TLS_CERTIFICATE, certificate).set(ZLINK_TLS_KEY, key);
        CHECK(server.try_bind("tls://127.0.0.1:*") != ok);
        const std::string text = zlink_error_text();
        CHECK(text.find("-----") == std::string::npos); // No secret is shown.
        return text;
    };
    const std::string certificate = contents(shown.certificate);
    CHECK(why(certificate.substr(0, certificate.size() / 2), contents(shown.key))
              .find("ZLINK_TLS_CERTIFICATE: ") != std::string::npos);
    CHECK(why(contents(shown.key), contents(shown.key)).find("no certificate") !=
          std::string::npos);
    CHECK(why(certificate, certificate).find("no private key") != std::string::npos);
    CHECK(why(certificate, contents(clients.key)).find("not the key of the certificate") !=
          std::string::npos);
    CHECK(why(contents(encrypted.certificate), contents(encrypted.key)).find("is encrypted") !=
          std::string::npos);
    CHECK(why(certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
              contents(shown.key))
              .find("no certificate that can be used") != std::string::npos);
    server.set(ZLINK_TLS_CLIENT_CERTIFICATES, 1).set(ZLINK_TLS_CA, contents(shown.key));
    CHECK(why(certificate, contents(shown.key)).find("ZLINK_TLS_CA: ") != std::string::npos);
}
