// SPDX-License-Identifier: MPL-2.0
#include "socket/xsub.hpp"

#include "base/retry.hpp"
#include "base/yield.hpp"
#include "socket/restart_mark.hpp"
#include "wire/zmtp/command.hpp"

#include <algorithm>
#include <iterator>

namespace zlink::socket {

namespace zmtp = wire::zmtp;

namespace {

void write_command(std::vector<std::byte>& out, topic_view topic, bool subscribe) {
    const std::string_view prefix = subscribe ? zmtp::subscribe_prefix : zmtp::cancel_prefix;
    const auto data = std::as_bytes(std::span{prefix});
    out.assign(data.begin(), data.end());
    out.insert(out.end(), topic.begin(), topic.end());
}

} // namespace

void xsub::on_attached(peer& added) {
    queue_.attach(added);
    send_all_subscriptions(added);
}

void xsub::on_detached(peer& removed) {
    if (queue_.receiving() == &removed) {
        skips_rest_ = false;
    }
    std::erase(upstream_, &removed);
    queue_.detach(removed);
}

void xsub::on_restarted(peer& about) {
    about.end().push_control(make_restart_mark());
    send_all_subscriptions(about);
}

void xsub::send_all_subscriptions(peer& to) {
    // Subscriptions are not subject to the high-water mark: they may not get lost.
    topics_.for_each([&](topic_view topic) {
        // Some are already sent: none may be sent twice.
        retry_allocation([&] {
            write_command(command_, topic, true);
            to.push_bytes(command_.data(), command_.size(), zmtp::flag_command);
        });
        to.finish_message();
    });
}

void xsub::change(topic_view topic, bool subscribe) {
    write_command(command_, topic, subscribe); // May fail, as may the next call; no later one.
    if (subscribe) {
        // Repeated subscriptions are forwarded: the publisher decides whether they matter
        // (ZMQ_XPUB_VERBOSE), perhaps behind a device.
        topics_.add(topic);
    } else if (topics_.remove(topic) != topic_counts::removal::last &&
               !options_.xsub_verbose_unsubscribe) {
        return;
    }
    for (peer* const each : queue_.all()) {
        retry_allocation(
            [&] { each->push_bytes(command_.data(), command_.size(), zmtp::flag_command); });
        each->finish_message();
    }
}

result<void> xsub::change_subscription(std::span<const std::byte> topic, bool subscribe) {
    if (!is_sub()) {
        return errc::invalid_argument;
    }
    change(topic, subscribe);
    if (!queue_.all().empty()) {
        // An I/O thread on this processor would wait for the end of the time slice, some
        // milliseconds; messages published meanwhile would not arrive.
        yield_or_sleep();
    }
    return {};
}

result<void> xsub::send(outgoing& source) {
    if (is_sub()) {
        return errc::not_supported;
    }
    if (!is_sending_) {
        const auto subscription =
            zmtp::decode_subscription_message({source.data(), source.bytes()});
        if (subscription) {
            change(subscription->topic, subscription->subscribe);
            return {};
        }
        upstream_.clear();
        std::copy_if(queue_.all().begin(), queue_.all().end(), std::back_inserter(upstream_),
                     [](peer* each) {
                         if (each->has_credit()) {
                             return true;
                         }
                         each->count_dropped();
                         return false;
                     });
    }
    outgoing nothing{nullptr, 0, source.more()};
    outgoing& passed_on = is_sending_ && !counts_inside_message(source) ? nothing : source;
    try {
        for (peer* const each : upstream_) {
            each->push(passed_on);
        }
    } catch (...) { // No peer gets a part.
        for (peer* const each : upstream_) {
            each->rollback();
        }
        upstream_.clear();
        throw;
    }
    is_sending_ = source.more();
    if (!is_sending_) {
        for (peer* const each : upstream_) {
            each->finish_message();
        }
    }
    return {};
}

void xsub::abandon_message() noexcept {
    if (is_sending_) {
        for (peer* const each : upstream_) {
            each->rollback();
        }
        upstream_.clear();
        is_sending_ = false;
    }
}

/// Whether a frame behind the first of its message is forwarded to the publishers. Unless
/// ZMQ_ONLY_FIRST_SUBSCRIBE is set on both sides, they treat a frame in the form of a subscription
/// as one. So this socket counts it, too, and does not forward the cancellation of one of several
/// equal subscriptions.
bool xsub::counts_inside_message(const outgoing& source) {
    const auto subscription = zmtp::decode_subscription_message({source.data(), source.bytes()});
    if (!subscription || options_.only_first_subscribe) {
        return true;
    }
    if (subscription->subscribe) {
        topics_.add(subscription->topic);
        return true;
    }
    return topics_.remove(subscription->topic) == topic_counts::removal::last ||
           options_.xsub_verbose_unsubscribe;
}

/// The next frame of a message with a subscribed topic; other messages are dropped.
peer* xsub::next_matching(pipe::frame& front) {
    while (true) {
        peer* const from = queue_.next(front);
        if (from == nullptr) {
            return nullptr;
        }
        const bool is_first = queue_.receiving() == nullptr;
        const bool passes = !skips_rest_ && (!is_first || !is_sub() ||
                                             topics_.matches({front.body, front.body_bytes}) !=
                                                 options_.invert_matching);
        if (passes) {
            return from;
        }
        skips_rest_ = front.more();
        from->drop(front);
        queue_.took(*from, front.more());
    }
}

result<void> xsub::recv(incoming& target) {
    pipe::frame front;
    peer* const from = next_matching(front);
    if (from == nullptr) {
        return errc::again;
    }
    from->take(front, target);
    queue_.took(*from, target.more);
    return {};
}

bool xsub::can_recv() {
    pipe::frame front;
    return next_matching(front) != nullptr;
}

std::optional<std::span<const std::byte>> xsub::next_message() {
    pipe::frame front;
    if (next_matching(front) == nullptr || queue_.receiving() != nullptr) {
        return {};
    }
    return std::span{front.body, front.body_bytes};
}

} // namespace zlink::socket
