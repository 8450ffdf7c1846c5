// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/message_queue.hpp"
#include "testing/exploration.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace zlink::testing {

using explored_queue = pipe::basic_message_queue<explored_platform>;

/// One step of the writer of a message queue.
enum class act {
    message,     ///< A message of one copied part. Two of these do not fit into the first segment.
    two_parts,   ///< A message whose parts lie in different chunks.
    referenced,  ///< A message whose body is a block.
    newest,      ///< The same, into a queue that conflates.
    control,     ///< An object for the reader.
    abandoned,   ///< Parts of a message that is rolled back, in several chunks.
    ahead,       ///< A message that is published while a part of the next one is already written;
                 ///< that one is rolled back.
    new_segment, ///< A segment of the largest size, which is kept for reuse after it was read.
    trim,
    restart,
    pass_on, ///< pass_on_memory(), which needs memory to pass on.
};

/// The steps of a scenario, and the mistakes that its parts make.
struct script {
    std::vector<act> acts;
    pipe::queue_limits allowed{};
    bool writer_has_batches = false; ///< message_queue::fence_publications()
    /// Messages between two wake-ups from which on the writer uses light fences; 0: always.
    std::uint32_t flow_messages_min = 0;

    bool reader_fences = true;
    bool reader_checks_again = true;
    bool reader_takes_its_mark = true;
    bool writer_checks_again = true;
    bool publisher_wakes = true;
    bool trimmer_wakes = true;
    bool reader_finds_place = true; ///< outbound::on_woken().

    /// Check for races between all uses of an address, not only of one body. Only where the
    /// allocator never returns an address twice.
    bool watches_addresses = false;

    // For readers that are sessions.
    bool reader_lends_credit = false;        ///< For each batch, before it writes.
    std::size_t write_bytes_max = SIZE_MAX;  ///< The most that the stream takes at once.
    std::size_t unit_bytes = 0;              ///< The unit in which the stream sends.
    std::size_t connection_bytes = SIZE_MAX; ///< Bytes of the first connection, before it is lost.
    bool writer_writes_itself = false;       ///< Past a parked reader.
};

/// A queue with a writer that follows a script and parks when it is out of credit. The derived
/// class is the reader.
///
/// Thread 0 writes, thread 1 reads. In each execution
///  - every frame arrives, whole, unchanged, in order, and ordered by acquire and release;
///  - the writer is never ahead by more messages than its limit;
///  - no thread stays parked for ever, and only parked threads are woken;
///  - every chunk and every block is freed, once, and not used afterwards.
class queue_scenario : public exploration::scenario {
public:
    static constexpr std::size_t body_bytes = 300;
    static constexpr std::size_t block_bytes = 10;

    explicit queue_scenario(const script& play) : play_(play), queue_(*make_queue(play)) {
        if (play.writer_has_batches) {
            queue_.fence_publications();
        }
        for (const act each : play.acts) {
            switch (each) {
            case act::two_parts:
                expected_.push_back({each, wire::zmtp::flag_more});
                [[fallthrough]];
            case act::message:
            case act::ahead:
            case act::referenced:
            case act::newest:
            case act::control:
                expected_.push_back({each, 0});
                break;
            default:
                break;
            }
        }
        for (std::size_t each = 0; each < expected_.size(); ++each) {
            memory_.emplace_back();
        }
    }

    void run(std::size_t thread) override { thread == 0 ? write() : read(); }

    void finish() override {
        exploration::require(!reader_woken_.is_given(), "the reader is woken and does not sleep");
        exploration::require(!writer_woken_.is_given(), "the writer is woken and does not sleep");
        std::destroy_at(&queue_);
        exploration::require(blocks_alive_ == 0, "a block was leaked");
    }

    std::uint64_t plain_state() const override {
        std::uint64_t hash = exploration::mix(pushed_count_, blocks_alive_);
        hash = exploration::mix(hash, begun_bytes_);
        hash = mix_words(hash, &queue_, sizeof queue_);
        exploration::memory().for_each_address([&](std::uintptr_t address) {
            // An address outside of the scenario and the queue belongs to a chunk.
            if (!lies_in(address, this, sizeof *this) &&
                !lies_in(address, &queue_, sizeof queue_)) {
                const auto* const chunk = reinterpret_cast<const explored_queue::chunk*>(
                    address - offsetof(explored_queue::chunk, end));
                hash = mix_word(hash, reinterpret_cast<std::uintptr_t>(chunk->next));
                hash = exploration::mix(hash, chunk->payload != nullptr);
                hash = exploration::mix(hash, chunk->capacity);
            }
        });
        return hash;
    }

protected:
    struct expected_frame {
        act made_by;
        std::uint8_t flags;
    };

    struct counted_block : pipe::block {
        explicit counted_block(std::uint64_t& count) : alive(count) {
            kind = origin::object;
            destroy = [](block* self) { delete static_cast<counted_block*>(self); };
            data = content;
            bytes = sizeof content;
            ++alive;
        }
        ~counted_block() { --alive; }

        std::uint64_t& alive;
        std::uint64_t number = 0; ///< Its place among frames and control objects, from 0.
        std::byte content[block_bytes]{};
    };

    virtual void read() = 0;

    /// Writes `parts` for the parked reader, as the reader would do.
    /// @return The bytes written.
    virtual std::size_t write_for_reader(std::span<const iovec>) { return 0; }

    static void wake(exploration::signal& sleeper) {
        exploration::require(!sleeper.give(), "a sleeper is woken twice");
    }

    void wake_writer(bool owed) {
        if (owed) {
            wake(writer_woken_);
        }
    }

    /// Checks that `body` is that of the frame `index`, which was copied into the queue.
    void check_copy(std::size_t index, std::uint8_t flags, const std::byte* body,
                    std::uint64_t bytes) {
        memory_of(index, body).note_read();
        const expected_frame& expected = expected_[index];
        const bool intact =
            expected.made_by != act::control && expected.made_by != act::referenced &&
            expected.made_by != act::newest && bytes == body_bytes &&
            flags == (expected.flags | wire::zmtp::flag_long) &&
            std::all_of(body, body + body_bytes,
                        [&](std::byte byte) { return byte == static_cast<std::byte>(index + 1); });
        exploration::require(intact, "a frame is not what was pushed");
    }

    /// Checks that `body` is the block of the frame `index`.
    void check_block(std::size_t index, const pipe::block* body) {
        const act made_by = expected_[index].made_by;
        exploration::require(made_by == act::control || made_by == act::referenced ||
                                 made_by == act::newest,
                             "a frame is not what was pushed");
        exploration::require(blocks_alive_ != 0, "a block was freed while it was referenced");
        memory_of(index, body->data).note_read();
    }

    /// The memory of the body of the frame `index`, which lies at `body`.
    exploration::plain& memory_of(std::size_t index, const std::byte* body) {
        return play_.watches_addresses ? memory_by_address_[body] : memory_[index];
    }

    static std::uint64_t mix_words(std::uint64_t hash, const void* from, std::size_t bytes) {
        for (std::size_t offset = 0; offset < bytes; offset += sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, static_cast<const std::byte*>(from) + offset, sizeof word);
            hash = mix_word(hash, word);
        }
        return hash;
    }

    const script& play_;
    explored_queue& queue_;
    exploration::signal reader_woken_;
    exploration::signal writer_woken_;
    std::vector<expected_frame> expected_;
    std::uint64_t blocks_alive_ = 0;
    std::uint64_t taken_message_count_ = 0; ///< Updated by the reader, before it returns credit.
    std::size_t begun_bytes_ = 0; ///< Written for the reader, of a message that it must finish.

private:
    /// The place of queues; its padding must not differ between executions.
    alignas(explored_queue) static inline std::byte queue_memory[sizeof(explored_queue)];

    static explored_queue* make_queue(const script& play) {
        explored_platform::flow_messages_min = play.flow_messages_min;
        std::fill(std::begin(queue_memory), std::end(queue_memory), std::byte{0});
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return new (queue_memory) explored_queue{play.allowed};
    }

    static bool lies_in(std::uintptr_t address, const void* object, std::size_t bytes) {
        return address - reinterpret_cast<std::uintptr_t>(object) < bytes;
    }

    static std::uint64_t mix_word(std::uint64_t hash, std::uint64_t word) {
        return exploration::mix(hash, exploration::memory().canonical({word, true}));
    }

    void write() {
        for (std::size_t index = 0; index < play_.acts.size(); ++index) {
            exploration::forget(index);
            perform(play_.acts[index]);
        }
    }

    void perform(act what) {
        switch (what) {
        case act::message:
            begin_message();
            push_copy();
            return wake_reader(queue_.finish_message());
        case act::two_parts:
            begin_message();
            push_copy();
            push_copy();
            return wake_reader(queue_.finish_message());
        case act::referenced:
            begin_message();
            queue_.push_reference(make_block(), block_bytes, 0);
            return wake_reader(queue_.finish_message());
        case act::newest:
            queue_.push_newest(make_block(), block_bytes);
            return wake_reader(queue_.finish_message());
        case act::ahead:
            begin_message();
            push_copy();
            queue_.rope().mark();
            push_junk();
            wake_reader(queue_.finish_marked(1));
            return queue_.rollback();
        case act::control:
            return wake_reader(queue_.push_control(make_block()));
        case act::abandoned:
            push_junk();
            return queue_.rollback();
        case act::new_segment:
            return queue_.rope().roll(tuning::segment_bytes_max - 2 * body_bytes, 0);
        case act::trim:
            if (queue_.trim() && play_.trimmer_wakes) {
                wake(reader_woken_);
            }
            return;
        case act::restart:
            return wake_reader(queue_.restart(0));
        case act::pass_on:
            return wake_reader(queue_.pass_on_memory());
        }
    }

    void push_copy() {
        std::array<std::byte, body_bytes> body;
        body.fill(static_cast<std::byte>(pushed_count_ + 1));
        const std::byte* const frame =
            queue_.rope().reserve(body_bytes + wire::zmtp::header_bytes_max);
        memory_of(pushed_count_, frame + wire::zmtp::header_bytes_max).note_write();
        queue_.push_copy(body.data(), body_bytes, expected_[pushed_count_].flags);
        ++pushed_count_;
    }

    counted_block* make_block() {
        auto* const made = new counted_block{blocks_alive_};
        made->number = pushed_count_;
        memory_of(pushed_count_, made->data).note_write();
        ++pushed_count_;
        return made;
    }

    void push_junk() {
        const std::array<std::byte, body_bytes> body{};
        queue_.push_copy(body.data(), body_bytes, wire::zmtp::flag_more);
        queue_.push_copy(body.data(), body_bytes, wire::zmtp::flag_more);
        queue_.push_reference(new counted_block{blocks_alive_}, 1, wire::zmtp::flag_more);
        queue_.push_copy(body.data(), body_bytes, wire::zmtp::flag_more);
    }

    void begin_message() {
        wait_for_credit();
        const std::uint64_t messages_max = play_.allowed.messages_max;
        exploration::require(messages_max == 0 ||
                                 pushed_message_count_ - taken_message_count_ < messages_max,
                             "the writer has more credit than it may have");
        ++pushed_message_count_;
    }

    void wait_for_credit() {
        while (!queue_.has_credit()) {
            exploration::forget(1000 + pushed_count_);
            queue_.mark_writer_parked();
            if (play_.writer_checks_again && queue_.has_credit() && queue_.unmark_writer()) {
                return;
            }
            writer_woken_.wait();
        }
    }

    void wake_reader(bool owed) {
        if (!owed || !play_.publisher_wakes) {
            return;
        }
        if (play_.writer_writes_itself) {
            const auto begun = queue_.write_past_reader(
                [this](std::span<const iovec> parts) { return write_for_reader(parts); });
            begun_bytes_ = begun.value_or(0);
            if (!begun) {
                return;
            }
        }
        wake(reader_woken_);
    }

    std::deque<exploration::plain> memory_; ///< Of each frame's body.
    std::map<const std::byte*, exploration::plain> memory_by_address_;
    std::uint64_t pushed_count_ = 0; ///< Frames and control objects.
    std::uint64_t pushed_message_count_ = 0;
};

/// Explores `Scenario`, a queue_scenario.
template<class Scenario>
exploration::outcome explore(const script& play, const exploration::rules& assumed = {}) {
    return exploration::run(assumed, 2, [&] { return std::make_unique<Scenario>(play); });
}

} // namespace zlink::testing
