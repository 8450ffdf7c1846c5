// SPDX-License-Identifier: MPL-2.0
//
// zlink_error_text(): always names the option or endpoint that was given, and what is wrong.
#include "fixture.hpp"
#include "testing/certificates.hpp"

#include <climits>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

using namespace api_test;
using zlink::testing::authority;
using zlink::testing::identity;
using zlink::testing::temporary_folder;

namespace {

/// The error text of a set that must fail.
std::string refusal(const socket& of, int option, const void* value, std::size_t size) {
    CAPTURE(option);
    REQUIRE(error_of(zlink_setsockopt(of, option, value, size)) == EINVAL);
    return zlink_error_text();
}
std::string refusal(const socket& of, int option, int value) {
    return refusal(of, option, &value, sizeof value);
}
std::string refusal(const socket& of, int option, std::string_view value) {
    return refusal(of, option, value.data(), value.size());
}

std::string reading_refusal(const socket& of, int option, std::size_t room) {
    std::vector<char> value(room + 1);
    REQUIRE(error_of(zlink_getsockopt(of, option, value.data(), &room)) == EINVAL);
    return zlink_error_text();
}

std::string bind_refusal(const socket& of, const char* endpoint, int error) {
    CAPTURE(endpoint);
    REQUIRE(error_of(zlink_bind(of, endpoint)) == error);
    return zlink_error_text();
}

std::string connect_refusal(const socket& of, const char* endpoint, int error) {
    CAPTURE(endpoint);
    REQUIRE(error_of(zlink_connect(of, endpoint)) == error);
    return zlink_error_text();
}

} // namespace

TEST_SUITE("error text") {

    TEST_CASE("error text: says which option could not be set, and why") {
        const context owner;
        socket push{owner, ZLINK_PUSH};
        const socket xpub{owner, ZLINK_XPUB};
        CHECK(refusal(push, ZLINK_SNDHWM, -1) == "ZLINK_SNDHWM: -1 is out of range (0 or more)");
        CHECK(refusal(push, ZLINK_IPV6, 2) == "ZLINK_IPV6: 2 is out of range (0 to 1)");
        CHECK(refusal(push, ZLINK_CURVE_SERVER, 2) ==
              "ZLINK_CURVE_SERVER: 2 is out of range (0 to 1)");
        CHECK(refusal(push, ZLINK_SNDHWM, "x") == "ZLINK_SNDHWM: takes 4 bytes, not 1");
        CHECK(refusal(push, ZLINK_MAXMSGSIZE, 1) == "ZLINK_MAXMSGSIZE: takes 8 bytes, not 4");
        CHECK(refusal(push, ZLINK_ROUTING_ID, "") ==
              "ZLINK_ROUTING_ID: takes 1 to 255 bytes, not 0");
        CHECK(refusal(push, ZLINK_PLAIN_USERNAME, std::string(256, 'x')) ==
              "ZLINK_PLAIN_USERNAME: takes 1 to 255 bytes, not 256");
        CHECK(refusal(push, ZLINK_LINGER, nullptr, sizeof(int)) ==
              "ZLINK_LINGER: the pointer to the value, or to its size, is null");
        CHECK(refusal(push, ZLINK_ROUTER_MANDATORY, 1) ==
              "ZLINK_ROUTER_MANDATORY: not an option of this type of socket");
        CHECK(refusal(push, ZLINK_SUBSCRIBE, "") ==
              "ZLINK_SUBSCRIBE: not an option of this type of socket");
        CHECK(refusal(xpub, ZLINK_SUBSCRIBE, "") ==
              "ZLINK_SUBSCRIBE: on an XPUB this requires ZLINK_XPUB_MANUAL");
        CHECK(refusal(push, ZLINK_TYPE, 1) == "ZLINK_TYPE: cannot be set");
        CHECK(refusal(push, 12345, 1) == "option 12345: there is no such option");
        CHECK(refusal(push, ZLINK_TCP_ACCEPT_FILTER, "10.0.0.0/33") ==
              "ZLINK_TCP_ACCEPT_FILTER: \"10.0.0.0/33\" is neither ADDRESS nor ADDRESS/BITS (IPv6 "
              "requires ZLINK_IPV6)");
        CHECK(refusal(push, ZLINK_CURVE_PUBLICKEY, "short") ==
              "ZLINK_CURVE_PUBLICKEY: a key is 32 bytes, or 40 characters of Z85 with or without a "
              "zero byte behind, not 5 bytes");
        CHECK(refusal(push, ZLINK_CURVE_PUBLICKEY, std::string(40, '~')) ==
              "ZLINK_CURVE_PUBLICKEY: its 40 characters are not Z85");
        CHECK(push.set(ZLINK_LINGER, 0).get(ZLINK_LINGER) == 0);
        CHECK(std::string{zlink_error_text()}.empty());
    }

    TEST_CASE(
        "error text: every option of every type that is refused has its name before the reason") {
        const context owner;
        for (const int type : {ZLINK_PAIR, ZLINK_SUB, ZLINK_REQ, ZLINK_ROUTER, ZLINK_XPUB,
                               ZLINK_RAW_STREAM, ZLINK_STREAM}) {
            const socket asked{owner, type};
            for (int option = 0; option < 1100; ++option) {
                for (const std::size_t size : {0, 1, 4, 8, 41, 300, 5000}) {
                    CAPTURE(type);
                    CAPTURE(option);
                    CAPTURE(size);
                    std::string value(size, '\xff');
                    if (error_of(zlink_setsockopt(asked, option, value.data(), size)) != ok) {
                        const std::string said = zlink_error_text();
                        CHECK((said.starts_with("ZLINK_") || said.starts_with("option ")));
                        CHECK(said.find(": ") != std::string::npos);
                    }
                    std::size_t room = size;
                    if (error_of(zlink_getsockopt(asked, option, value.data(), &room)) != ok) {
                        const std::string said = zlink_error_text();
                        CHECK((said.starts_with("ZLINK_") || said.starts_with("option ")));
                    }
                }
            }
        }
    }

    TEST_CASE("error text: says which option could not be read, and why") {
        const context owner;
        const socket router{owner, ZLINK_ROUTER};
        CHECK(reading_refusal(router, ZLINK_SNDHWM, 8) == "ZLINK_SNDHWM: takes 4 bytes, not 8");
        CHECK(reading_refusal(router, ZLINK_ROUTER_MANDATORY, 4) ==
              "ZLINK_ROUTER_MANDATORY: cannot be read");
        CHECK(reading_refusal(router, 12345, 4) == "option 12345: there is no such option");
        CHECK(reading_refusal(router, ZLINK_CURVE_SECRETKEY, 40) ==
              "ZLINK_CURVE_SECRETKEY: a key takes room of 32 bytes, or of 41 for its Z85, not of "
              "40");
        CHECK(reading_refusal(router, ZLINK_LAST_ENDPOINT, 0) ==
              "ZLINK_LAST_ENDPOINT: takes 1 byte, not 0");
    }

    TEST_CASE("error text: says what is no socket, and whose context was shut down") {
        const context owner;
        socket push{owner, ZLINK_PUSH};
        int value = 0;
        std::size_t room = sizeof value;
        CHECK(error_of(zlink_setsockopt(nullptr, ZLINK_LINGER, &value, room)) == ENOTSOCK);
        CHECK(std::string{zlink_error_text()} == "ZLINK_LINGER: not a socket, or a closed one");
        CHECK(error_of(zlink_bind(nullptr, "inproc://x")) == ENOTSOCK);
        CHECK(std::string{zlink_error_text()} == "inproc://x: not a socket, or a closed one");
        REQUIRE(zlink_ctx_shutdown(owner) == 0);
        CHECK(bind_refusal(push, "inproc://x", ETERM) == "inproc://x: the context was shut down");
        CHECK(error_of(zlink_getsockopt(push, ZLINK_LINGER, &value, &room)) == ETERM);
        CHECK(std::string{zlink_error_text()} == "ZLINK_LINGER: the context was shut down");
    }

    TEST_CASE("error text: is never that of an earlier failure") {
        const context owner;
        socket push{owner, ZLINK_PUSH};
        socket stream{owner, ZLINK_STREAM};
        socket pull{owner, ZLINK_PULL};
        char room[8];
        zlink_msg_t closed{};
        zlink_msg_t empty;
        zlink_msg_init(&empty);
        zlink_http_request_t request{};
        const char* text = nullptr;
        std::size_t bytes = 0;
        std::size_t none = 0;
        zlink_stream_message_t batch{};
        const struct {
            const char* name;
            std::function<int()> call;
        } failing[] = {
            {"send", [&] { return zlink_send(push, "x", 1, ZLINK_DONTWAIT); }},
            {"send, no socket", [&] { return zlink_send(nullptr, "x", 1, 0); }},
            {"send_const", [&] { return zlink_send_const(push, "x", 1, ZLINK_DONTWAIT); }},
            {"recv", [&] { return zlink_recv(pull, room, sizeof room, ZLINK_DONTWAIT); }},
            {"recv of a PUSH", [&] { return zlink_recv(push, room, sizeof room, 0); }},
            {"msg_send", [&] { return zlink_msg_send(&empty, push, ZLINK_DONTWAIT); }},
            {"msg_recv", [&] { return zlink_msg_recv(&empty, pull, ZLINK_DONTWAIT); }},
            {"msg_close", [&] { return zlink_msg_close(&closed); }},
            {"msg_get", [&] { return zlink_msg_get(&empty, 12345); }},
            {"msg_gets", [&] { return zlink_msg_gets(&empty, "none") == nullptr ? -1 : 0; }},
            {"sendiov", [&] { return zlink_sendiov(push, nullptr, 0, 0); }},
            {"recviov", [&] { return zlink_recviov(pull, nullptr, &none, 0); }},
            {"stream_send", [&] { return zlink_stream_send(stream, "none", "x", 1, 0); }},
            {"stream_recv",
             [&] { return zlink_stream_recv(stream, room, room, 1, ZLINK_DONTWAIT); }},
            {"stream_send_batch", [&] { return zlink_stream_send_batch(push, &batch, 1, 0); }},
            {"stream_recv_batch", [&] { return zlink_stream_recv_batch(push, &batch, 1, 0); }},
            {"stream_close", [&] { return zlink_stream_close(stream, "none", 1000, ""); }},
            {"socket", [&] { return zlink_socket(owner, 1234) == nullptr ? -1 : 0; }},
            {"close", [&] { return zlink_close(nullptr); }},
            {"ctx_term", [&] { return zlink_ctx_term(nullptr); }},
            {"ctx_get_text",
             [&] { return zlink_ctx_get_text(owner, ZLINK_METRICS_ENDPOINT, nullptr, &bytes); }},
            {"poll", [&] { return zlink_poll(nullptr, 1, 0); }},
            {"proxy", [&] { return zlink_proxy(nullptr, nullptr, nullptr); }},
            {"monitor", [&] { return zlink_socket_monitor(push, "tcp://127.0.0.1:1", 1); }},
            {"http_request", [&] { return zlink_http_request("x", 1, &request); }},
            {"http_field", [&] { return zlink_http_field(nullptr, "x", &text, &bytes); }},
            {"http_serve", [&] { return zlink_http_serve(push, "/", ".", nullptr); }},
            {"http_reply",
             [&] { return zlink_http_reply(stream, "none", 200, nullptr, nullptr, 0, 0); }},
        };
        for (const auto& each : failing) {
            CAPTURE(each.name);
            refusal(push, ZLINK_SNDHWM, -1);
            REQUIRE(*zlink_error_text() != '\0');
            CHECK(each.call() == -1);
            CHECK(std::string{zlink_error_text()}.find("SNDHWM") == std::string::npos);
        }
        // One that says more still does, and one that succeeds between changes nothing.
        CHECK(error_of(zlink_http_serve(stream, "video", ".", nullptr)) == EINVAL);
        CHECK(zlink_msg_size(&empty) == 0);
        CHECK(zlink_msg_close(&empty) == 0);
        CHECK(std::string{zlink_error_text()}.find("begin and end with a slash") !=
              std::string::npos);
        CHECK(error_of(zlink_ctx_set(owner, ZLINK_MAX_SOCKETS, -1)) == EINVAL);
        CHECK(std::string{zlink_error_text()} == "ZLINK_MAX_SOCKETS: cannot be set to -1");
    }

    TEST_CASE("error text: says which origins no page can have") {
        const context owner;
        socket stream{owner, ZLINK_STREAM};
        for (const char* const origins : {"https://example.org/", "example.org", "https://",
                                          "https://a.org, https://b.org/x", "https://a.org:443"}) {
            CAPTURE(origins);
            const std::string text = refusal(stream, ZLINK_WS_ORIGINS, origins);
            CHECK(text.starts_with("ZLINK_WS_ORIGINS: \""));
            CHECK(text.find("can never match") != std::string::npos);
        }
        CHECK(refusal(stream, ZLINK_WS_ORIGINS, "https://a.org, https://b.org/x")
                  .find("\"https://b.org/x\"") != std::string::npos);
        for (const char* const origins : {"*", "null", "", "https://a.org, *.b.org,null",
                                          "http://localhost:8080", "https://*.example.org"}) {
            stream.set(ZLINK_WS_ORIGINS, origins);
        }
        zlink_http_folder_t settings{};
        settings.struct_size = sizeof settings;
        for (const char* const origin : {"https://example.org/", "example.org", "*.example.org"}) {
            settings.cors_origin = origin;
            CHECK(error_of(zlink_http_serve(stream, "/", "/", &settings)) == EINVAL);
            CHECK(std::string{zlink_error_text()} ==
                  "cors_origin \"" + std::string{origin} +
                      "\" can never match: it has to be SCHEME://HOST or SCHEME://HOST:PORT, "
                      "without a path and without the scheme's own port, or *");
        }
    }

    TEST_CASE("error text: says what is no file that can be read without waiting") {
        const context owner;
        const temporary_folder folder;
        authority ours{folder, "ours"};
        const identity one = ours.issue();
        const std::string fifo = folder.file("fifo");
        REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
        std::filesystem::create_directory(folder.file("authorities"));
        REQUIRE(::mkfifo(folder.file("authorities/waits").c_str(), 0600) == 0);
        const auto said = [&](int option, const std::string& value) {
            socket asked{owner, ZLINK_PULL};
            asked.set(ZLINK_TLS_CERTIFICATE, one.certificate).set(ZLINK_TLS_KEY, one.key);
            asked.set(ZLINK_TLS_CLIENT_CERTIFICATES, 2).set(ZLINK_TLS_CA, ours.path());
            asked.set(option, value);
            return bind_refusal(asked, "tls://127.0.0.1:*", EINVAL);
        };
        for (const std::string& path : {fifo, std::string{"/dev/zero"}, std::string{"/dev/null"}}) {
            CHECK(said(ZLINK_TLS_CERTIFICATE, path) ==
                  "ZLINK_TLS_CERTIFICATE \"" + path + "\": it is not a regular file");
            CHECK(said(ZLINK_TLS_KEY, path) ==
                  "ZLINK_TLS_KEY \"" + path + "\": it is not a regular file");
            CHECK(said(ZLINK_TLS_CA, path) ==
                  "ZLINK_TLS_CA \"" + path + "\": it is neither a regular file nor a folder");
        }
        CHECK(said(ZLINK_TLS_CA, folder.file("authorities")) ==
              "ZLINK_TLS_CA \"" + folder.file("authorities") +
                  "\": waits in it is not a regular file");
        socket server{owner, ZLINK_PULL};
        server.set(ZLINK_TLS_CERTIFICATE, one.certificate).set(ZLINK_TLS_KEY, one.key);
        server.bind("tls://127.0.0.1:*");
        std::filesystem::rename(fifo, one.certificate);
        CHECK(error_of(zlink_setsockopt(server, ZLINK_TLS_RELOAD, nullptr, 0)) == EINVAL);
        CHECK(std::string{zlink_error_text()} ==
              "ZLINK_TLS_CERTIFICATE \"" + one.certificate + "\": it is not a regular file");
    }

    TEST_CASE("error text: says which endpoint is malformed, and where") {
        const context owner;
        const socket pull{owner, ZLINK_PULL};
        const struct {
            const char* endpoint;
            int error;
            const char* why;
        } bound[] = {
            {"127.0.0.1:5555", EINVAL, "it has no ://"},
            {"tcp://", EINVAL, "nothing follows the ://"},
            {"://x", EINVAL, "the transport is missing"},
            {"pgm://127.0.0.1:1", EPROTONOSUPPORT, "there is no transport \"pgm\""},
            {"udp://127.0.0.1:1", ENOCOMPATPROTO,
             "over udp a RADIO can be connected, and a DISH or DGRAM bound"},
            {"tcp://127.0.0.1", EINVAL, "the port is missing"},
            {"tcp://127.0.0.1:65536", EINVAL, "\"65536\" is not a port, 0 to 65535 or *"},
            {"tcp://127.0.0.1:x", EINVAL, "\"x\" is not a port, 0 to 65535 or *"},
            {"tcp://no_such_interface:1", ENODEV,
             "there is no interface or host \"no_such_interface\""},
            {"tcp://192.0.2.1:1", EADDRNOTAVAIL, "the address is not one of this machine's"},
            {"ipc://@", EINVAL, "no name follows the @"},
            {"ipc:///no/such/folder/file", ENOENT,
             "the folder of the socket's file does not exist"},
            {"ws://127.0.0.1:1/a b", EINVAL,
             "the path is too long, or has characters that an HTTP request cannot have"},
        };
        for (const auto& each : bound) {
            CHECK(bind_refusal(pull, each.endpoint, each.error) ==
                  std::string{each.endpoint} + ": " + each.why);
        }
        CHECK(connect_refusal(pull, "tcp://*:1", EINVAL) == "tcp://*:1: \"*\" is not a valid host");
        CHECK(connect_refusal(pull, "tcp://:1", EINVAL) == "tcp://:1: the host is missing");
        CHECK(connect_refusal(pull, "tcp://127.0.0.1:*", EINVAL) ==
              "tcp://127.0.0.1:*: \"*\" is not a port, 0 to 65535");
        CHECK(error_of(zlink_disconnect(pull, "tcp://127.0.0.1:1")) == ENOENT);
        CHECK(std::string{zlink_error_text()} ==
              "tcp://127.0.0.1:1: the socket is not bound or connected there");
        CHECK(error_of(zlink_bind(pull, nullptr)) == EINVAL);
        CHECK(std::string{zlink_error_text()} == "the endpoint is a null pointer");
    }

    TEST_CASE(
        "error text: says what the system refuses, and what other options have to do with it") {
        const context owner;
        socket pull{owner, ZLINK_PULL};
        socket second{owner, ZLINK_PULL};
        const std::string taken = pull.bind("tcp://127.0.0.1:*");
        CHECK(bind_refusal(second, taken.c_str(), EADDRINUSE) ==
              taken + ": the address is already in use");
        pull.bind("inproc://taken");
        CHECK(bind_refusal(second, "inproc://taken", EADDRINUSE) ==
              "inproc://taken: the address is already in use");
        const socket raw{owner, ZLINK_RAW_STREAM};
        CHECK(bind_refusal(raw, "inproc://x", EPROTONOSUPPORT) ==
              "inproc://x: this type of socket cannot use inproc, whose peers speak ZMTP");
        CHECK(bind_refusal(raw, "ws://127.0.0.1:*", EPROTONOSUPPORT) ==
              "ws://127.0.0.1:*: raw bytes cannot be sent over ws and wss");
        second.set(ZLINK_SOCKS_PROXY, "nowhere");
        CHECK(connect_refusal(second, "tcp://127.0.0.1:1", EINVAL) ==
              "ZLINK_SOCKS_PROXY \"nowhere\": the port is missing");
        second.set(ZLINK_USE_FD, 0x7fff);
        CHECK(bind_refusal(second, "tcp://127.0.0.1:1", EBADF) == "ZLINK_USE_FD is not a socket");
    }

    TEST_CASE("error text: says what is wrong with files and algorithms of TLS") {
        const context owner;
        const temporary_folder folder;
        authority ours{folder, "ours"};
        const identity one = ours.issue();
        const identity other = ours.issue();
        const std::string nonsense = folder.file("nonsense.pem");
        std::ofstream(nonsense) << "nonsense\n";
        const auto said = [&](int option, std::string_view value) {
            socket asked{owner, ZLINK_PULL};
            asked.set(ZLINK_TLS_CERTIFICATE, one.certificate).set(ZLINK_TLS_KEY, one.key);
            asked.set(ZLINK_TLS_CLIENT_CERTIFICATES, 2).set(ZLINK_TLS_CA, ours.path());
            asked.set(option, value);
            return bind_refusal(asked, "tls://127.0.0.1:*", EINVAL);
        };
        CHECK(said(ZLINK_TLS_CERTIFICATE, nonsense) ==
              "ZLINK_TLS_CERTIFICATE \"" + nonsense + "\": no certificate is in it, as PEM");
        CHECK(said(ZLINK_TLS_KEY, nonsense) ==
              "ZLINK_TLS_KEY \"" + nonsense + "\": no private key is in it, as PEM");
        CHECK(said(ZLINK_TLS_KEY, other.key) ==
              "ZLINK_TLS_KEY \"" + other.key +
                  "\": it is not the key of the certificate in ZLINK_TLS_CERTIFICATE");
        CHECK(said(ZLINK_TLS_CA, nonsense) ==
              "ZLINK_TLS_CA \"" + nonsense + "\": no certificate is in it, as PEM");
        CHECK(said(ZLINK_TLS_CIPHERS, "none:such") ==
              "ZLINK_TLS_CIPHERS: none of \"none:such\" is a cipher of TLS 1.2; openssl ciphers "
              "-tls1_2 lists them");
        CHECK(said(ZLINK_TLS_CIPHERSUITES, "none") ==
              "ZLINK_TLS_CIPHERSUITES: not all of \"none\" are suites of TLS 1.3, with colons "
              "between them");
    }
}
