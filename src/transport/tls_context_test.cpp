// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_context.hpp"

#include "testing/certificates.hpp"

#include <doctest/doctest.h>
#include <openssl/bio.h>

#include <chrono>
#include <string_view>

using namespace zlink;
using crypto::openssl_ptr;
using testing::authority;
using testing::identity;
using testing::temporary_folder;
using transport::tls_context;
using transport::tls_context_ptr;

namespace {

/// Two ends in memory.
struct joined_ends {
    joined_ends(tls_context& dialing, tls_context& accepting)
        : client(dialing.open()), server(accepting.open()) {
        BIO* of_client = nullptr;
        BIO* of_server = nullptr;
        REQUIRE(BIO_new_bio_pair(&of_client, 0, &of_server, 0) == 1);
        SSL_set_bio(client.get(), of_client, of_client);
        SSL_set_bio(server.get(), of_server, of_server);
    }

    joined_ends(const joined_ends&) = delete;
    joined_ends& operator=(const joined_ends&) = delete;
    ~joined_ends() {
        // Otherwise OpenSSL would not resume a session that was not closed.
        SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_set_shutdown(server.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }

    /// Completes the handshake, and makes the client store its ticket.
    void open() const {
        for (bool is_open = false; !is_open;) {
            const int at_client = SSL_do_handshake(client.get());
            const int at_server = SSL_do_handshake(server.get());
            is_open = at_client == 1 && at_server == 1;
            REQUIRE((is_open || SSL_get_error(client.get(), at_client) != SSL_ERROR_SSL));
        }
        char byte;
        SSL_read(client.get(), &byte, 1);
    }

    bool is_resumed() const { return SSL_session_reused(server.get()) == 1; }

    openssl_ptr<SSL> client;
    openssl_ptr<SSL> server;
};

struct sides {
    sides() {
        endpoint where;
        where.via = scheme::tls;
        where.address.host = "localhost";
        const identity shown = issuer.issue();
        socket_options of_client;
        of_client.tls_ca = issuer.path();
        of_server.tls_certificate = shown.certificate;
        of_server.tls_key = shown.key;
        dialing = *tls_context::make(of_client, where, endpoint_use::dial);
        accepting = *tls_context::make(of_server, where, endpoint_use::listen);
    }

    void reload() const {
        auto read = accepting->read(of_server);
        REQUIRE(static_cast<bool>(read));
        accepting->adopt(std::move(*read));
    }

    temporary_folder folder;
    authority issuer{folder, "issuer"};
    socket_options of_server;
    tls_context_ptr dialing;
    tls_context_ptr accepting;
};

} // namespace

TEST_SUITE("transport") {

    TEST_CASE("tls context: resumes sessions, but none from before its files were read again") {
        const sides both;
        const joined_ends first{*both.dialing, *both.accepting};
        first.open();
        const joined_ends again{*both.dialing, *both.accepting};
        again.open();
        CHECK(again.is_resumed());

        both.reload();
        const joined_ends after{*both.dialing, *both.accepting};
        after.open();
        CHECK(!after.is_resumed());
    }

    TEST_CASE("tls context: asks for a name, as the wire has it, and never for an address") {
        const sides both;
        struct {
            const char* host;
            const char* asked_for; ///< Null: no name.
        } const examples[] = {
            {"example.org", "example.org"},
            {"example.org.", "example.org"},
            {"xn--bcher-kva.example", "xn--bcher-kva.example"},
            {"localhost", "localhost"},
            {"127.0.0.1", nullptr},
            {"127.0.0.1.", nullptr},
            {"127.1", nullptr},
            {"2130706433", nullptr},
            {"::1", nullptr},
            {"[::1]", nullptr},
            {"fe80::1%lo", nullptr},
        };
        for (const auto& each : examples) {
            for (const bool is_option : {false, true}) {
                CAPTURE(each.host);
                CAPTURE(is_option);
                endpoint where;
                where.via = scheme::tls;
                where.address.host = is_option ? "other.example" : each.host;
                socket_options options;
                options.tls_ca = both.issuer.path();
                options.tls_hostname = is_option ? each.host : "";
                const auto made = tls_context::make(options, where, endpoint_use::dial);
                REQUIRE(made);
                const openssl_ptr<SSL> opened = (*made)->open();
                const char* const asked_for =
                    SSL_get_servername(opened.get(), TLSEXT_NAMETYPE_host_name);
                CHECK((asked_for == nullptr) == (each.asked_for == nullptr));
                if (asked_for != nullptr && each.asked_for != nullptr) {
                    CHECK(std::string_view{asked_for} == each.asked_for);
                }
            }
        }
    }

    TEST_CASE("tls context: tells once a day that a certificate expires, until it is replaced") {
        using namespace std::chrono_literals;
        sides both;
        const auto now = tls_context::clock::now();
        CHECK(!both.accepting->take_expiry(now));
        CHECK(!both.dialing->take_expiry(now + 100 * 24h)); // It has none.
        const auto due = now + 20 * 24h;
        const auto told = both.accepting->take_expiry(due);
        REQUIRE(told);
        CHECK(std::chrono::seconds{*told} > 9 * 24h);
        CHECK(std::chrono::seconds{*told} <= 10 * 24h);
        CHECK(!both.accepting->take_expiry(due + 23h));
        CHECK(both.accepting->take_expiry(due + 24h));
        const auto after = both.accepting->take_expiry(now + 31 * 24h);
        REQUIRE(after);
        CHECK(*after < 0);
        const identity fresh = both.issuer.issue({.valid_to_day = 400});
        both.of_server.tls_certificate = fresh.certificate;
        both.of_server.tls_key = fresh.key;
        both.reload();
        CHECK(!both.accepting->take_expiry(now + 31 * 24h));
    }

    TEST_CASE("tls context: a connection that began before its files were read again gets no "
              "ticket that counts afterwards") {
        const sides both;
        const joined_ends begun{*both.dialing, *both.accepting};
        both.reload();
        begun.open();
        const joined_ends after{*both.dialing, *both.accepting};
        after.open();
        CHECK(!after.is_resumed());
        const joined_ends again{*both.dialing, *both.accepting};
        again.open();
        CHECK(again.is_resumed());
    }

} // TEST_SUITE
