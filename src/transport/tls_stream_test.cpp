// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_stream.hpp"

#include "testing/scripted_stream.hpp"
#include "testing/tls_far_end.hpp"
#include "testing/tls_sides.hpp"

#include <array>
#include <cerrno>
#include <doctest/doctest.h>
#include <string>
#include <string_view>

using namespace zlink;
using status = transport::io_outcome::status;
using testing::scripted_stream;

namespace {

class counting_user final : public transport::stream_user {
public:
    void on_readable() noexcept override { ++readable_count; }
    void on_writable() noexcept override {}
    void on_end() noexcept override { ++end_count; }

    int readable_count = 0;
    int end_count = 0;
};

/// The accepting end of a connection, after the handshake. The test is the peer.
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
        std::array<char, 100> data{};
        const iovec part{data.data(), data.size()};
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

    TEST_CASE("tls stream: others have their turn between a peer's new keys") {
        accepted end;
        end.peer.announce_new_keys(60);
        end.peer.say("behind them");
        end.below->peer_sends(end.peer.take_said());
        std::array<char, 100> data{};
        const iovec part{data.data(), data.size()};
        int turns = 0;
        auto outcome = end.stream->try_read({&part, 1});
        for (; outcome.what == status::would_block && turns < 100; ++turns) {
            CHECK(end.stream->try_read({&part, 1}).what == status::would_block); // Not at once.
            end.stream->wait_readable(*end.user);
            end.thread.drive_ready(100);
            REQUIRE(end.user->readable_count == turns + 1);
            outcome = end.stream->try_read({&part, 1});
        }
        // A record and a message each; OpenSSL gets up to 16 records at once.
        CHECK(turns >= 60 * 2 / (32 + 2 * 15));
        CHECK(turns <= 60 * 2 / 32);
        REQUIRE(outcome.what == status::moved);
        CHECK(std::string_view{data.data(), outcome.bytes} == "behind them");
    }

    TEST_CASE("tls stream: small records reach the reader in order, however many come at once") {
        accepted end;
        std::string expected;
        for (int count = 0; count < 5000; ++count) {
            const std::string content = std::to_string(count) + ",";
            end.peer.say(content);
            expected += content;
        }
        end.below->peer_sends(end.peer.take_said());
        std::string received;
        std::array<char, 3000> data{};
        const iovec part{data.data(), data.size()};
        while (received.size() < expected.size()) {
            const auto outcome = end.stream->try_read({&part, 1});
            if (outcome.what == status::would_block) {
                const int told = end.user->readable_count;
                end.stream->wait_readable(*end.user);
                end.thread.drive_ready(100);
                REQUIRE(end.user->readable_count == told + 1);
                continue;
            }
            REQUIRE(outcome.what == status::moved);
            received.append(data.data(), outcome.bytes);
        }
        CHECK(received == expected);
    }

    TEST_CASE("tls stream: tells of an end behind records that nobody reads") {
        using transport::end_of_input;
        for (const bool is_reset : {false, true}) {
            CAPTURE(is_reset);
            accepted end;
            end.stream->wait_readable(*end.user); // Replaced.
            end.stream->wait_end(*end.user, end_of_input::ended);
            end.peer.say("unread");
            end.below->peer_sends(end.peer.take_said());
            end.thread.drive_ready(100);
            CHECK(end.stream->end_ahead() == end_of_input::none);
            CHECK(end.user->end_count == 0);

            if (is_reset) {
                end.below->peer_resets();
            } else {
                end.below->peer_ends();
            }
            end.thread.drive_ready(100);
            CHECK(end.stream->end_ahead() == (is_reset ? end_of_input::lost : end_of_input::ended));
            CHECK(end.user->end_count == 1);
            CHECK(end.user->readable_count == 0);
            end.stream->wait_end(*end.user, end_of_input::ended);
            CHECK(end.user->end_count == 1); // Not from within the call.
            end.thread.drive_ready(100);
            CHECK(end.user->end_count == 2);
        }
    }

    TEST_CASE("tls stream: a reader stays for another turn if it can below") {
        accepted end;
        CHECK(end.stream->stay_readable(*end.user));
        CHECK(!end.stream->stay_readable(*end.user)); // A wait is pending already.
        CHECK(end.below->read_waits() == "s");
        end.below->peer_sends("x");
        end.thread.drive_ready(100);
        CHECK(end.user->readable_count == 1);
    }

} // TEST_SUITE
