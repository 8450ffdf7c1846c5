// SPDX-License-Identifier: MPL-2.0
#include "pipe/message_queue.hpp"
#include "testing/exploration.hpp"
#include "testing/queue_exploration.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <initializer_list>
#include <set>
#include <string>

// One writer and one reader of a message queue, in every interleaving of their atomic operations.
// testing/queue_exploration.hpp lists the properties that hold in each of them,
// testing/modelled_memory.hpp the reorderings of memory. The reader takes everything, and parks
// whenever it finds nothing.

using zlink::pipe::frame;
using zlink::pipe::queue_limits;
using zlink::testing::act;
using zlink::testing::exploration;
using zlink::testing::explored_platform;
using zlink::testing::queue_scenario;
using zlink::testing::script;
namespace zmtp = zlink::wire::zmtp;

namespace {

class two_ends final : public queue_scenario {
public:
    using queue_scenario::queue_scenario;

private:
    void read() override {
        for (std::size_t index = 0; index < expected_.size(); ++index) {
            exploration::forget(index);
            if (!queue_.has_frame()) {
                exploration::require(index == 0 || expected_[index - 1].flags == 0,
                                     "a part of a message was seen without the next");
                wait_for_frame(index);
            }
            const frame next = queue_.front();
            check(index, next);
            taken_message_count_ += next.more() || next.control ? 0 : 1;
            wake_writer(queue_.pop(next));
        }
        exploration::require(!queue_.has_frame(), "there are more frames than were pushed");
    }

    void wait_for_frame(std::size_t index) {
        while (!queue_.has_frame()) {
            exploration::forget(1000 + index);
            if (queue_.mark_reader_parked() && play_.reader_fences) {
                explored_platform::fence::heavy();
            }
            if (play_.reader_checks_again && queue_.missed_something() &&
                (!play_.reader_takes_its_mark || queue_.unmark_reader())) {
                continue;
            }
            reader_woken_.wait();
        }
    }

    void check(std::size_t index, const frame& next) {
        exploration::require(next.control == (expected_[index].made_by == act::control),
                             "a frame is not what was pushed");
        if (next.reference == nullptr) {
            return check_copy(index, next.flags, next.body, next.body_bytes);
        }
        zlink::pipe::block* const taken = next.take_reference();
        check_block(index, taken);
        exploration::require(next.control || next.body == taken->data,
                             "a body is not that of its block");
        taken->drop();
    }
};

void check_all(const script& play, const exploration::rules& assumed = {}) {
    const exploration::outcome found = zlink::testing::explore<two_ends>(play, assumed);
    INFO(found.trace);
    CHECK(found.failure == "");
    CHECK(found.complete);
}

/// The failure that a mistake causes.
std::string failure_of(const script& play, const exploration::rules& assumed = {}) {
    return zlink::testing::explore<two_ends>(play, assumed).failure;
}

using enum act;
constexpr queue_limits one_message{.messages_max = 1};
constexpr queue_limits one_byte{.messages_max = 1000, .bytes_max = 1};

} // namespace

// Everything runs on one thread: slow under the thread sanitizer, which has nothing to check.
TEST_SUITE("pipe" * doctest::skip(zlink::testing::has_thread_sanitizer)) {

    TEST_CASE("interleavings: a reader that sleeps whenever it can misses nothing") {
        check_all({{message, message, message}});
    }

    TEST_CASE("interleavings: a writer that is out of credit is always woken") {
        check_all({{message, message, message}, one_message});
        check_all({{message, message}, one_byte});
    }

    TEST_CASE("interleavings: credit comes back although a control object is behind the message") {
        check_all({{message, control, message}, one_byte});
    }

    TEST_CASE("interleavings: full fences on both sides stand for the heavy one") {
        check_all({.acts = {message, message, message}, .writer_has_batches = true});
        check_all({.acts = {message, message, message},
                   .allowed = one_message,
                   .writer_has_batches = true});
        check_all({.acts = {message, trim, message}, .writer_has_batches = true});
    }

    TEST_CASE("interleavings: a writer may change over between full fences and light ones" *
              doctest::test_suite("long")) {
        for (const std::uint32_t flow_messages_min : {1U, 2U, 3U}) {
            CAPTURE(flow_messages_min);
            check_all({.acts = {message, message, message, message},
                       .flow_messages_min = flow_messages_min});
            check_all({.acts = {message, message, message},
                       .allowed = one_message,
                       .flow_messages_min = flow_messages_min});
            check_all({.acts = {message, control, trim, message, restart, message},
                       .flow_messages_min = flow_messages_min});
        }
    }

    TEST_CASE("interleavings: a message of several parts is never seen in part") {
        check_all({{two_parts, message, two_parts}});
        check_all({{two_parts, two_parts}, one_message});
    }

    TEST_CASE("interleavings: a message is seen while a part of the next one is written") {
        check_all({{ahead, message}});
        check_all({{ahead, two_parts}, one_message});
    }

    TEST_CASE("interleavings: what was rolled back is never seen") {
        check_all({{abandoned, message, abandoned, message}});
        check_all({{message, abandoned, message}, one_message});
    }

    TEST_CASE("interleavings: control objects arrive once, between the messages") {
        check_all({{control, message, control}});
    }

    TEST_CASE("interleavings: blocks arrive once") {
        check_all({{referenced, message, referenced}});
        check_all({{referenced, referenced}, one_message});
    }

    TEST_CASE("interleavings: a segment is written again only after it was read") {
        check_all({.acts = {new_segment, message, new_segment, message, new_segment, message},
                   .watches_addresses = true});
    }

    TEST_CASE("interleavings: trimming loses neither bytes nor wake-ups") {
        check_all({{message, trim, message}});
        check_all({{message, restart, message}});
        check_all({{message, restart, message, trim, message}});
        check_all({{message, message, trim, trim, message}});
        check_all({{new_segment, message, new_segment, message, trim, message}});
        check_all({{referenced, control, trim, message}});
        check_all({{new_segment, message, pass_on, message}});
        check_all({{new_segment, message, pass_on, message, pass_on, message}});
        check_all({{message, abandoned, trim, message}, one_message});
    }

    TEST_CASE("interleavings: the order of stores is kept by the compiler, too") {
        check_all({{message, message}}, {.compiler_delays_stores = true});
        check_all({{message, trim, message}}, {.compiler_delays_stores = true});
    }

    // The explorer detects the failure where something is missing.

    TEST_CASE("interleavings: without a heavy fence a wake-up is lost") {
        const exploration::rules no_heavy_fence{.heavy_fence_works = false};
        CHECK(failure_of({{message, message}}, no_heavy_fence) == "every thread sleeps");
        CHECK(failure_of({.acts = {message, message}, .reader_fences = false}) ==
              "every thread sleeps");
    }

    TEST_CASE("interleavings: without a full fence a wake-up is lost") {
        const exploration::rules no_full_fence{.full_fence_works = false};
        CHECK(failure_of({.acts = {message, message}, .writer_has_batches = true}, no_full_fence) ==
              "every thread sleeps");
        CHECK(failure_of({{message, message}, one_message}, no_full_fence) ==
              "every thread sleeps");
        CHECK(failure_of({.acts = {message, message, message}, .flow_messages_min = 2},
                         no_full_fence) == "every thread sleeps");
    }

    TEST_CASE("interleavings: without a light fence a wake-up is lost") {
        const exploration::rules no_light_fence{.light_fence_works = false,
                                                .compiler_delays_stores = true};
        CHECK(failure_of({{message, message}}, no_light_fence) == "every thread sleeps");
    }

    TEST_CASE("interleavings: without another look a wake-up is lost") {
        CHECK(failure_of({.acts = {message, message}, .reader_checks_again = false}) ==
              "every thread sleeps");
        CHECK(failure_of({.acts = {message, message},
                          .allowed = one_message,
                          .writer_checks_again = false}) == "every thread sleeps");
    }

    TEST_CASE("interleavings: who takes a mark and does not wake lets the other sleep") {
        CHECK(failure_of({.acts = {message, message}, .publisher_wakes = false}) ==
              "every thread sleeps");
        CHECK(failure_of({.acts = {message, trim}, .trimmer_wakes = false}) ==
              "every thread sleeps");
    }

    TEST_CASE("interleavings: a reader that leaves its mark is woken for nothing") {
        const std::set<std::string> possible{"a sleeper is woken twice",
                                             "the reader is woken and does not sleep"};
        CHECK(possible.contains(
            failure_of({.acts = {message, message}, .reader_takes_its_mark = false})));
    }

    TEST_CASE("interleavings: without acquire and release memory races") {
        const exploration::rules relaxed{.orders_count = false};
        CHECK(failure_of({{message}}, relaxed) != "");
        CHECK(failure_of({{referenced, message}}, relaxed) != "");
        CHECK(failure_of({{message, trim}}, relaxed) != "");
    }

} // TEST_SUITE
