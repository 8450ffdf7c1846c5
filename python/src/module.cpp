// SPDX-License-Identifier: MPL-2.0
#include "core.hpp"

#include <nanobind/stl/string.h>

namespace zlink::python {

void set_errors(nb::dict by_number, nb::object others);
void stop_releasing();
void bind_function(nb::module_& m);

namespace {

/// Characters of a key in Z85, and its zero byte.
constexpr std::size_t key_room = 41;

nb::tuple library_version() {
    int major, minor, patch;
    zlink_library_version(&major, &minor, &patch);
    return nb::make_tuple(major, minor, patch);
}

void bind_keys(nb::module_& m) {
    m.def(
        "curve_keypair",
        [] {
            std::array<char, key_room> open{};
            std::array<char, key_room> secret{};
            if (zlink_curve_keypair(open.data(), secret.data()) != 0) {
                fail(errno, std::string{"curve_keypair: "} + zlink_strerror(errno));
            }
            return nb::make_tuple(open.data(), secret.data());
        },
        nb::sig("def curve_keypair() -> tuple[str, str]"),
        "Makes a key pair for CURVE: (public key, secret key), in Z85.");
    m.def(
        "curve_public",
        [](const std::string& secret_key) {
            std::array<char, key_room> open{};
            if (zlink_curve_public(open.data(), whole_text(secret_key).c_str()) != 0) {
                fail(errno, "curve_public: a secret key has 40 characters of Z85");
            }
            return std::string{open.data()};
        },
        nb::arg("secret_key"), "The public key that belongs to a secret key, both in Z85.");
    m.def(
        "z85_encode",
        [](nb::handle data) {
            const payload content{data};
            std::string text(content.size() * 5 / 4 + 1, '\0');
            if (zlink_z85_encode(text.data(), static_cast<const std::uint8_t*>(content.data()),
                                 content.size()) == nullptr) {
                throw nb::value_error("z85_encode: the number of bytes is not divisible by 4");
            }
            text.pop_back();
            return text;
        },
        nb::arg("data"), nb::sig("def z85_encode(data: Buffer) -> str"), "Encodes bytes as Z85.");
    m.def(
        "z85_decode",
        [](const std::string& text) {
            std::vector<std::uint8_t> data(text.size() * 4 / 5 + 1);
            if (zlink_z85_decode(data.data(), whole_text(text).c_str()) == nullptr) {
                throw nb::value_error("z85_decode: the text is not Z85");
            }
            return bytes_from(data.data(), data.size() - 1);
        },
        nb::arg("text"), nb::sig("def z85_decode(text: str) -> bytes"), "Decodes Z85.");
}

} // namespace
} // namespace zlink::python

// nanobind's function has another name, so that PyInit__zlink can be the one below.
#define PyInit__zlink zlink_python_module
NB_MODULE(_zlink, m) {
    using namespace zlink::python;
    // Sockets may be open when the interpreter ends.
    nb::set_leak_warnings(false);
    m.doc() = "zlink's C API, for the package zlink.";
    bind_context(m);
    bind_socket(m);
    bind_stream(m);
    bind_polling(m);
    bind_keys(m);
    bind_function(m);
    m.def("library_version", &library_version,
          nb::sig("def library_version() -> tuple[int, int, int]"), "The version of zlink.");
    m.def(
        "has",
        [](const std::string& capability) {
            return zlink_has(whole_text(capability).c_str()) != 0;
        },
        nb::arg("capability"),
        "Whether the library has \"ipc\", \"curve\", \"tls\", \"ws\", \"wss\" or another "
        "capability.");
    m.def(
        "strerror", [](int error) { return std::string{zlink_strerror(error)}; }, nb::arg("error"),
        "Describes an errno.");
    m.def("_set_errors", &set_errors,
          nb::sig("def _set_errors(by_number: dict[int, Any], others: Any) -> None"));
    m.def("_stop_releasing", &stop_releasing);
}
#undef PyInit__zlink

/// Refuses interpreters other than the main one before nanobind's initialisation, which would leave
/// the main one with the other's classes.
extern "C" NB_EXPORT PyObject* PyInit__zlink() {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "zlink can be imported only by the main interpreter, not by a "
                        "subinterpreter; use it there, or in a process of its own");
        return nullptr;
    }
    return zlink_python_module();
}
