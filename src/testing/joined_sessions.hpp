// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "testing/scripted_zap_handler.hpp"
#include "testing/session_harness.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <string_view>
#include <utility>

namespace zlink::testing {

/// Two sockets' sessions at the two ends of a connection in memory; one dials, the other accepts.
class joined_sessions {
public:
    session_harness dialing;
    session_harness accepting;

    joined_sessions(const socket_options& of_dialing, const socket_options& of_accepting,
                    transport::tls_context_ptr tls_of_dialing = {},
                    transport::tls_context_ptr tls_of_accepting = {})
        : dialing(of_dialing, std::move(tls_of_dialing)),
          accepting(of_accepting, std::move(tls_of_accepting)) {
        dialing.ask_of(dialing_zap_);
        accepting.ask_of(accepting_zap_);
        dialing.dial();
    }

    /// Lets the dialer succeed, and carries the bytes over.
    void connect(const stream_script& of_dialing = {}, const stream_script& of_accepting = {}) {
        if (accepting.has_pipe()) {
            accepting.arrived(); // The next connection brings another pipe.
        }
        near_ = {&dialing.reach(of_dialing)};
        far_ = {&accepting.accept(of_accepting)};
        run();
    }

    /// Carries bytes over until both have none left to send.
    void run() {
        for (int turn_count = 0;; ++turn_count) {
            REQUIRE(turn_count < turns_max);
            dialing.run();
            accepting.run();
            const bool has_moved = carry(near_, far_) | carry(far_, near_) | let_in(dialing_zap_) |
                                   let_in(accepting_zap_);
            if (!has_moved) {
                return;
            }
        }
    }

    const scripted_stream& dialing_stream() const { return *near_.stream; }
    const scripted_stream& accepting_stream() const { return *far_.stream; }

private:
    static constexpr int turns_max = 10'000;

    struct connection_end {
        scripted_stream* stream = nullptr;
        std::size_t carried_bytes = 0;
        bool has_ended = false; ///< The other end was told.
    };

    static bool carry(connection_end& from, connection_end& to) {
        if (from.stream == nullptr || from.has_ended) {
            return false;
        }
        const auto said = std::string_view{from.stream->written()}.substr(from.carried_bytes);
        if (!said.empty()) {
            from.carried_bytes += said.size();
            to.stream->peer_sends(said);
        } else if (from.stream->is_closed()) {
            from.has_ended = true;
            to.stream->peer_ends();
        } else {
            return false;
        }
        return true;
    }

    /// Accepts a peer that ZAP is asked about.
    static bool let_in(scripted_zap_handler& handler) {
        if (handler.asked().empty()) {
            return false;
        }
        handler.reply("200");
        return true;
    }

    connection_end near_;
    connection_end far_;
    scripted_zap_handler dialing_zap_;
    scripted_zap_handler accepting_zap_;
};

} // namespace zlink::testing
