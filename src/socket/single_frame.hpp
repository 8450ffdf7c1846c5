// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/relaxed.hpp"
#include "socket/dealer.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pair.hpp"
#include "socket/pull.hpp"
#include "socket/push.hpp"

namespace zlink::socket {

/// A sending pattern whose messages have one frame.
template<class Pattern>
class single_frame_sender : public Pattern {
public:
    using Pattern::Pattern;

    /// @error invalid_argument  Another frame is to follow. Otherwise as Pattern::send().
    result<void> send(outgoing& source) override {
        return source.more() ? result<void>{errc::invalid_argument} : Pattern::send(source);
    }
    bool send_at_once(const std::byte* body, std::size_t bytes, bool more) noexcept override {
        return !more && Pattern::send_at_once(body, bytes, more);
    }
};

/// A receiving pattern whose messages have one frame. Longer ones, which only peers with another
/// implementation send, are dropped, as in libzmq.
///
/// @tparam Pattern  Has a fair_queue queue_.
template<class Pattern>
class single_frame_receiver : public Pattern {
public:
    using Pattern::Pattern;

    result<void> recv(incoming& target) override {
        pipe::frame front{};
        peer* const from = next(front);
        if (from == nullptr) {
            return errc::again;
        }
        from->take(front, target);
        this->queue_.took(*from, false);
        return {};
    }
    std::size_t recv_at_once(void* to, std::size_t capacity) noexcept override {
        const std::size_t bytes = this->queue_.recv_at_once(to, capacity);
        return bytes < pipe::message_queue::more_follows || bytes == pipe::message_queue::nothing
                   ? bytes
                   : drop_rest();
    }
    bool recv_message_at_once(pipe::message& into) override {
        if (!this->queue_.recv_message_at_once(into)) {
            return false;
        }
        if (into.more()) [[unlikely]] {
            into.close();
            into.init_empty();
            drop_rest();
            return false;
        }
        return true;
    }
    bool can_recv() override {
        pipe::frame front{};
        return next(front) != nullptr;
    }
    std::uint64_t undeliverable_count() const noexcept override {
        return Pattern::undeliverable_count() + refused_count_;
    }

private:
    peer* next(pipe::frame& front) { return this->queue_.next_of_one_frame(front, refused_count_); }

    /// Drops a message of which the first frame was taken.
    /// @return message_queue::nothing
    ZLINK_COLD std::size_t drop_rest() noexcept {
        pipe::frame front{};
        if (peer* const from = this->queue_.next_at_once(front); from != nullptr) {
            this->queue_.drop_message(*from, front);
        }
        ++refused_count_;
        return pipe::message_queue::nothing;
    }

    relaxed<std::uint64_t> refused_count_{0};
};

/// CLIENT (41/CLISRV): sends to its servers in turn, and receives from all of them.
using client = single_frame_receiver<single_frame_sender<dealer>>;
/// CHANNEL (51/P2P): talks to exactly one peer.
using channel = single_frame_receiver<single_frame_sender<pair>>;
/// SCATTER (49/SCATTER-GATHER): sends each message to one of its peers, in turn.
using scatter = single_frame_sender<push>;
/// GATHER (49/SCATTER-GATHER): receives from all its peers.
using gather = single_frame_receiver<pull>;

} // namespace zlink::socket
