// SPDX-License-Identifier: MPL-2.0
#include "socket/proxy.hpp"
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/symbols.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::api::socket_from;

/// A socket that stays open during the call, or none.
class visited_socket {
public:
    /// @error  As socket_from().
    result<void> open(void* handle) {
        const auto found = socket_from(handle);
        if (!found) {
            return found.error();
        }
        visit_.emplace(**found);
        socket_ = found->get();
        return {};
    }
    zlink::socket::socket* get() const noexcept { return socket_; }

private:
    zlink::socket::socket* socket_ = nullptr;
    std::optional<zlink::socket::socket_visit> visit_;
};

result<void> run_proxy(void* frontend, void* backend, void* capture, void* control) {
    if (frontend == nullptr || backend == nullptr) {
        return errc::bad_address;
    }
    std::array<visited_socket, 4> sockets;
    const std::array handles{frontend, backend, capture, control};
    for (std::size_t index = 0; index < handles.size(); ++index) {
        if (handles[index] == nullptr) {
            continue;
        }
        if (const result<void> opened = sockets[index].open(handles[index]); !opened) {
            return opened;
        }
    }
    return zlink::socket::proxy(*sockets[0].get(), *sockets[1].get(), sockets[2].get(),
                                sockets[3].get());
}

} // namespace

extern "C" int zlink_proxy(void* frontend, void* backend, void* capture) {
    return at_system_boundary([&] { return run_proxy(frontend, backend, capture, nullptr); });
}
ZLINK_ALSO_ZMQ(proxy)

extern "C" int zlink_proxy_steerable(void* frontend, void* backend, void* capture, void* control) {
    return at_system_boundary([&] { return run_proxy(frontend, backend, capture, control); });
}
ZLINK_ALSO_ZMQ(proxy_steerable)

extern "C" int zlink_device(int, void* frontend, void* backend) {
    return at_system_boundary([&] { return run_proxy(frontend, backend, nullptr, nullptr); });
}
ZLINK_ALSO_ZMQ(device)
