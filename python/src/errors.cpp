// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <cmath>
#include <unistd.h>

namespace zlink::python {
namespace {

// Outlives the interpreter's objects, which may fail at its end.
PyObject* make_error = nullptr;

} // namespace

void set_error_factory(nb::object factory) {
    Py_XDECREF(make_error);
    make_error = factory.release().ptr();
}

void fail(int error, const std::string& text) {
    nb::object made = nb::handle(make_error)(error, text);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    throw nb::python_error();
}

patience patience_from(nb::handle seconds) {
    if (seconds.is_none()) {
        return {};
    }
    const double value = PyFloat_AsDouble(seconds.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw nb::type_error("a timeout is a number of seconds, or None");
    }
    if (std::isnan(value) || value < 0) {
        throw nb::value_error("a timeout is 0 or more seconds");
    }
    if (std::isinf(value)) {
        return {-1};
    }
    const double ms = std::ceil(value * 1000);
    if (ms > INT32_MAX) {
        throw nb::value_error("a timeout is at most 2147483 seconds, or math.inf");
    }
    return {static_cast<int>(ms)};
}

} // namespace zlink::python
