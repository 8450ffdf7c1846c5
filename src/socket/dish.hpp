// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/relaxed.hpp"
#include "socket/fair_queue.hpp"
#include "socket/pattern.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace zlink::socket {

/// Receives the messages of the groups that it joined, from all its peers, fairly (48/RADIO-DISH).
///
/// A message has two frames, its group and its content. Others, and messages of other groups, are
/// dropped: after a leave some are still under way, and datagrams are sent to everybody.
class dish final : public pattern {
public:
    void on_attached(peer& added) override;
    void on_detached(peer& removed) override;
    void on_readable(peer& woken) override { queue_.activate(woken); }
    void on_writable(peer&) override {}
    void on_restarted(peer& about) override;
    bool reads_after_close(const peer&) const noexcept override { return true; }

    result<void> send(outgoing&) override { return errc::not_supported; }
    result<void> recv(incoming& target) override;
    /// As in libzmq: a group can be joined at any time.
    bool can_send() override { return true; }
    bool can_recv() override { return find_content() != nullptr; }
    std::uint64_t undeliverable_count() const noexcept override { return refused_count_; }

    /// @error invalid_argument  The name is too long, or the group was joined already.
    /// @throws std::bad_alloc  Nothing changed.
    result<void> join(std::string_view group);
    /// @error invalid_argument  The name is too long, or the group was not joined.
    /// @throws std::bad_alloc  Nothing changed.
    result<void> leave(std::string_view group);

private:
    struct name_hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void tell_all(std::string_view group, bool joins);
    void send_all_groups(peer& to);
    peer* find_content();

    std::unordered_set<std::string, name_hash, std::equal_to<>> groups_;
    fair_queue queue_;
    std::vector<std::byte> command_;
    std::string group_;                ///< Of the message whose content is next.
    peer* found_ = nullptr;            ///< The peer with the content that is next; null: not known.
    pipe::message_group_ptr received_; ///< Of the message received last.
    relaxed<std::uint64_t> refused_count_{0};
};

} // namespace zlink::socket
