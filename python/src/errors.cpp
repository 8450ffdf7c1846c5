// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <cmath>
#include <unistd.h>

namespace zlink::python {
namespace {

// They outlive the interpreter's objects, which may fail at its end.
PyObject* classes = nullptr;
PyObject* other_class = nullptr;

} // namespace

void set_errors(nb::dict by_number, nb::object others) {
    classes = by_number.release().ptr();
    other_class = others.release().ptr();
}

void fail(int error, const std::string& text) {
    const nb::object number = nb::int_(error);
    PyObject* const found = PyDict_GetItemWithError(classes, number.ptr());
    const nb::handle kind = found != nullptr ? found : other_class;
    const nb::object made = kind(number, text);
    PyErr_SetObject(kind.ptr(), made.ptr());
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
