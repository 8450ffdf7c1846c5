// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "base/socket_options.hpp"
#include "session/http_exchange.hpp"
#include "session/protocol.hpp"
#include "session/request_rate.hpp"
#include "session/web_handshake.hpp"
#include "transport/address.hpp"
#include "web/request_observer.hpp"
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
/// Requests for files are answered here. The first one that is for the application establishes the
/// connection: from then on there is a pipe, in which a request is a message, and each part of the
/// reply a control object. Only one request is under way at a time.
///
/// While a response is written nothing is read: a client that sends more requests than it takes
/// responses is held back by the system.
class http_protocol final : public protocol {
public:
    explicit http_protocol(connection& over);

    bool is_entry() const noexcept override { return true; }
    result<progress> start() override;
    result<progress> on_received(std::span<const std::byte>& received) override;
    result<progress> on_sent(std::span<const std::byte>& rest) override;
    void on_end_ahead() noexcept override { has_end_ahead_ = true; }
    bool wants_input() const noexcept override;
    bool has_more() const noexcept override {
        return response_ || pending_ || upgraded_ || (!behind_.empty() && !exchange_ && !discards_);
    }
    bool takes_bytes() const noexcept override { return true; }
    bool has_deadlines() const noexcept override { return true; }
    bool on_deadline() override;
    std::unique_ptr<protocol> hand_on() override;

    pipe_terms terms() const noexcept override {
        return {.frames = pipe::layout::websocket, .carries_http = true};
    }
    reading make_reading() override { return {}; }
    void announce_peer() override;
    void on_control(pipe::block& object) override;
    void on_leaving() override;
    bool awaits_peer_close() const noexcept override { return true; }
    void announce_departure(errc reason) noexcept override;
    void tell_failure(errc reason) noexcept override;

private:
    result<progress> take(std::span<const std::byte>& input);
    void find_client();
    bool is_too_fast();
    bool is_upgrade() const;
    result<progress> upgrade(const web::route* by);
    void accept_upgrade(const web::reply& how);
    result<void> shake_hands(const endpoint& where, const socket_options& options);
    void answer();

    result<progress> begin_exchange(std::span<const std::byte>& input);
    result<progress> take_content(std::span<const std::byte>& input);
    result<progress> ask();
    void push_request();
    std::optional<http_exchange::forwarding> forwarding() const;
    bool awaits_reply() const noexcept { return exchange_ && !exchange_->awaits_content(); }

    static web::response answer_late(const std::string& octets, const web::site& from);
    void respond(web::response made);
    void begin_record();
    void record(bool is_complete) noexcept;
    void send_piece();
    bool finish_response();
    void keep(std::span<const std::byte> input);
    std::span<const std::byte> in_scratch(std::span<const std::byte> input) const;
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
    std::unique_ptr<http_exchange> exchange_; ///< Null: no request is the application's.
    std::size_t content_bytes_ = 0;           ///< Of its content, since ticks_ began again.
    /// What is known of the answer that is being made. Only where it is observed or counted.
    struct observed {
        std::chrono::steady_clock::time_point begin;
        web::request_record so_far;
    };
    std::unique_ptr<observed> observed_;
    std::unique_ptr<request_rate> rate_; ///< Of this connection; null: no limit.
    /// What a trusted proxy has told of the request. Null: nothing, or it is not trusted.
    struct forwarded_request {
        std::optional<transport::socket_address> client;
        std::string scheme;
    };
    std::unique_ptr<forwarded_request> forwarded_;
    unsigned ticks_ = 0; ///< Deadlines that have passed in this phase.
    unsigned answered_in_turn_ = 0;
    bool discards_ = false;      ///< The last response is written: waits for the client to close.
    bool has_end_ahead_ = false; ///< Behind the requests that were not read yet.
    bool has_gap_ = false;       ///< Some of them were dropped, so those behind them are, too.
};

} // namespace zlink::session
