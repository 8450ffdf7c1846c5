// SPDX-License-Identifier: MPL-2.0
//
// Messages in both directions, once the handshake is done.
#include "session/session.hpp"

#include "base/limits.hpp"
#include "base/prefetch.hpp"
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

namespace zlink::session {

using transport::io_outcome;
namespace zmtp = wire::zmtp;

// Reading.

/// First the pipe and who finds the frames; then whoever is at its other end, if that is used on
/// this thread, too.
void session::fetch_ahead(int step) const noexcept {
    if (!end_) {
        return;
    }
    if (step == 0) {
        end_->fetch_ahead();
        if (inbound_) {
            inbound_->fetch_ahead();
        }
    } else if (thread_.is_driven()) {
        prefetch_object(end_->other().owner(), pipe::event_sink::fetched_bytes);
    }
}

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

/// Whether it is the turn of others, since this peer does not take what is sent to it.
bool session::misses_turn() noexcept {
    const bool is_stalled = is_framed() && awaits_room_ && thread_.others_are_ready();
    if (!is_stalled || missed_turns_ == limits::missed_turns_max) {
        missed_turns_ = 0;
        return false;
    }
    ++missed_turns_;
    return true;
}

/// Octets that are read before others have their turn: the application, or those that are ready.
std::size_t session::turn_bytes_max() const noexcept {
    if (!is_framed()) {
        return input_ ? limits::translated_turn_bytes_max : limits::turn_bytes_max;
    }
    return thread_.is_driven() ? limits::driven_bytes_max : limits::stream_turn_bytes_max;
}

/// What the commands and pings since the last call count for, in octets of a turn: a peer may send
/// them as the smallest of frames, and each is work.
std::size_t session::take_control_cost() noexcept {
    return std::exchange(control_count_, 0) * limits::control_frame_bytes;
}

/// A caller that drives has its turn now. Then a peer that is answered goes on: what it sends is in
/// the caches near by, and who is left with a full window sends from then on whenever it is read
/// from here, on this processor instead of its own. So it is read until it is dry, not once.
/// (docs/adr/0012.)
void session::end_turn() {
    const bool goes_on = std::exchange(is_answered_, false) && is_framed() && thread_.is_driven() &&
                         ++turns_in_a_row_ < limits::turns_in_a_row_max;
    if (!goes_on || !stream_->stay_readable(*this)) {
        wait_behind_others();
    }
}

void session::wait_behind_others() {
    turns_in_a_row_ = 0;
    stream_->wait_readable(*this);
}

void session::read_messages() {
    if (farewell_ && farewell_->is_seen_off) {
        return see_off();
    }
    if (has_told_socket()) {
        return await_end();
    }
    if (!is_leaving() && !inbound_->is_blocked() && misses_turn()) {
        return wait_behind_others();
    }
    const std::size_t bytes_max = turn_bytes_max();
    std::size_t turn_bytes = 0;
    while (!is_leaving() && !inbound_->is_blocked()) {
        if (turn_bytes >= bytes_max) {
            return end_turn();
        }
        if (inbound_->is_far_ahead()) {
            thread_.post([self = boost::intrusive_ptr<session>(this)] { self->on_readable(); });
            return;
        }
        std::array<iovec, codec::read_ahead::parts_max> room;
        const std::span two_parts = std::span{room}.first<2>();
        const std::span inbound_parts = is_framed() ? std::span<iovec>{room} : two_parts;
        const std::size_t count =
            input_ ? input_->prepare(thread_.scratch(), two_parts)
                   : inbound_->prepare(thread_.scratch(), inbound_parts, bytes_max - turn_bytes);
        const std::span parts = std::span{room}.first(count);
        wake_reader(); // Now: there may be nothing to read.
        std::size_t offered = 0;
        for (const iovec& part : parts) {
            offered += part.iov_len;
        }
        const io_outcome outcome = stream_->try_read(parts);
        if (outcome.what != io_outcome::status::moved) {
            inbound_->received_nothing();
        }
        if (outcome.what == io_outcome::status::would_block) {
            return wait_behind_others();
        }
        if (outcome.what == io_outcome::status::ended) {
            return on_peer_ended();
        }
        if (outcome.what != io_outcome::status::moved) {
            return lost(static_cast<errc>(outcome.error));
        }
        if (heartbeat_) {
            heartbeat_->on_heard();
        }
        if (is_framed()) {
            thread_.count_received(outcome.bytes);
        } else {
            thread_.count_moved(outcome.bytes);
        }
        const result<void> taken =
            input_ ? input_->received(outcome.bytes, *inbound_) : inbound_->received(outcome.bytes);
        turn_bytes += outcome.bytes + take_control_cost();
        deliver_inbound();
        if (farewell_ && !is_framed()) {
            farewell_->dropped_bytes += outcome.bytes;
            if (farewell_->dropped_bytes > limits::dropped_bytes_max) {
                return lost({});
            }
        }
        if (!taken) {
            return break_off(taken.error());
        }
        if (outcome.bytes < offered && !inbound_->is_blocked()) {
            const bool window_was_full =
                turn_bytes >= limits::full_window_bytes_min && inbound_->is_within_payload();
            return window_was_full ? end_turn() : wait_behind_others();
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
    if (heartbeat_) {
        heartbeat_->on_read_over();
    }
    if (conflation_) {
        conflation_->deliver(*end_);
    }
    wake_reader();
    keep_warm(in_warmth_);
    if (is_framed()) {
        hand_over();
    }
    if (shortcut_is_open_) { // What was sent meanwhile was not seen here.
        keep_warm(out_warmth_);
    }
}

session::verdict session::on_command(std::span<const std::byte> body) noexcept {
    ++control_count_;
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
    return !is_leaving() && !inbound_->is_blocked() && missed_turns_ == 0;
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
    write_soon();
}

// Writing.

/// Writes behind what is under way, once, however often that is asked for until then.
void session::write_soon() noexcept {
    if (!std::exchange(is_write_posted_, true)) {
        thread_.post([self = boost::intrusive_ptr<session>(this)] {
            self->is_write_posted_ = false;
            self->on_writable();
        });
    }
}

void session::on_writable() noexcept {
    guarded([this] { write_some(); });
}

void session::write_some() {
    if (!stream_ || !is_writable_) {
        return;
    }
    awaits_room_ = false;
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
            return write_soon();
        }
    }
}

void session::await_room() {
    awaits_room_ = true;
    stream_->wait_writable(*this);
}

/// Whether the peer has the beginning of a frame, and not its end. While the shortcut is closed.
bool session::is_inside_frame() noexcept {
    return (translation_ && translation_->is_begun()) ||
           (state_ == session_state::traffic && outbound_->frame_rest() != 0) ||
           (shortcut() != nullptr && shortcut()->has_begun());
}

/// @return Whether the rope may be written: nothing of ours precedes it.
bool session::write_prefix() {
    if (prefix_.empty()) {
        return true;
    }
    close_shortcut();
    // What was begun, a frame or the prefix itself, is finished first.
    if (prefix_sent_bytes_ == 0 && is_inside_frame()) {
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
        await_room();
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
    const std::size_t count = raw_output_ ? raw_output_->gather(*outbound_, parts)
                                          : outbound_->gather(parts, unit_bytes());
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
        await_room();
        return false;
    }
    if (outcome.what == io_outcome::status::failed) {
        on_write_failed(outcome.error);
        return false;
    }
    count_written(outcome.bytes);
    has_written_much_ |= outcome.bytes >= limits::passed_on_bytes_min && is_framed();
    if (raw_output_ ? raw_output_->advance(*outbound_, outcome.bytes)
                    : outbound_->advance(outcome.bytes)) {
        wake_writer();
    }
    if (outbound_->has_left_rest()) {
        tire_outbound(); // The socket's thread has its turn. (docs/adr/0019.)
        return false;
    }
    return true;
}

void session::count_written(std::size_t bytes) {
    thread_.count_moved(bytes);
    keep_warm(out_warmth_);
    is_answered_ = true;
}

/// Units to which a write may be cut: the stream's. 0, not at all, where few messages wait, or
/// nobody would add to a rest that is left.
std::size_t session::unit_bytes() const noexcept {
    const bool may_leave = prefix_.empty() && !thread_.is_driven() && outbound_->has_many();
    return may_leave ? stream_->unit_bytes() : 0;
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
    count_written(outcome.bytes);
    if (const std::uint64_t done = translation_->on_sent(outcome.bytes);
        done != 0 && outbound_->advance(done)) {
        wake_writer();
    }
    if (!translation_->is_empty()) {
        await_room();
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
/// @return Whether there was one.
bool session::abandon_shortcut() noexcept {
    close_shortcut();
    if (shortcut() == nullptr || shortcut()->take_begun() == 0) {
        return false;
    }
    wake_outbound(); // As the letter will that is on its way.
    return true;
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

processor_number session::take_application_processor() noexcept {
    if (!end_) {
        return no_processor;
    }
    std::atomic<processor_number>& place = end_->whole().waited_on;
    const processor_number found = place.load(std::memory_order_relaxed);
    if (found != no_processor) {
        place.store(no_processor, std::memory_order_relaxed); // What comes meanwhile comes again.
    }
    return found;
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
                end_->out.mark_writer_asleep();
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
        } else if (thread_.is_driven()) {
            tell_written();
        } else if (out_rest_ == wakefulness::asleep && has_written_much_) {
            hand_over(); // The application may sleep: this does not wake it at once.
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

} // namespace zlink::session
