// SPDX-License-Identifier: MPL-2.0
#include "socket/poller.hpp"

#include "base/event_descriptor.hpp"
#include "base/own_descriptors.hpp"
#include "socket/context.hpp"
#include "socket/socket.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <list>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace zlink::socket {

namespace {

using boost::asio::posix::stream_descriptor;

/// A descriptor by which the calls of other threads tell this one that there is something to do at
/// one of the sockets that they share.
class shared_watch {
public:
    shared_watch() noexcept = default;
    shared_watch(const shared_watch&) = delete;
    shared_watch& operator=(const shared_watch&) = delete;
    ~shared_watch() {
        for (socket* const each : sockets_) {
            const socket_use held{*each};
            each->shared()->remove_watcher(self_);
        }
        if (self_.descriptor >= 0) {
            close_descriptor(self_.descriptor);
        }
    }

    /// @throws std::bad_alloc
    result<void> open(std::span<const poll_item> items) {
        for (const poll_item& each : items) {
            if (each.asked == nullptr || each.asked->shared() == nullptr) {
                continue;
            }
            if (self_.descriptor < 0) {
                self_.descriptor = open_event();
                if (self_.descriptor < 0) {
                    return static_cast<errc>(errno);
                }
            }
            sockets_.reserve(sockets_.size() + 1);
            const socket_use held{*each.asked};
            each.asked->shared()->add_watcher(self_, (each.wanted & POLLIN) != 0,
                                              (each.wanted & POLLOUT) != 0);
            sockets_.push_back(each.asked);
        }
        return {};
    }

    /// Before the sockets are looked at.
    void reset() noexcept {
        if (self_.is_signalled.exchange(false)) {
            take_signals(self_.descriptor);
        }
    }

    int descriptor() const noexcept { return self_.descriptor; }
    bool is_signalled() const noexcept { return self_.is_signalled.load(); }

private:
    sharing::watcher self_;
    std::vector<socket*> sockets_;
};

/// Calls a thread that rests with poll(2), by a descriptor that is opened when it rests first.
///
/// @threads call: any. Everything else: the thread that waits.
class polling_driver final : public driver_call {
public:
    polling_driver() noexcept = default;
    polling_driver(const polling_driver&) = delete;
    polling_driver& operator=(const polling_driver&) = delete;
    ~polling_driver() {
        if (const int opened = descriptor_.load(std::memory_order_relaxed); opened >= 0) {
            close_descriptor(opened);
        }
    }

    void call() noexcept override {
        is_called_.store(true, std::memory_order_seq_cst);
        // The descriptor is stored before is_called() is asked: one of the two sees the other.
        if (const int opened = descriptor_.load(std::memory_order_seq_cst); opened >= 0) {
            signal_event(opened);
        }
    }

    result<int> descriptor() noexcept {
        int opened = descriptor_.load(std::memory_order_relaxed);
        if (opened < 0) {
            opened = open_event();
            if (opened < 0) {
                return static_cast<errc>(errno);
            }
            descriptor_.store(opened, std::memory_order_seq_cst);
        }
        return opened;
    }

    bool is_called() const noexcept { return is_called_.load(std::memory_order_seq_cst); }

    /// After a rest. First the mark: a call in between is kept by it.
    void reset() noexcept {
        is_called_.exchange(false, std::memory_order_seq_cst);
        take_signals(descriptor_.load(std::memory_order_relaxed));
    }

private:
    std::atomic<bool> is_called_{false};
    std::atomic<int> descriptor_{-1};
};

/// The descriptors for poll(2): those of the items, and the sockets' own.
class descriptor_set {
public:
    result<void> add(const poll_item& item) {
        pollfd added{item.descriptor, item.wanted, 0};
        if (item.asked != nullptr) {
            const socket_use held{*item.asked};
            const result<int> own = item.asked->descriptor();
            if (!own) {
                return own.error();
            }
            added = {*own, POLLIN, 0};
        }
        descriptors_.push_back(added);
        return {};
    }

    void add(const std::optional<shared_watch>& watch) {
        if (watch) {
            add(watch->descriptor());
        }
    }

    void add(int descriptor) { descriptors_.push_back({descriptor, POLLIN, 0}); }

    result<void> wait(pipe::deadline until, const sigset_t* signals) {
        timespec rest{};
        if (until) {
            const auto left = std::max(*until - pipe::clock::now(), pipe::clock::duration{0});
            const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
            rest = {static_cast<time_t>(seconds.count()),
                    static_cast<long>(std::chrono::nanoseconds{left - seconds}.count())};
        }
        // Not ppoll(3), which is a cancellation point.
        if (syscall(SYS_ppoll, descriptors_.data(), descriptors_.size(), until ? &rest : nullptr,
                    signals, _NSIG / 8) < 0) {
            return static_cast<errc>(errno);
        }
        return {};
    }

    short found(std::size_t index) const noexcept { return descriptors_[index].revents; }

private:
    std::vector<pollfd> descriptors_;
};

/// Checks every socket, without waiting.
result<int> look_at_sockets(std::span<poll_item> items) {
    int count = 0;
    for (poll_item& each : items) {
        each.found = 0;
        if (each.asked == nullptr) {
            continue;
        }
        const socket_use held{*each.asked};
        const auto now = each.asked->ready();
        if (!now) {
            return now.error();
        }
        if (now->can_recv) {
            each.found = static_cast<short>(each.found | (each.wanted & POLLIN));
        }
        if (now->can_send &&
            (each.first_frame == nullptr || each.asked->has_room_for(*each.first_frame))) {
            each.found = static_cast<short>(each.found | (each.wanted & POLLOUT));
        }
        count += each.found != 0;
    }
    return count;
}

/// Checks the descriptors among the items, and waits for them and the sockets' mailboxes.
/// @param only_sockets  All items are sockets.
result<int> look_at_descriptors(std::span<poll_item> items, bool only_sockets,
                                std::optional<shared_watch>& watch, pipe::deadline until,
                                const sigset_t* signals) {
    if (watch) {
        watch->reset();
    }
    descriptor_set all;
    for (const poll_item& each : items) {
        if (const result<void> added = all.add(each); !added) {
            return added.error();
        }
    }
    all.add(watch);
    // Events after this check make the sockets' descriptors readable.
    const result<int> ready_sockets = look_at_sockets(items);
    if (!ready_sockets) {
        return ready_sockets.error();
    }
    if (only_sockets && *ready_sockets != 0) {
        return ready_sockets;
    }
    const pipe::deadline end = *ready_sockets != 0 ? pipe::clock::now() : until;
    if (const result<void> waited = all.wait(end, signals); !waited) {
        return waited.error();
    }
    int count = *ready_sockets;
    for (std::size_t index = 0; index < items.size(); ++index) {
        if (items[index].asked == nullptr) {
            // As in libzmq, every other event is an error.
            const short found = all.found(index);
            short told = static_cast<short>(found & (POLLIN | POLLOUT | POLLPRI));
            if ((found & ~(POLLIN | POLLOUT | POLLPRI)) != 0) {
                told = static_cast<short>(told | POLLERR);
            }
            items[index].found = told;
            count += told != 0;
        }
    }
    return count;
}

/// Makes the reactor watch the descriptors among some items, for the lifetime of this object.
class descriptor_watch {
public:
    descriptor_watch(std::span<const poll_item> items, runtime::io_thread& reactor) {
        for (const poll_item& each : items) {
            if (each.asked == nullptr) {
                add(each, reactor);
            }
        }
    }
    descriptor_watch(const descriptor_watch&) = delete;
    descriptor_watch& operator=(const descriptor_watch&) = delete;
    ~descriptor_watch() {
        for (stream_descriptor& each : applications_) {
            each.release();
        }
    }

    bool is_ready() const noexcept { return *is_ready_; }

    /// The system's error if a descriptor cannot be watched.
    const result<void>& outcome() const noexcept { return outcome_; }

private:
    void add(const poll_item& item, runtime::io_thread& reactor) {
        boost::system::error_code refused;
        stream_descriptor* added = &applications_.emplace_back(reactor.context());
        added->assign(item.descriptor, refused);
        if (refused == boost::system::errc::file_exists) {
            // Another item, or another caller, already watches it.
            applications_.pop_back();
            added = &duplicates_.emplace_back(reactor.context());
            const int duplicate = ::dup(item.descriptor);
            if (duplicate < 0) {
                outcome_ = static_cast<errc>(errno);
                return;
            }
            added->assign(duplicate, refused);
            if (refused) {
                ::close(duplicate);
            }
        }
        if (refused) {
            outcome_ = static_cast<errc>(refused.value());
            return;
        }
        const auto on_ready = [is_ready = is_ready_](const boost::system::error_code& cancelled) {
            *is_ready = *is_ready || !cancelled;
        };
        if ((item.wanted & POLLIN) != 0) {
            added->async_wait(stream_descriptor::wait_read, on_ready);
        }
        if ((item.wanted & POLLOUT) != 0) {
            added->async_wait(stream_descriptor::wait_write, on_ready);
        }
    }

    /// Shared with the waits: another thread may complete them, even after this is destroyed.
    std::shared_ptr<std::atomic<bool>> is_ready_ = std::make_shared<std::atomic<bool>>(false);
    std::list<stream_descriptor> applications_; ///< Owned by the application.
    std::list<stream_descriptor> duplicates_;
    result<void> outcome_;
};

/// Runs the I/O of the callers' context, or waits while another caller runs it, until an item may
/// be ready.
result<void> drive(std::span<poll_item> items, context& driven,
                   const std::optional<shared_watch>& watch, pipe::deadline until) {
    std::vector<socket_mailbox*> mailboxes;
    for (const poll_item& each : items) {
        if (each.asked != nullptr) {
            mailboxes.push_back(&each.asked->mailbox());
        }
    }
    const descriptor_watch watched{items, driven.reactor()};
    if (!watched.outcome()) {
        return watched.outcome();
    }
    bool is_found = false; // While another thread drove.
    polling_driver mine;
    const auto rest = [&]() -> result<void> {
        const result<int> called = mine.descriptor();
        if (!called) {
            return called.error();
        }
        descriptor_set all;
        for (const poll_item& each : items) {
            if (const result<void> added = all.add(each); !added) {
                return added.error();
            }
        }
        all.add(watch);
        all.add(*called);
        if (mine.is_called()) {
            mine.reset();
            return {};
        }
        if (const result<void> waited = all.wait(until, nullptr); !waited) {
            return waited.error();
        }
        mine.reset();
        for (std::size_t index = 0; index < items.size(); ++index) {
            if (all.found(index) != 0 && items[index].asked != nullptr) {
                const socket_use held{*items[index].asked};
                items[index].asked->mailbox().reset_descriptor();
            } else if (all.found(index) != 0) {
                is_found = true;
            }
        }
        return {};
    };
    return driven.drive_until(
        mine, mailboxes,
        [&] { return is_found || watched.is_ready() || (watch && watch->is_signalled()); }, rest,
        until);
}

/// Waits for the only item, a socket, or for one of several.
result<void> wait_for(std::span<poll_item> items, socket& first,
                      const std::optional<shared_watch>& watch, pipe::deadline until) {
    if (items.size() > 1) {
        return drive(items, first.owner(), watch, until);
    }
    const short wanted = items.front().wanted;
    const socket_use held{first};
    return first.wait_for_mail(until, wanted == POLLIN                     ? awaited::receiving
                                      : wanted == POLLOUT                  ? awaited::sending
                                      : (wanted & (POLLIN | POLLOUT)) != 0 ? awaited::either
                                                                           : awaited::news);
}

} // namespace

result<int> poll(std::span<poll_item> items, pipe::deadline until, const sigset_t* signals) {
    socket* first = nullptr;
    std::size_t socket_count = 0;
    bool has_shared = false;
    for (const poll_item& each : items) {
        if (each.asked != nullptr) {
            first = first == nullptr ? each.asked : first;
            has_shared |= each.asked->shared() != nullptr;
            ++socket_count;
        }
    }
    const bool only_sockets = socket_count == items.size();
    std::optional<shared_watch> watch;
    if (has_shared && (items.size() > 1 || signals != nullptr)) {
        if (const result<void> opened = watch.emplace().open(items); !opened) {
            return opened.error();
        }
    }
    while (true) {
        const bool expired = until && pipe::clock::now() >= *until;
        const bool waits_elsewhere = expired ||
                                     (first != nullptr && first->owner().is_caller_driven()) ||
                                     (only_sockets && items.size() == 1 && signals == nullptr);
        const result<int> ready =
            only_sockets && waits_elsewhere
                ? look_at_sockets(items)
                : look_at_descriptors(items, only_sockets, watch,
                                      waits_elsewhere ? pipe::clock::now() : until, signals);
        if (!ready || *ready != 0 || expired) {
            return ready;
        }
        if (!waits_elsewhere) {
            continue;
        }
        const result<void> waited = wait_for(items, *first, watch, until);
        if (!waited && waited.error() != errc::again) {
            return waited.error();
        }
    }
}

} // namespace zlink::socket
