// SPDX-License-Identifier: MPL-2.0
//
// Information about the library: its version, its capabilities, its errors.
#include "api/drafts.hpp"
#include "api/symbols.hpp"
#include "base/error_text.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace {

struct capability {
    std::string_view name;
    bool present;
};

// libzmq spells WebSocket with capitals, unlike the other transports.
constexpr std::array<capability, 13> capabilities{{
    {"zlink", true},
    {"ipc", true},
    {"curve", true},
    {"gssapi", false},
    {"pgm", false},
    {"tipc", false},
    {"norm", false},
    {"vmci", false},
    {"tls", true},
    {"ws", true},
    {"WS", true},
    {"wss", true},
    {"WSS", true},
}};

} // namespace

extern "C" int zlink_errno() {
    return errno;
}
ZLINK_ALSO_ZMQ(errno)

extern "C" const char* zlink_strerror(int error) {
    switch (error) {
    case EFSM:
        return "Operation cannot be accomplished in current state";
    case ENOCOMPATPROTO:
        return "The protocol is not compatible with the socket type";
    case ETERM:
        return "Context was terminated";
    case EMTHREAD:
        return "No thread available";
    default:
        return std::strerror(error);
    }
}
ZLINK_ALSO_ZMQ(strerror)

extern "C" const char* zlink_error_text() {
    return zlink::error_text();
}

extern "C" void zlink_version(int* major, int* minor, int* patch) {
    *major = ZLINK_VERSION_MAJOR;
    *minor = ZLINK_VERSION_MINOR;
    *patch = ZLINK_VERSION_PATCH;
}
ZLINK_ALSO_ZMQ(version)

extern "C" void zlink_library_version(int* major, int* minor, int* patch) {
    *major = ZLINK_LIBRARY_VERSION_MAJOR;
    *minor = ZLINK_LIBRARY_VERSION_MINOR;
    *patch = ZLINK_LIBRARY_VERSION_PATCH;
}

extern "C" int zlink_has(const char* capability) {
    if (std::string_view{capability} == "draft") {
        return zlink::api::has_drafts ? 1 : 0;
    }
    for (const auto& [name, present] : capabilities) {
        if (name == capability) {
            return present ? 1 : 0;
        }
    }
    return 0;
}
ZLINK_ALSO_ZMQ(has)
