// SPDX-License-Identifier: MPL-2.0
#include "socket/proxy.hpp"
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/symbols.hpp"

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_boundary;
using zlink::api::socket_from;

result<void> run_proxy(void* frontend, void* backend, void* capture, void* control) {
    if (frontend == nullptr || backend == nullptr) {
        return errc::bad_address;
    }
    const auto front = socket_from(frontend);
    const auto back = socket_from(backend);
    if (!front || !back) {
        return !front ? front.error() : back.error();
    }
    zlink::socket::socket* optional[2] = {nullptr, nullptr};
    void* const handles[2] = {capture, control};
    for (int index = 0; index < 2; ++index) {
        if (handles[index] != nullptr) {
            const auto found = socket_from(handles[index]);
            if (!found) {
                return found.error();
            }
            optional[index] = *found;
        }
    }
    return zlink::socket::proxy(**front, **back, optional[0], optional[1]);
}

} // namespace

extern "C" int zlink_proxy(void* frontend, void* backend, void* capture) {
    return at_boundary([&] { return run_proxy(frontend, backend, capture, nullptr); });
}
ZLINK_ALSO_ZMQ(proxy)

extern "C" int zlink_proxy_steerable(void* frontend, void* backend, void* capture, void* control) {
    return at_boundary([&] { return run_proxy(frontend, backend, capture, control); });
}
ZLINK_ALSO_ZMQ(proxy_steerable)

extern "C" int zlink_device(int, void* frontend, void* backend) {
    return at_boundary([&] { return run_proxy(frontend, backend, nullptr, nullptr); });
}
ZLINK_ALSO_ZMQ(device)
