// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/symbols.hpp"

#include <atomic>

namespace {

using atomic_counter = std::atomic<int>;

atomic_counter& counter_from(void* handle) {
    return *static_cast<atomic_counter*>(handle);
}

} // namespace

extern "C" void* zlink_atomic_counter_new() {
    return zlink::api::at_boundary(
        []() -> zlink::result<void*> { return static_cast<void*>(new atomic_counter{0}); });
}
ZLINK_ALSO_ZMQ(atomic_counter_new)

extern "C" void zlink_atomic_counter_set(void* counter, int value) {
    counter_from(counter).store(value);
}
ZLINK_ALSO_ZMQ(atomic_counter_set)

extern "C" int zlink_atomic_counter_inc(void* counter) {
    return counter_from(counter).fetch_add(1);
}
ZLINK_ALSO_ZMQ(atomic_counter_inc)

extern "C" int zlink_atomic_counter_dec(void* counter) {
    return counter_from(counter).fetch_sub(1) == 1 ? 0 : 1;
}
ZLINK_ALSO_ZMQ(atomic_counter_dec)

extern "C" int zlink_atomic_counter_value(void* counter) {
    return counter_from(counter).load();
}
ZLINK_ALSO_ZMQ(atomic_counter_value)

extern "C" void zlink_atomic_counter_destroy(void** counter) {
    delete static_cast<atomic_counter*>(*counter);
    *counter = nullptr;
}
ZLINK_ALSO_ZMQ(atomic_counter_destroy)
