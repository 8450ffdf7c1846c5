// SPDX-License-Identifier: MPL-2.0
//
// A set of sockets and descriptors that is waited for again and again.
#include "socket/poller.hpp"
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/poll_events.hpp"
#include "api/symbols.hpp"
#include "base/own_descriptors.hpp"
#include "base/stable_storage.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <span>
#include <sys/epoll.h>
#include <vector>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::socket::poll_item;

constexpr int known_events = ZLINK_POLLIN | ZLINK_POLLOUT | ZLINK_POLLERR | ZLINK_POLLPRI;
constexpr int no_descriptor = -1;

/// The object behind a handle of zlink_poller_new.
class poller final : public zlink::stable_storage<poller> {
public:
    poller() = default;
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;
    ~poller() {
        if (epoll_ >= 0) {
            zlink::close_descriptor(epoll_);
        }
    }

    struct item {
        void* socket; ///< Null: `descriptor` is used.
        int descriptor;
        void* user_data;
        short events;

        bool is(void* asked_socket, int asked_descriptor) const noexcept {
            return socket == asked_socket && descriptor == asked_descriptor;
        }
    };

    std::size_t size() const noexcept { return items_.size(); }

    /// @error invalid_argument  It is registered already.
    result<void> add(const item& added) {
        if (find(added.socket, added.descriptor) != items_.end()) {
            return errc::invalid_argument;
        }
        items_.reserve(items_.size() + 1);
        if (epoll_ >= 0) {
            if (const result<void> watched = watch(added); !watched) {
                return watched;
            }
        }
        items_.push_back(added);
        return {};
    }

    /// @error invalid_argument  It is not registered.
    result<void> modify(void* socket, int descriptor, short events) {
        const auto found = find(socket, descriptor);
        if (found == items_.end()) {
            return errc::invalid_argument;
        }
        found->events = events;
        if (epoll_ >= 0 && socket == nullptr) {
            unwatch(*found);
            return watch(*found);
        }
        return {};
    }

    /// @error invalid_argument  It is not registered.
    result<void> remove(void* socket, int descriptor) {
        const auto found = find(socket, descriptor);
        if (found == items_.end()) {
            return errc::invalid_argument;
        }
        if (epoll_ >= 0) {
            unwatch(*found);
        }
        items_.erase(found);
        return {};
    }

    /// @param events  Filled from the front; the rest is cleared.
    /// @return The number of events; at least 1.
    result<int> wait(std::span<zlink_poller_event_t> events, long timeout) {
        const bool has_wish = std::any_of(items_.begin(), items_.end(),
                                          [](const item& each) { return each.events != 0; });
        if (!has_wish && timeout < 0) {
            return errc::bad_address; // It would wait for ever.
        }
        std::vector<poll_item> asked(items_.size());
        std::vector<zlink::socket::socket_visit> visits;
        std::size_t asked_count = 0;
        for (item& each : items_) {
            if (each.events == 0) {
                continue;
            }
            poll_item& added = asked[asked_count++];
            added = {nullptr, each.descriptor, zlink::api::poll_flags_to_system(each.events)};
            if (each.socket != nullptr) {
                const auto found = zlink::api::socket_from(each.socket);
                if (!found) {
                    return found.error();
                }
                added.asked = found->get();
                if (found->is_shared()) {
                    visits.emplace_back(**found);
                }
            }
        }
        const zlink::pipe::deadline until =
            timeout < 0 ? zlink::pipe::deadline{}
                        : zlink::pipe::deadline_after(std::chrono::milliseconds(timeout));
        const result<int> ready = zlink::socket::poll(std::span{asked}.first(asked_count), until);
        if (!ready) {
            return ready.error();
        }
        const int told_count = tell(asked, events);
        return told_count != 0 ? result<int>{told_count} : errc::again;
    }

    /// @error invalid_argument  No socket of it may be used by several threads, as in libzmq.
    result<int> descriptor() {
        const bool has_shared = std::any_of(items_.begin(), items_.end(), [](const item& each) {
            const auto found = zlink::api::socket_from(each.socket);
            return found && found->is_shared();
        });
        if (!has_shared) {
            return errc::invalid_argument;
        }
        if (epoll_ < 0) {
            const int made = zlink::open_descriptor([] { return ::epoll_create1(EPOLL_CLOEXEC); });
            if (made < 0) {
                return static_cast<errc>(errno);
            }
            epoll_ = made;
            for (const item& each : items_) {
                if (const result<void> watched = watch(each); !watched) {
                    zlink::close_descriptor(std::exchange(epoll_, no_descriptor));
                    return watched.error();
                }
            }
        }
        return epoll_;
    }

private:
    std::vector<item>::iterator find(void* socket, int descriptor) noexcept {
        return std::find_if(items_.begin(), items_.end(),
                            [&](const item& each) { return each.is(socket, descriptor); });
    }

    int tell(std::span<const poll_item> asked, std::span<zlink_poller_event_t> events) const {
        std::size_t told_count = 0;
        std::size_t index = 0;
        for (const item& each : items_) {
            if (each.events == 0) {
                continue;
            }
            const short found = zlink::api::poll_flags_from_system(asked[index++].found);
            if (found != 0 && told_count < events.size()) {
                events[told_count++] = {each.socket, each.descriptor, each.user_data, found};
            }
        }
        std::fill(events.begin() + static_cast<std::ptrdiff_t>(told_count), events.end(),
                  zlink_poller_event_t{nullptr, no_descriptor, nullptr, 0});
        return static_cast<int>(told_count);
    }

    static result<int> descriptor_of(const item& asked) {
        if (asked.socket == nullptr) {
            return asked.descriptor;
        }
        const auto found = zlink::api::socket_from(asked.socket);
        return found ? (*found)->descriptor() : found.error();
    }

    result<void> watch(const item& added) const {
        const result<int> watched = descriptor_of(added);
        if (!watched) {
            return watched.error();
        }
        epoll_event wanted{};
        wanted.events =
            added.socket != nullptr
                ? static_cast<std::uint32_t>(EPOLLIN)
                : static_cast<std::uint32_t>(zlink::api::poll_flags_to_system(added.events));
        return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, *watched, &wanted) == 0
                   ? result<void>{}
                   : result<void>{static_cast<errc>(errno)};
    }

    /// The system itself forgets descriptors that were closed.
    void unwatch(const item& removed) const {
        if (const result<int> watched = descriptor_of(removed); watched) {
            ::epoll_ctl(epoll_, EPOLL_CTL_DEL, *watched, nullptr);
        }
    }

    std::vector<item> items_;
    int epoll_ = no_descriptor; ///< Of zlink_poller_fd; not open before.
};

/// Calls `act` with the poller.
/// @error bad_address  The handle is none.
template<class Act>
auto at_poller(void* handle, Act&& act) noexcept {
    return at_system_boundary([&]() -> decltype(act(*static_cast<poller*>(handle))) {
        poller* const found = poller::from_handle(handle);
        if (found == nullptr) {
            return errc::bad_address;
        }
        return act(*found);
    });
}

/// The same with a socket and events to register.
template<class Act>
int at_socket_item(void* handle, void* socket, short events, Act&& act) noexcept {
    return at_poller(handle, [&](poller& set) -> result<void> {
        if (const auto found = zlink::api::socket_from(socket); !found) {
            return found.error();
        }
        return (events & ~known_events) == 0 ? act(set) : errc::invalid_argument;
    });
}

/// The same with a descriptor.
template<class Act>
int at_descriptor_item(void* handle, int descriptor, short events, Act&& act) noexcept {
    return at_poller(handle, [&](poller& set) -> result<void> {
        if (descriptor == no_descriptor) {
            return static_cast<errc>(EBADF);
        }
        return (events & ~known_events) == 0 ? act(set) : errc::invalid_argument;
    });
}

} // namespace

extern "C" void* zlink_poller_new() {
    return at_system_boundary([]() -> result<void*> { return new poller; });
}
ZLINK_ALSO_ZMQ(poller_new)

extern "C" int zlink_poller_destroy(void** handle) {
    return at_system_boundary([&]() -> result<void> {
        poller* const found = handle != nullptr ? poller::from_handle(*handle) : nullptr;
        if (found == nullptr) {
            return errc::bad_address;
        }
        delete found;
        *handle = nullptr;
        return {};
    });
}
ZLINK_ALSO_ZMQ(poller_destroy)

extern "C" int zlink_poller_size(void* handle) {
    return at_poller(handle,
                     [](poller& set) -> result<int> { return static_cast<int>(set.size()); });
}
ZLINK_ALSO_ZMQ(poller_size)

extern "C" int zlink_poller_add(void* handle, void* socket, void* user_data, short events) {
    return at_socket_item(handle, socket, events, [&](poller& set) {
        return set.add({socket, no_descriptor, user_data, events});
    });
}
ZLINK_ALSO_ZMQ(poller_add)

extern "C" int zlink_poller_modify(void* handle, void* socket, short events) {
    return at_socket_item(handle, socket, events,
                          [&](poller& set) { return set.modify(socket, no_descriptor, events); });
}
ZLINK_ALSO_ZMQ(poller_modify)

extern "C" int zlink_poller_remove(void* handle, void* socket) {
    return at_poller(handle, [&](poller& set) -> result<void> {
        const result<void> removed = set.remove(socket, no_descriptor);
        const auto found = zlink::api::socket_from(socket);
        return !removed && !found ? result<void>{found.error()} : removed;
    });
}
ZLINK_ALSO_ZMQ(poller_remove)

extern "C" int zlink_poller_add_fd(void* handle, zlink_fd_t descriptor, void* user_data,
                                   short events) {
    return at_descriptor_item(handle, descriptor, events, [&](poller& set) {
        return set.add({nullptr, descriptor, user_data, events});
    });
}
ZLINK_ALSO_ZMQ(poller_add_fd)

extern "C" int zlink_poller_modify_fd(void* handle, zlink_fd_t descriptor, short events) {
    return at_descriptor_item(handle, descriptor, events,
                              [&](poller& set) { return set.modify(nullptr, descriptor, events); });
}
ZLINK_ALSO_ZMQ(poller_modify_fd)

extern "C" int zlink_poller_remove_fd(void* handle, zlink_fd_t descriptor) {
    return at_descriptor_item(handle, descriptor, 0,
                              [&](poller& set) { return set.remove(nullptr, descriptor); });
}
ZLINK_ALSO_ZMQ(poller_remove_fd)

extern "C" int zlink_poller_wait_all(void* handle, zlink_poller_event_t* events, int capacity,
                                     long timeout) {
    return at_poller(handle, [&](poller& set) -> result<int> {
        if (events == nullptr) {
            return errc::bad_address;
        }
        if (capacity < 0) {
            return errc::invalid_argument;
        }
        return set.wait({events, static_cast<std::size_t>(capacity)}, timeout);
    });
}
ZLINK_ALSO_ZMQ(poller_wait_all)

extern "C" int zlink_poller_wait(void* handle, zlink_poller_event_t* event, long timeout) {
    const int count = zlink_poller_wait_all(handle, event, 1, timeout);
    if (count < 0 && event != nullptr) {
        *event = {nullptr, no_descriptor, nullptr, 0};
    }
    return count < 0 ? -1 : 0;
}
ZLINK_ALSO_ZMQ(poller_wait)

extern "C" int zlink_poller_fd(void* handle, zlink_fd_t* descriptor) {
    return at_poller(handle, [&](poller& set) -> result<void> {
        if (descriptor == nullptr) {
            return errc::bad_address;
        }
        const result<int> opened = set.descriptor();
        if (!opened) {
            return opened.error();
        }
        *descriptor = *opened;
        return {};
    });
}
ZLINK_ALSO_ZMQ(poller_fd)
