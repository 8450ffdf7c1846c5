// SPDX-License-Identifier: MPL-2.0
#include "session/writer.hpp"

#include "base/assert.hpp"
#include "base/blocked_signals.hpp"
#include "base/limits.hpp"
#include "base/secret.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace zlink::session {

using transport::io_outcome;

void writer::append_command(std::span<const std::byte> body) {
    if (encoder_ && encoder_->takes_commands()) {
        return encoder_->append_command(body);
    }
    if (own_.size() < limits::unread_answers_bytes_max) {
        own_.push_back(std::byte{wire::zmtp::flag_command});
        own_.push_back(static_cast<std::byte>(body.size()));
        own_.insert(own_.end(), body.begin(), body.end());
    }
}

void writer::append_message(std::span<const std::byte> body) {
    if (encoder_) {
        return encoder_->append_message(body);
    }
    std::array<std::byte, wire::zmtp::header_bytes_max> header;
    const std::size_t header_bytes = wire::zmtp::write_header(header.data(), body.size(), 0);
    own_.insert(own_.end(), header.begin(), header.begin() + header_bytes);
    own_.insert(own_.end(), body.begin(), body.end());
}

writer::outcome writer::write(const wiring& on, bool is_last_word) {
    if (!is_writable_) {
        return outcome::waits;
    }
    for (std::size_t turns = 1;; ++turns) {
        if (const outcome own = write_own(on); own != outcome::drained) {
            return own;
        }
        if (on.rope == nullptr) {
            return outcome::waits;
        }
        if (is_last_word && own_.empty()) {
            return outcome::own_bytes_written;
        }
        if (const auto end = write_frames(on)) {
            return *end;
        }
        if (turns * tuning::gather_bytes_max >= limits::turn_bytes_max) {
            return outcome::turn_over;
        }
    }
}

void writer::append_file(files::file_region region) {
    ZLINK_DEBUG_ASSERT(!file_ && region.bytes != 0);
    auto added = std::make_unique<outgoing_file>();
    added->rest = std::move(region);
    added->head = std::exchange(own_, {});
    added->head_sent_bytes = std::exchange(own_sent_bytes_, 0);
    file_ = std::move(added);
}

/// A part of the file, so that other connections have their turn.
writer::outcome writer::write_file(const wiring& on) {
    outgoing_file& file = *file_;
    std::optional<withheld_pipe_signal> withheld; // I/O threads have blocked it.
    if (on.thread.is_driven()) {
        withheld.emplace();
    }
    for (std::uint64_t turn_bytes = tuning::file_turn_bytes_max; turn_bytes != 0;) {
        const auto head = std::span{file.head}.subspan(file.head_sent_bytes);
        files::file_region part = file.rest;
        part.bytes = std::min(part.bytes, turn_bytes);
        const io_outcome moved = on.stream.try_write_file(head, part, on.thread.scratch());
        if (moved.what == io_outcome::status::failed) {
            const bool may_read =
                moved.error == EAGAIN && file.disk_attempts++ < limits::disk_attempts_max;
            awaited_disk_ |= may_read;
            return may_read ? outcome::awaits_disk : fails_with(moved.error);
        }
        if (moved.bytes == 0) {
            return await_room(on);
        }
        on.thread.count_moved(moved.bytes);
        has_answered_ = true;
        file.disk_attempts = 0;
        const std::size_t head_bytes = std::min(moved.bytes, head.size());
        const std::size_t file_bytes = moved.bytes - head_bytes;
        file.head_sent_bytes += head_bytes;
        file.rest.offset += file_bytes;
        file.rest.bytes -= file_bytes;
        if (file.rest.bytes == 0) {
            file_.reset();
            return outcome::drained;
        }
        if (file_bytes < part.bytes && on.stream.is_plain()) {
            return await_room(on); // Other streams may take less than there is room for.
        }
        turn_bytes -= file_bytes;
    }
    return outcome::turn_over;
}

writer::outcome writer::write_own(const wiring& on) {
    if (file_) {
        if (const outcome came_to = write_file(on); came_to != outcome::drained) {
            return came_to;
        }
    }
    if (own_.empty()) {
        return outcome::drained;
    }
    close_direct(on);
    // A partly written frame, or these bytes themselves, must be completed first.
    if (own_sent_bytes_ == 0 && is_inside_frame(on)) {
        return outcome::drained;
    }
    const iovec part{own_.data() + own_sent_bytes_, own_.size() - own_sent_bytes_};
    const io_outcome moved = on.stream.try_write({&part, 1});
    if (moved.what == io_outcome::status::failed) {
        return fails_with(moved.error);
    }
    own_sent_bytes_ += static_cast<std::uint32_t>(moved.bytes);
    has_answered_ |= moved.bytes != 0;
    if (own_sent_bytes_ < own_.size()) {
        return await_room(on);
    }
    drop_own();
    return outcome::drained;
}

void writer::drop_own() noexcept {
    wipe(own_); // It may contain a password.
    std::vector<std::byte>{}.swap(own_);
    own_sent_bytes_ = 0;
}

/// Only while the inline writer is closed.
bool writer::is_inside_frame(const wiring& on) noexcept {
    return file_ || (encoder_ && encoder_->is_begun()) ||
           (on.rope != nullptr && on.rope->frame_rest() != 0) ||
           (direct(on) != nullptr && direct(on)->has_begun());
}

writer::outcome writer::await_room(const wiring& on) {
    on.stream.wait_writable(on.user);
    return outcome::waits;
}

writer::outcome writer::fails_with(int error) noexcept {
    is_writable_ = false;
    error_ = static_cast<errc>(error);
    return outcome::failed;
}

/// @return Empty: continue.
std::optional<writer::outcome> writer::write_frames(const wiring& on) {
    codec::outbound& rope = *on.rope;
    if (!holds_encoded()) {
        if (rope.is_parked() && !wake(on)) {
            return outcome::drained;
        }
        if (rope.awaits_mark() && !skip_to_mark(on)) {
            park_soon(on);
            return outcome::waits;
        }
    }
    std::array<iovec, tuning::gather_count_max> parts;
    const std::size_t count =
        encoder_ ? encoder_->gather(rope, parts) : rope.gather(parts, unit_bytes(on));
    if (count == 0) {
        return finish_rope(on);
    }
    const std::span gathered = std::span{parts}.first(count);
    return encoder_ ? write_encoded(on, gathered) : write_rope(on, gathered);
}

/// No frame is left to write: at the end of the rope, or before a control object.
std::optional<writer::outcome> writer::finish_rope(const wiring& on) {
    if (on.rope->is_at_control()) {
        return outcome::control;
    }
    if (!on.rope->is_empty()) {
        return {}; // Arrived in the meantime.
    }
    park_soon(on);
    return outcome::drained;
}

std::unique_ptr<pipe::block, void (*)(pipe::block*)>
writer::take_control(const wiring& on) noexcept {
    bool wakes = false;
    pipe::block* const object = on.rope->take_control(wakes);
    if (wakes) {
        wake_socket(on);
    }
    return {object, [](pipe::block* taken) { taken->drop(); }};
}

std::optional<writer::outcome> writer::write_rope(const wiring& on, std::span<iovec> parts) {
    codec::outbound& rope = *on.rope;
    if (rope.lend_credit()) {
        wake_socket(on);
    }
    if (!own_.empty()) {
        // Only to the end of the frame: the connection's own bytes come next.
        std::uint64_t rest = rope.frame_rest();
        for (iovec& part : parts) {
            part.iov_len = std::min<std::uint64_t>(part.iov_len, rest);
            rest -= part.iov_len;
        }
    }
    const io_outcome moved = on.stream.try_write(parts);
    if (moved.what == io_outcome::status::would_block) {
        return await_room(on);
    }
    if (moved.what == io_outcome::status::failed) {
        return fails_with(moved.error);
    }
    count_written(on, moved.bytes);
    has_written_much_ |= is_one_of_many_ && moved.bytes >= tuning::passed_on_bytes_min;
    if (rope.advance(moved.bytes)) {
        wake_socket(on);
    }
    if (rope.has_left_rest()) {
        park_soon(on);
        return outcome::waits; // Lets the socket's thread run. (docs/adr/0023.)
    }
    return {};
}

std::optional<writer::outcome> writer::write_encoded(const wiring& on, std::span<iovec> parts) {
    const io_outcome moved = on.stream.try_write(parts);
    if (moved.what == io_outcome::status::would_block) {
        return await_room(on);
    }
    if (moved.what == io_outcome::status::failed) {
        return fails_with(moved.error);
    }
    count_written(on, moved.bytes);
    if (encoder_->advance(*on.rope, moved.bytes)) {
        wake_socket(on);
    }
    if (!encoder_->is_empty()) {
        return await_room(on);
    }
    return {};
}

void writer::count_written(const wiring& on, std::size_t bytes) {
    on.thread.count_moved(bytes);
    has_moved_ = true;
    has_answered_ = true;
}

/// The stream's unit, to a multiple of which a write may be cut. 0: no cut, since few messages are
/// queued, or nothing could be added to the remainder.
std::size_t writer::unit_bytes(const wiring& on) const noexcept {
    const bool may_leave = own_.empty() && !on.thread.is_driven() && on.rope->has_many();
    return may_leave ? on.stream.unit_bytes() : 0;
}

/// Removes the socket's restart mark from the rope, and the stale messages before it.
/// @return Whether the mark was there.
bool writer::skip_to_mark(const wiring& on) {
    if (on.rope->discard()) {
        wake_socket(on);
    }
    return on.rope->is_at_control() && take_control(on) != nullptr;
}

bool writer::abandon(const wiring& on) noexcept {
    close_direct(on);
    bool is_cut_off = false;
    if (direct(on) != nullptr && direct(on)->take_begun() != 0) {
        on_woken(on); // As the pending event will.
        is_cut_off = true;
    }
    drop_own();
    file_.reset();
    if (encoder_ && on.rope != nullptr) {
        bool wakes = false;
        is_cut_off = encoder_->abandon(*on.rope, wakes) || is_cut_off;
        if (wakes) {
            wake_socket(on);
        }
    }
    return is_cut_off;
}

// Parking.

void writer::park_soon(const wiring& on) {
    if (on.rope->return_credit()) {
        wake_socket(on);
    }
    if (!on.rope->is_parked() && !parks_soon_) {
        parks_soon_ = true;
        on.thread.settle_later(on.handler);
    }
}

bool writer::park(const wiring& on, bool& needs_fence) {
    if (!parks_soon_) {
        return false;
    }
    parks_soon_ = false;
    if (on.rope->has_work()) {
        return true;
    }
    open_direct(on);
    needs_fence |= on.rope->park();
    return false;
}

void writer::on_woken(const wiring& on) noexcept {
    parks_soon_ = false;
    on.rope->on_woken();
    if (direct(on) == nullptr) {
        return;
    }
    if (const std::size_t begun = direct(on)->take_begun(); begun != 0) {
        std::array<iovec, tuning::gather_count_max> parts;
        on.rope->gather(parts);
        if (on.rope->advance(begun)) {
            wake_socket(on);
        }
    }
}

bool writer::wake(const wiring& on) noexcept {
    if (!on.rope->unpark()) {
        return false;
    }
    on_woken(on);
    return true;
}

/// Lets the sender's thread write while this is parked, if a write needs nothing else.
void writer::open_direct(const wiring& on) noexcept {
    if (direct(on) != nullptr && !direct_is_open_ && on.stream.is_plain() && !encoder_ &&
        own_.empty()) {
        direct(on)->open(on.stream.descriptor());
        direct_is_open_ = true;
    }
}

void writer::close_direct(const wiring& on) noexcept {
    if (direct_is_open_) {
        direct_is_open_ = false;
        direct(on)->close();
    }
}

} // namespace zlink::session
