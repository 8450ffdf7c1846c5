// SPDX-License-Identifier: MPL-2.0
#include "session/heartbeat.hpp"

#include <algorithm>
#include <new>

namespace zlink::session {

using wire::zmtp::heartbeat_ttl;

namespace {

heartbeat_ttl ttl_of(const socket_options& options) noexcept {
    const auto tenths = std::chrono::duration_cast<std::chrono::duration<int, std::deci>>(
                            milliseconds(options.heartbeat_ttl))
                            .count();
    return heartbeat_ttl{static_cast<std::uint16_t>(std::clamp(tenths, 0, int{UINT16_MAX}))};
}

} // namespace

heartbeat::heartbeat(boost::asio::io_context& reactor, heartbeat_user& user,
                     const socket_options& options) noexcept
    : reactor_(reactor), user_(&user), interval_(options.heartbeat_interval),
      announced_ttl_(ttl_of(options)) {
    answer_.longest =
        options.heartbeat_timeout < 0 ? interval_ : milliseconds(options.heartbeat_timeout);
}

void heartbeat::start() {
    if (interval_.count() > 0) {
        ping_timer_.start(reactor_, interval_, boost::intrusive_ptr<heartbeat>(this),
                          &heartbeat::on_ping_due);
    }
}

void heartbeat::stop() noexcept {
    user_ = nullptr;
    ping_timer_.stop();
    answer_.timer.stop();
    ttl_.timer.stop();
}

void heartbeat::on_ping_due() noexcept {
    user_->send_ping(announced_ttl_);
    if (user_ == nullptr) {
        return;
    }
    try {
        const bool is_answered = answer_.heard_count != heard_count_;
        if (answer_.longest.count() > 0 && (!answer_.is_running || is_answered)) {
            begin(answer_, &heartbeat::on_answer_overdue);
        }
        start();
    } catch (const std::bad_alloc&) {
        user_->on_silence();
    }
}

void heartbeat::watch_ttl() {
    if (ttl_.longest.count() > 0) {
        begin(ttl_, &heartbeat::on_ttl_over);
    } else {
        ttl_.timer.stop();
    }
}

void heartbeat::begin(watch& begun, void (heartbeat::*expired)() noexcept) {
    begun.heard_count = heard_count_;
    begun.timer.start(reactor_, begun.longest, boost::intrusive_ptr<heartbeat>(this), expired);
    begun.is_running = true;
}

void heartbeat::expire(watch& over, void (heartbeat::*expired)() noexcept) noexcept {
    over.is_running = false;
    if (over.heard_count != heard_count_) {
        return; // The next PING, in either direction, starts a new period.
    }
    if (user_->is_listening()) {
        return user_->on_silence();
    }
    try {
        begin(over, expired);
    } catch (const std::bad_alloc&) {
        user_->on_silence();
    }
}

} // namespace zlink::session
