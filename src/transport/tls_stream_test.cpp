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

/// The accepting end of a connection, agreed on. The test is the peer.
struct accepted {
    accepted() {
        while (stream->try_open().what == status::would_block) {
            peer.hear_rest(*below);
            below->peer_sends(peer.take_said());
        }
    }
    ~accepted() { stream->close(); }

    runtime::io_thread thread;
    boost::intrusive_ptr<scripted_stream> below{new scripted_stream(thread)};
    testing::tls_far_end peer{false};
    transport::stream_ptr stream =
        transport::make_tls_stream(thread.context(), below, testing::make_tls_sides().accepting);
    boost::intrusive_ptr<counting_user> user{new counting_user};
};

} // namespace

TEST_SUITE("transport") {

    TEST_CASE("tls stream: who waits to read is told when OpenSSL can write no more") {
        accepted end;
        std::array<char, 100> octets{};
        const iovec part{octets.data(), octets.size()};
        REQUIRE(end.stream->try_read({&part, 1}).what == status::would_block);
        end.stream->wait_readable(*end.user);
        end.thread.drive_ready(100);
        REQUIRE(end.user->readable_count == 0);

        end.stream->end_writing();
        const auto refused = end.stream->try_write({&part, 1});
        REQUIRE(refused.what == status::failed);
        CHECK(refused.error == EPROTO);
        end.thread.drive_ready(100);
        CHECK(end.user->readable_count == 1);
        CHECK(end.stream->try_read({&part, 1}).what == status::failed);
    }

    TEST_CASE("tls stream: a reader stays for another turn if it can below") {
        accepted end;
        CHECK(end.stream->stay_readable(*end.user));
        CHECK(!end.stream->stay_readable(*end.user)); // It waits already.
        CHECK(end.below->read_waits() == "s");
        end.below->peer_sends("x");
        end.thread.drive_ready(100);
        CHECK(end.user->readable_count == 1);
    }

} // TEST_SUITE
