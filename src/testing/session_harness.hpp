// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_event.hpp"
#include "security/handshake_failure.hpp"
#include "session/session.hpp"
#include "testing/bystander.hpp"
#include "testing/queue_contents.hpp"
#include "testing/scripted_dialer.hpp"
#include "testing/scripted_stream.hpp"
#include "testing/scripted_zap_handler.hpp"
#include "testing/virtual_time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::testing {

/// Options without timers, so that tests need not wait for any.
inline socket_options session_options(socket_type type) {
    socket_options made;
    made.type = type;
    made.handshake_interval = 0;
    made.reconnect_interval = 0;
    return made;
}

/// `data`, repeated `count` times.
inline std::string times(int count, std::string_view data) {
    std::string all;
    for (; count > 0; --count) {
        all += data;
    }
    return all;
}

/// Records events.
class event_recorder final : public connection_observer {
public:
    bool watches(connection_event) const noexcept override { return true; }
    void on_connection_event(connection_event what, std::int32_t value,
                             const event_place&) noexcept override {
        events.emplace_back(what, value);
    }

    std::vector<std::pair<connection_event, std::int32_t>> events;
};

/// A session, its socket, and its thread, which run() drives until the session waits for the
/// socket, the peer or the time. The test plays the peer, by scripted_stream, and controls the
/// time.
class session_harness final : session::session_host {
public:
    /// @param tls  Null: no encryption.
    /// @param via  Of the endpoint that was bound or connected.
    /// @param site  Null: no files are served.
    explicit session_harness(const socket_options& options = session_options(socket_type::pair),
                             transport::tls_context_ptr tls = {}, scheme via = scheme::tcp,
                             web::site_ptr site = {}) {
        auto made = std::make_shared<session::endpoint_call>();
        made->host = this;
        made->socket = box_;
        made->options = std::make_shared<const socket_options>(options);
        made->observer = recorder_;
        made->tls = std::move(tls);
        made->departures = departures_;
        made->site = std::move(site);
        made->where.via = via;
        made->where.path = is_web(via) ? "/" : "";
        call_ = std::move(made);
    }

    ~session_harness() {
        if (end_) {
            close_socket(std::chrono::milliseconds{0});
        }
        for (const auto& each : streams_) {
            each->peer_resets();
        }
        run();
        look();
        end_origin(); // A session without a pipe would dial for ever.
        box_->shut([](pipe::letter&, std::uint32_t) {});
    }

    /// Sets the ZAP handler; before, there is none.
    void ask_of(scripted_zap_handler& handler) { zap_ = &handler; }
    /// From now on there is no ZAP handler any more.
    void lose_zap_handler() {
        zap_ = nullptr;
        had_zap_handler_ = true;
    }

    /// Why handshakes failed, oldest first.
    std::vector<security::handshake_failure> failures() const {
        using enum connection_event;
        std::vector<security::handshake_failure> found;
        for (const auto& [what, value] : recorder_->events) {
            if (what == handshake_failed_no_detail || what == handshake_failed_protocol ||
                what == handshake_failed_auth) {
                found.push_back({what, value});
            }
        }
        return found;
    }

    /// Begins with an accepted connection.
    scripted_stream& accept(const stream_script& script = {}) {
        streams_.emplace_back(new scripted_stream(thread_, script));
        session::session::accept(thread_, call_, streams_.back());
        run();
        return *streams_.back();
    }

    /// Begins as connect() does, without a connection. With a STREAM each connection will have a
    /// pipe.
    void dial() {
        pipe::end_ptr sessions_end;
        if (call_->options->type != socket_type::stream) {
            const pipe::pipe_ptr made{new pipe::pipe({.messages_max = 100}, {.messages_max = 100})};
            sessions_end = pipe::end_ptr(made->second);
            made->first.set_home(box_, nullptr);
            made->second.set_home(thread_.mailbox(), nullptr);
            end_ = pipe::end_ptr(made->first);
        }
        dialer_.reset(new scripted_dialer(thread_));
        session::session::dial(thread_, call_, dialer_, std::move(sessions_end));
        run();
    }

    /// Lets the dialer succeed.
    scripted_stream& reach(const stream_script& script = {}) {
        REQUIRE(is_dialing());
        streams_.emplace_back(new scripted_stream(thread_, script));
        dialer_->come_to(transport::stream_ptr(streams_.back()));
        run();
        return *streams_.back();
    }

    /// Lets the attempt to connect fail.
    void fail_to_reach(errc reason) {
        REQUIRE(is_dialing());
        dialer_->come_to(reason);
        run();
    }

    bool is_dialing() {
        run();
        return dialer_->is_dialing();
    }

    /// Lets the session do all its work.
    void run() {
        thread_.drive_ready(100'000);
        look();
    }

    /// As run(). @return  The number of handlers that ran.
    std::size_t run_counting() {
        std::size_t count = 0;
        while (thread_.context().poll_one() != 0) {
            ++count;
        }
        look();
        return count;
    }

    /// As run(), while `time` passes.
    void pass(std::chrono::milliseconds time) {
        run();
        for (; time.count() > 0; --time) {
            virtual_time::tick(thread_);
            look();
        }
    }

    /// As run(), while time passes until `holds` is true. @return  The time that passed.
    template<class Claim>
    std::chrono::milliseconds pass_until(Claim&& holds) {
        constexpr std::chrono::milliseconds give_up{100'000};
        std::chrono::milliseconds passed{0};
        for (run(); !holds(); ++passed) {
            REQUIRE(passed < give_up);
            pass(std::chrono::milliseconds{1});
        }
        return passed;
    }

    /// On the newest connection.
    void peer_sends(std::string_view data) {
        streams_.back()->peer_sends(data);
        run();
    }

    /// Likewise, while another connection is ready and waits for its turn.
    void peer_sends_beside_others(std::string_view data) {
        const bystander first{thread_, [&] { streams_.back()->peer_sends(data); }};
        const bystander second{thread_};
        run(); // The turns of the first one and of the session.
        run(); // The turn of the second one.
    }

    void lose_connection() {
        streams_.back()->peer_ends();
        run();
    }

    /// Calls visit(layout) with the layout of the pipe's frames.
    template<class Visit>
    auto in_layout(Visit&& visit) {
        switch (end_->frames) {
        case pipe::layout::length:
            return visit(pipe::length_layout{});
        case pipe::layout::websocket:
        case pipe::layout::masked_websocket:
            return visit(pipe::websocket_layout{});
        case pipe::layout::zmtp:
            break;
        }
        return visit(pipe::zmtp_layout{});
    }

    void send(std::string_view body, std::uint8_t flags = 0) {
        if (end_->frames == pipe::layout::masked_websocket) {
            push<pipe::masked_websocket_layout>(end_->out, body, flags);
        } else {
            in_layout([&]<class Layout>(Layout) { push<Layout>(end_->out, body, flags); });
        }
        if ((flags & wire::zmtp::flag_more) == 0) {
            end_->finish_message();
        }
    }
    void send_block(std::string_view body, std::uint8_t flags = 0) {
        pipe::block* const made = pipe::make_block(body.size());
        std::copy(body.begin(), body.end(), reinterpret_cast<char*>(made->data));
        end_->out.push_reference(made, body.size(), flags);
        if ((flags & wire::zmtp::flag_more) == 0) {
            end_->finish_message();
        }
    }

    /// @param linger  Nothing: no limit.
    void close_socket(std::optional<std::chrono::milliseconds> linger = {}) {
        arrived();
        end_->whole().linger = linger;
        end_.reset();
    }

    /// The frames that the socket has got so far; "*" for the event that a peer has come or gone.
    const std::vector<std::string>& arrived() {
        while (end_->in.has_frame()) {
            if (front().control) {
                take_news();
            } else {
                take_next();
            }
        }
        return arrived_;
    }

    /// The peer in the event that the socket takes next.
    pipe::peer_info_ptr announced() {
        REQUIRE(end_->in.has_frame());
        REQUIRE(end_->in.front().control);
        return take_news();
    }

    /// The socket undoes its bind or connect.
    void end_origin() {
        thread_.on_call_undone(call_->id, false);
        run();
    }

    /// The whole socket goes; its mailbox is shut.
    void end_socket() {
        box_->shut([](pipe::letter&, std::uint32_t) {});
        box_.reset(new pipe::waiting_mailbox); // For look().
    }

    /// Whether the session has given the socket a pipe.
    bool has_pipe() const { return static_cast<bool>(end_); }
    bool was_told(std::uint32_t happened) const { return (told_ & happened) != 0; }
    /// Events that a monitor of the socket would have received.
    const auto& events() const { return recorder_->events; }
    bool is_gone() const { return gone_count_ == 1; }
    /// Departures not yet reported to the socket.
    pipe::departures& departures() { return *departures_; }
    pipe::pipe_end& end() { return *end_; }
    /// Messages that the socket may send now, of 100.
    std::uint64_t credit() {
        end_->out.set_limits({.messages_max = 100}); // Checks the credit again.
        return end_->out.credit();
    }

private:
    virtual_time time_; ///< First, so that it is destroyed after all that uses it.

    void on_session_gone() noexcept override { ++gone_count_; }
    std::uint32_t next_arrival() noexcept override { return 0; }
    bool run_blocking(std::function<void()> task) noexcept override {
        thread_.post([task = std::move(task)] { task(); });
        return true;
    }
    void on_lingering(const session::session&, session::lingering) override {}
    void on_lingered(const session::session&) noexcept override {}
    bool has_had_zap_handler() const noexcept override { return had_zap_handler_; }
    pipe::end_ptr reach_zap_handler(pipe::mailbox_ptr home) override {
        return zap_ != nullptr ? zap_->reach(std::move(home)) : pipe::end_ptr{};
    }

    void look() {
        box_->collect([this](pipe::letter& about, std::uint32_t happened) {
            if ((happened & pipe::event::attached) != 0) {
                end_ = pipe::end_ptr(static_cast<pipe::pipe_end&>(about));
            }
            told_ |= happened;
        });
    }

    pipe::peer_info_ptr take_news() {
        auto* const told = static_cast<pipe::peer_info*>(front().take_reference());
        pipe::peer_info_ptr newest{told->take_newest(), false};
        take_next();
        return newest;
    }

    pipe::frame front() {
        return in_layout([&]<class Layout>(Layout) { return end_->in.front<Layout>(); });
    }

    void take_next() {
        bool wakes = false;
        arrived_.push_back(
            in_layout([&]<class Layout>(Layout) { return take<Layout>(end_->in, wakes); }));
        if (wakes) {
            end_->other().deliver(pipe::event::writable);
        }
    }

    int gone_count_ = 0;
    scripted_zap_handler* zap_ = nullptr;
    bool had_zap_handler_ = false;
    std::uint32_t told_ = 0;
    std::vector<std::string> arrived_;
    boost::intrusive_ptr<pipe::waiting_mailbox> box_{new pipe::waiting_mailbox};
    pipe::departures_ptr departures_{new pipe::departures};
    std::shared_ptr<event_recorder> recorder_ = std::make_shared<event_recorder>();
    std::shared_ptr<const session::endpoint_call> call_;
    runtime::io_thread thread_;
    boost::intrusive_ptr<scripted_dialer> dialer_;
    std::vector<boost::intrusive_ptr<scripted_stream>> streams_; ///< Oldest first.
    pipe::end_ptr end_;
};

} // namespace zlink::testing
