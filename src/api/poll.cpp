// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/symbols.hpp"
#include "socket/poller.hpp"

#include <array>
#include <chrono>
#include <poll.h>
#include <span>
#include <vector>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_boundary;
using zlink::socket::poll_item;

constexpr std::array flags{std::pair{ZLINK_POLLIN, POLLIN}, std::pair{ZLINK_POLLOUT, POLLOUT},
                           std::pair{ZLINK_POLLERR, POLLERR}, std::pair{ZLINK_POLLPRI, POLLPRI}};

short to_system(int events) noexcept {
    int mapped = 0;
    for (const auto& [ours, theirs] : flags) {
        mapped |= (events & ours) != 0 ? theirs : 0;
    }
    return static_cast<short>(mapped);
}

short from_system(int events) noexcept {
    int mapped = 0;
    for (const auto& [ours, theirs] : flags) {
        mapped |= (events & theirs) != 0 ? ours : 0;
    }
    return static_cast<short>(mapped);
}

result<int> poll_items(std::span<zlink_pollitem_t> items, long timeout) {
    constexpr std::size_t usual_count = ZLINK_POLLITEMS_DFLT;
    std::array<poll_item, usual_count> few;
    std::vector<poll_item> many;
    std::span<poll_item> asked{few.data(), std::min(items.size(), usual_count)};
    if (items.size() > usual_count) {
        many.resize(items.size());
        asked = many;
    }
    for (std::size_t index = 0; index < items.size(); ++index) {
        if (items[index].socket != nullptr) {
            const auto found = zlink::api::socket_from(items[index].socket);
            if (!found) {
                return found.error();
            }
            asked[index].asked = *found;
        }
        asked[index].descriptor = items[index].fd;
        asked[index].wanted = to_system(items[index].events);
    }
    zlink::pipe::deadline until;
    if (timeout >= 0) {
        until = zlink::pipe::deadline_after(std::chrono::milliseconds(timeout));
    }
    const result<int> ready = zlink::socket::poll(asked, until);
    for (std::size_t index = 0; index < items.size(); ++index) {
        items[index].revents = ready ? from_system(asked[index].found) : short{0};
    }
    return ready;
}

} // namespace

extern "C" int zlink_poll(zlink_pollitem_t* items, int count, long timeout) {
    return at_boundary([&]() -> result<int> {
        if (count < 0) {
            return errc::invalid_argument;
        }
        if (items == nullptr && count != 0) {
            return errc::bad_address;
        }
        return poll_items({items, static_cast<std::size_t>(count)}, timeout);
    });
}
ZLINK_ALSO_ZMQ(poll)
