// SPDX-License-Identifier: MPL-2.0
#include "session/http_protocol.hpp"

#include "base/limits.hpp"
#include "session/client_rates.hpp"
#include "session/close_reason.hpp"
#include "session/connection.hpp"
#include "session/forwarded_client.hpp"
#include "session/session.hpp"
#include "session/web_entry_protocol.hpp"
#include "session/zmtp_commands.hpp"
#include "transport/address.hpp"
#include "web/answer.hpp"
#include "wire/field_text.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace zlink::session {

using progress = protocol::progress;
using decoding = wire::http::request_decoder::progress;

namespace {

std::chrono::sys_seconds now() noexcept {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

const web::site& site_of(const connection& over) {
    static const web::site none;
    const web::site_ptr& chosen = over.call().site;
    return chosen ? *chosen : none;
}

} // namespace

http_protocol::http_protocol(connection& over) : over_(over) {
    if (const int per_second = over.options().http_request_rate; per_second != 0) {
        rate_ = std::make_unique<request_rate>(per_second, request_rate::clock::now());
    }
}

result<progress> http_protocol::start() {
    over_.stream().offer_place(true);
    over_.owner().start_deadline(limits::http_tick);
    return progress::waits;
}

result<progress> http_protocol::on_received(std::span<const std::byte>& received) {
    answered_in_turn_ = 0;
    has_gap_ |= awaits_reply() && behind_.size() >= limits::http_pipelined_bytes_max;
    if (discards_ || has_gap_ || over_.closing() != nullptr) {
        received = {};
        return progress::waits;
    }
    if (awaits_reply()) {
        behind_.insert(behind_.end(), received.begin(), received.end());
        received = {};
        return progress::waits;
    }
    return exchange_ ? take_content(received) : take(received);
}

/// While the application is awaited this side reads, to learn that the client has gone: as far as
/// requests behind this one may be kept, or up to the end that was seen.
bool http_protocol::wants_input() const noexcept {
    if (response_ || pending_ || upgraded_) {
        return false;
    }
    return awaits_reply() ? has_end_ahead_ || behind_.size() < limits::http_pipelined_bytes_max
                          : behind_.empty();
}

/// Takes the next request, and begins to answer it.
result<progress> http_protocol::take(std::span<const std::byte>& input) {
    const bool had_begun = decoder_.has_begun();
    switch (decoder_.decode(input)) {
    case decoding::incomplete:
        if (!had_begun && decoder_.has_begun()) {
            enter_phase();
        }
        return progress::waits;
    case decoding::refused:
        begin_record();
        forwarded_.reset();
        respond(web::refuse(decoder_.why_refused(), now()));
        return progress::waits;
    case decoding::complete:
        over_.stream().offer_place(false);
        begin_record();
        find_client();
        break;
    }
    if (is_too_fast()) {
        respond(web::refuse({429, "There are too many requests on this connection."}, now()));
        return progress::waits;
    }
    const web::route* const by = site_of(over_).find_route(decoder_.head().path);
    const bool upgrades = is_upgrade() && site_of(over_).takes_peers();
    if (by != nullptr && (upgrades ? by->decides_upgrades : by->takes_requests)) {
        return begin_exchange(input);
    }
    if (upgrades) {
        return upgrade(by);
    }
    answer();
    keep(input);
    return progress::waits;
}

/// Sets forwarded_, if the request came from a trusted proxy.
void http_protocol::find_client() {
    forwarded_.reset();
    if (!comes_through_proxy(over_)) {
        return;
    }
    const wire::http::request& asked = decoder_.head();
    std::array<std::string, 3> rooms;
    const wire::http::forwarding_fields said{
        .x_forwarded_for = asked.joined("x-forwarded-for", rooms[0]),
        .x_forwarded_proto = asked.joined("x-forwarded-proto", rooms[1]),
        .forwarded = asked.joined("forwarded", rooms[2])};
    forwarded_ = std::make_unique<forwarded_request>(
        forwarded_request{client_of(over_, said), std::string{wire::http::find_scheme(said)}});
}

bool http_protocol::is_too_fast() {
    const auto now = request_rate::clock::now();
    if (forwarded_ && forwarded_->client && over_.call().rates) {
        const auto key = transport::address_key_of(*forwarded_->client);
        return key && !over_.call().rates->take(*key, now);
    }
    return rate_ && !rate_->take(now);
}

/// Whether the request is for WebSocket peers, and not for a file.
bool http_protocol::is_upgrade() const {
    const wire::http::request& asked = decoder_.head();
    std::string room;
    const auto wanted = asked.joined("upgrade", room);
    return wanted && asked.method == "GET" && wire::has_token(*wanted, "websocket");
}

/// @param by  Null: only the path of the endpoint takes peers.
result<progress> http_protocol::upgrade(const web::route* by) {
    endpoint where = over_.call().where;
    if (by != nullptr && by->connects) {
        where.path = decoder_.head().path;
    }
    if (const result<void> agreed = shake_hands(where, over_.options()); !agreed) {
        return agreed.error();
    }
    over_.owner().stop_deadline();
    return progress::hands_on;
}

/// Answers the request for an upgrade, and sets upgraded_.
result<void> http_protocol::shake_hands(const endpoint& where, const socket_options& options) {
    web_handshake handshake{web_handshake::role::server, where, options};
    if (forwarded_ && forwarded_->client) {
        handshake.set_admission([this](const wire::http::forwarding_fields&) {
            return over_.stream().adopt_client(*forwarded_->client);
        });
    }
    auto octets = std::as_bytes(std::span{decoder_.octets()});
    if (const result<void> taken = handshake.on_received(octets, over_.output().own()); !taken) {
        return taken;
    }
    if (!handshake.is_complete()) {
        return errc::protocol_violation;
    }
    upgraded_ = std::make_unique<web_handshake::terms>(handshake.take_agreed());
    if (observed_) {
        constexpr int switching = 101;
        observed_->so_far.status = switching;
        record(true);
    }
    return {};
}

/// The application accepts the upgrade that the client has asked for.
void http_protocol::accept_upgrade(const web::reply& how) {
    endpoint where = over_.call().where;
    where.path = decoder_.head().path;
    socket_options options = over_.options();
    options.web_origins.clear(); // The application has decided.
    options.web_subprotocols = how.subprotocol;
    exchange_.reset();
    if (!shake_hands(where, options)) {
        over_.announce_departure(static_cast<int>(wire::websocket::close_code::protocol_error),
                                 "no valid request for an upgrade");
        web::response none; // The refusal is written; then the connection ends.
        none.pieces.push_back({});
        return respond(std::move(none));
    }
    std::vector<std::byte>& own = over_.output().own();
    constexpr std::size_t end_bytes = 2; // The fields come before the empty line.
    const auto fields = std::as_bytes(std::span{how.fields});
    own.insert(own.end() - end_bytes, fields.begin(), fields.end());
}

std::unique_ptr<protocol> http_protocol::hand_on() {
    return web_entry_protocol::upgraded(over_, std::move(*upgraded_));
}

// Requests that the application answers.

result<progress> http_protocol::begin_exchange(std::span<const std::byte>& input) {
    const wire::http::request& asked = decoder_.head();
    exchange_ = std::make_unique<http_exchange>(asked, body_bytes_max_of(over_.options()));
    enter_phase();
    content_bytes_ = 0;
    if (exchange_->awaits_content() && asked.expects_continue && input.empty()) {
        constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        const auto octets = std::as_bytes(std::span{go_on});
        std::vector<std::byte>& own = over_.output().own();
        own.insert(own.end(), octets.begin(), octets.end());
    }
    return take_content(input);
}

result<progress> http_protocol::take_content(std::span<const std::byte>& input) {
    const std::size_t before = input.size();
    exchange_->take_content(input);
    content_bytes_ += before - input.size();
    if (content_bytes_ >= limits::http_content_bytes_per_tick) {
        content_bytes_ = 0;
        enter_phase();
    }
    if (const auto& refused = exchange_->refused()) {
        respond(web::refuse(*refused, now()));
        exchange_.reset();
        return progress::waits;
    }
    if (exchange_->awaits_content()) {
        return progress::waits;
    }
    keep(input);
    input = {};
    return ask();
}

/// @return established: the pipe is made, and then announce_peer() called.
result<progress> http_protocol::ask() {
    enter_phase();
    if (!over_.is_established()) {
        return progress::established;
    }
    push_request();
    return progress::waits;
}

void http_protocol::announce_peer() {
    over_.announce(std::make_unique<pipe::peer_info>());
    push_request();
}

/// What the application learns of the client; nothing: what the request says.
std::optional<http_exchange::forwarding> http_protocol::forwarding() const {
    if (over_.options().trusted.is_empty()) {
        return std::nullopt;
    }
    http_exchange::forwarding made;
    if (forwarded_) {
        made.client = forwarded_->client ? transport::peer_host(*forwarded_->client) : "";
        made.scheme = forwarded_->scheme;
    }
    return made;
}

/// Queues the request for the socket, as a message.
void http_protocol::push_request() {
    pipe::pipe_end& to = over_.end();
    const http_exchange::request_message made =
        exchange_->make_message(decoder_.head(), forwarding());
    try {
        to.out.push_reference<pipe::websocket_layout>(made.payload, made.bytes, 0);
    } catch (const std::bad_alloc&) {
        made.payload->drop();
        throw;
    }
    to.finish_message();
    over_.owner().note_input();
}

void http_protocol::on_control(pipe::block& object) {
    web::reply* const said = web::reply::from(object);
    if (said == nullptr) {
        return over_.close_for(static_cast<const pipe::close_request&>(object));
    }
    over_.owner().note_output();
    if (!awaits_reply()) {
        return;
    }
    if (said->what == web::reply::sort::upgrade) {
        return accept_upgrade(*said);
    }
    respond(exchange_->respond(*said, now()));
}

/// A request that the application has not begun to answer is answered.
void http_protocol::on_leaving() {
    if (!awaits_reply() || response_ || exchange_->has_begun()) {
        return;
    }
    exchange_.reset();
    respond(web::refuse({503, "The server is going away."}, now()));
}

/// The application learns that the client has gone only if it owes it a reply.
void http_protocol::announce_departure(errc reason) noexcept {
    record(false);
    if (awaits_reply()) {
        using wire::websocket::close_code;
        const close_code code =
            reason == errc{} ? close_code::abnormal : close_code_of(reason, close_code::abnormal);
        over_.announce_departure(static_cast<int>(code), text_of(reason));
    }
}

// Requests for files.

void http_protocol::answer() {
    using may_block = files::file_root::may_block;
    if (auto made = web::answer(decoder_.head(), site_of(over_), now(), may_block::no)) {
        return respond(std::move(*made));
    }
    const auto late = std::make_shared<late_response>();
    const auto make = [late, octets = std::string(decoder_.octets()), from = over_.call().site] {
        try {
            late->made = answer_late(octets, *from);
        } catch (const std::bad_alloc&) {
        }
        late->is_made.store(true, std::memory_order_release);
    };
    if (!over_.owner().run_blocking(make)) {
        return respond(web::refuse({503, "The server is busy."}, now()));
    }
    enter_phase();
    pending_ = late;
    if (observed_) {
        observed_->so_far.awaited_disk = true;
    }
}

/// @param octets  The head of a request that was decoded already.
web::response http_protocol::answer_late(const std::string& octets, const web::site& from) {
    wire::http::request_decoder again;
    auto input = std::as_bytes(std::span{octets});
    again.decode(input);
    return *web::answer(again.head(), from, now(), files::file_root::may_block::yes);
}

void http_protocol::respond(web::response made) {
    enter_phase();
    response_ = std::make_unique<web::response>(std::move(made));
    next_piece_ = text_begin_ = 0;
    if (observed_ && response_->status != 0) {
        observed_->so_far.status = response_->status;
        observed_->so_far.was_kept = response_->was_kept;
    }
    static_cast<void>(over_.output().take_answered());
    send_piece();
}

void http_protocol::send_piece() {
    const web::response::piece& piece = response_->pieces[next_piece_];
    const auto text =
        std::as_bytes(std::span{response_->text}).subspan(text_begin_, piece.text_bytes);
    std::vector<std::byte>& own = over_.output().own();
    own.insert(own.end(), text.begin(), text.end());
    if (piece.file_bytes != 0) {
        over_.output().append_file({response_->file, piece.offset, piece.file_bytes});
    }
    text_begin_ += piece.text_bytes;
    ++next_piece_;
    if (observed_) {
        observed_->so_far.sent_bytes += piece.text_bytes + piece.file_bytes;
    }
}

// For the observer of requests.

void http_protocol::begin_record() {
    if (over_.call().requests || over_.call().http) {
        observed_ = std::make_unique<observed>();
        observed_->begin = std::chrono::steady_clock::now();
    }
}

void http_protocol::record(bool is_complete) noexcept {
    const auto done = std::move(observed_);
    if (!done) {
        return;
    }
    web::request_record& told = done->so_far;
    if (decoder_.state() == decoding::complete) {
        const wire::http::request& asked = decoder_.head();
        told.method = asked.method;
        told.target = asked.target;
        told.referer = asked.value("referer").value_or("");
        told.user_agent = asked.value("user-agent").value_or("");
        told.is_version_1_0 = asked.is_version_1_0;
    }
    told.took = std::chrono::steady_clock::now() - done->begin;
    told.is_complete = is_complete;
    told.awaited_disk |= over_.output().take_awaited_disk();
    told.sent_bytes -= std::min(told.sent_bytes, over_.output().unsent_bytes());
    if (over_.call().http) {
        over_.call().http->add(told);
    }
    if (!over_.call().requests) {
        return;
    }
    try {
        const std::string client =
            forwarded_ && forwarded_->client
                ? transport::peer_host(*forwarded_->client)
                : transport::peer_name(over_.stream().peer(), over_.stream().descriptor());
        told.client = client;
        over_.call().requests->on_request(told);
    } catch (const std::bad_alloc&) {
    }
}

void http_protocol::tell_failure(errc /*reason*/) noexcept {
    record(false);
}

/// Keeps what the client has sent behind the request that is being answered.
void http_protocol::keep(std::span<const std::byte> input) {
    behind_.assign(input.begin(), input.end());
}

/// @return Whether a request behind this one may be answered now.
bool http_protocol::finish_response() {
    const bool persists = response_->persists;
    response_.reset();
    enter_phase();
    if (exchange_ && !exchange_->is_answered()) {
        return false; // The next part is awaited.
    }
    exchange_.reset();
    record(true);
    if (!persists || over_.owner().is_call_undone()) {
        // If this side closed with unread input, a reset might destroy the response on its way
        // (RFC 9112, 9.6).
        discards_ = true;
        behind_ = {};
        decoder_.release();
        over_.stream().end_writing();
        return false;
    }
    if (behind_.empty()) {
        decoder_.release();
        over_.stream().offer_place(true);
        return false;
    }
    decoder_.next();
    if (++answered_in_turn_ < limits::http_requests_per_turn) {
        return true;
    }
    answered_in_turn_ = 0;
    over_.write_soon(); // Behind others.
    return false;
}

result<progress> http_protocol::on_sent(std::span<const std::byte>& rest) {
    if (upgraded_) {
        rest = in_scratch(behind_);
        return progress::hands_on;
    }
    if (pending_) {
        if (pending_->is_made.load(std::memory_order_acquire)) {
            const auto late = std::move(pending_);
            if (!late->made) {
                return errc::no_memory;
            }
            respond(std::move(*late->made));
        }
        return progress::waits;
    }
    if (response_ && next_piece_ < response_->pieces.size()) {
        send_piece();
        return progress::waits;
    }
    if (response_ && !finish_response()) {
        return progress::waits;
    }
    if (behind_.empty() || exchange_) {
        return progress::waits;
    }
    const std::vector<std::byte> input = std::exchange(behind_, {});
    std::span<const std::byte> left{input};
    const result<progress> step = take(left);
    if (step && *step == progress::hands_on) {
        rest = in_scratch(left);
    }
    return step;
}

/// A copy that outlives this object.
std::span<const std::byte> http_protocol::in_scratch(std::span<const std::byte> input) const {
    const auto scratch = over_.owner().thread().scratch();
    const std::size_t bytes = std::min(input.size(), scratch.size());
    std::ranges::copy(input.first(bytes), scratch.begin());
    return scratch.first(bytes);
}

bool http_protocol::on_deadline() {
    if (response_ && over_.output().take_answered()) {
        enter_phase();
    }
    if (awaits_reply() && !response_) {
        ticks_ = 0; // The application may take its time.
    }
    ++ticks_;
    const bool waits_for_client = response_ || pending_ || exchange_;
    const unsigned ticks_max = discards_ || site_of(over_).expects_promptness()
                                   ? limits::http_discard_ticks_max
                               : waits_for_client     ? limits::http_stall_ticks_max
                               : decoder_.has_begun() ? limits::http_head_ticks_max
                                                      : limits::http_idle_ticks_max;
    if (ticks_ < ticks_max) {
        over_.owner().start_deadline(limits::http_tick);
        return true;
    }
    if (response_ || pending_ || discards_ || !decoder_.has_begun()) {
        return false;
    }
    exchange_.reset();
    respond(web::refuse({408, "The request did not arrive in time."}, now()));
    over_.owner().start_deadline(limits::http_tick);
    over_.write_soon();
    return true;
}

} // namespace zlink::session
