// SPDX-License-Identifier: MPL-2.0
#include "wire/zap.hpp"

#include "testing/bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace zlink::wire;
using zlink::testing::hex;

namespace {

using texts = std::vector<std::string>;

std::variant<zap_reply, zap_fault> decode(const texts& frames) {
    std::vector<std::span<const std::byte>> views;
    for (const std::string& each : frames) {
        views.push_back(zlink::testing::bytes_of(each));
    }
    return decode_zap_reply(views);
}

const texts good{"", "1.0", "1", "200", "OK", "joe", ""};

/// `good` with another frame at `index`.
texts with(std::size_t index, const std::string& frame) {
    texts frames = good;
    frames[index] = frame;
    return frames;
}

} // namespace

TEST_SUITE("wire") {

    TEST_CASE("zap request: is the frames of the specification, credentials last") {
        zap_request request{"global", "127.0.0.1", "me", "PLAIN", {}};
        CHECK(encode_zap_request(request) ==
              std::vector<std::string_view>{"", "1.0", "1", "global", "127.0.0.1", "me", "PLAIN"});
        request.credentials.resize(2);
        request.credentials[0].assign("joe");
        const auto frames = encode_zap_request(request);
        REQUIRE(frames.size() == 9);
        CHECK(frames[7] == "joe");
        CHECK(frames[8].empty());
    }

    TEST_CASE("zap reply: tells status, user and metadata") {
        const std::string metadata(
            zlink::testing::text(hex("05 'Hello' 00000005 'World' 01 'x' 00000000")));
        const auto decoded = decode(with(6, metadata));
        const auto* const reply = std::get_if<zap_reply>(&decoded);
        REQUIRE(reply != nullptr);
        CHECK(reply->status == zap_status::accepted);
        CHECK(reply->user_id == "joe");
        CHECK(reply->metadata ==
              std::vector<std::pair<std::string, std::string>>{{"Hello", "World"}, {"x", ""}});
    }

    TEST_CASE("zap reply: has one of four status") {
        for (const int status : {200, 300, 400, 500}) {
            const auto decoded = decode(with(3, std::to_string(status)));
            const auto* const reply = std::get_if<zap_reply>(&decoded);
            REQUIRE(reply != nullptr);
            CHECK(static_cast<int>(reply->status) == status);
        }
        for (const char* const status : {"", "2", "20", "201", "100", "600", "2000", "abc"}) {
            CAPTURE(status);
            const auto decoded = decode(with(3, status));
            REQUIRE(std::holds_alternative<zap_fault>(decoded));
            CHECK(std::get<zap_fault>(decoded) == zap_fault::invalid_status_code);
        }
    }

    TEST_CASE("zap reply: each frame that is wrong is a fault of its own") {
        const auto fault = [](const texts& frames) {
            const auto decoded = decode(frames);
            REQUIRE(std::holds_alternative<zap_fault>(decoded));
            return std::get<zap_fault>(decoded);
        };
        CHECK(fault({}) == zap_fault::malformed_reply);
        CHECK(fault({good.begin(), good.end() - 1}) == zap_fault::malformed_reply);
        texts longer = good;
        longer.emplace_back();
        CHECK(fault(longer) == zap_fault::malformed_reply);
        CHECK(fault(with(0, "x")) == zap_fault::unspecified);
        CHECK(fault(with(1, "2.0")) == zap_fault::bad_version);
        CHECK(fault(with(2, "2")) == zap_fault::bad_request_id);
        CHECK(fault(with(6, "x")) == zap_fault::invalid_metadata);
    }

} // TEST_SUITE
