// SPDX-License-Identifier: MPL-2.0
#include "pipe/message_queue.hpp"
#include "testing/exploration.hpp"
#include "testing/queue_exploration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// One writer and one reader of a conflating queue, in every interleaving of their atomic
// operations. The reader takes all that is published, checks twice now and then, and parks whenever
// it finds nothing, until it has received the last message. A message may overtake control objects.

using zlink::pipe::frame;
using zlink::testing::act;
using zlink::testing::exploration;
using zlink::testing::explored_platform;
using zlink::testing::queue_scenario;
using zlink::testing::script;

namespace {

class two_ends final : public queue_scenario {
public:
    explicit two_ends(const script& play) : queue_scenario(play) { queue_.conflate(); }

    void finish() override {
        exploration::require(!queue_.has_frame(), "there is more than the last message");
        queue_.mark_reader_parked();
        exploration::require(!queue_.trim() && !queue_.holds_memory(),
                             "an empty queue does not give its memory back");
        queue_scenario::finish();
    }

private:
    void read() override {
        std::size_t next_message = 0; // The oldest that may come.
        std::size_t control_count = 0;
        const auto controls = static_cast<std::size_t>(
            std::count(play_.acts.begin(), play_.acts.end(), act::control));
        while (next_message < expected_.size() || control_count < controls) {
            const std::uint64_t digest = next_message * 10 + control_count;
            exploration::forget(digest);
            if (!queue_.has_frame()) {
                wait_for_frame(digest);
            }
            const frame first_look = queue_.front();
            const std::size_t seen = number_of(first_look);
            if (!first_look.control) {
                exploration::require(seen >= next_message, "a message came after a newer one");
                exploration::forget(10'000 + 100 * seen + digest);
            }
            const frame front = queue_.front();
            const std::size_t taken = number_of(front);
            front.take_reference()->drop();
            wake_writer(queue_.pop(front));
            if (front.control) {
                ++control_count;
            } else {
                exploration::require(taken >= seen, "another look found an older message");
                next_message = taken + 1;
            }
        }
    }

    std::size_t number_of(const frame& front) {
        const auto* const body = static_cast<const counted_block*>(*front.reference);
        check_block(body->number, body);
        exploration::require(front.control == (expected_[body->number].made_by == act::control),
                             "a frame is not what was pushed");
        return body->number;
    }

    void wait_for_frame(std::uint64_t digest) {
        while (!queue_.has_frame()) {
            exploration::forget(1000 + digest);
            queue_.mark_reader_parked();
            explored_platform::fence::heavy();
            if (queue_.missed_something() && queue_.unmark_reader()) {
                continue;
            }
            reader_woken_.wait();
        }
    }
};

exploration::outcome explore(const script& play, const exploration::rules& assumed = {}) {
    return zlink::testing::explore<two_ends>(play, assumed);
}

void check_all(const script& play) {
    const exploration::outcome found = explore(play);
    INFO(found.trace);
    CHECK(found.failure == "");
    CHECK(found.complete);
}

using enum act;

} // namespace

TEST_SUITE("pipe" * doctest::skip(zlink::testing::has_thread_sanitizer)) {

    TEST_CASE("interleavings: of a conflating queue the last message always arrives") {
        check_all({{newest}});
        check_all({{newest, newest}});
        check_all({{newest, newest, newest}});
    }

    TEST_CASE("interleavings: so it does between control objects") {
        check_all({{control, newest, newest}});
        check_all({{newest, control, newest}});
    }

    TEST_CASE("interleavings: trimming a conflating queue loses nothing") {
        check_all({{newest, trim, newest}});
        check_all({{newest, newest, trim, newest}});
    }

    TEST_CASE("interleavings: without acquire and release a slot races") {
        CHECK(explore({{newest, newest}}, {.orders_count = false}).failure != "");
    }

} // TEST_SUITE
