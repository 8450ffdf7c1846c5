// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace zlink::python {
namespace {

// A context that was not terminated sends what was sent to it as long as the process lives.
void terminate_in_background(void* raw, bool is_inherited) noexcept {
    const auto terminate = [raw] {
        while (zlink_ctx_term(raw) != 0 && errno == EINTR) {
        }
    };
    if (is_inherited) {
        return terminate(); // Only releases the copy.
    }
    try {
        std::thread{terminate}.detach();
    } catch (const std::exception&) {
        // The system refuses to start a thread. The context is left as it is.
    }
}

} // namespace

context::context(int wanted) : io_thread_count{wanted} {
    raw = zlink_ctx_new();
    if (raw == nullptr) {
        fail(errno, "Context: out of memory");
    }
    if (zlink_ctx_set(raw, ZLINK_IO_THREADS, wanted) != 0) {
        const int error = errno;
        zlink_ctx_term(raw);
        fail(error, "Context: io_threads is " + std::to_string(wanted) + ", not 0 or more");
    }
    owner_process = getpid();
}

context::~context() {
    if (raw != nullptr) {
        terminate_in_background(raw, getpid() != owner_process);
    }
}

void* context::handle(const char* action) const {
    if (raw == nullptr) {
        fail(ETERM, std::string{"Context."} + action + ": the context was terminated");
    }
    return raw;
}

void context::shut_down() {
    if (raw != nullptr) {
        const without_gil released;
        zlink_ctx_shutdown(raw);
    }
}

void context::terminate() {
    if (raw == nullptr) {
        return;
    }
    is_terminating = true; // Sockets that other threads wait with are closed by those.
    shut_down();
    for (auto next = sockets.begin(); next != sockets.end();) {
        core* const each = *next++;
        if (!each->is_busy) {
            // The Python class may have more to do than this one, and may have been extended.
            const nb::object socket = nb::find(*each);
            run_python([&] { socket.attr("close")(); });
            each->close();
            next = sockets.begin(); // Other threads ran, and may have closed some.
        }
    }
    void* const ending = raw;
    for (;;) {
        int result;
        int error;
        {
            const without_gil released;
            result = zlink_ctx_term(ending);
            error = errno;
        }
        release_sent();
        if (result == 0 || error != EINTR) {
            raw = nullptr;
            return;
        }
        if (is_raised_by_signal()) {
            throw nb::python_error();
        }
    }
}

void bind_context(nb::module_& m) {
    nb::class_<context>(m, "ContextCore", "A context of the library.", nb::is_weak_referenceable())
        .def(nb::init<int>(), nb::arg("io_threads") = 1)
        .def("shutdown", &context::shut_down,
             "Makes every call that waits on a socket of this context, now or later, raise\n"
             "ContextTerminated, in all threads. The sockets can then only be closed.")
        .def("term", &context::terminate,
             "Closes the sockets that are open and waits until what was sent is written, at most\n"
             "for the sockets' linger. Ctrl+C interrupts the wait; it continues with a further "
             "call.")
        .def_prop_ro(
            "closed", [](const context& self) { return self.raw == nullptr; },
            "Whether the context was terminated.")
        .def_prop_ro(
            "io_threads", [](const context& self) { return self.io_thread_count; },
            "The number of I/O threads.")
        .def("_get",
             [](const context& self, int option) {
                 const int value = zlink_ctx_get(self.handle("get"), option);
                 if (value == -1 && option != ZLINK_THREAD_SCHED_POLICY) {
                     fail(errno, std::string{"Context: "} + zlink_error_text());
                 }
                 return value;
             })
        .def("_set",
             [](const context& self, int option, int value) {
                 if (zlink_ctx_set(self.handle("set"), option, value) != 0) {
                     fail(errno, std::string{"Context: "} + zlink_error_text());
                 }
             })
        .def(
            "fileno",
            [](const context& self) {
                const int file = zlink_ctx_fd(self.handle("fileno"));
                if (file == -1) {
                    fail(errno, errno == ENOTSUP
                                    ? "Context.fileno: the context has I/O threads"
                                    : std::string{"Context.fileno: "} + zlink_strerror(errno));
                }
                return file;
            },
            "A descriptor that is readable while run() has something to do, of a context with\n"
            "io_threads=0.")
        .def(
            "run",
            [](const context& self) {
                void* const raw = self.handle("run");
                int result;
                int error;
                {
                    const without_gil released;
                    result = zlink_ctx_run(raw);
                    error = errno;
                }
                if (result != 0) {
                    fail(error, error == ENOTSUP
                                    ? "Context.run: the context has I/O threads"
                                    : std::string{"Context.run: "} + zlink_strerror(error));
                }
            },
            "Does the I/O that is possible now, of a context with io_threads=0. Never waits.")
        .def("_get_text",
             [](const context& self, int option) {
                 std::string text(64, '\0');
                 for (;;) {
                     std::size_t bytes = text.size();
                     if (zlink_ctx_get_text(self.handle("get"), option, text.data(), &bytes) == 0) {
                         text.resize(bytes - 1);
                         return text;
                     }
                     if (errno != EINVAL || bytes <= text.size()) {
                         fail(errno, "Context: option " + std::to_string(option) + " is no text");
                     }
                     text.resize(bytes);
                 }
             })
        .def("_set_text",
             [](const context& self, int option, const std::string& value) {
                 void* const raw = self.handle("set");
                 if (value.find('\0') != std::string::npos) {
                     fail(EINVAL, "Context: the text of option " + std::to_string(option) +
                                      " has a zero byte");
                 }
                 int result;
                 int error;
                 std::string why;
                 {
                     const without_gil released;
                     result = zlink_ctx_set_text(raw, option, value.c_str());
                     error = errno;
                     why = zlink_error_text();
                 }
                 if (result != 0) {
                     fail(error, "Context: option " + std::to_string(option) + " cannot be \"" +
                                     value + "\": " + (why.empty() ? zlink_strerror(error) : why));
                 }
             })
        .def(
            "_metrics",
            [](const context& self, bool peers) {
                struct value {
                    std::string name;
                    std::string family;
                    std::string help;
                    int kind;
                    std::vector<std::pair<std::string, std::string>> labels;
                    double number;
                };
                std::vector<value> found;
                const auto take = [](const zlink_metric_t* each, void* hint) {
                    value made{each->name, each->family, each->help, each->kind, {}, each->value};
                    for (std::size_t index = 0; index < each->label_count; ++index) {
                        made.labels.emplace_back(each->labels[index].name,
                                                 each->labels[index].value);
                    }
                    static_cast<std::vector<value>*>(hint)->push_back(std::move(made));
                };
                void* const raw = self.handle("metrics");
                int result;
                int error;
                {
                    const without_gil released;
                    result = zlink_metrics(raw, peers ? ZLINK_METRICS_PEERS : 0, take, &found);
                    error = errno;
                }
                if (result < 0) {
                    fail(error, std::string{"Context.metrics: "} + zlink_strerror(error));
                }
                nb::list list;
                for (const value& each : found) {
                    nb::dict labels;
                    for (const auto& [name, text] : each.labels) {
                        labels[nb::str(name.c_str())] = nb::str(text.c_str(), text.size());
                    }
                    list.append(nb::make_tuple(each.name, each.family, each.help, each.kind, labels,
                                               each.number));
                }
                return list;
            },
            nb::arg("peers"),
            nb::sig("def _metrics(self, peers: bool) -> "
                    "list[tuple[str, str, str, int, dict[str, str], float]]"))
        .def(
            "_metrics_text",
            [](const context& self, bool peers) {
                void* const raw = self.handle("metrics_text");
                zlink_msg_t text;
                zlink_msg_init(&text);
                int result;
                int error;
                {
                    const without_gil released;
                    result = zlink_metrics_text(raw, peers ? ZLINK_METRICS_PEERS : 0, &text);
                    error = errno;
                }
                std::string made;
                if (result == 0) {
                    made.assign(static_cast<const char*>(zlink_msg_data(&text)),
                                zlink_msg_size(&text));
                }
                zlink_msg_close(&text);
                if (result != 0) {
                    fail(error, std::string{"Context.metrics_text: "} + zlink_strerror(error));
                }
                return made;
            },
            nb::arg("peers"))
        .def(
            "_blockers",
            [](const context& self) {
                std::vector<zlink_blocker_t> found(16);
                int count;
                while ((count = zlink_ctx_blockers(self.handle("blockers"), found.data(),
                                                   found.size())) >
                       static_cast<int>(found.size())) {
                    found.resize(count);
                }
                if (count < 0) {
                    fail(errno, std::string{"Context.blockers: "} + zlink_strerror(errno));
                }
                nb::list list;
                for (int index = 0; index < count; ++index) {
                    const zlink_blocker_t& each = found[index];
                    list.append(nb::make_tuple(each.socket != nullptr, each.type, each.endpoint,
                                               each.linger, each.messages, each.bytes));
                }
                return list;
            },
            nb::sig("def _blockers(self) -> list[tuple[bool, int, str, int, int, int]]"));
}

} // namespace zlink::python
