// SPDX-License-Identifier: MPL-2.0
#include "socket/dish.hpp"

#include "base/error_text.hpp"
#include "base/retry.hpp"
#include "socket/restart_mark.hpp"
#include "wire/zmtp/command.hpp"

#include <string>
#include <utility>

namespace zlink::socket {

namespace zmtp = wire::zmtp;

void dish::on_attached(peer& added) {
    queue_.attach(added);
    send_all_groups(added);
}

void dish::on_detached(peer& removed) {
    if (found_ == &removed) {
        found_ = nullptr;
    }
    queue_.detach(removed);
}

void dish::on_restarted(peer& about) {
    about.end().push_control(make_restart_mark());
    send_all_groups(about);
}

void dish::send_all_groups(peer& to) {
    // Not subject to the high-water mark: they may not get lost.
    for (const std::string& each : groups_) {
        // Some are already sent: none may be sent twice.
        retry_allocation([&] {
            zmtp::write_group_command(command_, each, true);
            to.push_bytes(command_.data(), command_.size(), zmtp::flag_command);
        });
        to.finish_message();
    }
}

void dish::tell_all(std::string_view group, bool joins) {
    zmtp::write_group_command(command_, group, joins);
    for (peer* const each : queue_.all()) {
        retry_allocation(
            [&] { each->push_bytes(command_.data(), command_.size(), zmtp::flag_command); });
        each->finish_message();
    }
}

result<void> dish::join(std::string_view group) {
    if (group.size() > zmtp::group_bytes_max) {
        set_error_text("a group has at most " + std::to_string(zmtp::group_bytes_max) +
                       " bytes, not " + std::to_string(group.size()));
        return errc::invalid_argument;
    }
    command_.reserve(zmtp::group_command_bytes_max);
    if (!groups_.emplace(group).second) {
        set_error_text("the group was joined already");
        return errc::invalid_argument;
    }
    tell_all(group, true);
    return {};
}

result<void> dish::leave(std::string_view group) {
    command_.reserve(zmtp::group_command_bytes_max);
    const auto found = groups_.find(group);
    if (found == groups_.end()) {
        set_error_text("the group was not joined");
        return errc::invalid_argument;
    }
    tell_all(group, false);
    groups_.erase(found);
    if (found_ != nullptr && group_ == group) { // can_recv() has found it.
        pipe::frame front{};
        found_->peek(front);
        queue_.drop_message(*std::exchange(found_, nullptr), front);
    }
    return {};
}

/// Finds the next message of a joined group, and takes its first frame.
/// @return The peer with its content at the front; null if there is none.
peer* dish::find_content() {
    pipe::frame front{};
    while (found_ == nullptr) {
        peer* const from = queue_.next(front);
        if (from == nullptr) {
            return nullptr;
        }
        const std::string_view group{reinterpret_cast<const char*>(front.body), front.body_bytes};
        if (!front.more() || front.body_bytes > zmtp::group_bytes_max) {
            ++refused_count_;
            queue_.drop_message(*from, front);
            continue;
        }
        if (!groups_.contains(group)) {
            queue_.drop_message(*from, front);
            continue;
        }
        group_.assign(group);
        from->drop(front);
        queue_.took(*from, true);
        from->peek(front);
        if (front.more()) {
            ++refused_count_;
            queue_.drop_message(*from, front);
            continue;
        }
        found_ = from;
    }
    return found_;
}

result<void> dish::recv(incoming& target) {
    peer* const from = find_content();
    if (from == nullptr) {
        return errc::again;
    }
    if (target.into != nullptr) {
        // Most messages are of the same group and peer as the one before.
        if (!received_ || received_->name != group_ || received_->peer.get() != from->info()) {
            received_ = new pipe::message_group{group_, from->shared_info()};
        }
    }
    pipe::frame content;
    from->peek(content);
    from->take(content, target);
    queue_.took(*from, false);
    found_ = nullptr;
    if (target.into != nullptr) {
        target.into->attach_group(received_);
    }
    return {};
}

} // namespace zlink::socket
