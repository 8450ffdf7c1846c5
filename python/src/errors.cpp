// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <string_view>
#include <unistd.h>

namespace zlink::python {
namespace {

// They outlive the interpreter's objects, which may fail at its end.
PyObject* classes = nullptr;
PyObject* other_class = nullptr;

bool is_of_name(char each) {
    return (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') || each == '_';
}

/// The option ZLINK_`name` as this package calls it; empty if there is none. As sockets and
/// contexts share some names, those of contexts count where the text is about one.
std::string own_name(const std::string& name, bool is_of_context) {
    const nb::object constants = nb::steal(PyImport_GetModule(nb::str("zlink._constants").ptr()));
    if (!constants.is_valid()) {
        return {};
    }
    for (const char* const kind : is_of_context ? std::array{"ContextOption", "Option"}
                                                : std::array{"Option", "ContextOption"}) {
        if (nb::hasattr(constants.attr(kind), name.c_str())) {
            return std::string{kind} + "." + name;
        }
    }
    return {};
}

/// A text of the library with the names of this package. What is in double quotes stays as it is.
std::string with_own_names(const std::string& text) {
    constexpr std::string_view prefix = "ZLINK_";
    const bool is_of_context = text.starts_with("Context");
    std::string made;
    bool is_quoted = false;
    for (std::size_t at = 0; at < text.size();) {
        is_quoted ^= text[at] == '"';
        std::size_t end = at;
        if (!is_quoted && text.compare(at, prefix.size(), prefix) == 0) {
            end = at + prefix.size();
            while (end < text.size() && is_of_name(text[end])) {
                ++end;
            }
            const std::string own =
                own_name(text.substr(at + prefix.size(), end - at - prefix.size()), is_of_context);
            made += own.empty() ? text.substr(at, end - at) : own;
        } else {
            made += text[end++];
        }
        at = end;
    }
    return made;
}

} // namespace

void set_errors(nb::dict by_number, nb::object others) {
    classes = by_number.release().ptr();
    other_class = others.release().ptr();
}

void fail(int error, const std::string& text) {
    const nb::object number = nb::int_(error);
    PyObject* const found = PyDict_GetItemWithError(classes, number.ptr());
    const nb::handle kind = found != nullptr ? found : other_class;
    const nb::object made = kind(number, with_own_names(text));
    PyErr_SetObject(kind.ptr(), made.ptr());
    throw nb::python_error();
}

const std::string& whole_text(const std::string& given) {
    if (given.find('\0') != std::string::npos) {
        throw nb::value_error("embedded null character");
    }
    return given;
}

namespace {

[[noreturn]] void refuse_type(nb::handle given, const char* name, const char* wanted) {
    const nb::object kind = nb::handle(Py_TYPE(given.ptr())).attr("__name__");
    throw nb::type_error(
        (std::string{name} + " is " + wanted + ", not " + nb::cast<std::string>(kind)).c_str());
}

} // namespace

std::string text_argument(nb::handle given, const char* name) {
    std::string text;
    if (!nb::try_cast(given, text)) {
        refuse_type(given, name, "a str");
    }
    return whole_text(text);
}

std::uint32_t peer_argument(nb::handle given) {
    std::uint32_t peer;
    if (!nb::try_cast(given, peer)) {
        refuse_type(given, "a peer", "an int from 0 to 2**32 - 1");
    }
    return peer;
}

int int_argument(nb::handle given, const char* name) {
    int number;
    if (nb::try_cast(given, number)) {
        return number;
    }
    if (!PyLong_Check(given.ptr())) {
        refuse_type(given, name, "an int");
    }
    throw nb::value_error((std::string{name} + " is out of range").c_str());
}

bool bool_argument(nb::handle given) {
    const int is_true = run_python([&] { return PyObject_IsTrue(given.ptr()); });
    if (is_true < 0) {
        throw nb::python_error();
    }
    return is_true != 0;
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
