// SPDX-License-Identifier: MPL-2.0
#include "session/reader.hpp"

#include "base/limits.hpp"

#include <array>
#include <cerrno>
#include <utility>

namespace zlink::session {

using transport::io_outcome;

namespace {

codec::inbound make_inbound(pipe::message_queue& to, reading& how) {
    if (how.frames) {
        return codec::inbound(to, std::move(how.frames));
    }
    return codec::inbound(to, how.body_bytes_max, *how.commands, how.unfinished_bytes_max);
}

} // namespace

reader::reader(pipe::pipe_end& to, reading how)
    : conflation_(to.out.conflates() ? new codec::conflation : nullptr),
      decoder_(std::move(how.decoder)),
      inbound_(make_inbound(conflation_ ? conflation_->queue() : to.out, how)),
      is_one_of_many_(how.is_one_of_many) {}

result<void> reader::begin(std::span<const std::byte> first, std::span<const std::byte> behind) {
    if (const result<void> greeted = inbound_.feed(first); !greeted) {
        return greeted;
    }
    return decoder_ ? decoder_->feed(behind, inbound_) : inbound_.feed(behind);
}

/// The bytes to read before the turn is over, and the application or other ready peers run.
std::size_t reader::turn_bytes_max(const wiring& on) const noexcept {
    if (!is_one_of_many_) {
        return decoder_ ? tuning::translated_turn_bytes_max : limits::turn_bytes_max;
    }
    return on.thread.is_driven() ? tuning::driven_bytes_max : tuning::stream_turn_bytes_max;
}

/// The cost of commands and pings since the last call, in bytes of a turn: a peer may send them as
/// the smallest frames, and each costs work.
std::size_t reader::take_control_cost() noexcept {
    return std::exchange(control_count_, 0) * tuning::control_frame_bytes;
}

/// Under a driving caller the caller runs now. A peer that was answered continues afterwards, until
/// it has nothing more to read: its data is in the caches, and a peer left with a full window would
/// from then on send whenever this thread reads, on this processor instead of its own.
/// (docs/adr/0024.)
void reader::finish_turn(const wiring& on, bool is_answered) {
    const bool goes_on = is_answered && is_one_of_many_ && on.thread.is_driven() &&
                         ++turns_in_a_row_ < tuning::turns_in_a_row_max;
    if (!goes_on || !on.stream.stay_readable(on.user)) {
        wait_behind_others(on);
    }
}

void reader::wait_behind_others(const wiring& on) {
    turns_in_a_row_ = 0;
    on.stream.wait_readable(on.user);
}

reader::turn reader::read(const wiring& on, batch_sink& sink) {
    const std::size_t bytes_max = turn_bytes_max(on);
    std::size_t turn_bytes = 0;
    while (!inbound_.is_blocked()) {
        if (turn_bytes >= bytes_max) {
            return {outcome::turn_over};
        }
        if (inbound_.is_far_ahead()) {
            return {outcome::far_ahead};
        }
        std::array<iovec, 2> room;
        const std::size_t count = decoder_ ? decoder_->prepare(on.thread.scratch(), room)
                                           : inbound_.prepare(on.thread.scratch(), room);
        const std::span parts = std::span{room}.first(count);
        wake_socket(on); // Now: the read may find nothing.
        std::size_t offered = 0;
        for (const iovec& part : parts) {
            offered += part.iov_len;
        }
        const io_outcome moved = on.stream.try_read(parts);
        if (moved.what == io_outcome::status::would_block) {
            wait_behind_others(on);
            return {outcome::waits};
        }
        if (moved.what == io_outcome::status::ended) {
            return {outcome::ended};
        }
        if (moved.what != io_outcome::status::moved) {
            return {outcome::failed, static_cast<errc>(moved.error)};
        }
        if (is_one_of_many_) {
            on.thread.count_received(moved.bytes);
        } else {
            on.thread.count_moved(moved.bytes);
        }
        const result<void> taken =
            decoder_ ? decoder_->received(moved.bytes, inbound_) : inbound_.received(moved.bytes);
        turn_bytes += moved.bytes + take_control_cost();
        deliver(on);
        const bool goes_on = sink.on_batch(moved.bytes);
        if (!taken) {
            return {outcome::refused, taken.error()};
        }
        if (!goes_on) {
            return {outcome::stopped};
        }
        if (moved.bytes < offered && !inbound_.is_blocked()) {
            if (inbound_.is_within_payload() && turn_bytes >= tuning::full_window_bytes_min) {
                return {outcome::turn_over};
            }
            wait_behind_others(on);
            return {outcome::waits};
        }
    }
    return pause(on);
}

/// Only the socket, or the end of the stream, goes on from here. Input that a lost connection
/// leaves behind a full pipe is dropped.
reader::turn reader::pause(const wiring& on) {
    using transport::end_of_input;
    const bool takes_rest = inbound_.takes_rest();
    if (takes_rest && on.stream.end_ahead() == end_of_input::lost && !inbound_.has_room()) {
        return {outcome::failed, static_cast<errc>(ECONNRESET)};
    }
    on.stream.wait_end(on.user, takes_rest ? end_of_input::lost : end_of_input::ended);
    park_soon(on);
    return {outcome::waits};
}

void reader::take_rest(pipe::pipe_end& end) noexcept {
    inbound_.take_rest();
    if (rest_ == rest::parked) {
        static_cast<void>(end.out.unmark_writer()); // A wake-up that is on its way does no harm.
    }
}

result<void> reader::resume() {
    rest_ = rest::none;
    const result<void> scanned = inbound_.scan();
    return scanned && decoder_ ? decoder_->resume(inbound_) : scanned;
}

void reader::deliver(const wiring& on) {
    if (conflation_) {
        conflation_->deliver(*on.end);
    }
    wake_socket(on);
}

/// The wake-up that inbound_ owes the socket; conflation_ delivers its own.
void reader::wake_socket(const wiring& on) noexcept {
    if (!conflation_ && inbound_.take_wake()) {
        on.end->other().deliver(pipe::event::readable);
    }
}

void reader::trim() noexcept {
    if (conflation_) {
        conflation_->trim();
    }
    if (decoder_) {
        decoder_->trim();
    }
}

void reader::park_soon(const wiring& on) {
    if (rest_ == rest::none) {
        rest_ = rest::parks_soon;
        on.thread.settle_later(on.handler);
    }
}

bool reader::park(pipe::pipe_end& end) noexcept {
    if (rest_ != rest::parks_soon) {
        return false;
    }
    if (inbound_.has_room()) {
        return true;
    }
    end.out.mark_writer_parked();
    rest_ = rest::parked;
    return false;
}

bool reader::check_again(pipe::pipe_end& end) noexcept {
    return rest_ == rest::parked && inbound_.has_room() && end.out.unmark_writer();
}

} // namespace zlink::session
