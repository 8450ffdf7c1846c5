// SPDX-License-Identifier: MPL-2.0
#include "pipe/message_queue.hpp"
#include "testing/exploration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

// One writer and one reader of a message queue, in every interleaving of their atomic operations
// (testing/exploration.hpp says under which model of memory). The writer follows a script and sleeps
// when it is out of credit; the reader takes everything, and sleeps when it finds nothing. In each
// execution
//  - every frame arrives, whole, unchanged, in order, and ordered by acquire and release;
//  - nobody sleeps for ever, and nobody is woken who does not sleep;
//  - every chunk and every referenced block is freed, once, and nobody uses it then.

using zlink::pipe::basic_message_queue;
using zlink::pipe::block;
using zlink::pipe::frame;
using zlink::pipe::queue_limits;
using zlink::testing::exploration;
using zlink::testing::explored_platform;
namespace limits = zlink::limits;
namespace zmtp = zlink::wire::zmtp;

namespace {

using queue = basic_message_queue<explored_platform>;

/// One step of the writer.
enum class act {
    message,     ///< Two of these do not fit into the first segment.
    two_parts,   ///< A multipart message whose parts lie in different chunks.
    referenced,  ///< A message whose body is a block.
    control,     ///< An object for the reader.
    abandoned,   ///< Parts of a message that is rolled back, in several chunks.
    new_segment, ///< A segment of the largest size, which is kept for reuse when it was read.
    trim,
};

struct script {
    std::vector<act> acts;
    queue_limits allowed{};
    // Mistakes that the users of a queue could make.
    bool reader_looks_again = true;
    bool writer_looks_again = true;
    bool reader_takes_its_mark = true;
    bool publisher_wakes = true;
    bool trimmer_wakes = true;
    bool bodies_share_addresses = false; ///< Look for races between uses of the same address.
};

struct counted_object : block {
    explicit counted_object(int& count) : alive(count) {
        kind = origin::object;
        destroy = [](block* self) { delete static_cast<counted_object*>(self); };
        ++alive;
    }
    ~counted_object() { --alive; }

    int& alive;
    exploration::plain memory;
};

class two_ends final : public exploration::scenario {
public:
    static constexpr std::size_t body_bytes = 300;

    explicit two_ends(const script& play) : play_(play), queue_(make_queue(play.allowed)) {
        for (const act each : play.acts) {
            const auto more = each == act::two_parts ? std::uint8_t{zmtp::flag_more} : std::uint8_t{0};
            if (each == act::two_parts || each == act::message || each == act::referenced) {
                expected_.push_back({each, more});
            }
            if (each == act::two_parts) {
                expected_.push_back({each, 0});
            }
            if (each == act::control) {
                expected_.push_back({each, 0});
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
        std::destroy_at(queue_);
        exploration::require(objects_alive_ == 0, "a referenced block was leaked");
    }

    std::uint64_t plain_state() const override {
        std::uint64_t hash = exploration::mix(pushed_, static_cast<std::uint64_t>(objects_alive_));
        const auto add = [&](std::uint64_t bits) {
            hash = exploration::mix(hash, exploration::memory().canonical({bits, true}));
        };
        for (std::size_t offset = 0; offset < sizeof(queue); offset += sizeof(std::uint64_t)) {
            std::uint64_t bits;
            std::memcpy(&bits, queue_memory + offset, sizeof bits);
            add(bits);
        }
        exploration::memory().for_each_address([&](std::uintptr_t address) {
            if (address - reinterpret_cast<std::uintptr_t>(this) >= sizeof *this &&
                address - reinterpret_cast<std::uintptr_t>(queue_) >= sizeof *queue_) {
                const auto* const chunk =
                    reinterpret_cast<const queue::chunk*>(address - offsetof(queue::chunk, end));
                add(reinterpret_cast<std::uintptr_t>(chunk->next));
                add(chunk->payload != nullptr);
                add(chunk->capacity);
            }
        });
        return hash;
    }

private:
    /// Where plain_state() finds the queue; what pads it must not differ between executions.
    alignas(queue) static inline std::byte queue_memory[sizeof(queue)];

    static queue* make_queue(const queue_limits& allowed) {
        std::fill(std::begin(queue_memory), std::end(queue_memory), std::byte{0});
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return new (queue_memory) queue{allowed};
    }

    struct expected_frame {
        act made_by;
        std::uint8_t flags;
    };

    // The writer.

    void write() {
        for (std::size_t index = 0; index < play_.acts.size(); ++index) {
            exploration::forget(index);
            perform(play_.acts[index]);
        }
    }

    void perform(act what) {
        switch (what) {
        case act::message:
            wait_for_credit();
            push_copy();
            return wake_reader(queue_->finish_message());
        case act::two_parts:
            wait_for_credit();
            push_copy();
            push_copy();
            return wake_reader(queue_->finish_message());
        case act::referenced:
            wait_for_credit();
            push_reference();
            return wake_reader(queue_->finish_message());
        case act::control: {
            auto* const object = new counted_object{objects_alive_};
            object->memory.note_write();
            ++pushed_;
            return wake_reader(queue_->push_control(object));
        }
        case act::abandoned:
            push_junk();
            return queue_->rollback();
        case act::new_segment:
            return queue_->rope().roll(limits::segment_bytes_max - 2 * body_bytes, 0);
        case act::trim:
            if (queue_->trim() && play_.trimmer_wakes) {
                wake(reader_woken_);
            }
            return;
        }
    }

    void push_copy() {
        std::array<std::byte, body_bytes> body;
        body.fill(static_cast<std::byte>(pushed_ + 1));
        const std::byte* const begin = queue_->rope().reserve(body_bytes + zmtp::header_bytes_max);
        memory_of(pushed_, begin + zmtp::header_bytes_max).note_write();
        queue_->push_copy(body.data(), body_bytes, expected_[pushed_].flags);
        ++pushed_;
    }

    void push_reference() {
        auto* const body = new counted_object{objects_alive_};
        body->memory.note_write();
        body->data = octets_;
        queue_->push_reference(body, sizeof octets_, 0);
        ++pushed_;
    }

    void push_junk() {
        std::array<std::byte, body_bytes> body{};
        queue_->push_copy(body.data(), body_bytes, zmtp::flag_more);
        queue_->push_copy(body.data(), body_bytes, zmtp::flag_more);
        queue_->push_reference(new counted_object{objects_alive_}, 1, zmtp::flag_more);
        queue_->push_copy(body.data(), body_bytes, zmtp::flag_more);
    }

    void wait_for_credit() {
        while (!queue_->has_credit()) {
            exploration::forget(1000 + pushed_);
            queue_->mark_writer_asleep();
            explored_platform::fence::heavy();
            if (play_.writer_looks_again && queue_->has_credit() && queue_->unmark_writer()) {
                return;
            }
            writer_woken_.wait();
        }
    }

    void wake_reader(bool owed) {
        if (owed && play_.publisher_wakes) {
            wake(reader_woken_);
        }
    }

    static void wake(exploration::signal& sleeper) {
        exploration::require(!sleeper.give(), "a sleeper is woken twice");
    }

    // The reader.

    void read() {
        for (std::size_t index = 0; index < expected_.size(); ++index) {
            exploration::forget(index);
            const bool continues = index > 0 && (expected_[index - 1].flags & zmtp::flag_more) != 0;
            if (!queue_->has_frame()) {
                exploration::require(!continues, "a part of a message was seen without the next");
                wait_for_frame(index);
            }
            const frame next = queue_->front();
            check(next, index);
            if (queue_->pop(next)) {
                wake(writer_woken_);
            }
        }
        exploration::require(!queue_->has_frame(), "there are more frames than were pushed");
    }

    void wait_for_frame(std::size_t index) {
        while (!queue_->has_frame()) {
            exploration::forget(1000 + index);
            queue_->mark_reader_asleep();
            explored_platform::fence::heavy();
            if (play_.reader_looks_again && queue_->missed_something() &&
                (!play_.reader_takes_its_mark || queue_->unmark_reader())) {
                continue;
            }
            reader_woken_.wait();
        }
    }

    void check(const frame& next, std::size_t index) {
        const act made_by = expected_[index].made_by;
        exploration::require(next.control == (made_by == act::control), "a frame is out of order");
        if (next.reference != nullptr) {
            auto* const object = static_cast<counted_object*>(next.take_reference());
            object->memory.note_read();
            exploration::require(next.control || next.body == octets_, "a body is not its block's");
            exploration::require(objects_alive_ > 0, "a block was freed while it was referenced");
            return object->drop();
        }
        memory_of(index, next.body).note_read();
        const bool intact =
            next.body_bytes == body_bytes && next.flags == (expected_[index].flags | zmtp::flag_long) &&
            std::all_of(next.body, next.body + body_bytes, [&](std::byte octet) {
                return octet == static_cast<std::byte>(index + 1);
            });
        exploration::require(intact, "a frame is not what was pushed");
    }

    exploration::plain& memory_of(std::size_t index, const std::byte* body) {
        return play_.bodies_share_addresses ? memory_by_address_[body] : memory_[index];
    }

    const script& play_;
    queue* queue_;
    exploration::signal reader_woken_;
    exploration::signal writer_woken_;
    std::vector<expected_frame> expected_;
    std::deque<exploration::plain> memory_; ///< Of each frame's body.
    std::map<const std::byte*, exploration::plain> memory_by_address_;
    std::size_t pushed_ = 0;
    int objects_alive_ = 0;
    std::byte octets_[10]{};
};

exploration::outcome explore(const script& play, const exploration::rules& assumed = {}) {
    exploration::outcome found =
        exploration::run(assumed, 2, [&] { return std::make_unique<two_ends>(play); });
    MESSAGE(found.execution_count << " executions, " << found.state_count << " states");
    return found;
}

void check_all(const script& play, const exploration::rules& assumed = {}) {
    const exploration::outcome found = explore(play, assumed);
    CHECK(found.complete);
    CHECK(found.failure == "");
    for (const std::string& operation : found.trace) {
        MESSAGE(operation);
    }
}

std::string failure_of(const script& play, const exploration::rules& assumed = {}) {
    return explore(play, assumed).failure;
}

using enum act;
constexpr queue_limits one_message{.messages_max = 1};
constexpr queue_limits two_messages{.messages_max = 2};

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("interleavings: a reader that sleeps whenever it can misses nothing") {
        check_all({{message, message, message}});
    }

    TEST_CASE("interleavings: a writer that sleeps for credit is always woken") {
        check_all({{message, message, message}, one_message});
    }

    TEST_CASE("interleavings: a message of several parts is never seen in part") {
        check_all({{two_parts, message, two_parts}});
        check_all({{two_parts, two_parts}, one_message});
    }

    TEST_CASE("interleavings: what was rolled back is never seen") {
        check_all({{abandoned, message, abandoned, message}});
        check_all({{message, abandoned, two_parts, abandoned}, one_message});
    }

    TEST_CASE("interleavings: control objects arrive once, between the messages") {
        check_all({{control, message, control, message}});
        check_all({{message, control, message, control}, one_message});
    }

    TEST_CASE("interleavings: referenced blocks arrive once") {
        check_all({{referenced, message, referenced}});
        check_all({{referenced, referenced, control}, one_message});
    }

    TEST_CASE("interleavings: a segment is written again only after it was read") {
        check_all({.acts = {new_segment, message, new_segment, message, new_segment, message},
                   .bodies_share_addresses = true});
    }

    TEST_CASE("interleavings: trimming loses nothing and nobody") {
        check_all({{message, trim, message}});
        check_all({{message, message, trim, trim, message}});
        check_all({{new_segment, message, new_segment, message, trim, message}});
        check_all({{referenced, control, trim, message}});
        check_all({{message, abandoned, trim, message}, one_message});
    }
}
