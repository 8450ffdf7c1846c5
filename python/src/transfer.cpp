// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <pthread.h>

namespace zlink::python {
namespace {

/// Shorter payloads are copied: an object that is shared with an I/O thread has to come back to a
/// thread with the GIL.
constexpr std::size_t shared_bytes_min = 64 * 1024;

/// An object whose bytes the library reads.
struct shared_object {
    shared_object* next;
    PyObject* object;
};

std::atomic<shared_object*> sent{nullptr};
std::atomic<bool> is_exiting{false};
std::atomic<int> scheduling_count{0};

int release_in_main_thread(void*) {
    release_sent();
    return 0;
}

// Runs on any thread, so it must not take the GIL.
void on_sent(void*, void* hint) {
    auto* const done = static_cast<shared_object*>(hint);
    shared_object* head = sent.load(std::memory_order_relaxed);
    do {
        done->next = head;
    } while (!sent.compare_exchange_weak(head, done, std::memory_order_release,
                                         std::memory_order_relaxed));
    if (head == nullptr) {
        // Else an application that sends no more would keep the memory.
        ++scheduling_count;
        if (!is_exiting) {
            Py_AddPendingCall(release_in_main_thread, nullptr);
        }
        --scheduling_count;
    }
}

/// A received frame, which is read where the library has put it.
class frame {
public:
    frame(message&& content, std::string origin_class)
        : content_{std::move(content)}, name_{std::move(origin_class)} {}

    const message& content() const { return content_; }
    bool more() const { return zlink_msg_more(&content_.raw) != 0; }
    nb::object property(const std::string& wanted) const {
        const char* const found = zlink_msg_gets(&content_.raw, whole_text(wanted).c_str());
        return found == nullptr
                   ? nb::none()
                   : nb::steal(PyUnicode_DecodeUTF8(
                         found, static_cast<Py_ssize_t>(std::strlen(found)), "replace"));
    }

    std::uint32_t routing_id() const {
        return zlink_msg_routing_id(const_cast<zlink_msg_t*>(&content_.raw));
    }
    nb::object group() const {
        const char* const found = zlink_msg_group(const_cast<zlink_msg_t*>(&content_.raw));
        return nb::steal(
            PyUnicode_DecodeUTF8(found, static_cast<Py_ssize_t>(std::strlen(found)), "replace"));
    }

private:
    message content_;
    std::string name_;
};

int fill_frame_buffer(PyObject* self, Py_buffer* view, int flags) {
    const message& content = nb::inst_ptr<frame>(self)->content();
    return PyBuffer_FillInfo(view, self, const_cast<void*>(content.data()),
                             static_cast<Py_ssize_t>(content.size()), 1, flags);
}

std::array frame_slots{PyType_Slot{Py_bf_getbuffer, reinterpret_cast<void*>(fill_frame_buffer)},
                       PyType_Slot{0, nullptr}};

/// @return Whether the frame was sent; not if that would wait longer than `limit`.
bool send_frame(use& used, const payload& content, int flags, patience limit) {
    core& self = used.socket();
    if (is_shared(content)) {
        message outgoing{content};
        return wait_for(used, sending, limit, true, [&](int wait) {
                   return zlink_msg_send(&outgoing.raw, self.raw, flags | wait);
               }) >= 0;
    }
    return wait_for(used, sending, limit, content.size() >= gil_held_bytes_max, [&](int wait) {
               return zlink_send(self.raw, content.data(), content.size(), flags | wait);
           }) >= 0;
}

/// A message of a draft type.
class addressed_message {
public:
    /// @param routing_id  0: to no peer in particular.
    /// @param group       None: to no group.
    addressed_message(const payload& content, nb::handle routing_id, nb::handle group)
        : must_release_{content.size() >= gil_held_bytes_max}, outgoing_{content} {
        if (const std::uint32_t number = peer_argument(routing_id)) {
            zlink_msg_set_routing_id(&outgoing_.raw, number);
        }
        if (!group.is_none()) {
            const std::string name = text_argument(group, "group");
            if (zlink_msg_set_group(&outgoing_.raw, name.c_str()) != 0) {
                throw nb::value_error(("a group has at most " +
                                       std::to_string(ZLINK_GROUP_MAX_LENGTH) + " bytes, not " +
                                       std::to_string(name.size()))
                                          .c_str());
            }
        }
    }

    /// @return As send_frame.
    bool send(use& used, patience limit) {
        return wait_for(used, sending, limit, must_release_, [&](int wait) {
                   return zlink_msg_send(&outgoing_.raw, used.socket().raw, wait);
               }) >= 0;
    }

private:
    bool must_release_;
    message outgoing_;
};

bool recv_message(use& used, message& target, patience limit) {
    core& self = used.socket();
    if (wait_for(used, receiving, limit, false,
                 [&](int wait) { return zlink_msg_recv(&target.raw, self.raw, wait); }) < 0) {
        return false;
    }
    self.more = zlink_msg_more(&target.raw) != 0;
    return true;
}

using frame_list = std::vector<std::unique_ptr<payload>>;

/// The frames of a message, all of which are looked at before one is sent, since half a message
/// cannot be taken back.
frame_list frames_from(nb::handle frames) {
    if (PyUnicode_Check(frames.ptr()) || PyBytes_Check(frames.ptr())) {
        throw nb::type_error("send_multipart takes an iterable of frames, not one frame");
    }
    frame_list parts;
    for (nb::handle each : listed(frames, "send_multipart takes an iterable of frames")) {
        parts.push_back(std::make_unique<payload>(each));
    }
    if (parts.empty()) {
        throw nb::value_error("a message has at least one frame");
    }
    return parts;
}

bool send_multipart(use& used, const frame_list& parts, patience limit) {
    for (std::size_t index = 0; index < parts.size(); ++index) {
        const int flags = index + 1 < parts.size() ? ZLINK_SNDMORE : 0;
        if (!send_frame(used, *parts[index], flags, index == 0 ? limit : patience{-1})) {
            return false;
        }
    }
    return true;
}

nb::object recv_multipart(use& used, patience limit) {
    message part;
    if (!recv_message(used, part, limit)) {
        return {};
    }
    nb::list frames;
    frames.append(part.bytes());
    while (used.socket().more) {
        recv_message(used, part, patience{-1});
        frames.append(part.bytes());
    }
    return frames;
}

/// @return The frame's size, or -1.
int recv_into(use& used, nb::handle target, patience limit) {
    Py_buffer room;
    if (run_python([&] { return PyObject_GetBuffer(target.ptr(), &room, PyBUF_WRITABLE); }) != 0) {
        throw nb::python_error();
    }
    struct release {
        Py_buffer& held;
        ~release() { PyBuffer_Release(&held); }
    } released{room};
    message incoming;
    if (!recv_message(used, incoming, limit)) {
        return -1;
    }
    const std::size_t bytes = std::min(incoming.size(), static_cast<std::size_t>(room.len));
    if (bytes > 0) {
        std::memcpy(room.buf, incoming.data(), bytes);
    }
    return static_cast<int>(incoming.size());
}

bool is_tired(core& self) {
    return ++self.immediate_count > immediate_count_max;
}

// Sender and Receiver and Duplex have the same functions, so that each has those that it can.
struct sender : core {
    using core::core;
};
struct receiver : core {
    using core::core;
};
struct frame_receiver : core {
    using core::core;
};
struct duplex : core {
    using core::core;
};

template<class Class>
void add_construction(Class& to) {
    to.def(nb::init<nb::handle, int, std::string>(), nb::arg("context"), nb::arg("type"),
           nb::arg("name"),
           nb::sig("def __init__(self, context: ContextCore, type: int, name: str) -> None"));
}

template<class Class>
void add_sending(Class& to) {
    to.def(
        "send",
        [](core& self, nb::handle data, bool more, nb::handle timeout) {
            use used{self, "send"};
            const payload content{data};
            if (!send_frame(used, content, more ? ZLINK_SNDMORE : 0, patience_from(timeout))) {
                used.fail(EAGAIN);
            }
        },
        nb::arg("data").none(), nb::kw_only(), nb::arg("more") = false,
        nb::arg("timeout").none() = nb::none(),
        nb::sig("def send(self, data: Buffer, *, more: bool = False, timeout: float | None = None)"
                " -> None"),
        "Sends a frame. With `more` further frames of the same message follow.\n\n"
        "Waits while no peer has room, at most `timeout` seconds; None: send_timeout. Raises "
        "Again\n"
        "after that.");
    to.def(
        "send_multipart",
        [](core& self, nb::handle frames, nb::handle timeout) {
            const frame_list parts = frames_from(frames); // May run Python code.
            use used{self, "send_multipart"};
            if (!send_multipart(used, parts, patience_from(timeout))) {
                used.fail(EAGAIN);
            }
        },
        nb::arg("frames"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
        nb::sig(
            "def send_multipart(self, frames: Iterable[Buffer], *, timeout: float | None = None)"
            " -> None"),
        "Sends a message of several frames, which arrives whole or not at all.");
}

template<class Class>
void add_receiving(Class& to) {
    to.def(
        "recv",
        [](core& self, nb::handle timeout) {
            use used{self, "recv"};
            message incoming;
            if (!recv_message(used, incoming, patience_from(timeout))) {
                used.fail(EAGAIN);
            }
            return incoming.bytes();
        },
        nb::kw_only(), nb::arg("timeout").none() = nb::none(),
        nb::sig("def recv(self, *, timeout: float | None = None) -> bytes"),
        "Receives a frame; `more` says whether further frames of its message follow.\n\n"
        "Waits until there is a message, at most `timeout` seconds; None: recv_timeout. Raises\n"
        "Again after that.");
    to.def(
        "recv_into",
        [](core& self, nb::handle buffer, nb::handle timeout) {
            use used{self, "recv_into"};
            const int bytes = recv_into(used, buffer, patience_from(timeout));
            if (bytes < 0) {
                used.fail(EAGAIN);
            }
            return bytes;
        },
        nb::arg("buffer"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
        nb::sig("def recv_into(self, buffer: Buffer, *, timeout: float | None = None) -> int"),
        "Receives a frame into `buffer` and returns the frame's size. If that is more than the\n"
        "buffer's, the rest of the frame is lost.");
    to.def(
        "recv_frame",
        [](core& self, nb::handle timeout) {
            use used{self, "recv_frame"};
            message incoming;
            if (!recv_message(used, incoming, patience_from(timeout))) {
                used.fail(EAGAIN);
            }
            return frame{std::move(incoming), self.name};
        },
        nb::kw_only(), nb::arg("timeout").none() = nb::none(),
        nb::sig("def recv_frame(self, *, timeout: float | None = None) -> Frame"),
        "Receives a frame without copying its content, and with the properties of its connection.");
}

template<class Class>
void add_receiving_multipart(Class& to) {
    to.def(
        "recv_multipart",
        [](core& self, nb::handle timeout) {
            use used{self, "recv_multipart"};
            nb::object frames = recv_multipart(used, patience_from(timeout));
            if (!frames.is_valid()) {
                used.fail(EAGAIN);
            }
            return frames;
        },
        nb::kw_only(), nb::arg("timeout").none() = nb::none(),
        nb::sig("def recv_multipart(self, *, timeout: float | None = None) -> list[bytes]"),
        "Receives a message, as a list of its frames.");
}

} // namespace

void release_sent() noexcept {
    if (sent.load(std::memory_order_relaxed) == nullptr) [[likely]] {
        return;
    }
    // Pairs with the release in on_sent.
    shared_object* next = sent.exchange(nullptr, std::memory_order_acquire);
    while (next != nullptr) {
        shared_object* const done = std::exchange(next, next->next);
        Py_DECREF(done->object);
        delete done;
    }
}

/// In a child process there is no other thread that is inside on_sent.
void forget_other_threads() {
    scheduling_count = 0;
}

/// No pending calls from now on: the interpreter ends.
void stop_releasing() {
    is_exiting = true;
    while (scheduling_count != 0) {
    }
}

bool is_shared(const payload& content) {
    return content.constant() != nullptr && content.size() >= shared_bytes_min;
}

payload::payload(nb::handle from, bool takes_text) {
    PyObject* const object = from.ptr();
    if (PyBytes_CheckExact(object)) [[likely]] {
        kept_ = nb::borrow(from);
        char* bytes;
        Py_ssize_t count;
        PyBytes_AsStringAndSize(object, &bytes, &count);
        data_ = bytes;
        size_ = static_cast<std::size_t>(count);
        constant_ = object;
        return;
    }
    if (PyUnicode_Check(object)) {
        kept_ = nb::borrow(from);
        if (!takes_text) {
            throw nb::type_error("expected bytes or another object with a buffer, got str; "
                                 "encode it, e.g. text.encode()");
        }
        Py_ssize_t count;
        const char* const bytes = PyUnicode_AsUTF8AndSize(object, &count);
        if (bytes == nullptr) {
            throw nb::python_error();
        }
        data_ = bytes;
        size_ = static_cast<std::size_t>(count);
        is_text_ = true;
        return;
    }
    if (run_python([&] { return PyObject_GetBuffer(object, &buffer_, PyBUF_SIMPLE); }) != 0) {
        buffer_.obj = nullptr;
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            const nb::object type_name = nb::handle(Py_TYPE(object)).attr("__name__");
            throw nb::type_error((std::string{"expected bytes or another object with a buffer"} +
                                  (takes_text ? ", or str" : "") + ", got " +
                                  nb::cast<std::string>(type_name))
                                     .c_str());
        }
        throw nb::python_error();
    }
    data_ = buffer_.buf;
    size_ = static_cast<std::size_t>(buffer_.len);
}

message::message(const payload& content) {
    if (is_shared(content)) {
        auto* const held = new shared_object{nullptr, content.constant()};
        Py_INCREF(held->object);
        if (zlink_msg_init_data(&raw, const_cast<void*>(content.data()), content.size(), on_sent,
                                held) == 0) {
            return;
        }
        Py_DECREF(held->object);
        delete held;
    }
    if (zlink_msg_init_size(&raw, content.size()) != 0) {
        throw std::bad_alloc{};
    }
    if (content.size() > 0) {
        std::memcpy(zlink_msg_data(&raw), content.data(), content.size());
    }
}

nb::object message::bytes() const {
    return bytes_from(data(), size());
}

nb::object bytes_from(const void* data, std::size_t size) {
    return nb::steal(
        PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size)));
}

std::array<unsigned char, 4> id_from(std::uint32_t peer) {
    return {static_cast<unsigned char>(peer >> 24), static_cast<unsigned char>(peer >> 16),
            static_cast<unsigned char>(peer >> 8), static_cast<unsigned char>(peer)};
}

std::uint32_t peer_from(const void* routing_id) {
    const auto* const id = static_cast<const unsigned char*>(routing_id);
    return std::uint32_t{id[0]} << 24 | std::uint32_t{id[1]} << 16 | std::uint32_t{id[2]} << 8 |
           id[3];
}

void bind_transfer(nb::module_& m, nb::class_<core>& base) {
    pthread_atfork(nullptr, nullptr, forget_other_threads);
    nb::class_<frame>(m, "Frame", nb::type_slots(frame_slots.data()),
                      "A received frame. An object with a buffer: bytes(frame) and\n"
                      "memoryview(frame) have its content, the latter without a copy.")
        .def("__len__", [](const frame& self) { return self.content().size(); })
        .def(
            "__bytes__", [](const frame& self) { return self.content().bytes(); },
            nb::sig("def __bytes__(self) -> bytes"))
        .def_prop_ro("more", &frame::more, "Whether further frames of the same message follow.")
        .def_prop_ro("routing_id", &frame::routing_id,
                     "The number of the peer that a Server or Peer received it from; else 0.")
        .def_prop_ro("group", &frame::group, nb::sig("def group(self) -> str"),
                     "The group that a Dish received it for; else empty.")
        .def("property", &frame::property, nb::arg("name"),
             nb::sig("def property(self, name: str) -> str | None"),
             "A property of the connection through which the frame came: \"Peer-Address\",\n"
             "\"User-Id\", \"Socket-Type\", \"Routing-Id\", or over ws \"Path\" and \"Origin\".");

    base.def(
        "_try_send",
        [](core& self, nb::handle data, nb::handle more) {
            const int flags = bool_argument(more) ? ZLINK_SNDMORE : 0;
            use used{self, "send"};
            const payload content{data};
            return !is_tired(self) && send_frame(used, content, flags, patience{0});
        },
        nb::arg("data"), nb::arg("more") = false,
        nb::sig("def _try_send(self, data: Buffer, more: bool = False) -> bool"));
    base.def(
        "_send_single",
        [](core& self, nb::handle data, nb::handle routing_id, nb::handle group,
           nb::handle timeout) {
            use used{self, "send"};
            const payload content{data};
            addressed_message outgoing{content, routing_id, group};
            if (!outgoing.send(used, patience_from(timeout))) {
                used.fail(EAGAIN);
            }
        },
        nb::arg("data").none(), nb::arg("routing_id"), nb::arg("group").none(),
        nb::arg("timeout").none(),
        nb::sig("def _send_single(self, data: Buffer, routing_id: int, group: str | None,"
                " timeout: float | None) -> None"));
    base.def(
        "_try_send_single",
        [](core& self, nb::handle data, nb::handle routing_id, nb::handle group) {
            use used{self, "send"};
            const payload content{data};
            addressed_message outgoing{content, routing_id, group};
            return !is_tired(self) && outgoing.send(used, patience{0});
        },
        nb::arg("data").none(), nb::arg("routing_id"), nb::arg("group").none(),
        nb::sig("def _try_send_single(self, data: Buffer, routing_id: int, group: str | None)"
                " -> bool"));
    base.def(
        "_try_send_multipart",
        [](core& self, nb::handle frames) {
            const frame_list parts = frames_from(frames);
            use used{self, "send_multipart"};
            return !is_tired(self) && send_multipart(used, parts, patience{0});
        },
        nb::sig("def _try_send_multipart(self, frames: Iterable[Buffer]) -> bool"));
    base.def(
        "_try_recv",
        [](core& self) -> nb::object {
            use used{self, "recv"};
            message incoming;
            if (is_tired(self) || !recv_message(used, incoming, patience{0})) {
                return nb::none();
            }
            return incoming.bytes();
        },
        nb::sig("def _try_recv(self) -> bytes | None"));
    base.def(
        "_try_recv_multipart",
        [](core& self) -> nb::object {
            use used{self, "recv_multipart"};
            nb::object frames = is_tired(self) ? nb::object{} : recv_multipart(used, patience{0});
            return frames.is_valid() ? frames : nb::none();
        },
        nb::sig("def _try_recv_multipart(self) -> list[bytes] | None"));
    base.def(
        "_try_recv_into",
        [](core& self, nb::handle buffer) -> nb::object {
            use used{self, "recv_into"};
            const int bytes = is_tired(self) ? -1 : recv_into(used, buffer, patience{0});
            return bytes < 0 ? nb::none() : nb::cast(bytes);
        },
        nb::sig("def _try_recv_into(self, buffer: Buffer) -> int | None"));
    base.def(
        "_try_recv_frame",
        [](core& self) -> nb::object {
            use used{self, "recv_frame"};
            message incoming;
            if (is_tired(self) || !recv_message(used, incoming, patience{0})) {
                return nb::none();
            }
            return nb::cast(frame{std::move(incoming), self.name});
        },
        nb::sig("def _try_recv_frame(self) -> Frame | None"));
    base.def("_is_tired", [](core& self) {
        return std::exchange(self.immediate_count, 0) > immediate_count_max;
    });

    nb::class_<sender, core> sending_class(m, "Sender", nb::type_slots(core_slots.data()),
                                           "A socket that sends.");
    add_construction(sending_class);
    add_sending(sending_class);
    nb::class_<receiver, core> receiving_class(m, "Receiver", nb::type_slots(core_slots.data()),
                                               "A socket that receives.");
    add_construction(receiving_class);
    add_receiving(receiving_class);
    add_receiving_multipart(receiving_class);
    nb::class_<frame_receiver, core> frame_class(m, "FrameReceiver",
                                                 nb::type_slots(core_slots.data()),
                                                 "A socket that receives messages of one frame.");
    add_construction(frame_class);
    add_receiving(frame_class);
    nb::class_<duplex, core> duplex_class(m, "Duplex", nb::type_slots(core_slots.data()),
                                          "A socket that sends and receives.");
    add_construction(duplex_class);
    add_sending(duplex_class);
    add_receiving(duplex_class);
    add_receiving_multipart(duplex_class);
}

} // namespace zlink::python
