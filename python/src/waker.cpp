// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <memory>
#include <sys/eventfd.h>
#include <unistd.h>

namespace zlink::python {

/// The sockets of an event loop that may have become ready, and a descriptor that wakes the loop.
///
/// I/O threads push sockets; they take no lock, least of all the GIL. The descriptor is written to
/// by the push that finds the list empty, so once for each time that the loop takes the list.
class ready_list {
public:
    ready_list() : file_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {
        if (file_ < 0) {
            fail(errno, std::string{"the event loop cannot be woken: "} + zlink_strerror(errno));
        }
    }
    ready_list(const ready_list&) = delete;
    ready_list& operator=(const ready_list&) = delete;
    ~ready_list() { ::close(file_); }

    int file() const { return file_; }
    void push(watch& changed) noexcept;
    watch* take() noexcept {
        std::uint64_t count;
        static_cast<void>(!read(file_, &count, sizeof count));
        return head_.exchange(nullptr, std::memory_order_acquire);
    }

private:
    std::atomic<watch*> head_{nullptr};
    int file_;
};

/// A socket on a ready list. Freed by its socket, or, while it is on the list, by waker::take.
struct watch {
    std::shared_ptr<ready_list> list;
    PyObject* socket;       ///< Not owned; null: the socket is not watched any more.
    bool is_ending = false; ///< The socket's object is being destroyed.
    watch* next = nullptr;
    std::atomic<bool> is_listed{false};
};

void ready_list::push(watch& changed) noexcept {
    if (changed.is_listed.exchange(true, std::memory_order_acq_rel)) {
        return;
    }
    watch* head = head_.load(std::memory_order_relaxed);
    do {
        changed.next = head;
    } while (!head_.compare_exchange_weak(head, &changed, std::memory_order_release,
                                          std::memory_order_relaxed));
    if (head == nullptr) {
        const std::uint64_t one = 1;
        static_cast<void>(!write(file_, &one, sizeof one));
    }
}

namespace {

void on_change(void* hint) {
    auto* const changed = static_cast<watch*>(hint);
    changed->list->push(*changed);
}

} // namespace

/// The Python object of a ready list.
class waker {
public:
    waker() : list_{std::make_shared<ready_list>()} {}
    waker(const waker&) = delete;
    waker& operator=(const waker&) = delete;
    ~waker() { take(); }

    const std::shared_ptr<ready_list>& list() const { return list_; }

    nb::list take() {
        nb::list sockets;
        watch* next = list_->take();
        while (next != nullptr) {
            watch* const each = std::exchange(next, next->next);
            if (each->socket == nullptr) {
                delete each;
                continue;
            }
            // From here on it may be listed again.
            each->is_listed.store(false, std::memory_order_release);
            if (!each->is_ending) {
                sockets.append(nb::borrow(each->socket));
            }
        }
        return sockets;
    }

private:
    std::shared_ptr<ready_list> list_;
};

void unwatch(core& of) noexcept {
    watch* const ending = std::exchange(of.watched, nullptr);
    if (ending == nullptr) {
        return;
    }
    ending->socket = nullptr;
    // No notification is running, and none follows.
    if (!ending->is_listed.load(std::memory_order_acquire)) {
        delete ending;
    }
}

void end_watch(core& of) noexcept {
    if (of.watched != nullptr) {
        of.watched->is_ending = true;
    }
}

void bind_waker(nb::module_& m, nb::class_<core>& base) {
    nb::class_<waker>(m, "Waker", "Sockets of an event loop that may have become ready.")
        .def(nb::init<>())
        .def(
            "fileno", [](const waker& self) { return self.list()->file(); },
            "A descriptor that is readable while there are such sockets.")
        .def("take", &waker::take, nb::sig("def take(self) -> list[Core]"),
             "Returns the sockets, each once.");
    base.def("_watch", [](nb::handle self, const waker& by) {
        auto& of = nb::cast<core&>(self);
        use used{of, "watch"};
        auto made = std::make_unique<watch>();
        made->list = by.list();
        made->socket = self.ptr();
        int result;
        int error;
        {
            const without_gil released; // The former notification may be running.
            result = zlink_socket_notify(of.raw, on_change, made.get());
            error = errno;
        }
        if (result != 0) {
            used.fail(error);
        }
        unwatch(of);
        of.watched = made.release();
    });
    base.def("_unwatch", [](core& self) {
        if (self.raw != nullptr) {
            const without_gil released;
            zlink_socket_notify(self.raw, nullptr, nullptr);
        }
        unwatch(self);
    });
    base.def("_events", [](core& self) { return self.get_int(ZLINK_EVENTS); });
}

} // namespace zlink::python
