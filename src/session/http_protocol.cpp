// SPDX-License-Identifier: MPL-2.0
#include "session/http_protocol.hpp"

#include "base/limits.hpp"
#include "session/connection.hpp"
#include "session/session.hpp"
#include "session/web_entry_protocol.hpp"
#include "web/answer.hpp"
#include "wire/field_text.hpp"

#include <algorithm>
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
    const web::site_ptr& chosen = over.origin().site;
    return chosen ? *chosen : none;
}

} // namespace

result<progress> http_protocol::start() {
    over_.owner().start_deadline(limits::http_tick);
    return progress::waits;
}

result<progress> http_protocol::on_received(std::span<const std::byte>& received) {
    answered_in_turn_ = 0;
    if (discards_) {
        received = {};
        return progress::waits;
    }
    return take(received);
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
        respond(web::refuse(decoder_.why_refused(), now()));
        return progress::waits;
    case decoding::complete:
        break;
    }
    if (is_upgrade()) {
        return upgrade();
    }
    answer();
    keep(input);
    return progress::waits;
}

/// Whether the request is for WebSocket peers, and not for a file.
bool http_protocol::is_upgrade() const {
    const wire::http::request& asked = decoder_.head();
    std::string room;
    const auto wanted = asked.joined("upgrade", room);
    return wanted && asked.method == "GET" && wire::has_token(*wanted, "websocket");
}

result<progress> http_protocol::upgrade() {
    web_handshake handshake{web_handshake::role::server, over_.origin().where, over_.options()};
    auto octets = std::as_bytes(std::span{decoder_.octets()});
    const result<void> taken = handshake.on_received(octets, over_.output().own());
    if (!taken) {
        return taken.error();
    }
    if (!handshake.is_complete()) {
        return errc::protocol_violation;
    }
    upgraded_ = std::make_unique<web_handshake::terms>(handshake.take_agreed());
    over_.owner().stop_deadline();
    return progress::hands_on;
}

std::unique_ptr<protocol> http_protocol::hand_on() {
    return web_entry_protocol::upgraded(over_, std::move(*upgraded_));
}

void http_protocol::answer() {
    using patience = files::file_root::patience;
    if (auto made = web::answer(decoder_.head(), site_of(over_), now(), patience::none)) {
        return respond(std::move(*made));
    }
    const auto late = std::make_shared<late_response>();
    const auto make = [late, octets = std::string(decoder_.octets()), from = over_.origin().site] {
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
}

/// @param octets  The head of a request that was decoded already.
web::response http_protocol::answer_late(const std::string& octets, const web::site& from) {
    wire::http::request_decoder again;
    auto input = std::as_bytes(std::span{octets});
    again.decode(input);
    return *web::answer(again.head(), from, now(), files::file_root::patience::waits);
}

void http_protocol::respond(web::response made) {
    enter_phase();
    response_ = std::make_unique<web::response>(std::move(made));
    next_piece_ = text_begin_ = 0;
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
    if (!persists) {
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
    if (behind_.empty()) {
        return progress::waits;
    }
    const std::vector<std::byte> input = std::exchange(behind_, {});
    std::span<const std::byte> left{input};
    const result<progress> step = take(left);
    if (step && *step == progress::hands_on) {
        const auto scratch = over_.owner().thread().scratch();
        std::ranges::copy(left, scratch.begin());
        rest = scratch.first(left.size());
    }
    return step;
}

bool http_protocol::on_deadline() {
    if (response_ && over_.output().take_answered()) {
        enter_phase();
    }
    ++ticks_;
    const unsigned ticks_max = discards_               ? limits::http_discard_ticks_max
                               : response_ || pending_ ? limits::http_stall_ticks_max
                               : decoder_.has_begun()  ? limits::http_head_ticks_max
                                                       : limits::http_idle_ticks_max;
    if (ticks_ < ticks_max) {
        over_.owner().start_deadline(limits::http_tick);
        return true;
    }
    if (response_ || pending_ || discards_ || !decoder_.has_begun()) {
        return false;
    }
    respond(web::refuse({408, "The head of the request did not arrive in time."}, now()));
    over_.owner().start_deadline(limits::http_tick);
    over_.write_soon();
    return true;
}

} // namespace zlink::session
