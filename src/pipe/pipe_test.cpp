// SPDX-License-Identifier: MPL-2.0
#include "pipe/pipe.hpp"

#include "testing/queue_contents.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using boost::intrusive_ptr;
using zlink::pipe::end_ptr;
using zlink::pipe::event_sink;
using zlink::pipe::letter;
using zlink::pipe::pipe_end;
using zlink::pipe::pipe_ptr;
using zlink::pipe::queue_limits;
using zlink::pipe::waiting_mailbox;
using zlink::testing::counted_block;
using zlink::testing::push;
using zlink::testing::take_all;
namespace zmtp = zlink::wire::zmtp;

namespace {

using messages = std::vector<std::string>;
using happenings = std::vector<std::uint32_t>;
using events = zlink::pipe::event;

/// Records the events at the ends that it owns.
struct owner final : event_sink {
    void on_events(std::uint32_t happened) noexcept override { seen.push_back(happened); }

    /// The events since the last call.
    happenings look() {
        box->collect([](letter& about, std::uint32_t happened) {
            if (event_sink* const told = static_cast<pipe_end&>(about).owner(); told != nullptr) {
                told->on_events(happened);
            }
        });
        return std::exchange(seen, {});
    }

    intrusive_ptr<waiting_mailbox> box{new waiting_mailbox};
    happenings seen;
};

struct joined_pipe {
    explicit joined_pipe(const queue_limits& allowed = {}) {
        const pipe_ptr made{new zlink::pipe::pipe(allowed, allowed)};
        made->first.set_home(left.box, &left);
        made->second.set_home(right.box, &right);
        first = end_ptr(made->first);
        second = end_ptr(made->second);
    }
    ~joined_pipe() {
        left.box->shut([](letter&, std::uint32_t) {});
        right.box->shut([](letter&, std::uint32_t) {});
    }

    owner left;
    owner right;
    end_ptr first;
    end_ptr second;
};

void send(pipe_end& from, const char* body) {
    push(from.out, body);
    from.finish_message();
}

} // namespace

TEST_SUITE("pipe") {

    TEST_CASE("pipe: joins what one end sends to what the other receives, both ways") {
        joined_pipe pipe;
        CHECK(&pipe.first->other() == &*pipe.second);
        CHECK(&pipe.second->other() == &*pipe.first);
        send(*pipe.first, "there");
        send(*pipe.second, "back");
        CHECK(take_all(pipe.second->in) == messages{"there"});
        CHECK(take_all(pipe.first->in) == messages{"back"});
        CHECK(pipe.left.look().empty()); // Neither side was parked.
        CHECK(pipe.right.look().empty());
    }

    TEST_CASE("pipe: tells a sleeping reader of a message, and of a control object") {
        joined_pipe pipe;
        int alive = 0;
        pipe.second->in.mark_reader_parked();
        send(*pipe.first, "one");
        send(*pipe.first, "two");
        CHECK(pipe.right.look() == happenings{events::readable});
        CHECK(take_all(pipe.second->in).size() == 2);
        pipe.second->in.mark_reader_parked();
        pipe.first->push_control(new counted_block{alive});
        CHECK(pipe.right.look() == happenings{events::readable});
        CHECK(take_all(pipe.second->in) == messages{"*"});
    }

    TEST_CASE("pipe: tells a sleeping writer that credit came back") {
        joined_pipe pipe{{.messages_max = 1}};
        send(*pipe.first, "message");
        pipe.first->out.mark_writer_parked();
        CHECK(!pipe.first->out.has_credit());
        CHECK(pipe.second->in.has_frame());
        pipe.second->pop(pipe.second->in.front());
        CHECK(pipe.left.look() == happenings{events::writable});
        CHECK(pipe.right.look().empty());
        CHECK(pipe.first->out.has_credit());
    }

    TEST_CASE("pipe: puts an end into its owner's mailbox") {
        joined_pipe pipe;
        pipe.second->deliver(events::attached);
        pipe.second->deliver(events::restarted);
        CHECK(pipe.right.look() == happenings{events::attached | events::restarted});
        CHECK(pipe.left.look().empty());
    }

    TEST_CASE("pipe: leaves finished messages to the other end when one end is closed") {
        joined_pipe pipe;
        send(*pipe.first, "finished");
        push(pipe.first->out, "unfinished", zmtp::flag_more);
        CHECK(!pipe.second->peer_is_closed());
        pipe.first->close();
        CHECK(pipe.second->peer_is_closed());
        CHECK(!pipe.first->peer_is_closed());
        CHECK(pipe.right.look() == happenings{events::closed});
        CHECK(take_all(pipe.second->in) == messages{"finished"});
        pipe.first->close();
        CHECK(pipe.right.look().empty());
    }

    TEST_CASE("pipe: tells no owner of a closed end what happens there") {
        joined_pipe pipe;
        pipe.second->in.mark_reader_parked();
        pipe.second->close();
        CHECK(pipe.second->owner() == nullptr);
        send(*pipe.first, "too late");
        pipe.first->close();
        CHECK(pipe.right.look().empty());
    }

    TEST_CASE("pipe: may have an end that has no home yet") {
        int alive = 0;
        const pipe_ptr made{new zlink::pipe::pipe({}, {})};
        owner known;
        made->first.set_home(known.box, &known);
        (void)made->first.out.push_control(new counted_block{alive});
        end_ptr first(made->first);
        first.reset();
        CHECK(made->second.peer_is_closed());
        CHECK(take_all(made->second.in) == messages{"*"});
    }

    TEST_CASE("pipe: is freed with all that lies in it when both ends let go") {
        int alive = 0;
        {
            joined_pipe pipe;
            pipe.first->push_control(new counted_block{alive});
            pipe.second->out.push_reference(new counted_block{alive, "body"}, 4, 0);
            pipe.second->finish_message();
            pipe.second->out.push_reference(new counted_block{alive, "body"}, 4, zmtp::flag_more);
            CHECK(alive == 3);
            pipe.second.reset();
            CHECK(alive == 2); // The unfinished message was rolled back.
            CHECK(pipe.left.look() == happenings{events::closed});
            pipe.first.reset();
            CHECK(alive == 2); // Held by its event in the mailbox.
            CHECK(pipe.right.look().empty());
            CHECK(alive == 0);
        }
        CHECK(alive == 0);
    }

    TEST_CASE("pipe: news for a socket that is gone keep no pipe alive") {
        int alive = 0;
        joined_pipe pipe;
        pipe.second->push_control(new counted_block{alive});
        pipe.left.box->shut([](letter&, std::uint32_t) {});
        pipe.first.reset();
        pipe.right.look();
        pipe.second.reset();
        CHECK(alive == 0);
    }

    TEST_CASE("end pointer: closes its end when it goes, and not when it moves") {
        joined_pipe pipe;
        end_ptr moved = std::move(pipe.first);
        CHECK(!pipe.first);
        CHECK(moved);
        CHECK(pipe.right.look().empty());
        pipe.first = std::move(moved);
        CHECK(pipe.right.look().empty());
        CHECK(!moved);
        pipe.first = end_ptr{};
        CHECK(pipe.right.look() == happenings{events::closed});
        pipe.first.reset();
        CHECK(pipe.right.look().empty());
    }

} // TEST_SUITE
