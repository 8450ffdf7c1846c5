// SPDX-License-Identifier: MPL-2.0
//
// From connecting to the end of the handshake.
#include "session/session.hpp"

#include "base/limits.hpp"
#include "base/random_octets.hpp"
#include "codec/curve_decoder.hpp"
#include "codec/length_scanner.hpp"
#include "codec/raw_decoder.hpp"
#include "codec/v1_decoder.hpp"
#include "codec/zws_decoder.hpp"
#include "transport/address.hpp"
#include "transport/tls_stream.hpp"
#include "wire/length/frame.hpp"

#include <algorithm>
#include <utility>

namespace zlink::session {

using namespace std::chrono_literals;
using transport::io_outcome;
namespace zmtp = wire::zmtp;

namespace {

pipe::queue_limits limits_of(int high_water_mark) noexcept {
    return {.messages_max = static_cast<std::uint64_t>(high_water_mark)};
}

std::uint64_t body_bytes_max_of(const socket_options& options) noexcept {
    // Raw octets come in messages of our own making.
    return options.message_bytes_max < 0 || options.raw
               ? zmtp::body_bytes_limit
               : static_cast<std::uint64_t>(options.message_bytes_max);
}

std::uint64_t unfinished_bytes_max_of(const socket_options& options) noexcept {
    return options.message_bytes_max < 0
               ? UINT64_MAX
               : std::max(body_bytes_max_of(options), limits::unfinished_message_bytes_max);
}

} // namespace

// Connecting.

void session::dial_now() {
    if (state_ != session_state::connecting) {
        return;
    }
    dialing_->dialer->start(
        [self = boost::intrusive_ptr<session>(this)](result<transport::stream_ptr> connected) {
            self->guarded([&] {
                if (connected) {
                    self->start_stream(std::move(*connected));
                } else {
                    self->on_unreachable(connected.error());
                }
            });
        });
    if (options().connect_timeout > 0) {
        start_timer(timer_, milliseconds(options().connect_timeout), &session::on_connect_timeout);
    }
}

void session::on_unreachable(errc reason) {
    if (reason == errc::connection_refused && stops_after(reconnect_stop::connection_refused)) {
        return finish();
    }
    dial_later(reason);
}

/// Whether there will be no further attempt.
/// @param occasion  A bit of ZMQ_RECONNECT_STOP.
bool session::stops_after(int occasion) const noexcept {
    return options().reconnect_interval < 0 || (options().reconnect_stop & occasion) != 0;
}

/// @param reason  Why the last attempt failed.
void session::dial_later(errc reason) {
    dialing_->dialer->stop();
    if (options().reconnect_interval < 0) {
        return finish();
    }
    const milliseconds wait_min = is_shortage(reason) ? limits::shortage_pause : 0ms;
    const milliseconds wait = std::max(dialing_->pauses.next(random_number()), wait_min);
    tell(connection_event::connect_retried, static_cast<std::int32_t>(wait.count()));
    start_timer(timer_, wait, &session::on_next_attempt);
}

void session::on_next_attempt() noexcept {
    guarded([this] {
        if (has_untold_departures()) {
            return dial_later(static_cast<errc>(ENOBUFS));
        }
        dial_now();
    });
}

/// Whether the application has to receive first that others have gone.
bool session::has_untold_departures() const noexcept {
    return origin_->departures && origin_->departures->untold_count.load(
                                      std::memory_order_relaxed) >= limits::untold_departures_max;
}

void session::on_connect_timeout() noexcept {
    guarded([this] { dial_later(static_cast<errc>(ETIMEDOUT)); });
}

/// @param connected  Null if the system had nothing left for it.
void session::start_stream(transport::stream_ptr connected) {
    const bool is_proxied = !dialing_ && options().proxy_protocol;
    advance(origin_->tls || is_proxied ? session_state::opening : session_state::handshake);
    if (origin_->tls && connected) {
        connected = transport::make_tls_stream(thread_.context(), connected, origin_->tls);
    }
    stream_ = std::move(connected);
    if (!stream_) {
        return lost(errc::no_descriptors);
    }
    if (dialing_) {
        tell(connection_event::connected, stream_->descriptor());
    }
    if (origin_->tls) {
        tell_expiry();
    }
    is_writable_ = true;
    timer_.stop();
    const bool has_handshake =
        state_ == session_state::opening || speaks_websocket() || !options().has_foreign_peers();
    if (has_handshake && options().handshake_interval > 0) {
        start_timer(timer_, milliseconds(options().handshake_interval),
                    &session::on_handshake_deadline);
    }
    if (state_ == session_state::opening) {
        return open_stream();
    }
    start_handshake();
}

void session::on_handshake_deadline() noexcept {
    if (state_ != session_state::connecting && state_ < session_state::traffic) {
        lost(errc::again);
    }
}

// Handshake.

void session::open_stream() {
    const io_outcome outcome = stream_->try_open();
    if (outcome.what != io_outcome::status::moved) {
        return wait_or_lose(outcome);
    }
    advance(session_state::handshake);
    start_handshake();
}

/// Nothing was read before the handshake was over.
void session::wait_or_lose(const io_outcome& outcome) {
    if (outcome.what == io_outcome::status::would_block) {
        return stream_->wait_readable(*this);
    }
    const bool has_ended = outcome.what == io_outcome::status::ended;
    lost(static_cast<errc>(has_ended ? EPIPE : outcome.error));
}

void session::start_handshake() {
    if (speaks_websocket()) {
        return start_upgrade();
    }
    if (options().has_foreign_peers()) {
        return enter_traffic({});
    }
    handshake_ = std::make_unique<security::handshake>(options());
    handshake_->start(prefix_);
    stream_->wait_readable(*this);
    write_some();
}

void session::read_handshake() {
    const auto scratch = thread_.scratch();
    const iovec room{scratch.data(), scratch.size()};
    const io_outcome outcome = stream_->try_read({&room, 1});
    if (outcome.what != io_outcome::status::moved) {
        return wait_or_lose(outcome);
    }
    continue_handshake(scratch.first(outcome.bytes));
    if (options().is_server_of(security_mechanism::plain)) {
        wipe(scratch.first(outcome.bytes)); // There may be a password in it.
    }
}

void session::continue_handshake(std::span<const std::byte> octets) {
    if (state_ == session_state::upgrade) {
        return continue_upgrade(octets);
    }
    if (speaks_zws()) {
        return continue_zws(octets);
    }
    const result<void> taken = handshake_->on_received(octets, prefix_);
    if (taken) {
        if (auto question = handshake_->take_question(); question) {
            return ask_zap(*question);
        }
    }
    after_step(taken, octets);
}

/// @param rest  What was received behind the end of the handshake.
void session::after_step(const result<void>& taken, std::span<const std::byte> rest) {
    if (taken && handshake_->is_complete()) {
        return enter_traffic(rest);
    }
    if (!taken && speaks_zws()) {
        refuse_zws(taken.error());
    }
    write_some(); // After a failure: an ERROR, as far as the kernel takes it.
    if (!taken) {
        return lost(taken.error());
    }
    if (state_ == session_state::handshake) {
        stream_->wait_readable(*this);
    }
}

void session::ask_zap(wire::zap_request& request) {
    pipe::end_ptr to_handler = origin_->host->reach_zap_handler(thread_.mailbox());
    if (!to_handler) {
        if (origin_->host->has_had_zap_handler()) {
            return lost(errc::bad_address); // Not let in because the handler has gone.
        }
        return after_step(
            step_handshake([&](auto& out) { return handshake_->on_no_zap_handler(out); }), {});
    }
    after_step({}, {}); // The peer may go on, or go, meanwhile.
    if (state_ != session_state::handshake) {
        return;
    }
    const std::string address = transport::peer_name(stream_->peer(), stream_->descriptor());
    request.address = address;
    zap_.reset(new security::zap_client(std::move(to_handler), *this));
    zap_->ask(request);
}

void session::on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept {
    const std::unique_ptr<security::zap_client> done = std::move(zap_);
    guarded([&] {
        after_step(step_handshake(
                       [&](auto& out) { return handshake_->on_zap_reply(std::move(reply), out); }),
                   {});
    });
}

void session::on_zap_handler_gone() noexcept {
    zap_.reset();
    lost(errc::bad_address);
}

void session::enter_traffic(std::span<const std::byte> rest) {
    timer_.stop();
    if (dialing_) {
        dialing_->pauses.reset();
    }
    const bool is_reconnect = end_ && awaits_subscriptions_;
    if (!end_ && !make_pipe()) {
        return finish();
    }
    const std::unique_ptr<security::handshake> agreed =
        std::move(handshake_); // None with a raw peer.
    if (agreed) {
        adopt_terms(*agreed);
    } else if (is_framed()) {
        adopt_stream_peer();
    } else {
        adopt_raw_peer();
    }
    advance(session_state::traffic);
    if (is_reconnect) {
        end_->other().deliver(pipe::event::restarted);
    }
    const bool has_heartbeats =
        agreed ? agreed->version() == zmtp::peer_version::v3 : is_framed() && speaks_websocket();
    if (options().heartbeat_interval > 0 && has_heartbeats) {
        start_heartbeat();
    }
    const result<void> greeted = inbound_->feed(first_frame(agreed.get()));
    const result<void> fed = !greeted ? greeted
                             : input_ ? input_->feed(rest, *inbound_)
                                      : inbound_->feed(rest);
    deliver_inbound();
    if (!fed) {
        return break_off(fed.error());
    }
    write_some();
    if (state_ == session_state::traffic && stream_) {
        read_messages();
    }
}

/// Puts between stream and rope what the peer needs, and tells who it is.
void session::adopt_terms(security::handshake& agreed) {
    const std::unique_ptr<crypto::curve_ciphers> ciphers = agreed.take_ciphers();
    const bool is_v1 = agreed.version() == zmtp::peer_version::v1;
    const bool subscribes_by_message = speaks_subscriptions() && !agreed.has_subscribe_command();
    using framing = codec::encoder::framing;
    const framing frames = speaks_zws() ? (dialing_ ? framing::masked_zws : framing::zws)
                           : is_v1      ? framing::v1
                                        : framing::zmtp;
    if (ciphers || subscribes_by_message || frames != framing::zmtp || end_->in.conflates()) {
        translation_ = std::make_unique<codec::encoder>(
            codec::encoder::needs{.sealer = ciphers ? &ciphers->sealer : nullptr,
                                  .subscriptions_as_messages = subscribes_by_message,
                                  .frames = frames});
    }
    std::unique_ptr<codec::decoder> opener;
    if (ciphers) {
        opener =
            std::make_unique<codec::curve_decoder>(ciphers->opener, body_bytes_max_of(options()));
    }
    if (speaks_zws()) {
        zws().pass_through(std::move(opener));
    } else if (is_v1) {
        input_ = std::make_unique<codec::v1_decoder>();
    } else {
        input_ = std::move(opener);
    }
    std::unique_ptr<pipe::peer_info> peer = agreed.take_peer();
    if (upgrade_) {
        describe_upgrade(*peer);
    }
    announce_peer(std::move(peer));
    tell(connection_event::handshake_succeeded, 0);
}

void session::adopt_raw_peer() {
    input_ = std::make_unique<codec::raw_decoder>();
    raw_output_ = std::make_unique<codec::raw_encoder>();
    announce_peer(std::unique_ptr<pipe::peer_info>(new pipe::peer_info));
}

/// What the socket receives of a new peer before all that it sends: the news that a raw peer is
/// there, an empty message; the subscription to everything of a peer that sends none.
std::span<const std::byte> session::first_frame(const security::handshake* agreed) const noexcept {
    static constexpr std::array<std::byte, 2> empty_message{};
    static constexpr std::array subscription{std::byte{0}, std::byte{1}, std::byte{1}};
    if (agreed == nullptr) {
        return options().raw && options().stream_notify ? empty_message
                                                        : std::span<const std::byte>{};
    }
    return takes_subscriptions() && agreed->filters_by_itself() ? subscription
                                                                : std::span<const std::byte>{};
}

/// Has the socket receive that a raw peer is gone, an empty message again. Of a peer that comes
/// again and again it learns no more than it has room for.
void session::take_leave_of_socket(errc reason) noexcept {
    if (is_framed()) {
        return take_leave_of_stream(reason);
    }
    if (!options().raw || !options().stream_notify || phase_ != phase::open) {
        return;
    }
    inbound_->reset();
    if (dialing_ && !end_->out.has_credit()) {
        return;
    }
    try {
        end_->out.push_copy(nullptr, 0, 0);
        end_->finish_message();
    } catch (const std::bad_alloc&) {
        // It learns of it by sending.
    }
}

/// @return Whether there still is a socket that takes it.
bool session::make_pipe() {
    const boost::intrusive_ptr<pipe::pipe> made{
        new pipe::pipe(limits_of(options().send_hwm), limits_of(options().recv_hwm))};
    end_ = pipe::end_ptr(made->second);
    end_->set_home(thread_.mailbox(), this);
    end_->works_in_batches();
    made->first.set_home(origin_->socket, nullptr);
    made->first.origin_id = origin_->id;
    made->first.arrival = arrival_;
    made->first.frames = frames();
    made->first.deflation = own_deflation();
    made->first.succeeds = dialing_ && is_framed();
    made->first.conflate(options().conflates_sent(), options().conflates_received());
    make_inbound();
    make_outbound();
    return made->first.deliver(pipe::event::attached);
}

void session::make_inbound() {
    if (end_->out.conflates()) {
        conflation_ = std::make_unique<codec::conflation>();
    }
    if (is_framed()) {
        const std::uint64_t body_bytes_max = body_bytes_max_of(options());
        std::unique_ptr<codec::scanner> frames;
        if (speaks_websocket()) {
            using wire::websocket::sender;
            frames = std::make_unique<codec::websocket_scanner>(
                dialing_ ? sender::server : sender::client,
                std::min(body_bytes_max, wire::websocket::payload_bytes_limit),
                static_cast<codec::websocket_sink&>(*this), peers_deflation());
        } else {
            frames = std::make_unique<codec::length_scanner>(
                std::min(body_bytes_max, wire::length::body_bytes_limit));
        }
        inbound_.emplace(end_->out, static_cast<codec::command_sink&>(*this), std::move(frames));
        return;
    }
    inbound_.emplace(conflation_ ? conflation_->queue() : end_->out, body_bytes_max_of(options()),
                     static_cast<codec::command_sink&>(*this), unfinished_bytes_max_of(options()));
}

void session::make_outbound() {
    outbound_.emplace(end_->in, frames());
    // Their messages wait for each other, so there never is a batch.
    if (options().type == socket_type::req || options().type == socket_type::rep) {
        end_->whole().shortcut = std::make_unique<pipe::direct_writer>();
    }
}

/// Tells the socket who the peer is. Of connections that it has not heard of and that brought no
/// message it learns the last only.
void session::announce_peer(std::unique_ptr<pipe::peer_info> peer) {
    peer->descriptor = stream_->descriptor();
    const transport::socket_address address = stream_->peer();
    const std::string name = transport::peer_name(address, stream_->descriptor());
    if (!name.empty()) {
        peer->properties.add(pipe::peer_address_property, name);
        peer->port = transport::peer_port(address);
    }
    pipe::property_list agreed; // Before what the peer says: what we know for certain counts.
    stream_->describe(agreed);
    peer->properties.prepend(agreed);
    peer->properties.shrink();
    if (!dialing_) {
        return end_->push_control(peer.release());
    }
    if (dialing_->announced && dialing_->announced_position == end_->out.published().position &&
        dialing_->announced->replace(peer.get())) {
        peer.release();
        return;
    }
    const pipe::peer_info_ptr told{peer.release()};
    end_->push_control(told.get());
    dialing_->announced = told;
    dialing_->announced_position = end_->out.published().position;
}

} // namespace zlink::session
