// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_stream.hpp"

#include "testing/scripted_stream.hpp"
#include "testing/tls_far_end.hpp"
#include "testing/tls_sides.hpp"

#include <cerrno>
#include <doctest/doctest.h>

using namespace zlink;
using status = transport::io_outcome::status;
using testing::scripted_stream;

namespace {

class counting_user final : public transport::stream_user {
public:
    void on_readable() noexcept override { ++readable_count; }
    void on_writable() noexcept override {}

    int readable_count = 0;
};

void open(transport::stream& stream, scripted_stream& below, testing::tls_far_end& peer) {
    while (stream.try_open().what == status::would_block) {
        peer.hear_rest(below);
        below.peer_sends(peer.take_said());
    }
}

} // namespace

TEST_SUITE("transport") {

    TEST_CASE("tls stream: who waits to read is told when OpenSSL can write no more") {
        const testing::tls_sides sides = testing::make_tls_sides();
        runtime::io_thread thread;
        const boost::intrusive_ptr<scripted_stream> below{new scripted_stream(thread)};
        testing::tls_far_end peer{false};
        const transport::stream_ptr stream =
            transport::make_tls_stream(thread.context(), below, sides.accepting);
        open(*stream, *below, peer);
        std::array<char, 100> octets{};
        const iovec part{octets.data(), octets.size()};
        REQUIRE(stream->try_read({&part, 1}).what == status::would_block);
        const boost::intrusive_ptr<counting_user> user{new counting_user};
        stream->wait_readable(*user);
        thread.drive_ready(100);
        REQUIRE(user->readable_count == 0);

        stream->end_writing();
        const auto refused = stream->try_write({&part, 1});
        REQUIRE(refused.what == status::failed);
        CHECK(refused.error == EPROTO);
        thread.drive_ready(100);
        CHECK(user->readable_count == 1);
        CHECK(stream->try_read({&part, 1}).what == status::failed);
        stream->close();
    }

    TEST_CASE("tls stream: a reader stays for another turn if it can below") {
        const testing::tls_sides sides = testing::make_tls_sides();
        runtime::io_thread thread;
        const boost::intrusive_ptr<scripted_stream> below{new scripted_stream(thread)};
        testing::tls_far_end peer{false};
        const transport::stream_ptr stream =
            transport::make_tls_stream(thread.context(), below, sides.accepting);
        open(*stream, *below, peer);
        const boost::intrusive_ptr<counting_user> user{new counting_user};
        CHECK(stream->stay_readable(*user));
        CHECK(!stream->stay_readable(*user)); // It waits already.
        CHECK(below->read_waits() == "s");
        below->peer_sends("x");
        thread.drive_ready(100);
        CHECK(user->readable_count == 1);
        stream->close();
    }

} // TEST_SUITE
