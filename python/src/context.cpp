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
                     fail(errno, "Context: option " + std::to_string(option) + " cannot be read");
                 }
                 return value;
             })
        .def("_set",
             [](const context& self, int option, int value) {
                 if (zlink_ctx_set(self.handle("set"), option, value) != 0) {
                     fail(errno, "Context: option " + std::to_string(option) + " cannot be " +
                                     std::to_string(value));
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
