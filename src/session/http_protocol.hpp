// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "session/protocol.hpp"
#include "session/web_handshake.hpp"
#include "web/response.hpp"
#include "web/site.hpp"
#include "wire/http/refusal.hpp"
#include "wire/http/request.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zlink::session {

/// A connection to an http or https listener, on the server's side (RFC 9112): answers requests one
/// after the other, and hands the stream over when one upgrades to WebSocket (RFC 6455, 4).
///
/// While a response is written nothing is read: a client that sends more requests than it takes
/// responses is held back by the system.
class http_protocol final : public protocol {
public:
    explicit http_protocol(connection& over) noexcept : over_(over) {}

    bool is_entry() const noexcept override { return true; }
    result<progress> start() override;
    result<progress> on_received(std::span<const std::byte>& received) override;
    result<progress> on_sent(std::span<const std::byte>& rest) override;
    bool wants_input() const noexcept override {
        return !response_ && !pending_ && behind_.empty();
    }
    bool has_deadlines() const noexcept override { return true; }
    bool on_deadline() override;
    std::unique_ptr<protocol> hand_on() override;

private:
    // No message passes before the hand-over.
    reading make_reading() override { return {}; }
    void announce_peer() override {}

    result<progress> take(std::span<const std::byte>& input);
    bool is_upgrade() const;
    result<progress> upgrade();
    void answer();
    static web::response answer_late(const std::string& octets, const web::site& from);
    void respond(web::response made);
    void send_piece();
    bool finish_response();
    void keep(std::span<const std::byte> input);
    void enter_phase() noexcept { ticks_ = 0; }

    /// A response that is made on a thread that may wait for a disk; set there, and then used here.
    struct late_response {
        std::atomic<bool> is_made{false};
        std::optional<web::response> made; ///< Nothing: there was no memory.
    };

    connection& over_;
    wire::http::request_decoder decoder_;
    std::unique_ptr<web::response> response_; ///< Being written; null: a request is awaited.
    std::shared_ptr<late_response> pending_;  ///< Null: none is made.
    std::size_t next_piece_ = 0;              ///< Of the response.
    std::size_t text_begin_ = 0;              ///< Of that piece in the response's text.
    std::vector<std::byte> behind_; ///< Received behind the request that is being answered.
    std::unique_ptr<web_handshake::terms> upgraded_;
    unsigned ticks_ = 0; ///< Deadlines that have passed in this phase.
    unsigned answered_in_turn_ = 0;
    bool discards_ = false; ///< The last response is written: waits for the client to close.
};

} // namespace zlink::session
