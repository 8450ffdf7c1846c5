// SPDX-License-Identifier: MPL-2.0
#include "transport/accept_filter.hpp"

#include "transport/address.hpp"

#include <algorithm>
#include <grp.h>
#include <memory>
#include <netinet/in.h>
#include <new>
#include <pwd.h>
#include <span>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace zlink::transport {

namespace {

/// Room for an entry of the lists of users and groups; larger entries are not found.
constexpr std::size_t entry_bytes_max = std::size_t{64} * 1024;

template<class T>
bool holds(const std::vector<T>& all, T asked) noexcept {
    return std::find(all.begin(), all.end(), asked) != all.end();
}

/// Whether the user is a member of the group, other than by its primary group.
bool is_member(uid_t user, gid_t group) noexcept {
    const std::unique_ptr<char[]> user_room{new (std::nothrow) char[entry_bytes_max]};
    const std::unique_ptr<char[]> group_room{new (std::nothrow) char[entry_bytes_max]};
    if (!user_room || !group_room) {
        return false;
    }
    passwd user_entry;
    passwd* named = nullptr;
    ::group group_entry;
    ::group* listed = nullptr;
    if (::getpwuid_r(user, &user_entry, user_room.get(), entry_bytes_max, &named) != 0 ||
        named == nullptr ||
        ::getgrgid_r(group, &group_entry, group_room.get(), entry_bytes_max, &listed) != 0 ||
        listed == nullptr) {
        return false;
    }
    for (char** member = listed->gr_mem; *member != nullptr; ++member) {
        if (std::string_view{*member} == named->pw_name) {
            return true;
        }
    }
    return false;
}

bool may_stay_over_ipc(int descriptor, const socket_options& options) noexcept {
    if (options.ipc_filter_pids.empty() && options.ipc_filter_uids.empty() &&
        options.ipc_filter_gids.empty()) {
        return true;
    }
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
        return false;
    }
    return holds(options.ipc_filter_pids, peer.pid) || holds(options.ipc_filter_uids, peer.uid) ||
           holds(options.ipc_filter_gids, peer.gid) ||
           std::any_of(options.ipc_filter_gids.begin(), options.ipc_filter_gids.end(),
                       [&](gid_t each) { return is_member(peer.uid, each); });
}

bool may_stay_over_tcp(const sockaddr_storage& peer, const socket_options& options) noexcept {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer).sin_addr;
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    const auto data = peer.ss_family == AF_INET ? std::as_bytes(std::span{&v4, 1})
                                                : std::as_bytes(std::span{&v6, 1});
    return std::any_of(options.tcp_accept_filters.begin(), options.tcp_accept_filters.end(),
                       [&](const network& each) { return each.contains(data); });
}

} // namespace

bool may_stay(int descriptor, const socket_options& options) noexcept {
    const socket_address peer = peer_address(descriptor);
    if (peer.bytes == 0) {
        return false; // No address: there is nothing to compare.
    }
    if (peer.family() == AF_UNIX) {
        return may_stay_over_ipc(descriptor, options);
    }
    return options.tcp_accept_filters.empty() || may_stay_over_tcp(peer.storage, options);
}

} // namespace zlink::transport
