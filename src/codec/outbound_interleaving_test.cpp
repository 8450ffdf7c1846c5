// SPDX-License-Identifier: MPL-2.0
#include "pipe/message_queue.hpp"
#include "testing/exploration.hpp"
#include "testing/queue_exploration.hpp"
#include "wire/zmtp/command.hpp"

#include <doctest/doctest.h>

#include <sys/uio.h>

// A session that writes the messages that a socket sends, in every interleaving, as in
// pipe/interleaving_test.cpp. The class under test is compiled here a second time, under another
// name and for a queue whose atomic operations can be explored.

namespace zlink::pipe {

using explored_queue = testing::explored_queue;

} // namespace zlink::pipe

#define message_queue explored_queue
#define outbound explored_outbound
#include "codec/outbound.cpp"
#undef message_queue
#undef outbound

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace zmtp = zlink::wire::zmtp;
using zlink::codec::explored_outbound;
using zlink::pipe::queue_limits;
using zlink::testing::act;
using zlink::testing::exploration;
using zlink::testing::explored_platform;
using zlink::testing::queue_scenario;
using zlink::testing::script;

namespace {

/// The reader does the same as session.cpp: it writes the available bytes, returns credit and
/// parks.
class sending_session final : public queue_scenario {
public:
    explicit sending_session(const script& play) : queue_scenario(play), sender_(*make_sender()) {
        for (std::size_t index = 0; index < expected_.size(); ++index) {
            append_frame(index);
        }
    }

private:
    /// A byte of the connection: the frame and the message that it belongs to.
    struct piece {
        std::size_t frame_index;
        std::size_t message_begin; ///< Where in stream_ the message begins.
    };

    alignas(explored_outbound) static inline std::byte sender_memory[sizeof(explored_outbound)];

    explored_outbound* make_sender() {
        std::fill(std::begin(sender_memory), std::end(sender_memory), std::byte{0});
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return new (sender_memory) explored_outbound{queue_};
    }

    /// Adds the bytes of the frame `index` on the wire; a control object has none.
    void append_frame(std::size_t index) {
        const auto [made_by, flags] = expected_[index];
        if (index == 0 || (expected_[index - 1].flags & zmtp::flag_more) == 0) {
            message_begin_ = stream_.size();
        }
        if (made_by != act::control) {
            const bool is_block = made_by == act::referenced;
            const std::size_t bytes = is_block ? block_bytes : body_bytes;
            std::byte header[zmtp::header_bytes_max];
            const std::size_t header_bytes = zmtp::write_header(header, bytes, flags);
            stream_.insert(stream_.end(), header, header + header_bytes);
            stream_.insert(stream_.end(), bytes,
                           is_block ? std::byte{0} : static_cast<std::byte>(index + 1));
            pieces_.resize(stream_.size(), {index, message_begin_});
            if ((flags & zmtp::flag_more) == 0) {
                message_ends_.push_back(stream_.size());
            }
        } else {
            control_count_ += 1;
        }
    }

    void read() override {
        while (position_ < stream_.size() || control_count_ != 0) {
            exploration::forget(
                mix_words(exploration::mix(position_, control_count_), &sender_, sizeof sender_));
            if (position_ >= play_.connection_bytes && !is_reconnected_) {
                is_reconnected_ = true;
                sender_.rewind();
                position_ =
                    position_ == stream_.size() ? position_ : pieces_[position_].message_begin;
            }
            std::array<iovec, 4> parts;
            if (const std::size_t count = sender_.gather(parts, play_.unit_bytes); count != 0) {
                if (play_.reader_lends_credit) {
                    lend({parts.data(), count});
                }
                write({parts.data(), count});
            } else if (!sender_.is_empty()) {
                take_control();
            } else {
                sleep();
            }
        }
    }

    std::size_t write_for_reader(std::span<const iovec> parts) override {
        const std::size_t begin = position_;
        for (const iovec& part : parts) {
            const std::size_t rest = play_.write_bytes_max - (position_ - begin);
            check(static_cast<const std::byte*>(part.iov_base), std::min(part.iov_len, rest));
        }
        count_taken(position_);
        return position_ - begin;
    }

    void lend(std::span<const iovec> parts) {
        std::size_t bytes = play_.unit_bytes / zlink::tuning::units_per_rest; // A rest may be left.
        for (const iovec& part : parts) {
            bytes += part.iov_len;
        }
        count_taken(position_ + bytes);
        wake_writer(sender_.lend_credit());
    }

    /// Counts the messages that end up to `position` as taken.
    void count_taken(std::size_t position) {
        const auto ends = std::upper_bound(message_ends_.begin(), message_ends_.end(), position);
        taken_message_count_ = std::max(taken_message_count_,
                                        static_cast<std::uint64_t>(ends - message_ends_.begin()));
    }

    void write(std::span<const iovec> parts) {
        std::size_t bytes = 0;
        for (const iovec& part : parts) {
            const std::size_t connection_rest =
                is_reconnected_ ? SIZE_MAX : play_.connection_bytes - position_;
            const std::size_t taken =
                std::min({part.iov_len, play_.write_bytes_max - bytes, connection_rest});
            check(static_cast<const std::byte*>(part.iov_base), taken);
            bytes += taken;
        }
        count_taken(position_);
        wake_writer(sender_.advance(bytes));
    }

    void check(const std::byte* data, std::size_t bytes) {
        exploration::require(bytes <= stream_.size() - position_ &&
                                 std::equal(data, data + bytes, stream_.begin() + position_),
                             "what is written is not what was pushed");
        if (bytes != 0) {
            memory_of(pieces_[position_].frame_index, data).note_read();
            memory_of(pieces_[position_ + bytes - 1].frame_index, data).note_read();
        }
        position_ += bytes;
    }

    void take_control() {
        bool wakes = false;
        zlink::pipe::block* const taken = sender_.take_control(wakes);
        wake_writer(wakes);
        if (taken != nullptr) { // Otherwise a message was published after gather().
            taken->drop();
            --control_count_;
        }
    }

    void sleep() {
        wake_writer(sender_.return_credit());
        if (queue_.mark_reader_parked() && play_.reader_fences) {
            explored_platform::fence::heavy();
        }
        if (!play_.reader_checks_again || !sender_.has_work() || !queue_.unmark_reader()) {
            reader_woken_.wait();
        }
        if (play_.reader_finds_place) {
            sender_.on_woken();
        }
        if (const std::size_t begun = std::exchange(begun_bytes_, 0); begun != 0) {
            std::array<iovec, 4> parts;
            sender_.gather(parts);
            wake_writer(sender_.advance(begun));
        }
    }

    std::uint64_t plain_state() const override {
        return exploration::mix(queue_scenario::plain_state(), position_);
    }

    explored_outbound& sender_;
    std::vector<std::byte> stream_; ///< All bytes that are to be written.
    std::vector<piece> pieces_;     ///< One for each of its bytes.
    std::vector<std::size_t> message_ends_;
    std::size_t message_begin_ = 0;
    std::size_t position_ = 0;      ///< Of the connection, in stream_.
    std::size_t control_count_ = 0; ///< Objects not yet taken.
    bool is_reconnected_ = false;
};

void check_all(const script& play) {
    const exploration::outcome found = zlink::testing::explore<sending_session>(play);
    INFO(found.trace);
    CHECK(found.failure == "");
    CHECK(found.complete);
}

std::string failure_of(const script& play) {
    return zlink::testing::explore<sending_session>(play).failure;
}

using enum act;
constexpr queue_limits one_message{.messages_max = 1};
constexpr queue_limits one_byte{.messages_max = 1000, .bytes_max = 1};

} // namespace

// Single-threaded: slow under the thread sanitizer, which could find nothing in it.
TEST_SUITE("session" * doctest::skip(zlink::testing::has_thread_sanitizer)) {

    TEST_CASE("interleavings of a sending session: nothing is lost and no thread parks for ever") {
        check_all({{message, message}});
        check_all({{two_parts, referenced}});
    }

    TEST_CASE("interleavings of a sending session: credit comes back for every message") {
        check_all({{message, message}, one_message});
    }

    TEST_CASE("interleavings of a sending session: credit is lent while messages are written" *
              doctest::test_suite("long")) {
        check_all({.acts = {message, message, message},
                   .allowed = one_message,
                   .reader_lends_credit = true});
        check_all({.acts = {message, message},
                   .allowed = one_message,
                   .reader_lends_credit = true,
                   .write_bytes_max = 200});
        check_all({.acts = {message, message},
                   .allowed = one_message,
                   .reader_lends_credit = true,
                   .connection_bytes = 5});
    }

    TEST_CASE("interleavings of a sending session: control objects arrive between the messages") {
        check_all({{control, message}, one_message});
        check_all({{message, control}, one_message});
    }

    TEST_CASE("interleavings of a sending session: messages are written in pieces") {
        check_all({.acts = {message, message}, .write_bytes_max = 200});
    }

    TEST_CASE("interleavings of a sending session: a rest is left and written with what follows" *
              doctest::test_suite("long")) {
        // One, two or three messages are slightly larger than as many units.
        for (const std::size_t bytes : {std::size_t{200}, std::size_t{SIZE_MAX}}) {
            CAPTURE(bytes);
            check_all({.acts = {message, message, message},
                       .allowed = {.messages_max = 2},
                       .reader_lends_credit = true,
                       .write_bytes_max = bytes,
                       .unit_bytes = 308});
        }
        check_all({.acts = {message, message},
                   .allowed = one_message,
                   .reader_lends_credit = true,
                   .unit_bytes = 308,
                   .connection_bytes = 400});
        check_all({.acts = {message, control, trim, message}, .unit_bytes = 308});
    }

    TEST_CASE("interleavings of a sending session: a message that was cut off is sent again") {
        for (const std::size_t bytes : {5, 400}) {
            CAPTURE(bytes);
            check_all({.acts = {message, message}, .connection_bytes = bytes});
        }
    }

    TEST_CASE("interleavings of a sending session: trimming loses neither bytes nor wake-ups" *
              doctest::test_suite("long")) {
        check_all({{message, trim, message}});
        check_all({{new_segment, message, new_segment, message, trim, message}});
        check_all({{referenced, control, trim, message}});
        check_all({{message, abandoned, trim, message}, one_message});
        check_all({.acts = {message, trim, message}, .write_bytes_max = 200});
        check_all({.acts = {message, trim, message}, .connection_bytes = 5});
    }

    TEST_CASE("interleavings of a sending session: memory is used again from its beginning") {
        check_all({{message, restart, message}});
        check_all({{referenced, restart, message}});
        check_all({{message, restart, control}, one_message});
        check_all({.acts = {message, restart, message}, .write_bytes_max = 200});
        check_all({.acts = {message, restart, message}, .connection_bytes = 5});
    }

    TEST_CASE("interleavings of a sending session: the socket writes while it is parked" *
              doctest::test_suite("long")) {
        // Control objects cannot be written, so the session wakes in the end.
        const auto check_written_past = [](script play) {
            play.writer_writes_itself = true;
            check_all(play);
        };
        check_written_past({{message, message, control}});
        check_written_past({{two_parts, control}});
        check_written_past({{referenced, message, control}});
        check_written_past({{message, trim, control}});
        check_written_past({.acts = {message, message, control}, .write_bytes_max = 200});
        check_written_past({.acts = {message, message, control},
                            .allowed = one_message,
                            .reader_lends_credit = true});
    }

    TEST_CASE("interleavings of a sending session: once woken it has to find its position again") {
        CHECK(failure_of({.acts = {message, trim, message}, .reader_finds_place = false}) != "");
    }

    TEST_CASE("interleavings of a sending session: the fence and the second check are needed") {
        CHECK(failure_of({.acts = {message, message}, .reader_fences = false}) ==
              "every thread sleeps");
        CHECK(failure_of({.acts = {message, message}, .reader_checks_again = false}) ==
              "every thread sleeps");
    }

} // TEST_SUITE
