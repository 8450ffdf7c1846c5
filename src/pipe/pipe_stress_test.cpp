// SPDX-License-Identifier: MPL-2.0
#include "base/fence.hpp"
#include "pipe/pipe.hpp"
#include "testing/message_plan.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

// Two threads at the ends of a pipe, each of which sends and receives planned messages and parks
// whenever it finds nothing to do, as sockets do. A lost wake-up shows as a wait that takes too
// long.

using namespace std::chrono_literals;
using boost::intrusive_ptr;
using zlink::asymmetric_fence;
using zlink::pipe::block;
using zlink::pipe::end_ptr;
using zlink::pipe::letter;
using zlink::pipe::pipe_end;
using zlink::pipe::pipe_ptr;
using zlink::pipe::waiting_mailbox;
using zlink::testing::planned_receiver;
using zlink::testing::planned_sender;
using event = zlink::pipe::event;
using monotonic = zlink::pipe::clock;

namespace {

constexpr auto longest_wait = 30s;

/// One of the two threads.
class talker {
public:
    talker(pipe_end& end, intrusive_ptr<waiting_mailbox> box, unsigned own_seed,
           unsigned other_seed, std::size_t message_count)
        : end_(end), box_(std::move(box)), sender_(end_->out, own_seed),
          receiver_(end_->in, other_seed), random_(own_seed), to_send_(message_count),
          to_receive_(message_count) {}

    void run() {
        while ((to_send_ != 0 || to_receive_ != 0) && is_well_ && receiver_.is_intact) {
            const bool has_moved = send_some() | receive_some();
            if (to_send_ == 0 && to_receive_ == 0) {
                break;
            }
            if (!has_moved || random_() % 32 == 0) {
                sleep();
            }
            if (random_() % 16 == 0) {
                trim();
            }
            if (random_() % 64 == 0) {
                std::this_thread::yield();
            }
        }
    }

    bool is_done() const { return to_send_ == 0 && to_receive_ == 0; }
    bool is_intact() const { return receiver_.is_intact; }
    bool is_well() const { return is_well_; }

private:
    bool send_some() {
        std::size_t sent_count = 0;
        for (std::size_t wanted = random_() % 20; sent_count < wanted && to_send_ != 0;
             ++sent_count) {
            if (writer_sleeps_ || !end_->out.has_credit()) {
                break;
            }
            if (random_() % 64 == 0) {
                end_->push_control(zlink::pipe::make_block(1));
            }
            if (sender_.send()) {
                end_->other().deliver(event::readable);
            }
            --to_send_;
        }
        return sent_count != 0;
    }

    bool receive_some() {
        std::size_t taken_count = 0;
        for (std::size_t wanted = random_() % 20; taken_count < wanted && to_receive_ != 0;
             ++taken_count) {
            if (reader_sleeps_ || !has_message()) {
                break;
            }
            if (receiver_.take()) {
                end_->other().deliver(event::writable);
            }
            --to_receive_;
        }
        return taken_count != 0;
    }

    /// Whether there is a message, and not only control objects.
    bool has_message() {
        while (end_->in.has_frame()) {
            const zlink::pipe::frame front = end_->in.front();
            if (!front.control) {
                return true;
            }
            front.take_reference()->drop();
            end_->pop(front);
        }
        return false;
    }

    /// Marks each side that has nothing to do, and waits if neither has anything to do.
    void sleep() {
        bool needs_fence = false;
        if (!reader_sleeps_ && (to_receive_ == 0 || !has_message())) {
            reader_sleeps_ = true;
            needs_fence |= end_->in.mark_reader_parked();
        }
        if (!writer_sleeps_ && to_send_ != 0 && !end_->out.has_credit()) {
            writer_sleeps_ = true;
            end_->out.mark_writer_parked();
        }
        if (random_() % 4 == 0) {
            std::this_thread::yield(); // The marks may be taken before they count.
        }
        if (needs_fence) {
            asymmetric_fence::heavy();
        }
        if (reader_sleeps_ && end_->in.missed_something() && end_->in.unmark_reader()) {
            reader_sleeps_ = false;
        }
        if (writer_sleeps_ && end_->out.has_credit() && end_->out.unmark_writer()) {
            writer_sleeps_ = false;
        }
        const bool may_read = !reader_sleeps_ && to_receive_ != 0;
        const bool may_write = !writer_sleeps_ && to_send_ != 0;
        if (!may_read && !may_write) {
            is_well_ = static_cast<bool>(box_->wait(monotonic::now() + longest_wait));
        }
        box_->collect([this](letter& about, std::uint32_t happened) {
            if (&about == &*end_) {
                on_events(happened);
            }
        });
    }

    void on_events(std::uint32_t happened) {
        // An event is delivered only to a side that was marked.
        const bool is_expected = ((happened & event::readable) == 0 || reader_sleeps_) &&
                                 ((happened & event::writable) == 0 || writer_sleeps_);
        is_well_ = is_well_ && is_expected;
        reader_sleeps_ = reader_sleeps_ && (happened & event::readable) == 0;
        writer_sleeps_ = writer_sleeps_ && (happened & event::writable) == 0;
    }

    void trim() {
        if (end_->out.trim()) {
            end_->other().deliver(event::readable);
        }
    }

    end_ptr end_;
    intrusive_ptr<waiting_mailbox> box_;
    planned_sender sender_;
    planned_receiver receiver_;
    std::minstd_rand random_;
    std::size_t to_send_;
    std::size_t to_receive_;
    bool reader_sleeps_ = false;
    bool writer_sleeps_ = false;
    bool is_well_ = true; ///< Was always woken in time, and never without need.
};

/// @param second_has_batches  The second end is a session's.
void talk(bool second_has_batches, std::uint64_t messages_max, std::size_t message_count,
          unsigned seed) {
    CAPTURE(second_has_batches);
    CAPTURE(messages_max);
    CAPTURE(seed);
    const intrusive_ptr<waiting_mailbox> left{new waiting_mailbox};
    const intrusive_ptr<waiting_mailbox> right{new waiting_mailbox};
    const pipe_ptr joined{
        new zlink::pipe::pipe({.messages_max = messages_max}, {.messages_max = messages_max})};
    if (second_has_batches) {
        joined->second.works_in_batches();
    }
    joined->first.set_home(left, nullptr);
    joined->second.set_home(right, nullptr);
    {
        talker one(joined->first, left, seed, seed + 1000, message_count);
        talker other(joined->second, right, seed + 1000, seed, message_count);
        std::thread thread{[&] { other.run(); }};
        one.run();
        thread.join();
        CHECK(one.is_well());
        CHECK(one.is_intact());
        CHECK(one.is_done());
        CHECK(other.is_well());
        CHECK(other.is_intact());
        CHECK(other.is_done());
    }
    left->shut([](letter&, std::uint32_t) {});
    right->shut([](letter&, std::uint32_t) {});
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("pipe stress: two threads lose no byte and no wake-up") {
        struct {
            std::uint64_t messages_max;
            std::size_t message_count;
        } const examples[] = {{1, 1000}, {2, 1000}, {7, 1500}, {1000, 2000}, {0, 1000}};
        unsigned seed = std::random_device{}() % 1'000'000;
        for (const auto& [messages_max, message_count] : examples) {
            talk(false, messages_max, message_count, ++seed);
            talk(true, messages_max, message_count, ++seed);
        }
    }

} // TEST_SUITE
