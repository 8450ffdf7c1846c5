// SPDX-License-Identifier: MPL-2.0
#include "session/session.hpp"

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/patience.hpp"
#include "session/curve_input.hpp"
#include "session/length_scanner.hpp"
#include "session/raw_input.hpp"
#include "session/v1_input.hpp"
#include "session/zws_input.hpp"
#include "transport/address.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/guest_stream.hpp"
#include "transport/tls_stream.hpp"
#include "wire/length/frame.hpp"
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <new>
#include <random>
#include <utility>

namespace zlink::session {

using namespace std::chrono_literals;
using transport::io_outcome;
namespace zmtp = wire::zmtp;

namespace {

std::uint64_t random_number() {
    static thread_local std::minstd_rand source{std::random_device{}()};
    return source();
}

pipe::queue_limits limits_of(int high_water_mark) noexcept {
    return {.messages_max = static_cast<std::uint64_t>(high_water_mark)};
}

std::uint64_t body_bytes_max_of(const socket_options& options) noexcept {
    // Raw octets come in messages of our own making.
    return options.message_bytes_max < 0 || options.raw
               ? zmtp::body_bytes_limit
               : static_cast<std::uint64_t>(options.message_bytes_max);
}

/// Whether an upgrade failed by what was said, and not for want of an answer.
bool is_refusal(errc reason) noexcept {
    return reason == errc::protocol_violation || reason == errc::message_too_large ||
           reason == errc::permission_denied;
}

std::uint64_t unfinished_bytes_max_of(const socket_options& options) noexcept {
    return options.message_bytes_max < 0
               ? UINT64_MAX
               : std::max(body_bytes_max_of(options), limits::unfinished_message_bytes_max);
}

} // namespace

void session::dial(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                   endpoint target, pipe::end_ptr end) {
    auto by = transport::make_dialer(thread.context(), std::move(target), origin->options,
                                     origin->observer);
    dial(thread, std::move(origin), std::move(by), std::move(end));
}

void session::dial(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                   transport::dialer_ptr by, pipe::end_ptr end) {
    const socket_options& chosen = *origin->options;
    std::unique_ptr<dialing> plan{
        new dialing{.dialer = std::move(by),
                    .pauses = runtime::backoff{milliseconds(std::max(chosen.reconnect_interval, 0)),
                                               milliseconds(chosen.reconnect_interval_max)},
                    .announced = {}}};
    // A session that is made also starts.
    boost::intrusive_ptr<session> made{new session(thread, std::move(origin), std::move(end))};
    made->dialing_ = std::move(plan);
    thread.post([made] {
        made->become_resident();
        made->guarded([&] { made->dial_now(); });
        // The socket may have let go before this session could be told.
        if (made->end_ && made->end_->is_dismissed()) {
            made->on_dismissed();
        }
        if (made->end_ && made->end_->peer_is_closed()) {
            made->on_socket_closed();
        }
    });
}

void session::accept(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                     int descriptor, transport::guest_ptr who) {
    boost::intrusive_ptr<session> made{new session(thread, std::move(origin), {})};
    thread.post([made, descriptor, who = std::move(who)] {
        made->become_resident();
        made->guarded([&] {
            made->start_stream(transport::make_guest_stream(
                transport::make_descriptor_stream(made->thread_.context(), descriptor), who,
                made->options().proxy_protocol));
        });
    });
}

void session::accept(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                     transport::stream_ptr connected) {
    boost::intrusive_ptr<session> made{new session(thread, std::move(origin), {})};
    thread.post([made, connected = std::move(connected)] {
        made->become_resident();
        made->guarded([&] { made->start_stream(connected); });
    });
}

session::session(runtime::io_thread& thread, std::shared_ptr<const session_origin> origin,
                 pipe::end_ptr end)
    : thread_(thread), origin_(std::move(origin)), end_(std::move(end)) {
    if (end_) {
        make_inbound();
        make_outbound();
        end_->set_home(thread_.mailbox(),
                       this); // Last: nothing may fail once we are told of events.
    }
    thread_.load.fetch_add(1, std::memory_order_relaxed);
}

session::~session() {
    ZLINK_DEBUG_ASSERT(state_ == session_state::closed);
}

void session::become_resident() {
    thread_.add_tenant(*this);
    intrusive_ptr_add_ref(this); // Until finish(): it may wait for nothing.
}

/// Runs `action`; memory that the system refuses costs this one connection.
template<class Action>
void session::guarded(Action&& action) noexcept {
    const boost::intrusive_ptr<session> keep{this};
    try {
        action();
    } catch (const std::bad_alloc&) {
        if (state_ == session_state::connecting) {
            patiently([this] { dial_later(errc::no_memory); });
        } else {
            lost(errc::no_memory);
        }
    }
}

void session::advance(session_state next) noexcept {
    ZLINK_ASSERT(state_ != session_state::closed);
    state_ = next;
}

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
    handshake_ = std::make_unique<handshake>(options());
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
        return after_step(
            step_handshake([&](auto& out) { return handshake_->on_no_zap_handler(out); }), {});
    }
    after_step({}, {}); // The peer may go on, or go, meanwhile.
    if (state_ != session_state::handshake) {
        return;
    }
    const std::string address = transport::peer_host(stream_->peer());
    request.address = address;
    zap_.reset(new zap_client(std::move(to_handler), *this));
    zap_->ask(request);
}

void session::on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept {
    const std::unique_ptr<zap_client> done = std::move(zap_);
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
    const std::unique_ptr<handshake> agreed = std::move(handshake_); // None with a raw peer.
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
void session::adopt_terms(handshake& agreed) {
    const std::unique_ptr<curve_ciphers> ciphers = agreed.take_ciphers();
    const bool is_v1 = agreed.version() == zmtp::peer_version::v1;
    const bool subscribes_by_message = speaks_subscriptions() && !agreed.has_subscribe_command();
    using framing = translation::framing;
    const framing frames = speaks_zws() ? (dialing_ ? framing::masked_zws : framing::zws)
                           : is_v1      ? framing::v1
                                        : framing::zmtp;
    if (ciphers || subscribes_by_message || frames != framing::zmtp || end_->in.conflates()) {
        translation_ = std::make_unique<translation>(
            translation::needs{.sealer = ciphers ? &ciphers->sealer : nullptr,
                               .subscriptions_as_messages = subscribes_by_message,
                               .frames = frames});
    }
    std::unique_ptr<input> opener;
    if (ciphers) {
        opener = std::make_unique<curve_input>(ciphers->opener, body_bytes_max_of(options()));
    }
    if (speaks_zws()) {
        zws().pass_through(std::move(opener));
    } else if (is_v1) {
        input_ = std::make_unique<v1_input>();
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
    input_ = std::make_unique<raw_input>();
    raw_output_ = std::make_unique<raw_output>();
    announce_peer(std::unique_ptr<pipe::peer_info>(new pipe::peer_info));
}

/// What the socket receives of a new peer before all that it sends: the news that a raw peer is
/// there, an empty message; the subscription to everything of a peer that sends none.
std::span<const std::byte> session::first_frame(const handshake* agreed) const noexcept {
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
        conflation_ = std::make_unique<conflation>();
    }
    if (is_framed()) {
        const std::uint64_t body_bytes_max = body_bytes_max_of(options());
        std::unique_ptr<scanner> frames;
        if (speaks_websocket()) {
            using wire::websocket::sender;
            frames = std::make_unique<websocket_scanner>(
                dialing_ ? sender::server : sender::client,
                std::min(body_bytes_max, wire::websocket::payload_bytes_limit),
                static_cast<websocket_sink&>(*this), peers_deflation());
        } else {
            frames = std::make_unique<length_scanner>(
                std::min(body_bytes_max, wire::length::body_bytes_limit));
        }
        inbound_.emplace(end_->out, static_cast<command_sink&>(*this), std::move(frames));
        return;
    }
    inbound_.emplace(conflation_ ? conflation_->queue() : end_->out, body_bytes_max_of(options()),
                     static_cast<command_sink&>(*this), unfinished_bytes_max_of(options()));
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
    if (const std::string host = transport::peer_host(address); !host.empty()) {
        peer->properties.add(pipe::peer_address_property, host);
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

// Reading.

void session::on_readable() noexcept {
    guarded([this] {
        if (state_ == session_state::opening) {
            open_stream();
        } else if (state_ == session_state::handshake || state_ == session_state::upgrade) {
            read_handshake();
        } else if (state_ == session_state::traffic) {
            read_messages();
        }
    });
}

void session::read_messages() {
    if (farewell_ && farewell_->is_seen_off) {
        return see_off();
    }
    if (has_told_socket()) {
        return await_end();
    }
    std::size_t turn_bytes = 0;
    while (!is_leaving() && !inbound_->is_blocked()) {
        if (turn_bytes >= limits::turn_bytes_max) {
            thread_.post([self = boost::intrusive_ptr<session>(this)] { self->on_readable(); });
            return;
        }
        iovec parts[2];
        const std::size_t count = input_ ? input_->prepare(thread_.scratch(), parts)
                                         : inbound_->prepare(thread_.scratch(), parts);
        wake_reader(); // Now: there may be nothing to read.
        const std::size_t offered = parts[0].iov_len + (count > 1 ? parts[1].iov_len : 0);
        const io_outcome outcome = stream_->try_read({parts, count});
        if (outcome.what == io_outcome::status::would_block) {
            return stream_->wait_readable(*this);
        }
        if (outcome.what != io_outcome::status::moved) {
            return lost(static_cast<errc>(outcome.error));
        }
        if (heartbeat_) {
            heartbeat_->on_heard();
        }
        turn_bytes += outcome.bytes;
        thread_.count_moved(outcome.bytes);
        const result<void> taken =
            input_ ? input_->received(outcome.bytes, *inbound_) : inbound_->received(outcome.bytes);
        deliver_inbound();
        if (!taken) {
            return break_off(taken.error());
        }
        if (outcome.bytes < offered && !inbound_->is_blocked()) {
            return stream_->wait_readable(*this);
        }
    }
    if (!is_leaving()) {
        tire_inbound();
    }
}

/// Gives the socket the wake-up that inbound_ owes it: between them, conflation_ does so itself.
void session::wake_reader() noexcept {
    if (!conflation_ && inbound_->take_wake()) {
        end_->other().deliver(pipe::event::readable);
    }
}

void session::deliver_inbound() {
    if (conflation_) {
        conflation_->deliver(*end_);
    }
    wake_reader();
    keep_warm(in_warmth_);
    if (shortcut_is_open_) { // What was sent meanwhile was not seen here.
        keep_warm(out_warmth_);
    }
}

session::verdict session::on_command(std::span<const std::byte> body) noexcept {
    const result<zmtp::command_view> command = zmtp::decode_command(body);
    if (!command) {
        return verdict::fail;
    }
    if (command->name == zmtp::ping_name && !speaks_websocket()) {
        const result<zmtp::ping_view> ping = zmtp::decode_ping(command->data);
        if (!ping) {
            return verdict::fail;
        }
        try {
            on_ping(*ping);
        } catch (const std::bad_alloc&) {
            return verdict::fail;
        }
        return verdict::drop;
    }
    if (command->name == zmtp::ping_name || command->name == zmtp::pong_name) {
        return verdict::drop;
    }
    if (command->name == zmtp::error_name) {
        return verdict::fail;
    }
    const bool is_subscription =
        command->name == zmtp::subscribe_name || command->name == zmtp::cancel_name;
    return takes_subscriptions() && is_subscription ? verdict::keep : verdict::drop;
}

// Heartbeats.

void session::start_heartbeat() {
    heartbeat_.reset(new heartbeat(thread_.context(), *this, options()));
    heartbeat_->start();
}

void session::stop_heartbeat() noexcept {
    if (heartbeat_) {
        heartbeat_->stop();
        heartbeat_.reset();
    }
}

void session::on_ping(const zmtp::ping_view& ping) {
    std::array<std::byte, zmtp::heartbeat_body_bytes_max> pong;
    send_command(std::span{pong}.first(zmtp::encode_pong(pong, ping.context)));
    if (!heartbeat_ && ping.ttl.count() > 0) {
        start_heartbeat();
    }
    if (heartbeat_) {
        heartbeat_->on_ping(ping.ttl);
    }
}

void session::send_ping(zmtp::heartbeat_ttl ttl) noexcept {
    guarded([&] {
        if (speaks_websocket()) {
            return on_ping_due();
        }
        std::array<std::byte, zmtp::heartbeat_body_bytes_max> ping;
        send_command(std::span{ping}.first(zmtp::encode_ping(ping, ttl, {})));
    });
}

bool session::is_listening() const noexcept {
    return !is_leaving() && !inbound_->is_blocked();
}

void session::on_silence() noexcept {
    lost(static_cast<errc>(ETIMEDOUT));
}

/// Sends a command of our own, soon, unless too many wait already.
/// @param body  At most 255 octets.
void session::send_command(std::span<const std::byte> body) {
    if (translation_ && translation_->seals_commands()) {
        if (translation_->command_bytes() < limits::unread_answers_bytes_max) {
            translation_->append_command(body);
        }
    } else if (prefix_.size() < limits::unread_answers_bytes_max) {
        prefix_.push_back(std::byte{zmtp::flag_command});
        prefix_.push_back(static_cast<std::byte>(body.size()));
        prefix_.insert(prefix_.end(), body.begin(), body.end());
    }
    thread_.post([self = boost::intrusive_ptr<session>(this)] { self->on_writable(); });
}

// Writing.

void session::on_writable() noexcept {
    guarded([this] { write_some(); });
}

void session::write_some() {
    if (!stream_ || !is_writable_) {
        return;
    }
    std::size_t turns = 0;
    while (write_prefix() && state_ == session_state::traffic) {
        if (is_done_writing()) {
            return on_done_writing();
        }
        if (!write_translated()) {
            return;
        }
        if (translation_ && !prefix_.empty()) {
            continue; // It waited for the end of what was begun, and nothing is any more.
        }
        if (!write_rope()) {
            return;
        }
        if (++turns * limits::gather_bytes_max >= limits::turn_bytes_max) {
            thread_.post([self = boost::intrusive_ptr<session>(this)] { self->on_writable(); });
            return;
        }
    }
}

/// @return Whether the rope may be written: nothing of ours precedes it.
bool session::write_prefix() {
    if (prefix_.empty()) {
        return true;
    }
    close_shortcut();
    // What was begun, a frame or the prefix itself, is finished first.
    const bool inside_frame = (translation_ && translation_->is_begun()) ||
                              (state_ == session_state::traffic && outbound_->frame_rest() != 0) ||
                              (shortcut() != nullptr && shortcut()->has_begun());
    if (prefix_sent_bytes_ == 0 && inside_frame) {
        return true;
    }
    const iovec part{prefix_.data() + prefix_sent_bytes_, prefix_.size() - prefix_sent_bytes_};
    const io_outcome outcome = stream_->try_write({&part, 1});
    if (outcome.what == io_outcome::status::failed) {
        on_write_failed(outcome.error);
        return false;
    }
    prefix_sent_bytes_ += static_cast<std::uint32_t>(outcome.bytes);
    if (prefix_sent_bytes_ < prefix_.size()) {
        stream_->wait_writable(*this);
        return false;
    }
    drop_prefix();
    return true;
}

void session::drop_prefix() noexcept {
    wipe(prefix_); // There may be a password in it.
    std::vector<std::byte>{}.swap(prefix_);
    prefix_sent_bytes_ = 0;
}

/// @return Whether to go on.
bool session::write_rope() {
    if (out_rest_ == wakefulness::asleep && !rouse_outbound()) {
        finish_if_drained();
        return false;
    }
    if (awaits_subscriptions_ && !skip_stale_subscriptions()) {
        tire_outbound();
        return false;
    }
    if (translation_) {
        translation_->fill(*outbound_);
        return !translation_->is_empty() || write_after_rope();
    }
    std::array<iovec, limits::gather_count_max> parts;
    const std::size_t count =
        raw_output_ ? raw_output_->gather(*outbound_, parts) : outbound_->gather(parts);
    if (count == 0) {
        return write_after_rope();
    }
    if (outbound_->lend_credit()) {
        wake_writer();
    }
    if (!prefix_.empty()) {
        // Only to the end of the frame: then the prefix has its turn.
        std::uint64_t rest = outbound_->frame_rest();
        for (std::size_t index = 0; index < count; ++index) {
            parts[index].iov_len = std::min<std::uint64_t>(parts[index].iov_len, rest);
            rest -= parts[index].iov_len;
        }
    }
    const io_outcome outcome = stream_->try_write({parts.data(), count});
    if (outcome.what == io_outcome::status::would_block) {
        stream_->wait_writable(*this);
        return false;
    }
    if (outcome.what == io_outcome::status::failed) {
        on_write_failed(outcome.error);
        return false;
    }
    thread_.count_moved(outcome.bytes);
    keep_warm(out_warmth_);
    if (raw_output_ ? raw_output_->advance(*outbound_, outcome.bytes)
                    : outbound_->advance(outcome.bytes)) {
        wake_writer();
    }
    return true;
}

/// There is no frame to write: at the end of the rope, or before a control object.
/// @return Whether to go on.
bool session::write_after_rope() {
    if (!outbound_->is_empty()) {
        skip_stale_subscriptions();
        return true;
    }
    tire_outbound();
    finish_if_drained();
    return false;
}

/// @return Whether the rope may be written: nothing translated precedes it.
bool session::write_translated() {
    if (!translation_ || translation_->is_empty()) {
        return true;
    }
    const auto octets = translation_->unsent();
    const iovec part{const_cast<std::byte*>(octets.data()), octets.size()};
    const io_outcome outcome = stream_->try_write({&part, 1});
    if (outcome.what == io_outcome::status::failed) {
        on_write_failed(outcome.error);
        return false;
    }
    thread_.count_moved(outcome.bytes);
    keep_warm(out_warmth_);
    if (const std::uint64_t done = translation_->on_sent(outcome.bytes);
        done != 0 && outbound_->advance(done)) {
        wake_writer();
    }
    if (!translation_->is_empty()) {
        stream_->wait_writable(*this);
        return false;
    }
    return true;
}

/// Leaves it to reading to find out why, and what else the peer has sent. Without a socket nobody
/// reads.
void session::on_write_failed(int error) {
    is_writable_ = false;
    const auto reason = static_cast<errc>(error);
    if (phase_ != phase::open || is_shortage(reason)) { // Reading would not tell of a shortage.
        lost(reason);
    }
}

/// Takes the socket's restart mark out of the rope, and what precedes it where that is stale.
/// @return Whether the mark was there.
bool session::skip_stale_subscriptions() {
    if (awaits_subscriptions_ && outbound_->discard()) {
        wake_writer();
    }
    bool wake = false;
    pipe::block* const mark = outbound_->take_control(wake);
    if (wake) {
        wake_writer();
    }
    if (mark == nullptr) {
        return false;
    }
    const std::unique_ptr<pipe::block, void (*)(pipe::block*)> held{
        mark, [](pipe::block* taken) { taken->drop(); }};
    if (is_framed()) {
        part(static_cast<const pipe::close_request&>(*mark));
    }
    awaits_subscriptions_ = false;
    return true;
}

/// Takes the mark of sleep back, if there is something to write. While it stands the memory of the
/// rope is the socket's to give back.
/// @return Whether that was so; if not, there is nothing to do, or a letter will come.
bool session::rouse_outbound() noexcept {
    if (!outbound_->has_work() || !end_->in.unmark_reader()) {
        return false;
    }
    wake_outbound();
    return true;
}

void session::wake_outbound() noexcept {
    out_rest_ = wakefulness::awake;
    outbound_->on_woken();
    if (shortcut() == nullptr) {
        return;
    }
    if (const std::size_t begun = shortcut()->take_begun(); begun != 0) {
        std::array<iovec, limits::gather_count_max> parts;
        outbound_->gather(parts);
        if (outbound_->advance(begun)) {
            wake_writer();
        }
    }
}

/// Lets the socket write while this session sleeps, if it would do no more than that.
void session::open_shortcut() noexcept {
    if (shortcut() != nullptr && !shortcut_is_open_ && state_ == session_state::traffic &&
        stream_->is_plain() && !translation_ && prefix_.empty()) {
        shortcut()->open(stream_->descriptor());
        shortcut_is_open_ = true;
    }
}

/// Before the stream is closed. What was begun is sent from its start to whom comes next.
void session::abandon_shortcut() noexcept {
    close_shortcut();
    if (shortcut() != nullptr) {
        shortcut()->take_begun();
    }
}

void session::close_shortcut() noexcept {
    if (std::exchange(shortcut_is_open_, false)) {
        shortcut()->close();
    }
}

void session::wake_writer() noexcept {
    end_->other().deliver(pipe::event::writable);
}

void session::tire_outbound() {
    if (outbound_->return_credit()) {
        wake_writer();
    }
    if (out_rest_ == wakefulness::awake) {
        out_rest_ = wakefulness::tired;
        thread_.settle_later(*this);
    }
}

void session::tire_inbound() {
    if (in_rest_ == wakefulness::awake) {
        in_rest_ = wakefulness::tired;
        thread_.settle_later(*this);
    }
}

bool session::has_news() noexcept {
    return (out_rest_ == wakefulness::tired && outbound_->has_work()) ||
           (end_ && in_rest_ == wakefulness::tired && end_->out.has_credit());
}

session::sleep_mark session::on_turn_over() noexcept {
    const boost::intrusive_ptr<session> keep{this}; // It may end here, and is asked afterwards.
    bool needs_fence = false;
    guarded([&] {
        if (out_rest_ == wakefulness::tired) {
            if (outbound_->has_work()) {
                out_rest_ = wakefulness::awake;
                write_some();
            } else {
                open_shortcut();
                needs_fence |= end_->in.mark_reader_asleep();
                out_rest_ = wakefulness::asleep;
            }
        }
        if (end_ && in_rest_ == wakefulness::tired) {
            if (end_->out.credit() != 0) {
                resume_inbound();
            } else {
                needs_fence |= end_->out.mark_writer_asleep();
                in_rest_ = wakefulness::asleep;
            }
        }
    });
    if (out_rest_ != wakefulness::asleep && in_rest_ != wakefulness::asleep) {
        return sleep_mark::none;
    }
    return needs_fence ? sleep_mark::behind_fence : sleep_mark::counts;
}

void session::on_settled() noexcept {
    guarded([this] {
        if (out_rest_ == wakefulness::asleep && rouse_outbound()) {
            write_some();
        }
        if (end_ && in_rest_ == wakefulness::asleep && end_->out.credit() != 0 &&
            end_->out.unmark_writer()) {
            resume_inbound();
        }
    });
}

/// Takes what was received before there was credit for it.
result<void> session::scan_inbound() {
    const result<void> scanned = inbound_->scan();
    return scanned && input_ ? input_->resume(*inbound_) : scanned;
}

void session::resume_inbound() {
    in_rest_ = wakefulness::awake;
    if (state_ != session_state::traffic) {
        return;
    }
    const result<void> scanned = scan_inbound();
    deliver_inbound();
    if (!scanned) {
        return break_off(scanned.error());
    }
    // Before waiting for readiness: what the kernel holds already tells nobody.
    read_messages();
}

// The socket's side.

void session::on_events(std::uint32_t happened) noexcept {
    if (!is_resident()) {
        return; // Not started yet, or over: dial() looks whether the socket is gone.
    }
    guarded([&] {
        if ((happened & pipe::event::readable) != 0) {
            wake_outbound();
            write_some();
        }
        if ((happened & pipe::event::writable) != 0 && end_) {
            resume_inbound();
        }
        constexpr std::uint32_t let_go = pipe::event::dismissed | pipe::event::closed;
        if ((happened & let_go) != 0 && !end_) {
            return finish(); // The connection went in between, with the pipe.
        }
        if ((happened & pipe::event::dismissed) != 0) {
            on_dismissed();
        }
        if ((happened & pipe::event::closed) != 0) {
            on_socket_closed();
        }
    });
}

void session::on_dismissed() {
    if (state_ != session_state::closed && phase_ == phase::open) {
        phase_ = phase::dismissed;
        finish_once_drained();
    }
}

void session::on_socket_closed() {
    if (state_ == session_state::closed || phase_ == phase::closing) {
        return;
    }
    phase_ = phase::closing;
    if (farewell_ && farewell_->is_answered && !keeps_unsent()) {
        write_prefix();  // Our answer, as far as the kernel takes it: who has said that it goes
        return finish(); // reads nothing else (RFC 6455, 5.5.1).
    }
    const auto linger = end_->whole().linger;
    if (linger && *linger <= 0ms) {
        go_away();
        if (is_framed() && state_ == session_state::traffic && stream_) {
            stream_->end_writing();
            discard_arrived(); // It would have the connection reset.
        }
        return finish();
    }
    if (linger) {
        start_timer(linger_timer_, *linger, &session::on_linger_over);
    }
    finish_once_drained();
    if (state_ != session_state::closed) {
        tell_lingering();
    }
}

/// Where the peer is; where we are if its end has no name, as with ipc.
std::string session::peer_endpoint() const {
    if (dialing_) {
        return origin_->target;
    }
    const transport::socket_address peer = stream_->peer();
    return transport::peer_host(peer).empty()
               ? transport::local_endpoint_text(stream_->descriptor(), origin_->where)
               : transport::peer_endpoint_text(peer, origin_->where);
}

void session::tell_lingering() noexcept {
    try {
        const auto linger = end_->whole().linger;
        origin_->host->on_lingering(
            *this, {.type = options().type,
                    .endpoint = peer_endpoint(),
                    .whole = pipe::pipe_ptr(&end_->whole()),
                    .until = linger ? pipe::clock::now() + *linger : pipe::deadline{}});
    } catch (const std::bad_alloc&) {
        // It lingers all the same, unseen.
    }
}

void session::finish_once_drained() {
    if (stream_ && !is_writable_) {
        return on_write_failed(EPIPE);
    }
    finish_if_drained();
}

void session::on_linger_over() noexcept {
    finish();
}

bool session::has_unsent() const noexcept {
    if (!prefix_.empty()) {
        return true;
    }
    const bool may_follow = !farewell_ || keeps_unsent(); // Behind a farewell none does.
    return may_follow && (!outbound_->is_empty() || (translation_ && !translation_->is_empty()));
}

void session::finish_if_drained() {
    if (phase_ == phase::open || phase_ == phase::parting) {
        return;
    }
    if (out_rest_ == wakefulness::asleep) {
        rouse_outbound(); // To see what was written past us.
    }
    if (has_unsent() && !awaits_subscriptions_) {
        return;
    }
    if (speaks_websocket()) {
        go_away();
        if (!prefix_.empty()) {
            return;
        }
    }
    if (stream_ && stream_->holds_unsent()) {
        return stream_->wait_writable(*this);
    }
    if (is_framed() && state_ == session_state::traffic) {
        return see_off();
    }
    finish();
}

void session::on_origin_gone(std::uint64_t origin_id) noexcept {
    if (origin_->id != origin_id || state_ == session_state::closed) {
        return;
    }
    origin_is_gone_ = true;
    if (!end_ || has_told_socket()) {
        finish();
    }
}

void session::keep_warm(warmth& direction) {
    const bool is_swept = in_warmth_ != warmth::cold || out_warmth_ != warmth::cold;
    if (!is_swept) {
        thread_.sweep_later(*this);
    }
    direction = warmth::hot;
}

bool session::on_sweep() noexcept {
    const auto has_cooled = [](warmth& direction) {
        const bool was_hot = direction == warmth::hot;
        return std::exchange(direction, was_hot ? warmth::warm : warmth::cold) == warmth::warm;
    };
    if (has_cooled(in_warmth_) && inbound_->is_idle()) {
        end_->trim();
        if (conflation_) {
            conflation_->trim();
        }
        if (input_) {
            input_->trim();
        }
    }
    if (out_warmth_ == warmth::warm && translation_) {
        translation_->trim();
    }
    // Going out, the memory is the socket's.
    if (has_cooled(out_warmth_) && out_rest_ == wakefulness::asleep) {
        end_->other().deliver(pipe::event::idle);
    }
    return in_warmth_ != warmth::cold || out_warmth_ != warmth::cold;
}

// Endings.

/// @param value  As connection_event says.
void session::tell(connection_event what, std::int32_t value) const noexcept {
    if (!origin_->observer || !origin_->observer->watches(what)) {
        return;
    }
    if (dialing_) {
        return origin_->observer->on_connection_event(what, value, origin_->target);
    }
    try {
        const std::string own =
            transport::local_endpoint_text(stream_->descriptor(), origin_->where);
        origin_->observer->on_connection_event(what, value, own);
    } catch (const std::bad_alloc&) {
        // An event is lost, as where nobody reads them.
    }
}

/// @param reason  As lost().
void session::tell_failed_handshake(errc reason) const noexcept {
    if (speaks_zws() && upgrade_ && !handshake_ && is_refusal(reason)) {
        const handshake_failure refused = failure_of(protocol_fault::websocket_unspecified);
        return tell(refused.what, refused.value);
    }
    if (!handshake_) {
        return tell(connection_event::handshake_failed_no_detail, static_cast<int>(reason));
    }
    if (const auto failure = handshake_->failure(reason)) {
        tell(failure->what, failure->value);
    }
}

void session::lost(errc reason) noexcept {
    if (state_ == session_state::closed || state_ == session_state::connecting) {
        return;
    }
    if ((state_ == session_state::opening && stream_) || state_ == session_state::upgrade ||
        (state_ == session_state::handshake && handshake_)) {
        tell_failed_handshake(reason);
    }
    const bool is_asked_for = farewell_ && farewell_->is_asked_for;
    const bool has_told = has_told_socket();
    if (farewell_) {
        timer_.stop();
    }
    if (phase_ == phase::parting) {
        phase_ = phase::open; // Of the next connection, if there is one.
    }
    zap_.reset();
    upgrade_.reset();
    abandon_shortcut();
    if (stream_) {
        tell(connection_event::disconnected, stream_->descriptor());
        stream_->close();
        stream_.reset();
    }
    handshake_.reset();
    stop_heartbeat();
    drop_prefix();
    if (state_ == session_state::traffic) {
        take_leave_of_socket(reason);
    }
    farewell_.reset();
    if (translation_) {
        if (const std::uint64_t done = translation_->abandon();
            done != 0 && outbound_->advance(done)) {
            wake_writer();
        }
        translation_.reset();
    }
    input_.reset();
    raw_output_.reset();
    const bool was_in_traffic = state_ == session_state::traffic;
    // Who was refused would be refused again, as in libzmq.
    if (!dialing_ || reason == errc::permission_denied || phase_ == phase::dismissed ||
        is_asked_for || (is_framed() && phase_ != phase::open) ||
        stops_after(was_in_traffic ? reconnect_stop::after_disconnect
                                   : reconnect_stop::handshake_failed)) {
        return finish();
    }
    if (end_ && phase_ == phase::open && options().has_pipe_per_connection()) {
        if ((end_->peer_is_closed() && !has_told) || origin_is_gone_) {
            return finish(); // Without the pipe nobody would tell us.
        }
        settle_accounts();
        end_.reset();
        dialing_->announced.reset();
        inbound_.reset();
        outbound_.reset();
        in_rest_ = out_rest_ = wakefulness::awake;
        thread_.forget(*this);
        in_warmth_ = out_warmth_ = warmth::cold;
    }
    if (end_) {
        inbound_->reset();
        outbound_->rewind();
        awaits_subscriptions_ = awaits_subscriptions_ || (was_in_traffic && speaks_subscriptions());
    }
    advance(session_state::connecting);
    try {
        dial_later(reason);
        if (end_) {
            if (end_->is_dismissed()) {
                phase_ = phase::dismissed; // Which was no matter while it parted.
            }
            finish_if_drained();
        }
    } catch (const std::bad_alloc&) {
        finish();
    }
}

void session::finish() noexcept {
    if (state_ == session_state::closed) {
        return;
    }
    const boost::intrusive_ptr<session> keep{this};
    advance(session_state::closed);
    if (phase_ == phase::closing) {
        origin_->host->on_lingered(*this);
    }
    zap_.reset();
    if (dialing_) {
        dialing_->dialer->stop();
    }
    timer_.stop();
    linger_timer_.stop();
    stop_heartbeat();
    abandon_shortcut();
    if (stream_) {
        stream_->close();
        stream_.reset();
    }
    if (inbound_) {
        inbound_->reset();
    }
    settle_accounts();
    end_.reset();
    thread_.remove_tenant(*this);
    intrusive_ptr_release(this);
    thread_.load.fetch_sub(1, std::memory_order_relaxed);
    origin_->host->on_session_gone();
}

/// What is left of the queue then is what the socket counts as dropped.
void session::settle_accounts() noexcept {
    if (outbound_ && (out_rest_ != wakefulness::asleep || rouse_outbound())) {
        static_cast<void>(outbound_->settle_accounts());
    }
}

void session::start_timer(runtime::one_shot& timer, std::chrono::milliseconds after,
                          void (session::*expired)() noexcept) {
    timer.start(thread_.context(), after, boost::intrusive_ptr<session>(this), expired);
}

} // namespace zlink::session
