// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <unistd.h>

namespace zlink::python {

namespace nb = nanobind;

[[noreturn]] inline void sleep_until_exit() noexcept {
    for (;;) {
        pause();
    }
}

/// Runs `call`, which may run Python code or wait for the GIL.
///
/// While the interpreter ends, Python before 3.14 ends every other thread that asks for the GIL by
/// unwinding its stack, which destructors and nanobind do not allow: the process would be aborted.
/// Such a thread sleeps here instead, as it does in Python 3.14.
template<class Call>
decltype(auto) run_python(Call&& call) {
    try {
        return call();
    } catch (const std::exception&) {
        throw;
    } catch (...) { // The unwinding, which has no type of its own in C++.
        sleep_until_exit();
    }
}

/// Releases the GIL for its lifetime.
class without_gil {
public:
    without_gil() : state_{PyEval_SaveThread()} {}
    without_gil(const without_gil&) = delete;
    without_gil& operator=(const without_gil&) = delete;
    ~without_gil() {
        run_python([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_;
};

/// Whether the handler of a signal that has arrived raised an exception. Runs the handlers.
inline bool is_raised_by_signal() {
    return run_python([] { return PyErr_CheckSignals(); }) != 0;
}

/// The items of an iterable, as a list or tuple. May run Python code.
/// @param words  Of the TypeError if it is none.
inline nb::object listed(nb::handle iterable, const char* words) {
    nb::object made = run_python([&] { return nb::steal(PySequence_Fast(iterable.ptr(), words)); });
    if (!made.is_valid()) {
        throw nb::python_error();
    }
    return made;
}

} // namespace zlink::python
