// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include "batch.hpp"

#include <csignal>
#include <unistd.h>
#include <utility>

namespace zlink::python {
namespace {

constexpr std::array timeout_options{ZLINK_RCVTIMEO, ZLINK_SNDTIMEO};

std::string reason(int error, std::string_view action) {
    const bool is_receiving = action.starts_with("recv");
    switch (error) {
    case EAGAIN:
        return is_receiving ? "no message arrived in time" : "no peer had room in time";
    case EFSM:
        if (action == "reply_part") {
            return "no answer to this peer was begun with more=True, or its last part was sent";
        }
        if (action.starts_with("reply")) {
            return "no request of this peer waits for an answer";
        }
        return is_receiving ? "it is not this socket's turn to receive"
                            : "it is not this socket's turn to send";
    case EHOSTUNREACH:
        return "the peer is unknown or has disconnected";
    case EINVAL:
        // These describe the error.
        if (action.starts_with("reply") || action == "upgrade" || action == "send_file") {
            return zlink_error_text();
        }
        [[fallthrough]];
    default:
        return zlink_strerror(error);
    }
}

bool is_draft(int type) {
    return type >= ZLINK_SERVER && type <= ZLINK_CHANNEL;
}

bool is_wide(int option) {
    switch (option) {
    case ZLINK_AFFINITY:
    case ZLINK_MAXMSGSIZE:
    case ZLINK_DROPPED:
    case ZLINK_WS_DEFLATED:
    case ZLINK_VMCI_BUFFER_SIZE:
    case ZLINK_VMCI_BUFFER_MIN_SIZE:
    case ZLINK_VMCI_BUFFER_MAX_SIZE:
        return true;
    default:
        return false;
    }
}

/// Whether the value of an option that is a text may have zero bytes.
bool is_binary(int option) {
    switch (option) {
    case ZLINK_SUBSCRIBE:
    case ZLINK_UNSUBSCRIBE:
    case ZLINK_ROUTING_ID:
    case ZLINK_CONNECT_ROUTING_ID:
    case ZLINK_XPUB_WELCOME_MSG:
        return true;
    default:
        return false;
    }
}

/// Bytes of an option's value; texts of any length that are longer cannot be read back.
constexpr std::size_t option_bytes_max = 4096;

const char* busy_text(const core& used) {
    return pthread_equal(used.user, pthread_self()) != 0
               ? "this thread is using the socket, in a call that has called this code"
               : "another thread is using the socket";
}

/// Interrupts a drain. Sent to a thread only, and ignored by processes that do not handle it.
constexpr int drain_signal = SIGURG;

void ignore_signal(int) {}

/// Makes the signal interrupt what a thread waits in. A handler of the application does that, too.
void handle_drain_signal() {
    struct sigaction former {};
    sigaction(drain_signal, nullptr, &former);
    if ((former.sa_flags & SA_SIGINFO) == 0 &&
        (former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN)) {
        struct sigaction wanted {};
        wanted.sa_handler = ignore_signal;
        wanted.sa_flags = SA_RESTART;
        sigaction(drain_signal, &wanted, nullptr);
    }
}

/// Marks the socket as drained by this thread, which does not block the signal meanwhile.
class drain_mark {
public:
    explicit drain_mark(core& of) : core_{of} {
        sigset_t wanted;
        sigemptyset(&wanted);
        sigaddset(&wanted, drain_signal);
        pthread_sigmask(SIG_UNBLOCK, &wanted, &former_);
        of.draining = &wait;
    }
    drain_mark(const drain_mark&) = delete;
    drain_mark& operator=(const drain_mark&) = delete;
    ~drain_mark() {
        core_.draining = nullptr;
        pthread_sigmask(SIG_SETMASK, &former_, nullptr);
        if (std::exchange(core_.closes_when_drained, false)) {
            core_.close();
        }
    }

    drain_wait wait{pthread_self()};

private:
    core& core_;
    sigset_t former_{};
};

void drain(core& self, nb::handle timeout) {
    const patience limit = patience_from(timeout);
    const int total_ms = limit.ms == patience::unset ? -1 : limit.ms;
    use used{self, "drain"};
    const drain_mark mark{self};
    const wait_clock clock{total_ms, INT32_MAX};
    while (!mark.wait.is_ended) {
        const int ms = total_ms < 0 ? -1 : clock.next();
        int result;
        int error;
        {
            const without_gil released;
            result = zlink_socket_drain(self.raw, ms);
            error = errno;
        }
        if (result == 0) {
            return;
        }
        if (error == EAGAIN) {
            used.fail(error, "not all peers had disconnected in time; those are now");
        }
        if (error != EINTR) {
            used.fail(error);
        }
        used.look_for_signals();
    }
    used.fail(ECANCELED);
}

const nb::object& context_of(const core& of) {
    return of.owner;
}

} // namespace

std::array<PyType_Slot, 2> core_slots{
    {{Py_tp_traverse, reinterpret_cast<void*>(&traverse<core, context_of>)}, {0, nullptr}}};

core::core(nb::handle from, int wanted, std::string called)
    : owner{nb::borrow(from)}, home{nb::cast<context*>(from)}, type{wanted}, name{std::move(
                                                                                 called)} {
    void* const ctx = home->raw;
    if (ctx == nullptr) {
        fail(ETERM, name + ": the context was terminated");
    }
    int error;
    {
        const without_gil released;
        raw = zlink_socket(ctx, wanted);
        error = errno;
    }
    if (raw == nullptr && is_draft(wanted) && zlink_has("draft") == 0) {
        refuse("", ENOTSUP,
               "this zlink was built without libzmq's draft types; build it with "
               "-D ZLINK_DRAFTS=ON");
    }
    if (raw == nullptr) {
        const int count_max = zlink_ctx_get(ctx, ZLINK_MAX_SOCKETS);
        const bool is_full =
            error == EMFILE && home->sockets.size() >= static_cast<std::size_t>(count_max);
        refuse("", error,
               is_full ? "Context.max_sockets, " + std::to_string(count_max) + ", are open" : "");
    }
    home->sockets.insert(this);
}

core::~core() {
    if (raw == nullptr) {
        return;
    }
    end_watch(*this); // Other threads run meanwhile, and with them perhaps its event loop.
    nb::error_scope kept;
    const std::string text = "unclosed zlink socket " + name;
    if (run_python([&] { return PyErr_WarnEx(PyExc_ResourceWarning, text.c_str(), 1); }) != 0) {
        PyErr_WriteUnraisable(nullptr);
    }
    close();
}

void core::close() {
    if (raw == nullptr) {
        return;
    }
    if (lent != nullptr) {
        end_batch();
    }
    void* const closing = raw;
    raw = nullptr;
    home->sockets.erase(this);
    {
        const without_gil released; // A notification may be running.
        zlink_close(closing);
    }
    unwatch(*this);
    release_sent();
}

void core::end_drain() {
    if (draining != nullptr) {
        handle_drain_signal();
        draining->is_ended = true;
        pthread_kill(draining->thread, drain_signal);
    }
}

void core::refuse(const char* action, int error, std::string text) {
    std::string whole = name;
    if (*action != '\0') {
        whole += '.';
        whole += action;
    }
    whole += ": ";
    if (error == ETERM) {
        text = getpid() == home->owner_process ? "the context was shut down"
                                               : "the context belongs to the parent process";
    }
    whole += text.empty() ? zlink_strerror(error) : text;
    python::fail(error, whole);
}

void core::end_batch() {
    lent->end();
}

std::int64_t core::get_int(int option) {
    use used{*this, "get_option", option == ZLINK_EVENTS};
    std::int64_t wide = 0;
    int narrow = 0;
    std::size_t bytes = is_wide(option) ? sizeof wide : sizeof narrow;
    void* const room = is_wide(option) ? static_cast<void*>(&wide) : &narrow;
    if (zlink_getsockopt(raw, option, room, &bytes) != 0) {
        used.fail(errno, zlink_error_text());
    }
    if (bytes != (is_wide(option) ? sizeof wide : sizeof narrow)) {
        used.fail(EINVAL, "option " + std::to_string(option) + " is not a number");
    }
    return is_wide(option) ? wide : narrow;
}

void use::refuse() {
    if (core_.is_closed()) {
        core_.refuse(action_, ENOTSOCK, "the socket is closed");
    }
    core_.refuse(action_, EBUSY, busy_text(core_));
}

void use::look_for_signals() {
    core_.is_busy = false;
    release_sent();
    const bool raises = is_raised_by_signal();
    if (core_.raw == nullptr && !raises) {
        refuse();
    }
    core_.is_busy = true; // The destructor clears it.
    if (raises) {
        throw nb::python_error();
    }
}

void use::fail(int error, std::string text) {
    if (error == ETERM && core_.home->is_terminating && core_.raw != nullptr) {
        core_.close(); // Context.term() waits for it.
    }
    core_.refuse(action_, error, text.empty() ? reason(error, action_) : text);
}

void set_timeout(core& of, direction way, int ms) {
    if (of.set_ms[way] == ms) {
        return;
    }
    if (zlink_setsockopt(of.raw, timeout_options[way], &ms, sizeof ms) == 0) {
        of.set_ms[way] = ms;
    }
}

void bind_socket(nb::module_& m) {
    nb::class_<core> base(m, "Core", "A socket of the library.", nb::is_weak_referenceable(),
                          nb::type_slots(core_slots.data()));
    base.def(nb::init<nb::handle, int, std::string>(), nb::arg("context"), nb::arg("type"),
             nb::arg("name"),
             nb::sig("def __init__(self, context: ContextCore, type: int, name: str) -> None"))
        .def(
            "bind",
            [](core& self, const std::string& endpoint) {
                whole_text(endpoint);
                use used{self, "bind"};
                int result;
                int error;
                std::string text;
                {
                    const without_gil released; // May call notifications.
                    result = zlink_bind(self.raw, endpoint.c_str());
                    error = errno;
                }
                if (result != 0) {
                    used.fail(error, zlink_error_text());
                }
                std::array<char, 1024> last{};
                std::size_t bytes = last.size();
                zlink_getsockopt(self.raw, ZLINK_LAST_ENDPOINT, last.data(), &bytes);
                self.endpoint = last.data();
                return self.endpoint;
            },
            nb::arg("endpoint"),
            "Accepts peers at `endpoint`, e.g. \"tcp://*:5555\" or \"ws://127.0.0.1:*/chat\".\n"
            "Returns the endpoint with its wildcards resolved.")
        .def(
            "connect",
            [](core& self, const std::string& endpoint) {
                whole_text(endpoint);
                use used{self, "connect"};
                int result;
                int error;
                {
                    const without_gil released;
                    result = zlink_connect(self.raw, endpoint.c_str());
                    error = errno;
                }
                if (result != 0) {
                    used.fail(error, zlink_error_text());
                }
                self.endpoint = endpoint;
            },
            nb::arg("endpoint"),
            "Connects to the peer at `endpoint`, in the background, and again when the connection\n"
            "is lost.")
        .def(
            "unbind",
            [](core& self, const std::string& endpoint) {
                whole_text(endpoint);
                use used{self, "unbind"};
                if (zlink_unbind(self.raw, endpoint.c_str()) != 0) {
                    used.fail(errno, zlink_error_text());
                }
            },
            nb::arg("endpoint"), "Stops accepting peers at `endpoint`, as bind() returned it.")
        .def(
            "disconnect",
            [](core& self, const std::string& endpoint) {
                whole_text(endpoint);
                use used{self, "disconnect"};
                if (zlink_disconnect(self.raw, endpoint.c_str()) != 0) {
                    used.fail(errno, zlink_error_text());
                }
            },
            nb::arg("endpoint"), "Closes the connection to `endpoint`.")
        .def("_close",
             [](core& self) {
                 if (self.is_busy) {
                     self.refuse("close", EBUSY, busy_text(self));
                 }
                 self.close();
             })
        .def_prop_ro("closed", &core::is_closed, "Whether the socket was closed.")
        .def("_join_group",
             [](core& self, const std::string& group) {
                 whole_text(group);
                 use used{self, "join"};
                 if (zlink_join(self.raw, group.c_str()) != 0) {
                     used.fail(errno, zlink_error_text());
                 }
             })
        .def("_leave_group",
             [](core& self, const std::string& group) {
                 whole_text(group);
                 use used{self, "leave"};
                 if (zlink_leave(self.raw, group.c_str()) != 0) {
                     used.fail(errno, zlink_error_text());
                 }
             })
        .def("_connect_peer",
             [](core& self, const std::string& endpoint) {
                 whole_text(endpoint);
                 use used{self, "connect_peer"};
                 std::uint32_t number;
                 int error;
                 {
                     const without_gil released;
                     number = zlink_connect_peer(self.raw, endpoint.c_str());
                     error = errno;
                 }
                 if (number == 0) {
                     used.fail(error, zlink_error_text());
                 }
                 self.endpoint = endpoint;
                 return number;
             })
        .def(
            "_disconnect_peer",
            [](core& self, nb::handle routing_id) {
                const std::uint32_t number = peer_argument(routing_id);
                use used{self, "disconnect_peer"};
                if (zlink_disconnect_peer(self.raw, number) != 0) {
                    used.fail(errno);
                }
            },
            nb::sig("def _disconnect_peer(self, routing_id: int, /) -> None"))
        .def_prop_ro(
            "more", [](const core& self) { return self.more; },
            "Whether further frames belong to the message of the frame received last.")
        .def_ro("_endpoint", &core::endpoint)
        .def_ro("_context", &core::owner)
        .def_ro("_type", &core::type)
        .def("_get_int", &core::get_int)
        .def("_set_int",
             [](core& self, int option, std::int64_t value) {
                 use used{self, "set_option"};
                 if (!is_wide(option) && value != static_cast<int>(value)) {
                     used.fail(EINVAL, "option " + std::to_string(option) + ": " +
                                           std::to_string(value) +
                                           " is out of range (-2147483648 to 2147483647)");
                 }
                 const int narrow = static_cast<int>(value);
                 const void* const room =
                     is_wide(option) ? static_cast<const void*>(&value) : &narrow;
                 if (zlink_setsockopt(self.raw, option, room,
                                      is_wide(option) ? sizeof value : sizeof narrow) != 0) {
                     used.fail(errno, zlink_error_text());
                 }
             })
        .def(
            "_get_bytes",
            [](core& self, int option, std::size_t room) {
                use used{self, "get_option", option == ZLINK_EVENTS};
                std::vector<char> value(room == 0 ? option_bytes_max : room);
                std::size_t bytes = value.size();
                if (zlink_getsockopt(self.raw, option, value.data(), &bytes) != 0) {
                    used.fail(errno, zlink_error_text());
                }
                return bytes_from(value.data(), bytes);
            },
            nb::arg("option"), nb::arg("room") = 0,
            nb::sig("def _get_bytes(self, option: int, room: int = 0) -> bytes"))
        .def(
            "_set_bytes",
            [](core& self, int option, nb::handle value) {
                use used{self, "set_option"};
                if (value.is_none()) {
                    if (zlink_setsockopt(self.raw, option, nullptr, 0) != 0) {
                        used.fail(errno, zlink_error_text());
                    }
                    return;
                }
                const payload content{value, true};
                if (content.is_text() && !is_binary(option)) {
                    whole_text(
                        std::string(static_cast<const char*>(content.data()), content.size()));
                }
                if (zlink_setsockopt(self.raw, option, content.data(), content.size()) != 0) {
                    used.fail(errno, zlink_error_text());
                }
            },
            nb::arg("option"), nb::arg("value").none(),
            nb::sig("def _set_bytes(self, option: int, value: bytes | str | None) -> None"))
        .def("_get_timeout",
             [](core& self, bool is_send) {
                 use used{self, "get_option"};
                 return self.timeout_ms[is_send ? sending : receiving];
             })
        .def("_set_timeout",
             [](core& self, bool is_send, int ms) {
                 use used{self, "set_option"};
                 const direction way = is_send ? sending : receiving;
                 if (zlink_setsockopt(self.raw, timeout_options[way], &ms, sizeof ms) != 0) {
                     used.fail(errno, zlink_error_text());
                 }
                 self.timeout_ms[way] = self.set_ms[way] = ms;
             })
        .def(
            "_monitor",
            [](core& self, nb::handle endpoint, int events) {
                use used{self, "monitor"};
                const std::string name = endpoint.is_none() ? "" : nb::cast<std::string>(endpoint);
                if (zlink_socket_monitor(self.raw, endpoint.is_none() ? nullptr : name.c_str(),
                                         events) != 0) {
                    used.fail(errno);
                }
            },
            nb::arg("endpoint").none(), nb::arg("events"),
            nb::sig("def _monitor(self, endpoint: str | None, events: int) -> None"))
        .def(
            "_peers",
            [](core& self) {
                use used{self, "peers"};
                std::vector<zlink_peer_t> found(16);
                int count;
                while ((count = zlink_socket_peers(self.raw, found.data(), found.size())) >
                       static_cast<int>(found.size())) {
                    found.resize(count + 16);
                }
                if (count < 0) {
                    used.fail(errno);
                }
                nb::list list;
                for (int index = 0; index < count; ++index) {
                    list.append(peer_tuple(found[index]));
                }
                return list;
            },
            nb::sig("def _peers(self) -> list[tuple[str, bytes, int, int, int]]"))
        .def("_drain", &drain, nb::arg("timeout").none() = nb::none(),
             nb::sig("def _drain(self, timeout: float | None = None) -> None"))
        .def("_end_drain", &core::end_drain)
        .def("_close_when_drained", [](core& self) {
            if (self.draining != nullptr) {
                self.closes_when_drained = true;
            } else {
                self.close();
            }
        });
    bind_transfer(m, base);
    bind_waker(m, base);
}

} // namespace zlink::python
