// SPDX-License-Identifier: MPL-2.0
#include "batch.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <sys/stat.h>

namespace zlink::python {
namespace {

constexpr int batch_count_max = 65536;

nb::object text_from(std::string_view from) {
    return nb::steal(
        PyUnicode_DecodeUTF8(from.data(), static_cast<Py_ssize_t>(from.size()), "replace"));
}

/// Heads of HTTP are bytes; as Latin-1 none is refused.
nb::object latin_from(const char* data, std::size_t size) {
    return nb::steal(PyUnicode_DecodeLatin1(data, static_cast<Py_ssize_t>(size), nullptr));
}

struct connected {
    std::uint32_t peer;
    std::string address, path, origin, subprotocol, extensions;
};

struct disconnected {
    std::uint32_t peer;
    int code;
    std::string reason;
};

struct message_event {
    std::uint32_t peer;
    nb::object data;
    bool is_text;
};

/// A message of a batch, which is read where the batch has it.
struct message_view {
    std::uint32_t peer;
    nb::object owner;
    batch* from;
    std::size_t index;
    nb::object view; ///< A weak reference to the memoryview that was handed out.

    const zlink_stream_message_t& content() const {
        if (from->is_ended()) {
            PyErr_SetString(
                PyExc_BufferError,
                "the message belongs to a batch that ended with the socket's next receiving "
                "call; bytes(message) before that keeps its content");
            throw nb::python_error();
        }
        return from->messages()[index];
    }
};

/// A request, and its parts.
struct request {
    std::uint32_t peer;
    nb::object raw;
    zlink_http_request_t parts;
};

int fill_view_buffer(PyObject* self, Py_buffer* view, int flags) {
    auto* const from = nb::inst_ptr<message_view>(self);
    try {
        const zlink_stream_message_t& content = from->content();
        const int result = PyBuffer_FillInfo(view, self, const_cast<void*>(content.data),
                                             static_cast<Py_ssize_t>(content.size), 1, flags);
        from->from->export_count += result == 0;
        return result;
    } catch (nb::python_error& raised) {
        raised.restore();
        view->obj = nullptr;
        return -1;
    }
}

void release_buffer(PyObject* self, Py_buffer*) {
    --nb::inst_ptr<message_view>(self)->from->export_count;
}

const nb::object& batch_of(const message_view& of) {
    return of.owner;
}

std::array view_slots{
    PyType_Slot{Py_bf_getbuffer, reinterpret_cast<void*>(fill_view_buffer)},
    PyType_Slot{Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    PyType_Slot{Py_tp_traverse, reinterpret_cast<void*>(&traverse<message_view, batch_of>)},
    PyType_Slot{0, nullptr}};

connected connected_from(std::uint32_t peer, std::string_view text) {
    connected event{peer, {}, {}, {}, {}, {}};
    const std::array<std::pair<std::string_view, std::string*>, 4> lines{{
        {"Path: ", &event.path},
        {"Origin: ", &event.origin},
        {"Subprotocol: ", &event.subprotocol},
        {"Extensions: ", &event.extensions},
    }};
    bool is_first = true;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (std::exchange(is_first, false)) {
            event.address = line;
        }
        for (const auto& [name, value] : lines) {
            if (line.starts_with(name)) {
                *value = line.substr(name.size());
            }
        }
    }
    return event;
}

disconnected disconnected_from(std::uint32_t peer, std::string_view text) {
    disconnected event{peer, 0, {}};
    const std::size_t space = text.find(' ');
    event.code = std::atoi(std::string{text.substr(0, space)}.c_str());
    event.reason = space == std::string_view::npos ? "" : text.substr(space + 1);
    return event;
}

request request_from(std::uint32_t peer, const void* data, std::size_t size) {
    request event{peer, bytes_from(data, size), {}};
    event.parts.struct_size = sizeof event.parts;
    char* kept;
    Py_ssize_t count;
    PyBytes_AsStringAndSize(event.raw.ptr(), &kept, &count);
    if (zlink_http_request(kept, size, &event.parts) != 0) {
        fail(errno, "Request: the message is no HTTP request");
    }
    return event;
}

bool is_upgrade(const zlink_http_request_t& asked) {
    const char* value;
    std::size_t bytes;
    return zlink_http_field(&asked, "Upgrade", &value, &bytes) == 0;
}

/// The event or message that `from` is. A payload is copied.
nb::object event_from(const zlink_stream_message_t& from) {
    const std::uint32_t peer = peer_from(from.routing_id);
    const std::string_view text{static_cast<const char*>(from.data), from.size};
    if ((from.flags & ZLINK_PEER_CAME) != 0) {
        return nb::cast(connected_from(peer, text));
    }
    if ((from.flags & ZLINK_PEER_WENT) != 0) {
        return nb::cast(disconnected_from(peer, text));
    }
    if ((from.flags & ZLINK_HTTP_REQUEST) != 0) {
        return nb::cast(request_from(peer, from.data, from.size));
    }
    return nb::cast(
        message_event{peer, bytes_from(from.data, from.size), (from.flags & ZLINK_SNDTEXT) != 0});
}

bool is_message(const zlink_stream_message_t& each) {
    return (each.flags & (ZLINK_PEER_CAME | ZLINK_PEER_WENT | ZLINK_HTTP_REQUEST)) == 0;
}

nb::object item_of(nb::handle owner, std::size_t index) {
    auto& from = nb::cast<batch&>(owner);
    const zlink_stream_message_t& each = from.messages()[index];
    if (from.is_ended() && !is_message(each)) {
        PyErr_SetString(PyExc_BufferError, "the batch ended with the socket's next receiving call");
        throw nb::python_error();
    }
    if (!is_message(each)) {
        return event_from(each);
    }
    return nb::cast(message_view{peer_from(each.routing_id), nb::borrow(owner), &from, index, {}});
}

struct batch_iterator {
    nb::object owner;
    std::size_t next = 0;
};

const nb::object& iterated(const batch_iterator& by) {
    return by.owner;
}

std::array iterator_slots{
    PyType_Slot{Py_tp_traverse, reinterpret_cast<void*>(&traverse<batch_iterator, iterated>)},
    PyType_Slot{0, nullptr}};

const nb::object& socket_of(const batch& of) {
    return of.owner();
}

std::array batch_slots{
    PyType_Slot{Py_tp_traverse, reinterpret_cast<void*>(&traverse<batch, socket_of>)},
    PyType_Slot{0, nullptr}};

/// The argument, or a copy if it is of a class that a program has derived, whose attributes could
/// refer to the event that gets it.
nb::object plain_bytes(const nb::bytes& given) {
    return PyBytes_CheckExact(given.ptr()) ? nb::object{given}
                                           : bytes_from(given.data(), given.size());
}

nb::object view_of(nb::handle self) {
    auto& of = nb::cast<message_view&>(self);
    of.content(); // Raises an error if the batch has ended.
    if (of.view.is_valid()) {
        nb::object kept = of.view();
        if (!kept.is_none()) {
            return kept;
        }
    }
    nb::object made = nb::steal(PyMemoryView_FromObject(self.ptr()));
    if (!made.is_valid()) {
        throw nb::python_error();
    }
    of.view = nb::steal(PyWeakref_NewRef(made.ptr(), nullptr));
    of.from->views.push_back(of.view);
    return made;
}

struct stream : core {
    using core::core;
};
struct blocking_stream : stream {
    using stream::stream;
};

/// Remembers which peers ask for an upgrade: the library would answer other requests as invalid.
void note_upgrades(core& self, const zlink_stream_message_t* received, int count) {
    for (const zlink_stream_message_t& each :
         std::span(received, static_cast<std::size_t>(count))) {
        if ((each.flags & ZLINK_PEER_WENT) != 0 && !self.upgrading.empty()) {
            self.upgrading.erase(peer_from(each.routing_id));
        }
        if ((each.flags & ZLINK_HTTP_REQUEST) == 0) {
            continue;
        }
        zlink_http_request_t parts;
        parts.struct_size = sizeof parts;
        if (zlink_http_request(each.data, each.size, &parts) == 0 && is_upgrade(parts)) {
            self.upgrading.insert(peer_from(each.routing_id));
        } else {
            self.upgrading.erase(peer_from(each.routing_id));
        }
    }
    if (self.upgrading.size() > self.upgrading_count_max) {
        zlink_peer_t about;
        std::erase_if(self.upgrading, [&](std::uint32_t peer) {
            return zlink_stream_peer(self.raw, id_from(peer).data(), &about) != 0;
        });
        // Not again for each request while so many are waiting.
        self.upgrading_count_max = std::max(self.upgrading_count_max, 2 * self.upgrading.size());
    }
}

/// @return An invalid object if there is no event within `limit`.
nb::object recv_event(use& used, patience limit) {
    core& self = used.socket();
    zlink_stream_message_t one;
    if (wait_for(used, receiving, limit, false,
                 [&](int wait) { return zlink_stream_recv_batch(self.raw, &one, 1, wait); }) < 0) {
        return {};
    }
    note_upgrades(self, &one, 1);
    return event_from(one);
}

nb::object recv_batch(use& used, nb::handle owner, int count_max, patience limit, bool lends) {
    core& self = used.socket();
    if (count_max <= 0 || count_max > batch_count_max) {
        throw nb::value_error("recv_batch takes from 1 to 65536 messages");
    }
    std::vector<zlink_stream_message_t> messages(static_cast<std::size_t>(count_max));
    const int count = wait_for(used, receiving, limit, false, [&](int wait) {
        return zlink_stream_recv_batch(self.raw, messages.data(), messages.size(), wait);
    });
    if (count < 0) {
        return {};
    }
    note_upgrades(self, messages.data(), count);
    messages.resize(static_cast<std::size_t>(count));
    nb::object made = nb::cast(new batch{nb::borrow(owner), self, std::move(messages), lends},
                               nb::rv_policy::take_ownership);
    if (lends) {
        self.lent = &nb::cast<batch&>(made);
    }
    return made;
}

bool send_to(use& used, std::uint32_t peer, nb::handle data, bool as_text, patience limit) {
    core& self = used.socket();
    const payload content{data, true};
    const std::array id = id_from(peer);
    const int text = as_text || content.is_text() ? ZLINK_SNDTEXT : 0;
    if (is_shared(content)) {
        message outgoing{content};
        return wait_for(used, sending, limit, true, [&](int wait) {
                   return zlink_stream_msg_send(&outgoing.raw, self.raw, id.data(), text | wait);
               }) >= 0;
    }
    return wait_for(used, sending, limit, content.size() >= gil_held_bytes_max, [&](int wait) {
               return zlink_stream_send(self.raw, id.data(), content.data(), content.size(),
                                        text | wait);
           }) >= 0;
}

/// Messages to send, and what holds their payloads.
struct outgoing_batch {
    std::vector<zlink_stream_message_t> messages;
    std::vector<std::unique_ptr<payload>> payloads;
    nb::object received; ///< The batch that they are from.

    void add(std::uint32_t peer, nb::handle data, bool is_text) {
        const auto& content = payloads.emplace_back(std::make_unique<payload>(data, true));
        zlink_stream_message_t& each = messages.emplace_back();
        const std::array id = id_from(peer);
        std::memcpy(each.routing_id, id.data(), id.size());
        each.flags = is_text || content->is_text() ? ZLINK_SNDTEXT : 0;
        each.data = content->data();
        each.size = content->size();
    }
};

outgoing_batch outgoing_from(nb::handle from) {
    outgoing_batch made;
    if (nb::isinstance<batch>(from)) {
        const auto& received = nb::cast<const batch&>(from);
        if (received.is_ended()) {
            PyErr_SetString(PyExc_BufferError,
                            "the batch ended with the socket's next receiving call");
            throw nb::python_error();
        }
        for (const zlink_stream_message_t& each : received.messages()) {
            if (is_message(each)) {
                made.messages.push_back(each);
            }
        }
        made.received = nb::borrow(from);
        return made;
    }
    for (nb::handle each : listed(from, "send_batch takes a Batch or an iterable")) {
        if (nb::isinstance<message_event>(each)) {
            const auto& event = nb::cast<const message_event&>(each);
            made.add(event.peer, event.data, event.is_text);
        } else if (nb::isinstance<message_view>(each)) {
            const auto& view = nb::cast<const message_view&>(each);
            made.add(view.peer, each, (view.content().flags & ZLINK_SNDTEXT) != 0);
        } else if (PyTuple_Check(each.ptr()) && PyTuple_Size(each.ptr()) == 2) {
            std::uint32_t peer = 0;
            if (!nb::try_cast(each[0], peer)) {
                throw nb::type_error("send_batch: a peer is an int");
            }
            made.add(peer, nb::object(each[1]), false);
        } else {
            throw nb::type_error(
                "send_batch takes a Batch, or an iterable of messages or of tuples "
                "(peer, data)");
        }
    }
    return made;
}

/// Sends on from `done`, skipping peers that have gone.
/// @return Whether all are handled; not if a peer has no room within `limit`.
bool send_on(use& used, const outgoing_batch& outgoing, std::size_t& done, std::size_t& sent,
             patience limit) {
    core& self = used.socket();
    while (done < outgoing.messages.size()) {
        bool is_gone = false;
        const int count = wait_for(used, sending, limit, true, [&](int wait) {
            const int result = zlink_stream_send_batch(self.raw, outgoing.messages.data() + done,
                                                       outgoing.messages.size() - done, wait);
            is_gone = result < 0 && errno == EHOSTUNREACH;
            return is_gone ? 0 : result;
        });
        if (count < 0) {
            return false;
        }
        done += is_gone ? 1 : static_cast<std::size_t>(count);
        sent += is_gone ? 0 : static_cast<std::size_t>(count);
    }
    return true;
}

std::vector<unsigned char> ids_from(nb::handle peers) {
    std::vector<unsigned char> ids;
    for (nb::handle each : listed(peers, "expected an iterable of peers")) {
        std::uint32_t peer = 0;
        if (!nb::try_cast(each, peer)) {
            throw nb::type_error("expected an iterable of peers, which are ints");
        }
        const std::array id = id_from(peer);
        ids.insert(ids.end(), id.begin(), id.end());
    }
    return ids;
}

const char* or_null(nb::handle text, const char* name, std::string& kept) {
    if (text.is_none()) {
        return nullptr;
    }
    kept = text_argument(text, name);
    return kept.c_str();
}

std::uint64_t bytes_to_end(int file, std::uint64_t offset, nb::handle length) {
    if (!length.is_none()) {
        return nb::cast<std::uint64_t>(length);
    }
    struct stat about {};
    if (fstat(file, &about) != 0) {
        fail(errno, "the file cannot be read: " + std::string{zlink_strerror(errno)});
    }
    const auto bytes = static_cast<std::uint64_t>(about.st_size);
    return bytes > offset ? bytes - offset : 0;
}

using end_function = int(void*, const void*, int, const char*);

template<end_function* function>
void end_peer(core& self, const char* action, std::uint32_t peer, int code,
              const std::string& reason) {
    use used{self, action};
    if (function(self.raw, id_from(peer).data(), code, whole_text(reason).c_str()) != 0) {
        used.fail(errno, errno == EINVAL ? "a close code is 1000, 1001, 1008, 1011 or from 3000 to "
                                           "4999, and a reason has at most 123 bytes"
                         : errno == EHOSTUNREACH ? "the peer is unknown or has disconnected"
                                                 : "");
    }
}

/// send_many and send_each. `outcomes` gets the reason for each peer that is skipped.
int send_many(use& used, const std::vector<unsigned char>& ids, nb::handle data, bool as_text,
              int* outcomes) {
    core& self = used.socket();
    const payload content{data, true};
    message outgoing{content};
    const int text = as_text || content.is_text() ? ZLINK_SNDTEXT : 0;
    int result;
    int error;
    {
        const without_gil released;
        result = zlink_stream_send_each(self.raw, ids.data(), ids.size() / 4, &outgoing.raw, text,
                                        outcomes);
        error = errno;
    }
    if (result < 0) {
        used.fail(error, error == EINVAL ? "the text is not UTF-8" : "");
    }
    return result;
}

void bind_event_classes(nb::module_& m) {
    nb::class_<connected>(m, "Connected", "A peer has connected.")
        .def(nb::init<std::uint32_t, std::string, std::string, std::string, std::string,
                      std::string>(),
             nb::arg("peer"), nb::arg("address") = "", nb::arg("path") = "", nb::arg("origin") = "",
             nb::arg("subprotocol") = "", nb::arg("extensions") = "")
        .def_ro("peer", &connected::peer, "The number of the peer.")
        .def_ro("address", &connected::address, "Such as \"tcp://127.0.0.1:50214\".")
        .def_ro("path", &connected::path, "Over ws: the path and query requested.")
        .def_ro("origin", &connected::origin, "Over ws: the page's origin, or empty.")
        .def_ro("subprotocol", &connected::subprotocol, "Over ws: the one selected, or empty.")
        .def_ro("extensions", &connected::extensions, "Over ws: those negotiated, or empty.")
        .def("__repr__",
             [](const connected& self) {
                 return "Connected(peer=" + std::to_string(self.peer) + ", address='" +
                        self.address + "')";
             })
        .attr("__match_args__") = nb::make_tuple("peer", "address", "path");
    nb::class_<disconnected>(m, "Disconnected",
                             "A peer has disconnected; all that it sent was received before.")
        .def(nb::init<std::uint32_t, int, std::string>(), nb::arg("peer"), nb::arg("code") = 1000,
             nb::arg("reason") = "")
        .def_ro("peer", &disconnected::peer, "The number of the peer.")
        .def_ro("code", &disconnected::code, "A number as in WebSocket close frames.")
        .def_prop_ro(
            "reason", [](const disconnected& self) { return text_from(self.reason); },
            nb::sig("def reason(self) -> str"), "Why, in words.")
        .def("__repr__",
             [](const disconnected& self) {
                 return "Disconnected(peer=" + std::to_string(self.peer) +
                        ", code=" + std::to_string(self.code) + ", reason='" + self.reason + "')";
             })
        .attr("__match_args__") = nb::make_tuple("peer", "code", "reason");
    nb::class_<message_event>(m, "Message", "A message of a peer.")
        .def(
            "__init__",
            [](message_event* self, std::uint32_t peer, nb::bytes data, bool is_text) {
                new (self) message_event{peer, plain_bytes(data), is_text};
            },
            nb::arg("peer"), nb::arg("data"), nb::arg("is_text") = false)
        .def_ro("peer", &message_event::peer, "The number of the peer.")
        .def_prop_ro(
            "data", [](const message_event& self) { return self.data; },
            nb::sig("def data(self) -> bytes"), "The payload.")
        .def_ro("is_text", &message_event::is_text, "Whether it was received as text, over ws.")
        .def_prop_ro(
            "text", [](const message_event& self) { return self.data.attr("decode")(); },
            nb::sig("def text(self) -> str"), "The payload as text.")
        .def("__len__", [](const message_event& self) { return nb::len(self.data); })
        .def("__repr__",
             [](const message_event& self) {
                 return "Message(peer=" + std::to_string(self.peer) + ", " +
                        std::to_string(nb::len(self.data)) +
                        (self.is_text ? " bytes of text)" : " bytes)");
             })
        .attr("__match_args__") = nb::make_tuple("peer", "data", "is_text");
    nb::class_<message_view>(m, "MessageView", nb::type_slots(view_slots.data()),
                             "A message of a batch. An object with a buffer: its content is valid\n"
                             "until the socket's next receiving call.")
        .def_ro("peer", &message_view::peer, "The number of the peer.")
        .def_prop_ro("data", &view_of, nb::sig("def data(self) -> memoryview"),
                     "The payload, which is not copied. Released when the batch ends.")
        .def_prop_ro(
            "is_text",
            [](const message_view& self) { return (self.content().flags & ZLINK_SNDTEXT) != 0; },
            "Whether it was received as text, over ws.")
        .def_prop_ro(
            "text",
            [](const message_view& self) {
                const zlink_stream_message_t& content = self.content();
                nb::object text =
                    nb::steal(PyUnicode_DecodeUTF8(static_cast<const char*>(content.data),
                                                   static_cast<Py_ssize_t>(content.size), nullptr));
                if (!text.is_valid()) {
                    throw nb::python_error();
                }
                return text;
            },
            nb::sig("def text(self) -> str"), "The payload as text, a copy.")
        .def("__len__", [](const message_view& self) { return self.content().size; })
        .def(
            "__bytes__",
            [](const message_view& self) {
                const zlink_stream_message_t& content = self.content();
                return bytes_from(content.data, content.size);
            },
            nb::sig("def __bytes__(self) -> bytes"))
        .def("__repr__",
             [](const message_view& self) {
                 const std::string begin = "MessageView(peer=" + std::to_string(self.peer) + ", ";
                 if (self.from->is_ended()) {
                     return begin + "ended)";
                 }
                 const zlink_stream_message_t& content = self.content();
                 return begin + std::to_string(content.size) +
                        ((content.flags & ZLINK_SNDTEXT) != 0 ? " bytes of text)" : " bytes)");
             })
        .attr("__match_args__") = nb::make_tuple("peer", "data", "is_text");
    nb::class_<request>(m, "Request", "An HTTP request, which waits for an answer.")
        .def(
            "__init__",
            [](request* self, std::uint32_t peer, nb::bytes raw) {
                new (self) request{request_from(peer, raw.data(), raw.size())};
            },
            nb::arg("peer"), nb::arg("raw"))
        .def_ro("peer", &request::peer, "The number of the client, to which the answer is sent.")
        .def_prop_ro(
            "raw", [](const request& self) { return self.raw; }, nb::sig("def raw(self) -> bytes"),
            "The request as in HTTP/1.1.")
        .def_prop_ro(
            "method",
            [](const request& self) {
                return latin_from(self.parts.method, self.parts.method_size);
            },
            nb::sig("def method(self) -> str"), "Such as \"GET\".")
        .def_prop_ro(
            "path",
            [](const request& self) { return latin_from(self.parts.path, self.parts.path_size); },
            nb::sig("def path(self) -> str"), "As it was sent, with its escapes: \"/api/users/5\".")
        .def_prop_ro(
            "query",
            [](const request& self) { return latin_from(self.parts.query, self.parts.query_size); },
            nb::sig("def query(self) -> str"), "What follows the question mark; may be empty.")
        .def_prop_ro(
            "content",
            [](const request& self) {
                return bytes_from(self.parts.content, self.parts.content_size);
            },
            nb::sig("def content(self) -> bytes"), "The content that was sent; may be empty.")
        .def_prop_ro(
            "fields",
            [](const request& self) {
                nb::list fields;
                std::string_view rest{self.parts.fields, self.parts.fields_size};
                while (!rest.empty()) {
                    const std::string_view line = rest.substr(0, rest.find("\r\n"));
                    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
                    const std::size_t colon = line.find(':');
                    if (colon == std::string_view::npos) {
                        continue;
                    }
                    std::string_view value = line.substr(colon + 1);
                    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) {
                        value.remove_prefix(1);
                    }
                    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) {
                        value.remove_suffix(1);
                    }
                    fields.append(nb::make_tuple(latin_from(line.data(), colon),
                                                 latin_from(value.data(), value.size())));
                }
                return fields;
            },
            nb::sig("def fields(self) -> list[tuple[str, str]]"), "The header fields, in order.")
        .def(
            "field",
            [](const request& self, const std::string& name) -> nb::object {
                const char* value;
                std::size_t bytes;
                if (zlink_http_field(&self.parts, whole_text(name).c_str(), &value, &bytes) != 0) {
                    return nb::none();
                }
                return latin_from(value, bytes);
            },
            nb::arg("name"), nb::sig("def field(self, name: str) -> str | None"),
            "The value of the first field of that name; None if there is none.")
        .def_prop_ro(
            "is_upgrade", [](const request& self) { return is_upgrade(self.parts); },
            "Whether the client asks to become a WebSocket peer.")
        .def("__repr__",
             [](const request& self) {
                 return "Request(peer=" + std::to_string(self.peer) + ", " +
                        std::string{self.parts.method, self.parts.method_size} + " " +
                        std::string{self.parts.path, self.parts.path_size} + ")";
             })
        .attr("__match_args__") = nb::make_tuple("peer", "method", "path");
}

void bind_batch(nb::module_& m) {
    nb::class_<batch_iterator>(m, "BatchIterator", nb::type_slots(iterator_slots.data()))
        .def(
            "__iter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __iter__(self) -> BatchIterator"))
        .def(
            "__next__",
            [](batch_iterator& self) {
                if (self.next >= nb::cast<batch&>(self.owner).messages().size()) {
                    throw nb::stop_iteration();
                }
                return item_of(self.owner, self.next++);
            },
            nb::sig("def __next__(self) -> MessageView | Connected | Disconnected | Request"));
    nb::class_<batch>(m, "Batch", nb::type_slots(batch_slots.data()),
                      nb::sig("class Batch(Sequence[MessageView | Connected | Disconnected | "
                              "Request])"),
                      "Messages and events that were received together: a sequence.")
        .def("__len__", [](const batch& self) { return self.messages().size(); })
        .def(
            "__getitem__",
            [](nb::handle self, Py_ssize_t index) {
                const auto count =
                    static_cast<Py_ssize_t>(nb::cast<batch&>(self).messages().size());
                if (index < -count || index >= count) {
                    throw nb::index_error("there is no such message in the batch");
                }
                return item_of(self, static_cast<std::size_t>(index < 0 ? index + count : index));
            },
            nb::arg("index"),
            nb::sig("def __getitem__(self, index: int) -> MessageView | Connected | Disconnected | "
                    "Request"))
        .def(
            "__getitem__",
            [](nb::handle self, nb::slice range) {
                auto [start, stop, step, count] =
                    range.compute(nb::cast<batch&>(self).messages().size());
                nb::list items;
                for (; count > 0; --count, start += step) {
                    items.append(item_of(self, static_cast<std::size_t>(start)));
                }
                return items;
            },
            nb::arg("range"),
            nb::sig("def __getitem__(self, range: slice) -> list[MessageView | Connected | "
                    "Disconnected | Request]"))
        .def(
            "__iter__", [](nb::handle self) { return batch_iterator{nb::borrow(self)}; },
            nb::sig("def __iter__(self) -> BatchIterator"));
}

void bind_functions(nb::class_<stream, core>& to) {
    to.def(
        "_try_recv_event",
        [](core& self) -> nb::object {
            use used{self, "recv", true};
            nb::object event;
            if (++self.immediate_count <= immediate_count_max) {
                event = recv_event(used, patience{0});
            }
            return event.is_valid() ? event : nb::none();
        },
        nb::sig(
            "def _try_recv_event(self) -> Message | Connected | Disconnected | Request | None"));
    to.def(
        "_try_recv_batch",
        [](nb::handle self, nb::handle count) -> nb::object {
            const int count_max = int_argument(count, "count");
            auto& of = nb::cast<core&>(self);
            use used{of, "recv_batch", true};
            nb::object made;
            if (++of.immediate_count <= immediate_count_max) {
                made = recv_batch(used, self, count_max, patience{0}, false);
            }
            return made.is_valid() ? made : nb::none();
        },
        nb::sig("def _try_recv_batch(self, count: int) -> Batch | None"));
    to.def(
        "_try_send_to",
        [](core& self, nb::handle given, nb::handle data, nb::handle as_text) {
            const std::uint32_t peer = peer_argument(given);
            const bool text = bool_argument(as_text);
            use used{self, "send"};
            return ++self.immediate_count <= immediate_count_max &&
                   send_to(used, peer, data, text, patience{0});
        },
        nb::sig("def _try_send_to(self, peer: int, data: Buffer | str, text: bool) -> bool"));
    to.def(
        "_try_send_batch",
        [](core& self, nb::handle messages, std::size_t done, std::size_t sent) {
            const outgoing_batch outgoing = outgoing_from(messages); // May run Python code.
            use used{self, "send_batch"};
            const bool is_done = send_on(used, outgoing, done, sent, patience{0});
            return nb::make_tuple(is_done, done, sent);
        },
        nb::sig("def _try_send_batch(self, messages: Any, done: int, sent: int) -> tuple[bool, "
                "int, int]"));
    to.def(
        "_send_file",
        [](core& self, nb::handle given, int file, std::uint64_t offset, nb::handle length,
           nb::handle timeout) {
            const std::uint32_t peer = peer_argument(given);
            use used{self, "send_file"};
            const std::uint64_t bytes = bytes_to_end(file, offset, length);
            return wait_for(used, sending, patience_from(timeout), true, [&](int wait) {
                       return zlink_stream_send_file(self.raw, id_from(peer).data(), file, offset,
                                                     bytes, wait);
                   }) >= 0;
        },
        nb::arg("peer"), nb::arg("file"), nb::arg("offset"), nb::arg("length").none(),
        nb::arg("timeout").none(),
        nb::sig("def _send_file(self, peer: int, file: int, offset: int, length: int | None,"
                " timeout: float | None) -> bool"));
    to.def(
        "_reply",
        [](core& self, nb::handle given, nb::handle code, nb::handle fields, nb::handle content,
           nb::handle more, nb::handle timeout) {
            const std::uint32_t peer = peer_argument(given);
            const int status = int_argument(code, "status");
            const int flags = bool_argument(more) ? ZLINK_SNDMORE : 0;
            use used{self, "reply"};
            const payload body{content, true};
            std::string kept;
            const char* const lines = or_null(fields, "fields", kept);
            return wait_for(used, sending, patience_from(timeout),
                            body.size() >= gil_held_bytes_max, [&](int wait) {
                                return zlink_http_reply(self.raw, id_from(peer).data(), status,
                                                        lines, body.data(), body.size(),
                                                        flags | wait);
                            }) >= 0;
        },
        nb::arg("peer"), nb::arg("status"), nb::arg("fields").none(), nb::arg("content"),
        nb::arg("more"), nb::arg("timeout").none(),
        nb::sig(
            "def _reply(self, peer: int, status: int, fields: str | None, content: Buffer | str,"
            " more: bool, timeout: float | None) -> bool"));
    to.def(
        "_reply_part",
        [](core& self, nb::handle given, nb::handle content, nb::handle more, nb::handle timeout) {
            const std::uint32_t peer = peer_argument(given);
            const int flags = bool_argument(more) ? ZLINK_SNDMORE : 0;
            use used{self, "reply_part"};
            const payload body{content, true};
            return wait_for(used, sending, patience_from(timeout),
                            body.size() >= gil_held_bytes_max, [&](int wait) {
                                return zlink_http_reply_part(self.raw, id_from(peer).data(),
                                                             body.data(), body.size(),
                                                             flags | wait);
                            }) >= 0;
        },
        nb::arg("peer"), nb::arg("content"), nb::arg("more"), nb::arg("timeout").none(),
        nb::sig("def _reply_part(self, peer: int, content: Buffer | str, more: bool,"
                " timeout: float | None) -> bool"));
    to.def(
        "_reply_file",
        [](core& self, nb::handle given, nb::handle code, nb::handle fields, int file,
           std::uint64_t offset, nb::handle length, nb::handle timeout) {
            const std::uint32_t peer = peer_argument(given);
            const int status = int_argument(code, "status");
            use used{self, "reply_file"};
            const std::uint64_t bytes = bytes_to_end(file, offset, length);
            std::string kept;
            const char* const lines = or_null(fields, "fields", kept);
            return wait_for(used, sending, patience_from(timeout), true, [&](int wait) {
                       return zlink_http_reply_file(self.raw, id_from(peer).data(), status, lines,
                                                    file, offset, bytes, wait);
                   }) >= 0;
        },
        nb::arg("peer"), nb::arg("status"), nb::arg("fields").none(), nb::arg("file"),
        nb::arg("offset"), nb::arg("length").none(), nb::arg("timeout").none(),
        nb::sig("def _reply_file(self, peer: int, status: int, fields: str | None, file: int,"
                " offset: int, length: int | None, timeout: float | None) -> bool"));
    to.def(
        "_upgrade",
        [](core& self, nb::handle given, nb::handle subprotocol, nb::handle fields) {
            const std::uint32_t peer = peer_argument(given);
            use used{self, "upgrade"};
            zlink_peer_t about;
            if (!self.upgrading.contains(peer) &&
                zlink_stream_peer(self.raw, id_from(peer).data(), &about) == 0) {
                used.fail(EFSM, "no request for an upgrade of this peer waits for an answer");
            }
            std::string kept_subprotocol;
            std::string kept_fields;
            const char* const wanted = or_null(subprotocol, "subprotocol", kept_subprotocol);
            const char* const lines = or_null(fields, "fields", kept_fields);
            int result;
            int error;
            {
                const without_gil released;
                result = zlink_http_upgrade(self.raw, id_from(peer).data(), wanted, lines);
                error = errno;
            }
            if (result != 0) {
                used.fail(error, error == EFSM
                                     ? "no request for an upgrade of this peer waits for an answer"
                                     : "");
            }
            self.upgrading.erase(peer);
        },
        nb::arg("peer"), nb::arg("subprotocol").none(), nb::arg("fields").none(),
        nb::sig(
            "def _upgrade(self, peer: int, subprotocol: str | None, fields: str | None) -> None"));
    to.def(
        "_serve",
        [](core& self, nb::handle given_prefix, nb::handle given_folder, nb::handle index,
           nb::handle cors_origin, nb::handle cache_control, bool lists, bool uncompressed,
           bool portable_etags) {
            const std::string prefix = text_argument(given_prefix, "prefix");
            const std::string folder = text_argument(given_folder, "folder");
            use used{self, "serve"};
            std::array<std::string, 3> kept;
            zlink_http_folder_t settings{};
            settings.struct_size = sizeof settings;
            settings.index = or_null(index, "index", kept[0]);
            settings.cors_origin = or_null(cors_origin, "cors_origin", kept[1]);
            settings.cache_control = or_null(cache_control, "cache_control", kept[2]);
            settings.lists = lists;
            settings.uncompressed = uncompressed;
            settings.portable_etags = portable_etags;
            if (zlink_http_serve(self.raw, prefix.c_str(), folder.c_str(), &settings) != 0) {
                const int error = errno;
                used.fail(error, error == EINVAL
                                     ? std::string{zlink_error_text()}
                                     : "the folder '" + folder + "': " + zlink_strerror(error));
            }
        },
        nb::arg("prefix"), nb::arg("folder"), nb::arg("index").none(),
        nb::arg("cors_origin").none(), nb::arg("cache_control").none(), nb::arg("lists"),
        nb::arg("uncompressed"), nb::arg("portable_etags"),
        nb::sig(
            "def _serve(self, prefix: str, folder: str, index: str | None, cors_origin: str | None,"
            " cache_control: str | None, lists: bool, uncompressed: bool, portable_etags: bool)"
            " -> None"));
    to.def(
        "_route",
        [](core& self, nb::handle given, int kinds) {
            const std::string path = text_argument(given, "path");
            use used{self, "route"};
            if (zlink_http_route(self.raw, path.c_str(), kinds) != 0) {
                used.fail(errno, errno == EINVAL ? "'" + path + "': " + zlink_error_text() : "");
            }
        },
        nb::sig("def _route(self, path: str, kinds: int) -> None"));
    to.def(
        "close_peer",
        [](core& self, std::uint32_t peer, int code, const std::string& reason) {
            end_peer<zlink_stream_close>(self, "close_peer", peer, code, reason);
        },
        nb::arg("peer"), nb::arg("code") = 1000, nb::arg("reason") = "",
        "Closes the connection to a peer after what was sent to it is written.");
    to.def(
        "abort_peer",
        [](core& self, std::uint32_t peer, int code, const std::string& reason) {
            end_peer<zlink_stream_abort>(self, "abort_peer", peer, code, reason);
        },
        nb::arg("peer"), nb::arg("code") = 1008, nb::arg("reason") = "",
        "Closes the connection to a peer at once; what is queued for it is dropped.");
    to.def(
        "send_many",
        [](core& self, nb::handle peers, nb::handle data, bool text) {
            const std::vector<unsigned char> ids = ids_from(peers); // May run Python code.
            use used{self, "send_many"};
            return send_many(used, ids, data, text, nullptr);
        },
        nb::arg("peers"), nb::arg("data"), nb::kw_only(), nb::arg("text") = false,
        nb::sig(
            "def send_many(self, peers: Iterable[int], data: Buffer | str, *, text: bool = False)"
            " -> int"),
        "Sends a payload to many peers, which share it. Never waits: peers that have no room or "
        "have\n"
        "gone are skipped. Returns the number of peers that it was sent to.");
    to.def(
        "send_each",
        [](core& self, nb::handle peers, nb::handle data, bool text) {
            const std::vector<unsigned char> ids = ids_from(peers); // May run Python code.
            use used{self, "send_each"};
            std::vector<int> outcomes(ids.size() / 4 + 1);
            send_many(used, ids, data, text, outcomes.data());
            nb::dict skipped;
            for (std::size_t index = 0; index < ids.size() / 4; ++index) {
                if (outcomes[index] != 0) {
                    skipped[nb::cast(peer_from(ids.data() + index * 4))] = outcomes[index];
                }
            }
            return skipped;
        },
        nb::arg("peers"), nb::arg("data"), nb::kw_only(), nb::arg("text") = false,
        nb::sig(
            "def send_each(self, peers: Iterable[int], data: Buffer | str, *, text: bool = False)"
            " -> dict[int, int]"),
        "As send_many(). Returns the peers that were skipped, each with an errno: EAGAIN if it has "
        "no\n"
        "room, EHOSTUNREACH if it has gone.");
    to.def(
        "_peer",
        [](core& self, nb::handle given) {
            const std::uint32_t peer = peer_argument(given);
            use used{self, "peer"};
            zlink_peer_t about;
            if (zlink_stream_peer(self.raw, id_from(peer).data(), &about) != 0) {
                used.fail(errno);
            }
            return peer_tuple(about);
        },
        nb::sig("def _peer(self, peer: int) -> tuple[str, bytes, int, int, int]"));
}

void bind_blocking(nb::module_& m) {
    nb::class_<blocking_stream, stream>(m, "BlockingStreamCore", nb::type_slots(core_slots.data()),
                                        "A STREAM whose calls wait.")
        .def(nb::init<nb::handle, int, std::string>(), nb::arg("context"), nb::arg("type"),
             nb::arg("name"),
             nb::sig("def __init__(self, context: ContextCore, type: int, name: str) -> None"))
        .def(
            "recv",
            [](core& self, nb::handle timeout) {
                use used{self, "recv", true};
                nb::object event = recv_event(used, patience_from(timeout));
                if (!event.is_valid()) {
                    used.fail(EAGAIN);
                }
                return event;
            },
            nb::kw_only(), nb::arg("timeout").none() = nb::none(),
            nb::sig("def recv(self, *, timeout: float | None = None)"
                    " -> Message | Connected | Disconnected | Request"),
            "Receives a message, or what happened to a peer.\n\n"
            "Waits at most `timeout` seconds; None: recv_timeout. Raises Again after that.")
        .def(
            "recv_batch",
            [](nb::handle self, int count, nb::handle timeout) {
                use used{nb::cast<core&>(self), "recv_batch", true};
                nb::object made = recv_batch(used, self, count, patience_from(timeout), true);
                if (!made.is_valid()) {
                    used.fail(EAGAIN);
                }
                return made;
            },
            nb::arg("count") = 256, nb::kw_only(), nb::arg("timeout").none() = nb::none(),
            nb::sig(
                "def recv_batch(self, count: int = 256, *, timeout: float | None = None) -> Batch"),
            "Receives up to `count` messages and events that are there, without copying them. "
            "Waits\n"
            "for the first one only.\n\n"
            "They are valid until the socket's next receiving call. Views of their data are\n"
            "released then; if a part of one is still in use, that call raises BufferError.")
        .def(
            "send",
            [](core& self, nb::handle given, nb::handle data, bool text, nb::handle timeout) {
                const std::uint32_t peer = peer_argument(given);
                use used{self, "send"};
                if (!send_to(used, peer, data, text, patience_from(timeout))) {
                    used.fail(EAGAIN);
                }
            },
            nb::arg("peer"), nb::arg("data").none(), nb::kw_only(), nb::arg("text") = false,
            nb::arg("timeout").none() = nb::none(),
            nb::sig("def send(self, peer: int, data: Buffer | str, *, text: bool = False,"
                    " timeout: float | None = None) -> None"),
            "Sends a message to a peer: a str as text, bytes as binary or, with `text`, as "
            "text.\n\n"
            "Waits while the peer has no room, at most `timeout` seconds; None: send_timeout. "
            "Raises\n"
            "Again after that, and PeerUnreachable if the peer has gone.")
        .def(
            "send_batch",
            [](core& self, nb::handle messages, nb::handle timeout) {
                const outgoing_batch outgoing = outgoing_from(messages); // May run Python code.
                use used{self, "send_batch"};
                std::size_t done = 0;
                std::size_t sent = 0;
                if (!send_on(used, outgoing, done, sent, patience_from(timeout))) {
                    used.fail(EAGAIN,
                              "the peer of message " + std::to_string(done) + " has no room");
                }
                return sent;
            },
            nb::arg("messages"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
            nb::sig(
                "def send_batch(self, messages: Batch | Iterable[tuple[int, Buffer | str] | Message"
                " | MessageView], *, timeout: float | None = None) -> int"),
            "Sends messages: those of a Batch, or tuples (peer, data). Events in a Batch and peers "
            "that\n"
            "have gone are skipped. Returns the number of messages sent. Waits as send() does.");
}

} // namespace

batch::batch(nb::object owner, core& from, std::vector<zlink_stream_message_t> messages,
             bool is_lent)
    : owner_{std::move(owner)}, from_{&from}, messages_{std::move(messages)}, is_lent_{is_lent} {
    if (is_lent) {
        return;
    }
    std::size_t bytes = 0;
    for (const zlink_stream_message_t& each : messages_) {
        bytes += each.size;
    }
    copies_.resize(bytes);
    char* next = copies_.data();
    for (zlink_stream_message_t& each : messages_) {
        if (each.size > 0) {
            std::memcpy(next, each.data, each.size);
        }
        each.data = next;
        next += each.size;
    }
    from_ = nullptr;
    owner_.reset();
}

batch::~batch() {
    if (from_ != nullptr && from_->lent == this) {
        from_->lent = nullptr;
    }
}

void batch::end() {
    const nb::object kept = nb::find(*this); // A view may be the last that refers to the batch.
    for (const nb::object& each : views) {
        nb::object view = each();
        if (view.is_none()) {
            continue;
        }
        nb::object done = nb::steal(PyObject_CallMethod(view.ptr(), "release", nullptr));
        if (!done.is_valid()) {
            PyErr_Clear(); // The view has an export, which is counted below.
        }
    }
    if (export_count > 0) {
        PyErr_SetString(
            PyExc_BufferError,
            "a part of a message of the last recv_batch is still in use; copy or release "
            "it before the socket's next receiving call");
        throw nb::python_error();
    }
    views.clear();
    from_->lent = nullptr;
    from_ = nullptr;
}

nb::object peer_tuple(const zlink_peer_t& about) {
    return nb::make_tuple(about.endpoint, bytes_from(about.routing_id, about.routing_id_size),
                          about.messages, about.bytes, about.dropped);
}

void bind_stream(nb::module_& m) {
    bind_event_classes(m);
    bind_batch(m);
    nb::class_<stream, core> to(m, "StreamCore", nb::type_slots(core_slots.data()), "A STREAM.");
    to.def(nb::init<nb::handle, int, std::string>(), nb::arg("context"), nb::arg("type"),
           nb::arg("name"),
           nb::sig("def __init__(self, context: ContextCore, type: int, name: str) -> None"));
    bind_functions(to);
    bind_blocking(m);
}

} // namespace zlink::python
