// SPDX-License-Identifier: MPL-2.0
#include "session/connection.hpp"

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/secret.hpp"
#include "session/close_reason.hpp"
#include "session/session.hpp"
#include "session/transitions.hpp"
#include "transport/address.hpp"

#include <array>
#include <cerrno>
#include <utility>

namespace zlink::session {

using transport::io_outcome;

namespace {

constexpr auto going_away = static_cast<std::uint16_t>(wire::websocket::close_code::going_away);

using state = connection_state;

/// The states that may follow each one.
constexpr state_set<state> followers[] = {
    {state::upgrade, state::handshake, state::closed}, // opening
    {state::handshake, state::traffic, state::closed}, // upgrade
    {state::traffic, state::closed},                   // handshake
    {state::closing, state::closed},                   // traffic
    {state::closed},                                   // closing
    {},                                                // closed
};

} // namespace

class connection::batch_counter final : public batch_sink {
public:
    explicit batch_counter(connection& over) noexcept : over_(over) {}

    bool on_batch(std::size_t bytes) override { return over_.on_batch(bytes); }

private:
    connection& over_;
};

connection::connection(session& owner, transport::stream_ptr stream) noexcept
    : owner_(owner), stream_(std::move(stream)) {
    if (call().counters) {
        call().counters->on_opened();
    }
}

connection::~connection() {
    ZLINK_DEBUG_ASSERT(is_closed());
}

void connection::advance(connection_state next) noexcept {
    ZLINK_ASSERT(followers[static_cast<std::size_t>(state_)].has(next));
    state_ = next;
}

const endpoint_call& connection::call() const noexcept {
    return owner_.call();
}

const socket_options& connection::options() const noexcept {
    return *owner_.call().options;
}

bool connection::is_dialing() const noexcept {
    return owner_.is_dialing();
}

pipe::pipe_end& connection::end() noexcept {
    return *owner_.end();
}

wiring connection::around() noexcept {
    return {.thread = owner_.thread(),
            .stream = *stream_,
            .user = owner_,
            .handler = owner_,
            .end = owner_.end(),
            .rope = is_established() ? owner_.outgoing() : nullptr};
}

/// Messages wait while the protocol has something to send itself.
wiring connection::for_writing() noexcept {
    wiring on = around();
    if (protocol_ && protocol_->has_more()) {
        on.rope = nullptr;
    }
    return on;
}

// From the start to the first message.

void connection::start(bool opens) {
    opens ? open() : start_protocol();
    const bool has_deadlines = protocol_ && protocol_->has_deadlines();
    if (!is_established() && !is_closed() && !has_deadlines && options().handshake_interval > 0) {
        owner_.start_deadline(milliseconds(options().handshake_interval));
    }
}

void connection::open() {
    const io_outcome outcome = stream_->try_open();
    if (outcome.what != io_outcome::status::moved) {
        return wait_or_lose(outcome);
    }
    start_protocol();
}

/// Nothing was read.
void connection::wait_or_lose(const io_outcome& outcome) {
    if (outcome.what == io_outcome::status::would_block) {
        return stream_->wait_readable(owner_);
    }
    if (outcome.what == io_outcome::status::ended) {
        return lose(is_established() ? errc{} : static_cast<errc>(EPIPE));
    }
    lose(static_cast<errc>(outcome.error));
}

void connection::start_protocol() {
    go_on_with(make_protocol(*this), {});
}

/// @param rest  Received bytes for `next`.
void connection::go_on_with(std::unique_ptr<protocol> next, std::span<const std::byte> rest) {
    protocol_ = std::move(next);
    if (is_established()) {
        owner_.stop_deadline();
        return begin_messages(rest);
    }
    advance(protocol_->is_entry() ? connection_state::upgrade : connection_state::handshake);
    result<protocol::progress> step = protocol_->start();
    if (step && *step == protocol::progress::waits && !rest.empty()) {
        step = protocol_->on_received(rest);
    }
    after_step(step, rest);
}

/// Reads bytes for the protocol: those of the handshake, and all where it takes them itself.
void connection::read_bytes() {
    const auto scratch = owner_.thread().scratch();
    const iovec room{scratch.data(), scratch.size()};
    const io_outcome outcome = stream_->try_read({&room, 1});
    if (outcome.what != io_outcome::status::moved) {
        return wait_or_lose(outcome);
    }
    std::span<const std::byte> received = scratch.first(outcome.bytes);
    const result<protocol::progress> step = protocol_->on_received(received);
    after_step(step, received);
    if (options().is_server_of(security_mechanism::plain)) {
        wipe(scratch.first(outcome.bytes)); // It may contain a password.
    }
}

/// @param rest  Received bytes behind those that the step consumed.
void connection::after_step(result<protocol::progress> step, std::span<const std::byte> rest) {
    if (is_closed()) {
        return;
    }
    if (step && *step == protocol::progress::established) {
        return establish(rest);
    }
    if (step && *step == protocol::progress::hands_on) {
        return go_on_with(protocol_->hand_on(), rest);
    }
    if (!step) {
        protocol_->on_refused(step.error());
    }
    write(); // After a failure: the reason for the peer, as far as the kernel accepts it.
    if (is_closed()) {
        return;
    }
    if (!step) {
        if (state_ == connection_state::upgrade) {
            stream_->end_writing();
        }
        return lose(step.error());
    }
    wait_for_input();
}

void connection::wait_for_input() {
    if (protocol_->wants_input()) {
        stream_->wait_readable(owner_);
    } else if (!has_seen_end_) {
        stream_->wait_end(owner_, transport::end_of_input::ended);
    }
}

/// All bytes of our own are written, and messages do not pass yet, or have to wait.
/// @return Whether there is something to write now.
bool connection::go_on() {
    if (!protocol_ || (protocol_->wants_input() && !protocol_->has_more())) {
        return false; // It waits for the peer.
    }
    std::span<const std::byte> rest;
    const result<protocol::progress> step = protocol_->on_sent(rest);
    if (!step) {
        lose(step.error());
        return false;
    }
    if (*step == protocol::progress::hands_on) {
        go_on_with(protocol_->hand_on(), rest);
        return false;
    }
    if (*step == protocol::progress::established) {
        establish(rest);
        return false;
    }
    if (is_closed()) {
        return false;
    }
    wait_for_input();
    return writer_.has_own() || (is_established() && !protocol_->has_more());
}

/// Has a region of a file read, which is followed by on_posted_write().
void connection::await_disk() {
    const auto read = [region = writer_.disk_region()] {
        region.file->read_ahead(region.offset, region.bytes);
    };
    awaits_disk_ = owner_.run_blocking(read);
    if (!awaits_disk_) {
        lose(errc::no_memory);
    }
}

void connection::establish(std::span<const std::byte> rest) {
    if (!protocol_->has_deadlines()) {
        owner_.stop_deadline();
    }
    if (!owner_.on_established(protocol_->terms())) {
        return owner_.finish();
    }
    if (!protocol_->takes_bytes()) {
        return begin_messages(rest);
    }
    begin_traffic();
    write();
    read();
}

void connection::begin_traffic() {
    const bool is_return = owner_.awaits_mark();
    protocol_->announce_peer();
    if (!is_established()) {
        advance(connection_state::traffic);
    }
    if (is_return) {
        end().other().deliver(pipe::event::restarted);
    }
}

/// From now on messages pass, in frames that the reader finds.
void connection::begin_messages(std::span<const std::byte> rest) {
    reading chosen = protocol_->make_reading();
    const bool is_one_of_many = chosen.is_one_of_many;
    reader_.emplace(end(), std::move(chosen));
    writer_.start_frames(protocol_->make_encoder(), is_one_of_many);
    if (options().says_hello()) {
        writer_.append_message(std::as_bytes(std::span{options().hello_message}));
    }
    begin_traffic();
    if (options().heartbeat_interval > 0 && protocol_->has_heartbeats()) {
        start_heartbeat();
    }
    const result<void> begun = reader_->begin(protocol_->first_frame(), rest);
    protocol_->on_begun();
    reader_->deliver(around());
    on_batch(0);
    if (is_closed()) {
        return;
    }
    if (!begun) {
        return reject_input(begun.error());
    }
    write();
    read();
}

void connection::announce(std::unique_ptr<pipe::peer_info> peer) {
    peer->descriptor = stream_->descriptor();
    const transport::socket_address address = stream_->peer();
    const std::string name = transport::peer_name(address, stream_->descriptor());
    if (!name.empty()) {
        peer->properties.add(pipe::peer_address_property, name);
        peer->port = transport::peer_port(address);
    }
    pipe::property_list agreed; // First: verified values override the peer's claims.
    stream_->describe(agreed);
    peer->properties.prepend(agreed);
    peer->properties.shrink();
    owner_.announce(std::move(peer));
}

void connection::announce_departure(int code, std::string_view reason) noexcept {
    if (owner_.is_socket_closed() || end().has_ended()) {
        return;
    }
    try {
        auto left = std::make_unique<pipe::departure>(call().departures);
        const std::string text = has_said_close()
                                     ? std::to_string(closing_->code()) + " " + closing_->reason()
                                     : std::to_string(code).append(" ").append(reason);
        left->properties.add(pipe::reason_property, text);
        end().push_control(left.release());
    } catch (const std::bad_alloc&) {
    }
}

void connection::tell(connection_event what, std::int32_t value,
                      std::string_view remark) const noexcept {
    owner_.tell(what, value, stream_.get(), remark);
}

// Receiving.

void connection::on_readable() {
    switch (state_) {
    case connection_state::opening:
        return open();
    case connection_state::upgrade:
    case connection_state::handshake:
        return read_bytes();
    case connection_state::traffic:
    case connection_state::closing:
        return read();
    case connection_state::closed:
        return;
    }
}

/// The stream has ended while nothing is read: the rest of the input is read up to its end, or as
/// far as there is room.
void connection::on_end() {
    has_seen_end_ = true;
    if (reader_ && reads_on()) {
        reader_->take_rest(end());
        return on_pipe_writable();
    }
    if (protocol_ && !reader_) {
        protocol_->on_end_ahead();
        if (protocol_->wants_input()) {
            on_readable();
        }
    }
}

/// Whether input is still processed.
bool connection::reads_on() const noexcept {
    return is_established() && owner_.is_open() && !(closing_ && closing_->is_half_closed());
}

void connection::read() {
    if (!is_established()) {
        return;
    }
    if (closing_ && closing_->is_discarding()) {
        return discard_until_peer_closes();
    }
    if (has_notified_socket()) {
        return discard_arrived() ? stream_->wait_readable(owner_) : lose({});
    }
    if (!reads_on()) {
        return;
    }
    if (reader_) {
        batch_counter batches{*this};
        after_read(reader_->read(around(), batches));
    } else if (protocol_->wants_input()) {
        read_bytes();
    } else {
        wait_for_input();
    }
}

void connection::after_read(const reader::turn& turn) {
    if (!is_established()) {
        return;
    }
    switch (turn.came_to) {
    case reader::outcome::waits:
    case reader::outcome::stopped:
        return;
    case reader::outcome::turn_over:
        return reader_->finish_turn(around(), writer_.take_answered());
    case reader::outcome::far_ahead:
        return owner_.post(&session::on_readable);
    case reader::outcome::ended:
        return on_peer_ended();
    case reader::outcome::failed:
        return lose(turn.error);
    case reader::outcome::refused:
        return reject_input(turn.error);
    }
}

bool connection::on_batch(std::size_t bytes) {
    if (heartbeat_ && bytes != 0) {
        heartbeat_->on_heard();
    }
    if (heartbeat_) {
        heartbeat_->on_read_over();
    }
    owner_.note_input();
    if (reader_->is_one_of_many()) {
        owner_.hand_over();
    }
    if (writer_.is_direct()) {
        owner_.note_output(); // The sender's thread may have written meanwhile.
    }
    if (has_said_close() && !protocol_->awaits_peer_close() &&
        closing_->count_dropped(bytes) > limits::dropped_bytes_max) {
        lose({});
    }
    return reads_on();
}

void connection::on_pipe_writable() {
    if (!is_established() || !reader_) {
        return;
    }
    const result<void> scanned = reader_->resume();
    reader_->deliver(around());
    on_batch(0);
    if (is_closed()) {
        return;
    }
    if (!scanned) {
        return reject_input(scanned.error());
    }
    read(); // Before waiting for readiness: bytes already in the kernel raise no event.
}

void connection::trim_input() noexcept {
    if (reader_) {
        reader_->trim();
    }
}

// Sending.

void connection::on_posted_write() {
    awaits_disk_ = false;
    writer_.on_posted();
    write();
}

void connection::write_soon() noexcept {
    if (writer_.post()) {
        owner_.post(&session::on_posted_write);
    }
}

void connection::on_pipe_woken() noexcept {
    if (is_established()) {
        writer_.on_woken(around());
    } else {
        owner_.outgoing()->on_woken();
    }
}

void connection::write() {
    while (!is_closed() && !awaits_disk_) {
        const writer::outcome came_to = writer_.write(for_writing(), has_said_close());
        if (writer_.take_moved()) {
            owner_.note_output();
        }
        switch (came_to) {
        case writer::outcome::waits:
            if (reader_ || writer_.has_own() || !go_on()) {
                return;
            }
            break;
        case writer::outcome::awaits_disk:
            return await_disk();
        case writer::outcome::turn_over:
            return write_soon();
        case writer::outcome::drained:
            return finish_if_drained();
        case writer::outcome::own_bytes_written:
            return on_own_bytes_written();
        case writer::outcome::failed:
            return on_write_failed(writer_.error());
        case writer::outcome::control:
            protocol_->on_control(*writer_.take_control(around()));
        }
    }
}

void connection::write_own() {
    if (!is_closed() && writer_.is_writable() &&
        writer_.write_own(around()) == writer::outcome::failed) {
        on_write_failed(writer_.error());
    }
}

/// Normally reading finds the reason, and the rest of the peer's messages. If the connection no
/// longer reads, it is lost here.
void connection::on_write_failed(errc reason) {
    // With a file, the reason may be the file itself.
    const bool reads_no_more = closing_ || !owner_.is_open() || writer_.holds_file() ||
                               (protocol_ && !protocol_->wants_input());
    if (reads_no_more || is_shortage(reason)) { // Reading would not report a shortage.
        lose(reason);
    }
}

void connection::send_command(std::span<const std::byte> body) {
    writer_.append_command(body);
    write_soon();
}

// Parking.

bool connection::has_news() noexcept {
    return is_established() &&
           (writer_.has_news(*owner_.outgoing()) || (reader_ && reader_->has_news()));
}

runtime::event_handler::park_mark connection::on_turn_over() {
    using park_mark = runtime::event_handler::park_mark;
    if (!is_established()) {
        return park_mark::none;
    }
    bool needs_fence = false;
    if (writer_.park(around(), needs_fence)) {
        write();
    }
    if (is_established() && owner_.end() != nullptr && reader_ && reader_->park(end())) {
        on_pipe_writable();
    }
    if (!owner_.outgoing()->is_parked() && !(reader_ && reader_->is_parked())) {
        return park_mark::none;
    }
    return needs_fence ? park_mark::behind_fence : park_mark::counts;
}

void connection::on_settled() {
    if (!is_established()) {
        return;
    }
    if (owner_.outgoing()->is_parked() && writer_.wake(around())) {
        write();
    } else if (owner_.thread().is_driven()) {
        owner_.tell_written();
    } else if (owner_.outgoing()->is_parked() && writer_.has_written_much()) {
        owner_.hand_over(); // The application may be parked: this does not wake it at once.
    }
    if (is_established() && owner_.end() != nullptr && reader_ && reader_->check_again(end())) {
        on_pipe_writable();
    }
}

// Heartbeats.

void connection::start_heartbeat() {
    heartbeat_.reset(new heartbeat(owner_.thread().context(), *this, options()));
    heartbeat_->start();
}

void connection::stop_heartbeat() noexcept {
    if (heartbeat_) {
        heartbeat_->stop();
        heartbeat_.reset();
    }
}

void connection::send_ping(wire::zmtp::heartbeat_ttl ttl) noexcept {
    owner_.enter([&] { protocol_->send_ping(ttl); });
}

bool connection::is_listening() const noexcept {
    return reads_on() && !reader_->is_blocked();
}

void connection::on_silence() noexcept {
    owner_.enter([this] { lose(static_cast<errc>(ETIMEDOUT)); });
}

// Closing.

bool connection::has_notified_socket() const noexcept {
    return owner_.end() != nullptr && owner_.end()->has_ended();
}

/// Whether messages that this connection does not send are kept for the next one.
bool connection::keeps_unsent() const noexcept {
    return owner_.keeps_unsent();
}

bool connection::has_unsent() const noexcept {
    if (writer_.has_own() || (protocol_ && protocol_->has_more())) {
        return true;
    }
    const bool may_follow = !has_said_close() || keeps_unsent();
    return may_follow && ((owner_.outgoing() != nullptr && !owner_.outgoing()->is_empty()) ||
                          writer_.holds_encoded());
}

bool connection::may_send_control() const noexcept {
    return !closing_ && owner_.is_open() && writer_.own_bytes() < limits::unread_answers_bytes_max;
}

void connection::on_deadline() {
    if (!is_established()) {
        if (!protocol_ || !protocol_->on_deadline()) {
            lose(errc::again);
        }
        return;
    }
    if (!closing_) {
        if (protocol_->has_deadlines() && !protocol_->on_deadline()) {
            lose(static_cast<errc>(ETIMEDOUT));
        }
        return;
    }
    if (!closing_->is_half_closed()) {
        return lose(static_cast<errc>(ETIMEDOUT));
    }
    if (owner_.is_socket_closed()) {
        return; // Linger has its own limits.
    }
    if (!writer_.take_answered()) {
        return lose(static_cast<errc>(ETIMEDOUT));
    }
    owner_.start_deadline(limits::half_closed_idle_max);
}

/// From now on the peer has limits::close_handshake_max to close.
void connection::begin_closing(close_handshake::state as, std::uint16_t code, std::string reason) {
    if (closing_) {
        closing_->announce(code, std::move(reason));
    } else {
        closing_ = std::make_unique<close_handshake>(as, code, std::move(reason));
        advance(connection_state::closing);
    }
    owner_.start_deadline(limits::close_handshake_max);
}

/// Sends the peer a close frame, if its protocol has one.
void connection::send_close_frame(std::uint16_t code, std::string_view reason) {
    if (protocol_->has_close_frames()) {
        protocol_->send_close(code, closing_->is_without_reason() ? std::string_view{} : reason);
        write_soon();
    }
}

void connection::close_for(const pipe::close_request& asked) {
    using enum close_handshake::state;
    if (has_said_close()) {
        return;
    }
    const bool ends_at_once = closing_ && !owner_.is_socket_closed();
    // Without a close frame that asks for an answer, both sides know once writing has ended.
    const bool announces = protocol_->has_close_frames() || owner_.is_socket_closed();
    ends_for_application_ = true;
    if (asked.code == going_away) {
        protocol_->on_leaving();
    }
    begin_closing(announces ? announced : declared, asked.code, asked.reason);
    send_close_frame(asked.code, asked.reason);
    if (ends_at_once) {
        write_own();
        lose({}); // Nothing more can be sent or awaited.
    }
}

void connection::on_peer_closes(std::uint16_t code, std::string_view reason) {
    if (!is_established()) {
        return;
    }
    if (!closing_) {
        begin_closing(close_handshake::state::answered, code, std::string(reason));
        send_close_frame(code, {});
    } else {
        closing_->on_answer();
    }
    owner_.post(&session::on_peer_answered);
}

/// The peer has announced its end: it neither sends nor reads any more (RFC 6455, 5.5.1). A STREAM
/// is notified now, and messages queued for the peer are dropped; the session completes the rest.
/// During a drain the pipe is kept, because nothing else would report the socket's close. A partly
/// written frame of a pattern stays incomplete: completed, it would count as sent, and the peer may
/// close its connection because of it.
void connection::on_answered() {
    const bool is_agreed = has_said_close() && owner_.is_open() && is_established();
    if (is_agreed && !protocol_->awaits_peer_close()) {
        writer_.close_direct(around());
        if (writer_.is_inside_frame(around())) {
            return lose({});
        }
    }
    if (is_agreed && protocol_->awaits_peer_close() && !owner_.is_call_undone() &&
        !has_notified_socket()) {
        protocol_->announce_departure({});
        owner_.return_all_credit();
        end().close();
    }
    write();
    if (is_established() && has_notified_socket()) {
        read();
    }
}

/// The peer broke its protocol, or a limit: it is notified, and its further input is discarded.
void connection::reject_input(errc reason) {
    if (!protocol_->has_close_frames() || state_ != connection_state::traffic ||
        !owner_.is_open()) {
        return lose(reason);
    }
    const auto code =
        static_cast<std::uint16_t>(close_code_of(reason, wire::websocket::close_code::abnormal));
    begin_closing(close_handshake::state::declared, code, std::string(text_of(reason)));
    send_close_frame(code, {});
    write();
    read();
}

/// The peer has ended its direction, but may still read (RFC 9293, 3.6). Messages queued for it are
/// sent before the socket is notified.
void connection::on_peer_ended() {
    if (!protocol_->awaits_peer_close() || closing_ || !owner_.is_open() ||
        !writer_.is_writable() || !has_unsent()) {
        return lose({});
    }
    closing_ = std::make_unique<close_handshake>();
    advance(connection_state::closing);
    write();
    if (is_established() && closing_->is_half_closed()) { // The connection is still open.
        static_cast<void>(writer_.take_answered());
        owner_.start_deadline(limits::half_closed_idle_max);
    }
}

/// Whether both sides have announced the end, and this side closes, as the server (RFC 6455,
/// 7.1.1).
bool connection::closes_as_server() const noexcept {
    return closing_->is_answered() && !is_dialing();
}

/// The close frame is written. If the peer knows of the end, or need not answer, this side also
/// ends its direction.
void connection::on_own_bytes_written() {
    if (closing_->on_written()) {
        stream_->end_writing();
    }
    if (!owner_.is_open() || !closes_as_server()) {
        return finish_if_drained();
    }
    if (stream_->holds_unsent()) {
        return stream_->wait_writable(owner_);
    }
    lose({});
}

void connection::finish_once_drained() {
    if (!writer_.is_writable()) {
        return lose(static_cast<errc>(EPIPE));
    }
    finish_if_drained();
}

void connection::finish_if_drained() {
    const bool is_half_closed = closing_ && closing_->is_half_closed() && owner_.is_open();
    if (owner_.is_open() && !is_half_closed) {
        return;
    }
    if (is_established() && owner_.outgoing()->is_parked()) {
        writer_.wake(around()); // Accounts for writes by the sender's thread.
    }
    if (has_unsent() && !owner_.awaits_mark()) {
        return;
    }
    if (!is_half_closed) {
        send_going_away();
        if (is_closed() || (writer_.has_own() && (has_said_close() || protocol_->has_more()))) {
            return; // The last of it is not written yet.
        }
    }
    if (stream_->holds_unsent()) {
        return stream_->wait_writable(owner_);
    }
    if (is_half_closed) {
        return lose({});
    }
    if (is_established() && protocol_->awaits_peer_close()) {
        return discard_until_peer_closes();
    }
    owner_.finish();
}

/// The socket is closed, and its messages are written or dropped: announces that to the peer, once.
void connection::send_going_away() {
    if (!is_established() || has_said_close() || !writer_.is_writable()) {
        return;
    }
    protocol_->on_leaving();
    if (protocol_->has_close_frames()) {
        begin_closing(close_handshake::state::announced, 0, {});
        send_close_frame(going_away, {});
    }
    if (writer_.has_own()) {
        write_own();
    }
}

bool connection::ends_with_socket() {
    if (!closing_ || !closing_->is_answered() || keeps_unsent()) {
        return false;
    }
    write_own(); // The answer, as far as the kernel accepts it: the peer has announced its end,
    return true; // and reads nothing else (RFC 6455, 5.5.1).
}

void connection::leave_at_once() {
    send_going_away();
    if (is_established() && protocol_->awaits_peer_close()) {
        stream_->end_writing();
        discard_arrived(); // Unread input would cause a reset.
    }
}

/// The socket is closed, and everything is written. If this side closed at once, input that arrives
/// later would reset the connection, and the peer might lose the last messages. So this side ends
/// its direction, and discards input until the peer closes.
void connection::discard_until_peer_closes() {
    const bool is_over = closing_ && closes_as_server();
    if (!closing_ || closing_->is_half_closed()) {
        begin_closing(close_handshake::state::announced, 0, {});
    }
    if (closing_->discard()) {
        stream_->end_writing();
    }
    if (is_over || !discard_arrived()) {
        return owner_.finish();
    }
    stream_->wait_readable(owner_);
}

/// @return Whether the peer may send more.
bool connection::discard_arrived() {
    const auto scratch = owner_.thread().scratch();
    const iovec room{scratch.data(), scratch.size()};
    for (std::size_t bytes = 0; bytes < limits::turn_bytes_max;) {
        const io_outcome outcome = stream_->try_read({&room, 1});
        if (outcome.what != io_outcome::status::moved) {
            return outcome.what == io_outcome::status::would_block;
        }
        bytes += outcome.bytes;
    }
    return true;
}

void connection::cut_off(const pipe::close_request& asked) {
    if (!is_established()) {
        return;
    }
    const bool is_behind =
        has_unsent() || stream_->holds_unsent() || transport::holds_unsent(stream_->descriptor());
    const bool may_say_why = protocol_->has_close_frames() && !is_behind && writer_.is_writable() &&
                             (!has_said_close() || owner_.is_socket_closed());
    ends_for_application_ = true;
    closing_ = std::make_unique<close_handshake>(close_handshake::state::announced, asked.code,
                                                 asked.reason);
    if (may_say_why) {
        protocol_->send_close(asked.code, asked.reason);
        write_own();
    }
    if (is_behind && !is_closed()) {
        transport::reset_when_closed(stream_->descriptor());
    }
    lose({});
}

void connection::lose(errc reason) noexcept {
    if (is_closed()) {
        return;
    }
    was_established_ = is_established();
    reason_ = reason;
    if (protocol_ && !was_established_) {
        protocol_->tell_failure(reason);
    } else if (!protocol_) {
        tell(connection_event::handshake_failed_no_detail, static_cast<int>(reason));
    }
    was_cut_off_ = writer_.abandon(around());
    if (was_established_ && owner_.end() != nullptr && reader_) {
        reader_->wake_socket(around()); // Also if memory was refused before it was delivered.
    }
    tell(connection_event::disconnected, stream_->descriptor());
    stream_->close();
    stop_heartbeat();
    if (was_established_) {
        protocol_->announce_departure(reason);
    }
    owner_.stop_deadline();
    count_end(reason);
    advance(connection_state::closed);
}

void connection::count_end(errc reason) const noexcept {
    if (connection_counters* const counters = call().counters.get(); counters != nullptr) {
        if (was_established_) {
            counters->on_disconnected(reason);
        }
        counters->on_ended();
    }
}

void connection::drop() noexcept {
    if (is_closed()) {
        return;
    }
    was_established_ = is_established();
    was_cut_off_ = writer_.abandon(around());
    stream_->close();
    stop_heartbeat();
    owner_.stop_deadline();
    count_end({});
    advance(connection_state::closed);
}

} // namespace zlink::session
