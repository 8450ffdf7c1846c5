// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/poll_events.hpp"
#include "api/symbols.hpp"
#include "socket/poller.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::socket::poll_item;

using visits = std::vector<zlink::socket::socket_visit>;

/// A socket that several threads use, and that stays open as long as `visited`.
[[gnu::noinline]] result<zlink::socket::socket*> visit_shared(void* handle,
                                                              std::optional<visits>& visited) {
    const auto found = zlink::api::socket_from(handle);
    if (!found) {
        return found.error();
    }
    if (!visited) {
        visited.emplace();
    }
    visited->emplace_back(**found);
    return found->get();
}

result<int> poll_items(std::span<zlink_pollitem_t> items, long timeout, const sigset_t* signals) {
    constexpr std::size_t usual_count = ZLINK_POLLITEMS_DFLT;
    std::array<poll_item, usual_count> few;
    std::vector<poll_item> many;
    std::optional<visits> visited; // Rarely needed.
    std::span<poll_item> asked{few.data(), std::min(items.size(), usual_count)};
    if (items.size() > usual_count) {
        many.resize(items.size());
        asked = many;
    }
    for (std::size_t index = 0; index < items.size(); ++index) {
        if (items[index].socket != nullptr) {
            asked[index].asked = zlink::socket::socket::from_handle(items[index].socket);
            if (asked[index].asked == nullptr) [[unlikely]] {
                const auto shared = visit_shared(items[index].socket, visited);
                if (!shared) {
                    return shared.error();
                }
                asked[index].asked = *shared;
            }
        }
        asked[index].descriptor = items[index].fd;
        asked[index].wanted = zlink::api::poll_flags_to_system(items[index].events);
    }
    zlink::pipe::deadline until;
    if (timeout >= 0) {
        until = zlink::pipe::deadline_after(std::chrono::milliseconds(timeout));
    }
    const result<int> ready = zlink::socket::poll(asked, until, signals);
    for (std::size_t index = 0; index < items.size(); ++index) {
        items[index].revents =
            ready ? zlink::api::poll_flags_from_system(asked[index].found) : short{0};
    }
    return ready;
}

} // namespace

extern "C" int zlink_poll(zlink_pollitem_t* items, int count, long timeout) {
    return zlink_ppoll(items, count, timeout, nullptr);
}
ZLINK_ALSO_ZMQ(poll)

extern "C" int zlink_ppoll(zlink_pollitem_t* items, int count, long timeout,
                           const sigset_t* signals) {
    return at_system_boundary([&]() -> result<int> {
        if (count < 0) {
            return errc::invalid_argument;
        }
        if (items == nullptr && count != 0) {
            return errc::bad_address;
        }
        return poll_items({items, static_cast<std::size_t>(count)}, timeout, signals);
    });
}
ZLINK_ALSO_ZMQ(ppoll)
