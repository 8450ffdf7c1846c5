// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <memory>

namespace zlink::python {
namespace {

using uses = std::vector<std::unique_ptr<use>>;

nb::list poll(nb::handle items, nb::handle timeout) {
    std::vector<zlink_pollitem_t> polled;
    nb::list kept;
    uses used;
    bool is_driven = false;
    for (nb::handle each : listed(items, "poll takes an iterable")) {
        if (!PyTuple_Check(each.ptr()) || PyTuple_Size(each.ptr()) != 2) {
            throw nb::type_error("poll takes tuples (socket or file, events)");
        }
        const nb::object target = each[0];
        zlink_pollitem_t item{};
        item.events = nb::cast<short>(each[1]);
        if (nb::isinstance<core>(target)) {
            core& socket = nb::cast<core&>(target);
            used.push_back(std::make_unique<use>(socket, "poll", true));
            is_driven = is_driven || socket.home->io_thread_count == 0;
            item.socket = socket.raw;
        } else {
            item.fd = run_python([&] { return PyObject_AsFileDescriptor(target.ptr()); });
            if (item.fd < 0) {
                throw nb::python_error();
            }
        }
        polled.push_back(item);
        kept.append(target);
    }
    const patience limit = patience_from(timeout);
    const wait_clock clock{limit.ms == patience::unset ? -1 : limit.ms,
                           is_driven ? driven_slice_ms_max : slice_ms_max};
    int count = 0;
    do {
        const int ms = clock.next();
        int error;
        {
            const without_gil released;
            count = zlink_poll(polled.data(), static_cast<int>(polled.size()), ms);
            error = errno;
        }
        if (count < 0 && error != EINTR) {
            if (!used.empty()) {
                used.front()->fail(error);
            }
            fail(error, std::string{"poll: "} + zlink_strerror(error));
        }
        if (count <= 0) {
            release_sent();
            if (is_raised_by_signal()) {
                throw nb::python_error();
            }
        }
    } while (count <= 0 && clock.next() > 0);
    nb::list ready;
    for (std::size_t index = 0; index < polled.size(); ++index) {
        if (polled[index].revents != 0) {
            ready.append(nb::make_tuple(kept[index], static_cast<int>(polled[index].revents)));
        }
    }
    return ready;
}

void proxy(core& frontend, core& backend, core* capture, core* control) {
    uses used;
    used.push_back(std::make_unique<use>(frontend, "proxy", true));
    if (&backend != &frontend) {
        used.push_back(std::make_unique<use>(backend, "proxy", true));
    }
    for (core* each : {capture, control}) {
        if (each != nullptr) {
            used.push_back(std::make_unique<use>(*each, "proxy", true));
        }
    }
    for (;;) {
        int result;
        int error;
        {
            const without_gil released;
            result = zlink_proxy_steerable(frontend.raw, backend.raw,
                                           capture != nullptr ? capture->raw : nullptr,
                                           control != nullptr ? control->raw : nullptr);
            error = errno;
        }
        if (result == 0) {
            return;
        }
        if (error != EINTR) {
            used.front()->fail(error);
        }
        if (is_raised_by_signal()) {
            throw nb::python_error();
        }
    }
}

} // namespace

void bind_polling(nb::module_& m) {
    m.def("poll", &poll, nb::arg("items"), nb::arg("timeout").none() = nb::none(),
          nb::sig("def poll(items: Iterable[tuple[Any, int]], timeout: float | None = None)"
                  " -> list[tuple[Any, int]]"),
          "Waits until one of the sockets or files is ready, at most `timeout` seconds.");
    m.def("proxy", &proxy, nb::arg("frontend"), nb::arg("backend"),
          nb::arg("capture").none() = nb::none(), nb::arg("control").none() = nb::none(),
          "Forwards messages between two sockets until their context is shut down, or `control`\n"
          "receives b\"TERMINATE\".\n\n"
          "`capture` receives a copy of each message. `control` also takes b\"PAUSE\", b\"RESUME\" "
          "and\n"
          "b\"STATISTICS\".");
}

} // namespace zlink::python
