// SPDX-License-Identifier: MPL-2.0
#include "base/connection_counters.hpp"

#include <cerrno>
#include <doctest/doctest.h>

using namespace zlink;

TEST_SUITE("base") {

    TEST_CASE("connection counters: why a handshake failed") {
        using enum connection_event;
        using reason = handshake_failure_reason;
        const struct {
            connection_event what;
            std::int32_t value;
            reason expected;
        } examples[] = {
            {handshake_failed_no_detail, EPIPE, reason::closed},
            {handshake_failed_no_detail, ECONNRESET, reason::closed},
            {handshake_failed_no_detail, EAGAIN, reason::timeout},
            {handshake_failed_no_detail, EACCES, reason::refused},
            {handshake_failed_no_detail, 403, reason::refused},
            {handshake_failed_no_detail, EPROTO, reason::protocol},
            {handshake_failed_no_detail, EFAULT, reason::zap},
            {handshake_failed_no_detail, ENOMEM, reason::other},
            {handshake_failed_auth, 400, reason::denied},
            {handshake_failed_protocol, 0x11000002, reason::mechanism_mismatch},
            {handshake_failed_protocol, 0x11000001, reason::cryptographic},
            {handshake_failed_protocol, 0x10000018, reason::metadata},
            {handshake_failed_protocol, 0x20000003, reason::zap},
            {handshake_failed_protocol, 0x10000000, reason::protocol},
            {handshake_failed_protocol, 0x30000000, reason::protocol},
        };
        for (const auto& [what, value, expected] : examples) {
            CAPTURE(value);
            CHECK(reason_of_failure(what, value) == expected);
            connection_counters counters;
            counters.on_event(what, value);
            CHECK(counters.totals().failed_counts[static_cast<std::size_t>(expected)] == 1);
        }
    }

    TEST_CASE("connection counters: why a connection ended") {
        using reason = disconnect_reason;
        const struct {
            int error;
            reason expected;
        } examples[] = {{0, reason::closed},          {ECONNRESET, reason::reset},
                        {ETIMEDOUT, reason::timeout}, {EMSGSIZE, reason::too_large},
                        {EPROTO, reason::protocol},   {EILSEQ, reason::protocol},
                        {ENOMEM, reason::shortage},   {EBADF, reason::other}};
        for (const auto& [error, expected] : examples) {
            connection_counters counters;
            counters.on_disconnected(static_cast<errc>(error));
            CHECK(counters.totals().disconnected_counts[static_cast<std::size_t>(expected)] == 1);
        }
    }

    TEST_CASE("connection counters: events that are no failures") {
        connection_counters counters;
        counters.on_event(connection_event::connect_retried, 100);
        counters.on_event(connection_event::accept_failed, EUSERS);
        counters.on_event(connection_event::listening, 5);
        counters.on_opened();
        counters.on_established();
        counters.on_reconnected();
        counters.on_interrupted();
        counters.on_lingered(3);
        counters.on_ended();
        const connection_totals now = counters.totals();
        CHECK(now.retry_count == 1);
        CHECK(now.accept_failed_count == 1);
        CHECK(now.opened_count == 1);
        CHECK(now.established_count == 1);
        CHECK(now.reconnected_count == 1);
        CHECK(now.interrupted_count == 1);
        CHECK(now.lingered_count == 3);
        CHECK(now.ended_count == 1);
    }
}
