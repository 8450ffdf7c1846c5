// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/deflate_negotiation.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink;
using namespace zlink::wire::websocket;

namespace {

constexpr deflate_parameters anything{};
constexpr deflate_parameters small{.server = {10, false}, .client = {11, false}};

/// The answer to `offered`; "-" if there is none.
std::string answer_to(std::string_view offered, const deflate_parameters& wanted = anything) {
    const auto answer = accept_deflate(offered, wanted);
    return answer ? answer->field : "-";
}

deflate_parameters agreed_on(std::string_view offered,
                             const deflate_parameters& wanted = anything) {
    const auto answer = accept_deflate(offered, wanted);
    REQUIRE(answer);
    return answer->agreed;
}

/// The parameters that a client reads from an answer that it accepts, and that compresses.
deflate_parameters read(std::string_view answer, const deflate_parameters& wanted = anything) {
    const auto decoded = decode_deflate_answer(answer, wanted);
    REQUIRE(decoded);
    REQUIRE(*decoded);
    return **decoded;
}

errc error_of(std::string_view answer, const deflate_parameters& wanted = anything) {
    const auto decoded = decode_deflate_answer(answer, wanted);
    REQUIRE(!decoded);
    return decoded.error();
}

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("deflate offer: is accepted as it is if it asks for nothing") {
        CHECK(answer_to("permessage-deflate") == "permessage-deflate");
        CHECK(agreed_on("permessage-deflate") == anything);
        CHECK(answer_to(" Permessage-Deflate\t") == "permessage-deflate");
    }

    TEST_CASE("deflate offer: is not accepted if there is none") {
        for (const char* offered : {"", " , ,", "x-webkit-deflate-frame", "permessage-deflate2",
                                    "permessage-bzip2; level=9, other; a=\"b\""}) {
            CAPTURE(offered);
            CHECK(answer_to(offered) == "-");
        }
    }

    TEST_CASE("deflate offer: is found among other extensions, whatever those have") {
        CHECK(answer_to("mux; max-channels=4; flow-control, permessage-deflate") ==
              "permessage-deflate");
        CHECK(answer_to(",a; b=\"c\" , permessage-deflate ,") == "permessage-deflate");
    }

    TEST_CASE("deflate offer: server_no_context_takeover is kept") {
        CHECK(answer_to("permessage-deflate; server_no_context_takeover") ==
              "permessage-deflate; server_no_context_takeover");
        const auto agreed = agreed_on("permessage-deflate; server_no_context_takeover");
        CHECK(!agreed.server.keeps_context);
        CHECK(agreed.client.keeps_context);
    }

    TEST_CASE("deflate offer: client_no_context_takeover is made use of") {
        CHECK(answer_to("permessage-deflate;client_no_context_takeover") ==
              "permessage-deflate; client_no_context_takeover");
        const auto agreed = agreed_on("permessage-deflate; client_no_context_takeover");
        CHECK(agreed.server.keeps_context);
        CHECK(!agreed.client.keeps_context);
    }

    TEST_CASE("deflate offer: server_max_window_bits is answered with what is used") {
        CHECK(answer_to("permessage-deflate; server_max_window_bits=10") ==
              "permessage-deflate; server_max_window_bits=10");
        CHECK(agreed_on("permessage-deflate; server_max_window_bits=10").server.window_bits == 10);
        CHECK(answer_to("permessage-deflate; server_max_window_bits=15") ==
              "permessage-deflate; server_max_window_bits=15");
        CHECK(answer_to("permessage-deflate; server_max_window_bits=12", {.server = {9}}) ==
              "permessage-deflate; server_max_window_bits=9");
        CHECK(answer_to("permessage-deflate; server_max_window_bits=9", {.server = {12}}) ==
              "permessage-deflate; server_max_window_bits=9");
    }

    TEST_CASE("deflate offer: a window that zlib cannot compress with is passed over") {
        CHECK(answer_to("permessage-deflate; server_max_window_bits=8") == "-");
        CHECK(answer_to("permessage-deflate; server_max_window_bits=8, permessage-deflate") ==
              "permessage-deflate");
    }

    TEST_CASE("deflate offer: client_max_window_bits lets the server ask for less") {
        CHECK(answer_to("permessage-deflate; client_max_window_bits") == "permessage-deflate");
        CHECK(answer_to("permessage-deflate; client_max_window_bits", {.client = {11}}) ==
              "permessage-deflate; client_max_window_bits=11");
        CHECK(answer_to("permessage-deflate; client_max_window_bits=15", {.client = {11}}) ==
              "permessage-deflate; client_max_window_bits=11");
        CHECK(answer_to("permessage-deflate; client_max_window_bits=10", {.client = {11}}) ==
              "permessage-deflate; client_max_window_bits=10");
        CHECK(answer_to("permessage-deflate; client_max_window_bits=8") ==
              "permessage-deflate; client_max_window_bits=8");
        CHECK(agreed_on("permessage-deflate; client_max_window_bits=8").client.window_bits == 8);
        CHECK(answer_to("permessage-deflate; client_max_window_bits=15") == "permessage-deflate");
    }

    TEST_CASE("deflate offer: a client that cannot be asked for a smaller window is not asked") {
        CHECK(answer_to("permessage-deflate", {.client = {11}}) == "permessage-deflate");
        CHECK(agreed_on("permessage-deflate", {.client = {11}}).client.window_bits == 15);
    }

    TEST_CASE("deflate offer: the server may want less than the client asks for") {
        CHECK(answer_to("permessage-deflate; client_max_window_bits", small) ==
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
              "server_max_window_bits=10; client_max_window_bits=11");
        CHECK(agreed_on("permessage-deflate; client_max_window_bits", small) == small);
    }

    TEST_CASE("deflate offer: values may be quoted, and spaces lie anywhere") {
        CHECK(answer_to("permessage-deflate ;\tserver_max_window_bits = \"10\" ; "
                        "client_no_context_takeover ,") ==
              "permessage-deflate; client_no_context_takeover; server_max_window_bits=10");
        CHECK(answer_to("permessage-deflate; SERVER_MAX_WINDOW_BITS=10") ==
              "permessage-deflate; server_max_window_bits=10");
    }

    TEST_CASE("deflate offer: one with a wrong parameter is passed over, and the next one taken") {
        for (const char* parameters : {
                 "unknown",
                 "unknown=1",
                 "server_no_context_takeover=1",
                 "client_no_context_takeover=true",
                 "server_no_context_takeover; server_no_context_takeover",
                 "client_no_context_takeover; client_no_context_takeover",
                 "server_max_window_bits",
                 "server_max_window_bits=7",
                 "server_max_window_bits=16",
                 "server_max_window_bits=010",
                 "server_max_window_bits=1",
                 "server_max_window_bits=150",
                 "server_max_window_bits=+9",
                 "server_max_window_bits=1a",
                 "server_max_window_bits=10; server_max_window_bits=10",
                 "client_max_window_bits=0",
                 "client_max_window_bits=7",
                 "client_max_window_bits=16",
                 "client_max_window_bits=09",
                 "client_max_window_bits; client_max_window_bits",
                 "client_max_window_bits; client_max_window_bits=10",
                 "client_max_window_bits; server_max_window_bits=x",
             }) {
            CAPTURE(parameters);
            const std::string wrong = std::string{"permessage-deflate; "} + parameters;
            CHECK(answer_to(wrong) == "-");
            CHECK(answer_to(wrong + ", permessage-deflate; server_max_window_bits=9") ==
                  "permessage-deflate; server_max_window_bits=9");
        }
    }

    TEST_CASE("deflate offer: the first one that can be kept is, not a later one") {
        CHECK(answer_to("permessage-deflate; server_max_window_bits=9, permessage-deflate") ==
              "permessage-deflate; server_max_window_bits=9");
    }

    TEST_CASE("deflate offer: nothing is accepted of, and behind, what is malformed") {
        for (const char* offered : {
                 "permessage-deflate;",
                 "permessage-deflate; ;",
                 "permessage-deflate; =10",
                 "permessage-deflate; server_max_window_bits=",
                 "permessage-deflate; server_max_window_bits=\"10",
                 "permessage-deflate; server_max_window_bits=\"\"",
                 "permessage-deflate; server_max_window_bits=\" 10\"",
                 "permessage-deflate; server_max_window_bits=\"10 \"",
                 "permessage-deflate; server_max_window_bits=10 11",
                 "permessage-deflate permessage-deflate",
                 "permessage-deflate/1",
                 "; permessage-deflate",
                 "(), permessage-deflate",
                 "other; a=\"b, permessage-deflate",
                 "\"permessage-deflate\"",
             }) {
            CAPTURE(offered);
            CHECK(answer_to(offered) == "-");
        }
    }

    TEST_CASE("deflate offer: a client's says what it wants, and that it can be asked for less") {
        CHECK(encode_deflate_offer(anything) == "permessage-deflate; client_max_window_bits");
        CHECK(encode_deflate_offer(small) ==
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
              "server_max_window_bits=10; client_max_window_bits=11");
    }

    TEST_CASE("deflate answer: none means that nothing is compressed") {
        for (const char* answer : {"", " ", " , "}) {
            const auto decoded = decode_deflate_answer(answer, anything);
            REQUIRE(decoded);
            CHECK(!*decoded);
        }
    }

    TEST_CASE("deflate answer: says what is used") {
        CHECK(read("permessage-deflate") == anything);
        CHECK(read("permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                   "server_max_window_bits=10; client_max_window_bits=\"11\"") == small);
        CHECK(read("permessage-deflate; server_max_window_bits=8").server.window_bits == 8);
    }

    TEST_CASE("deflate answer: what the client wants for itself holds without the server") {
        const deflate_parameters wanted{.client = {11, false}};
        CHECK(read("permessage-deflate", wanted) == wanted);
        CHECK(read("permessage-deflate; client_max_window_bits=9", wanted).client.window_bits == 9);
    }

    TEST_CASE("deflate answer: is refused if it is not what was offered") {
        CHECK(error_of("permessage-deflate", {.server = {15, false}}) == errc::protocol_violation);
        CHECK(error_of("permessage-deflate", {.server = {10}}) == errc::protocol_violation);
        CHECK(error_of("permessage-deflate; server_max_window_bits=11", {.server = {10}}) ==
              errc::protocol_violation);
        CHECK(error_of("permessage-deflate; client_max_window_bits=12", {.client = {11}}) ==
              errc::protocol_violation);
        CHECK(error_of("other") == errc::protocol_violation);
        CHECK(error_of("permessage-deflate, other") == errc::protocol_violation);
        CHECK(error_of("permessage-deflate, permessage-deflate") == errc::protocol_violation);
    }

    TEST_CASE("deflate answer: is refused if it is malformed, or has a wrong parameter") {
        for (const char* answer : {"permessage-deflate;", "permessage-deflate; unknown",
                                   "permessage-deflate; client_max_window_bits",
                                   "permessage-deflate; server_max_window_bits=16",
                                   "permessage-deflate; server_no_context_takeover=1",
                                   "permessage-deflate permessage-deflate", "="}) {
            CAPTURE(answer);
            CHECK(error_of(answer) == errc::protocol_violation);
        }
    }

    TEST_CASE("deflate answer: is refused if zlib cannot compress as it wants") {
        CHECK(error_of("permessage-deflate; client_max_window_bits=8") == errc::not_supported);
    }

    TEST_CASE("deflate: a server's answer is what a client reads") {
        const deflate_parameters all[] = {
            anything, small, {.server = {15, false}}, {.client = {9, true}}, {.server = {9, true}}};
        for (const deflate_parameters& client : all) {
            for (const deflate_parameters& server : all) {
                const auto answer = accept_deflate(encode_deflate_offer(client), server);
                REQUIRE(answer);
                CAPTURE(answer->field);
                CHECK(read(answer->field, client) == answer->agreed);
            }
        }
    }

} // TEST_SUITE
