// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <cstddef>

#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

namespace zlink::python {
namespace {

/// Calls a function of nanobind, and has a signature for inspect.signature and help(). nanobind's
/// own have none, and their class takes no attributes.
struct function {
    PyObject_HEAD vectorcallfunc call;
    PyObject* target;
};

PyObject* target_of(PyObject* self) {
    return reinterpret_cast<function*>(self)->target;
}

PyObject* call(PyObject* self, PyObject* const* arguments, std::size_t count, PyObject* names) {
    return PyObject_Vectorcall(target_of(self), arguments, count, names);
}

void dealloc(PyObject* self) {
    PyTypeObject* const kind = Py_TYPE(self);
    Py_XDECREF(target_of(self));
    PyObject_Free(self);
    Py_DECREF(kind);
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
    try {
        const std::string_view wanted{nb::cast<const char*>(nb::handle(name))};
        if (wanted == "__signature__") {
            return nb::module_::import_("zlink._signatures")
                .attr("signature_of")(nb::handle(target_of(self)))
                .release()
                .ptr();
        }
        return wanted == "__class__" ? PyObject_GenericGetAttr(self, name)
                                     : PyObject_GetAttr(target_of(self), name);
    } catch (nb::python_error& raised) {
        raised.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_SystemError, error.what());
    }
    return nullptr;
}

/// A method that is taken from an object; a call of it takes the object without this.
PyObject* bind_to(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr) {
        return Py_NewRef(self);
    }
    try {
        return nb::module_::import_("types")
            .attr("MethodType")(nb::handle(self), nb::handle(instance))
            .release()
            .ptr();
    } catch (nb::python_error& raised) {
        raised.restore();
        return nullptr;
    }
}

std::array<PyMemberDef, 2> members{
    {{"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(function, call), Py_READONLY, nullptr}, {}}};

std::array slots{PyType_Slot{Py_tp_members, members.data()},
                 PyType_Slot{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                 PyType_Slot{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                 PyType_Slot{Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                 PyType_Slot{Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
                 PyType_Slot{0, nullptr}};

PyType_Spec description{"zlink.function", sizeof(function), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots.data()};

} // namespace

void bind_function(nb::module_& m) {
    const nb::object kind = nb::steal(PyType_FromSpec(&description));
    m.def(
        "_described",
        [kind](nb::handle target) {
            nb::object made =
                nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(kind.ptr()), 0));
            if (!made.is_valid()) {
                throw nb::python_error();
            }
            auto* const raw = reinterpret_cast<function*>(made.ptr());
            raw->call = call;
            raw->target = Py_NewRef(target.ptr());
            return made;
        },
        nb::arg("function"), nb::sig("def _described(function: Any) -> Any"));
}

} // namespace zlink::python
