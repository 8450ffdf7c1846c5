// SPDX-License-Identifier: MPL-2.0
// Input: a byte that selects the type of a socket, then options: each a byte with its number, one
// with the length of the value, and the value. An option that was set can be read, into a buffer of
// any size.
#include "fuzz.hpp"

#include "zlink.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

using zlink::fuzz::require;

namespace {

constexpr std::size_t value_bytes_max = 1024;

/// A context without threads, whose termination does not wait for lingering sockets.
void* quiet_context() {
    void* const made = zlink_ctx_new();
    require(zlink_ctx_set(made, ZLINK_IO_THREADS, 0) == 0);
    require(zlink_ctx_set(made, ZLINK_BLOCKY, 0) == 0);
    return made;
}

/// The option's value; empty if it cannot be read.
std::string value_of(void* socket, int option, std::size_t room_bytes) {
    std::string value(room_bytes, '\xAA');
    std::size_t bytes = room_bytes;
    if (zlink_getsockopt(socket, option, value.data(), &bytes) != 0) {
        const int error = zlink_errno();
        require(error == EINVAL || error == ETERM || error == EAGAIN);
        return {};
    }
    require(bytes <= room_bytes);
    return value.substr(0, bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    static void* const context = quiet_context();
    void* const socket = zlink_socket(context, data[0] % 12);
    require(socket != nullptr);
    std::span<const std::uint8_t> rest{data + 1, size - 1};
    while (rest.size() >= 2) {
        const int option = rest[0];
        const auto value = rest.subspan(2, std::min<std::size_t>(rest[1], rest.size() - 2));
        rest = rest.subspan(2 + value.size());
        if (zlink_setsockopt(socket, option, value.data(), value.size()) != 0) {
            require(zlink_errno() == EINVAL || zlink_errno() == ENOTSUP);
        }
        const std::string whole = value_of(socket, option, value_bytes_max);
        value_of(socket, option, value.size());
        require(value_of(socket, option, value_bytes_max).size() == whole.size());
    }
    // bind and connect read them, too.
    zlink_bind(socket, "inproc://fuzz");
    zlink_connect(socket, "inproc://elsewhere");
    require(zlink_close(socket) == 0);
    return 0;
}
