// SPDX-License-Identifier: MPL-2.0
//
// Processes that end in every state of their sockets. Each is this program again, started with
// --end SCENARIO and further arguments; it ends by exit(3), with status 0 if all checks passed.
#define DOCTEST_CONFIG_IMPLEMENT
#include "testing/certificates.hpp"
#include "zlink.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int exit_count = 3;
#else
constexpr int exit_count = 25;
#endif

constexpr int patience_ms = 10000;

// The processes that end.

struct arguments {
    std::string scenario;
    std::string scheme;
    int round;
    std::string certificate;
    std::string key;
    std::string trusted;
};

bool set(void* target, int option, const std::string& value) {
    return zlink_setsockopt(target, option, value.data(), value.size()) == 0;
}

bool set(void* target, int option, int value) {
    return zlink_setsockopt(target, option, &value, sizeof value) == 0;
}

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "%s: %s (%s)\n", what, zlink_strerror(errno), zlink_error_text());
        std::_Exit(3);
    }
}

/// A receiver and a sender, with the options that each scheme needs.
struct conversation {
    void* context = zlink_ctx_new();
    void* receiver = zlink_socket(context, ZLINK_PULL);
    void* sender = zlink_socket(context, ZLINK_PUSH);
    std::array<char, 41> open{};
    std::array<char, 41> hidden{};
    std::string endpoint;
    bool has_curve = false;

    void prepare_sender(void* each, const arguments& given) const {
        require(set(each, ZLINK_TLS_CA, given.trusted), "authority");
        if (has_curve) {
            require(set(each, ZLINK_CURVE_SERVERKEY, std::string(open.data(), 40)) &&
                        set(each, ZLINK_CURVE_PUBLICKEY, std::string(open.data(), 40)) &&
                        set(each, ZLINK_CURVE_SECRETKEY, std::string(hidden.data(), 40)),
                    "keys");
        }
    }

    void begin(const arguments& given) {
        std::string scheme = given.scheme;
        has_curve = scheme == "curve";
        if (has_curve) {
            scheme = "tcp";
            zlink_curve_keypair(open.data(), hidden.data());
            require(set(receiver, ZLINK_CURVE_SERVER, 1) &&
                        set(receiver, ZLINK_CURVE_SECRETKEY, std::string(hidden.data(), 40)),
                    "keys");
        }
        require(set(receiver, ZLINK_TLS_CERTIFICATE, given.certificate) &&
                    set(receiver, ZLINK_TLS_KEY, given.key),
                "identity");
        prepare_sender(sender, given);
        set(receiver, ZLINK_RCVTIMEO, patience_ms);
        set(sender, ZLINK_SNDTIMEO, patience_ms);
        const std::string at = scheme + (scheme == "ipc" ? "://*" : "://127.0.0.1:*");
        require(zlink_bind(receiver, at.c_str()) == 0, "bind");
        std::array<char, 256> bound;
        std::size_t bytes = bound.size();
        zlink_getsockopt(receiver, ZLINK_LAST_ENDPOINT, bound.data(), &bytes);
        endpoint = bound.data();
        require(zlink_connect(sender, endpoint.c_str()) == 0, "connect");
        exchange(); // The connection is established.
    }

    void exchange() const {
        const std::string sent(3000, 'x');
        std::string received(4000, ' ');
        require(zlink_send(sender, sent.data(), sent.size(), 0) == 3000, "send");
        require(zlink_recv(receiver, received.data(), received.size(), 0) == 3000, "recv");
    }

    /// Sends messages and opens connections without end, on threads that still run at exit.
    void keep_busy(const arguments& given) const {
        std::thread{[this] {
            std::string received(4000, ' ');
            while (zlink_recv(receiver, received.data(), received.size(), 0) >= 0 ||
                   errno == EAGAIN) {
            }
        }}.detach();
        std::thread{[this] {
            const std::string sent(3000, 'x');
            while (zlink_send(sender, sent.data(), sent.size(), 0) >= 0 || errno == EAGAIN) {
            }
        }}.detach();
        std::thread{[this, given] {
            while (void* const each = zlink_socket(context, ZLINK_PUSH)) {
                set(each, ZLINK_LINGER, 0);
                set(each, ZLINK_TLS_CA, given.trusted);
                if (zlink_connect(each, endpoint.c_str()) != 0) {
                    return; // The process ends.
                }
                std::this_thread::yield();
                zlink_close(each);
            }
        }}.detach();
    }
};

/// A static object that owns a context, as C++ programs have it.
struct static_owner {
    conversation* talk = nullptr;
    std::thread busy;
    std::atomic<bool> is_over{false};

    ~static_owner() {
        if (talk == nullptr) {
            return;
        }
        is_over = true;
        if (busy.joinable()) {
            busy.join();
        }
        zlink_close(talk->receiver);
        zlink_close(talk->sender);
        zlink_ctx_term(talk->context);
    }
};
static_owner owner;

void use_openssl() {
    require(OPENSSL_init_ssl(0, nullptr) == 1, "OpenSSL");
    SSL_CTX_free(SSL_CTX_new(TLS_client_method()));
}

/// Exits with everything open and in use.
[[noreturn]] void leave_open(const arguments& given) {
    auto* const talk = new conversation;
    talk->begin(given);
    talk->keep_busy(given);
    // Each process exits at another moment.
    std::this_thread::sleep_for(std::chrono::microseconds(300 * given.round));
    std::exit(0);
}

/// Exits with a socket that lingers, with unsent messages to a socket that is closed before it.
[[noreturn]] void leave_to_static_object(const arguments& given) {
    auto* const talk = new conversation;
    talk->begin(given);
    set(talk->receiver, ZLINK_RCVTIMEO, 10);
    set(talk->sender, ZLINK_SNDTIMEO, 10);
    set(talk->sender, ZLINK_LINGER, 20);
    owner.talk = talk;
    owner.busy = std::thread{[] {
        const std::string sent(3000, 'x');
        std::string received(4000, ' ');
        while (!owner.is_over) {
            zlink_send(owner.talk->sender, sent.data(), sent.size(), 0);
            zlink_recv(owner.talk->receiver, received.data(), received.size(), ZLINK_DONTWAIT);
        }
        while (zlink_send(owner.talk->sender, sent.data(), sent.size(), ZLINK_DONTWAIT) >= 0) {
        }
    }};
    std::this_thread::sleep_for(std::chrono::microseconds(300 * given.round));
    std::exit(0);
}

/// Continues after OpenSSL has been cleaned up.
[[noreturn]] void outlive_openssl(const arguments& given) {
    conversation over_tls;
    over_tls.begin(given);
    conversation others;
    arguments chosen = given;
    chosen.scheme = "curve";
    others.begin(chosen);
    set(over_tls.sender, ZLINK_LINGER, -1);
    OPENSSL_cleanup();

    others.exchange();
    conversation next;
    chosen.scheme = "ws";
    next.begin(chosen);
    void* const late = zlink_socket(over_tls.context, ZLINK_PUSH);
    require(zlink_connect(late, "tls://127.0.0.1:1") == -1 && errno == ESHUTDOWN, "late connect");
    zlink_close(late);
    // Messages for a connection that can never be made must not delay the end.
    zlink_send(over_tls.sender, "x", 1, ZLINK_DONTWAIT);
    for (const conversation* each : {&over_tls, &others, &next}) {
        zlink_close(each->receiver);
        zlink_close(each->sender);
        require(zlink_ctx_term(each->context) == 0, "end");
    }
    std::exit(0);
}

/// Selects a provider that does not exist, then none: the choice holds for the library.
[[noreturn]] void choose_provider(const arguments& given) {
    require(EVP_set_default_properties(nullptr, "provider=another") == 1, "choice");
    void* const context = zlink_ctx_new();
    void* const socket = zlink_socket(context, ZLINK_PULL);
    require(set(socket, ZLINK_TLS_CERTIFICATE, given.certificate) &&
                set(socket, ZLINK_TLS_KEY, given.key),
            "identity");
    const std::string at = given.scheme + "://127.0.0.1:*";
    require(zlink_bind(socket, at.c_str()) == -1, "refusal");
    require(EVP_set_default_properties(nullptr, "") == 1, "no choice");
    require(zlink_bind(socket, at.c_str()) == 0, "bind");
    zlink_close(socket);
    zlink_ctx_term(context);
    std::exit(0);
}

int run(const arguments& given) {
    ::alarm(60);
    const bool others_came_first = given.scenario.ends_with("+openssl");
    if (others_came_first) {
        use_openssl();
    }
    const std::string scenario = given.scenario.substr(0, given.scenario.find('+'));
    if (scenario == "open") {
        leave_open(given);
    }
    if (scenario == "static") {
        leave_to_static_object(given);
    }
    if (scenario == "provider") {
        choose_provider(given);
    }
    outlive_openssl(given);
}

// The test.

/// @return The status of the process, as from waitpid(2).
int end_of(std::vector<std::string> words) {
    std::vector<char*> raw;
    for (std::string& each : words) {
        raw.push_back(each.data());
    }
    raw.push_back(nullptr);
    pid_t child = -1;
    REQUIRE(::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, raw.data(), environ) == 0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

/// Certificates for endpoints with TLS.
struct certificates {
    zlink::testing::temporary_folder folder;
    zlink::testing::authority issuer{folder, "issuer"};
    zlink::testing::identity shown = issuer.issue();
    std::string trusted = issuer.path();
};

void check_ends(const std::string& scenario, std::initializer_list<std::string> schemes,
                int count = exit_count) {
    const certificates made;
    for (const std::string& scheme : schemes) {
        for (int round = 0; round < count; ++round) {
            CAPTURE(scenario);
            CAPTURE(scheme);
            CAPTURE(round);
            CHECK(end_of({"exit_tests", "--end", scenario, scheme, std::to_string(round),
                          made.shown.certificate, made.shown.key, made.trusted}) == 0);
        }
    }
}

} // namespace

TEST_CASE("exit: with sockets open and in use") {
    for (const char* const scenario : {"open", "open+openssl"}) {
        check_ends(scenario, {"tcp", "curve", "ws", "tls", "wss"});
    }
}

TEST_CASE("exit: with sockets that a static object closes") {
    for (const char* const scenario : {"static", "static+openssl"}) {
        check_ends(scenario, {"tcp", "curve", "ws", "tls", "wss"});
    }
}

TEST_CASE("exit: sockets that need no OpenSSL work after its clean-up, the others end") {
    for (const char* const scenario : {"outlive", "outlive+openssl"}) {
        check_ends(scenario, {"tls", "wss"}, 1);
    }
}

TEST_CASE("exit: providers that the application chose for OpenSSL are the library's, too") {
    check_ends("provider", {"tls", "wss"}, 1);
}

int main(int argc, char** argv) {
    if (argc == 8 && std::strcmp(argv[1], "--end") == 0) {
        return run({argv[2], argv[3], std::atoi(argv[4]), argv[5], argv[6], argv[7]});
    }
    return doctest::Context(argc, argv).run();
}
