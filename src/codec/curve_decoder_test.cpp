// SPDX-License-Identifier: MPL-2.0
#include "codec/curve_decoder.hpp"

#include "testing/bytes.hpp"
#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace zlink;
using namespace zlink::codec;
using namespace zlink::crypto;
using testing::bytes_of;
using testing::pattern;
using testing::spelled;
using testing::take_all;

namespace {

/// A queue with room for a few messages, and the decoder that fills it from sealed frames.
class receiver final : command_sink {
public:
    /// Decodes `data`, which may be empty, and stops when there is no credit.
    void read(std::span<const std::byte> data) {
        iovec parts[2];
        REQUIRE(input_.prepare(scratch_, parts) == 1);
        REQUIRE(parts[0].iov_len >= data.size());
        std::copy(data.begin(), data.end(), static_cast<std::byte*>(parts[0].iov_base));
        REQUIRE(input_.received(data.size(), in_));
    }

    /// The same for bytes that were read elsewhere.
    void feed(std::span<const std::byte> data) { REQUIRE(input_.feed(data, in_)); }

    /// Returns the credit for all that has arrived; wakes no one.
    void take() {
        for (std::string& each : take_all(queue_)) {
            arrived.push_back(std::move(each));
        }
    }

    bool is_blocked() const { return in_.is_blocked(); }

    std::vector<std::string> arrived;

private:
    verdict on_command(std::span<const std::byte>) noexcept override { return verdict::fail; }

    pipe::message_queue queue_{{.messages_max = 3}};
    inbound in_{queue_, wire::zmtp::body_bytes_limit, *this};
    curve_decoder input_{{shared_key{}, curve_role::client, 0}, wire::zmtp::body_bytes_limit};
    std::vector<std::byte> scratch_ = std::vector<std::byte>(limits::scratch_bytes);
};

} // namespace

TEST_SUITE("codec") {

    // A session that is told to wait for bytes must have no frame left that credit would let pass:
    // perhaps no more bytes come.
    TEST_CASE("curve input: leaves no whole frame behind unless there is no credit") {
        curve_sealer sealer{shared_key{}, curve_role::client, 0};
        std::vector<std::byte> data;
        std::vector<std::string> expected;
        for (unsigned count = 0; count < 20; ++count) {
            const std::string payload = pattern(count % 4 == 3 ? 9000 : 20, count);
            data.resize(data.size() + curve_sealer::frame_bytes(payload.size()));
            sealer.seal(0, bytes_of(payload),
                        data.data() + data.size() - curve_sealer::frame_bytes(payload.size()));
            expected.push_back(spelled(0, payload));
        }
        receiver one;
        one.read(data);
        for (std::size_t turn = 0; one.is_blocked(); ++turn) {
            REQUIRE(turn < expected.size());
            one.take();
            one.read({});
        }
        one.take();
        CHECK(one.arrived == expected);
    }

    TEST_CASE("curve input: opens frames however they are cut, also those that it is fed") {
        for (const std::size_t bytes : {1, 7, 100, 5000}) {
            CAPTURE(bytes);
            curve_sealer sealer{shared_key{}, curve_role::client, 0};
            receiver one;
            std::vector<std::string> expected;
            for (unsigned count = 0; count < 8; ++count) {
                const std::string payload = pattern(count % 4 == 3 ? 20'000 : 60, count);
                std::vector<std::byte> frame(curve_sealer::frame_bytes(payload.size()));
                sealer.seal(0, bytes_of(payload), frame.data());
                expected.push_back(spelled(0, payload));
                for (std::span<const std::byte> left = frame; !left.empty();) {
                    const auto next = left.first(std::min(bytes, left.size()));
                    one.feed(next);
                    left = left.subspan(next.size());
                }
                one.take();
            }
            CHECK(one.arrived == expected);
        }
    }
}
