// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "codec/outbound.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "session/wiring.hpp"
#include "testing/scripted_stream.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace zlink::testing {

/// The surroundings of a reader or a writer: a stream in memory, whose peer is the test, and a
/// pipe, whose socket is the test. There is no session: its notifications are counted.
class direction_harness final {
public:
    explicit direction_harness(const stream_script& script = {}, std::uint64_t messages_max = 100)
        : made_(new pipe::pipe({.messages_max = messages_max}, {.messages_max = messages_max})),
          socket_box_(new pipe::waiting_mailbox), told_(new listener),
          stream_(new scripted_stream(thread_, script)) {
        end_ = pipe::end_ptr(made_->second);
        end_->set_home(thread_.mailbox(), nullptr);
        socket_ = pipe::end_ptr(made_->first);
        socket_->set_home(socket_box_, nullptr);
        rope_ = std::make_unique<codec::outbound>(end_->in);
    }
    ~direction_harness() {
        stream_->close();
        rope_.reset();
        end_.reset();
        socket_.reset();
        socket_box_->shut([](pipe::letter&, std::uint32_t) {});
        thread_.drive_ready(1000);
    }

    session::wiring on() {
        return {.thread = thread_,
                .stream = *stream_,
                .user = *told_,
                .handler = *told_,
                .end = &*end_,
                .rope = rope_.get()};
    }
    /// The same before messages may pass.
    session::wiring before_traffic() {
        session::wiring made = on();
        made.rope = nullptr;
        return made;
    }

    scripted_stream& peer() { return *stream_; }
    pipe::pipe_end& socket() { return *socket_; }
    pipe::pipe_end& end() { return *end_; }
    codec::outbound& outgoing() { return *rope_; }

    /// Lets the thread do all its work. @return  How often the stream was ready since the last
    /// call.
    int run() {
        thread_.drive_ready(1000);
        return std::exchange(told_->ready_count, 0);
    }

private:
    struct listener final : transport::stream_user, runtime::event_handler {
        void on_readable() noexcept override { ++ready_count; }
        void on_writable() noexcept override { ++ready_count; }
        bool has_news() noexcept override { return false; }
        park_mark on_turn_over() noexcept override { return park_mark::none; }
        void on_settled() noexcept override {}
        processor_number take_application_processor() noexcept override { return no_processor; }
        bool on_sweep() noexcept override { return false; }
        bool on_handed_over(std::uint64_t) noexcept override { return true; }
        void on_call_undone(bool) noexcept override {}

        int ready_count = 0;
    };

    runtime::io_thread thread_;
    pipe::pipe_ptr made_;
    boost::intrusive_ptr<pipe::waiting_mailbox> socket_box_;
    boost::intrusive_ptr<listener> told_;
    boost::intrusive_ptr<scripted_stream> stream_;
    pipe::end_ptr end_;
    pipe::end_ptr socket_;
    std::unique_ptr<codec::outbound> rope_;
};

} // namespace zlink::testing
