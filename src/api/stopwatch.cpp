// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/symbols.hpp"

#include <chrono>
#include <memory>

namespace {

using clock = std::chrono::steady_clock;

struct stopwatch {
    clock::time_point started_at = clock::now();
};

unsigned long microseconds_of(const stopwatch& watch) {
    const auto elapsed = clock::now() - watch.started_at;
    return static_cast<unsigned long>(
        std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
}

} // namespace

extern "C" void* zlink_stopwatch_start() {
    return zlink::api::at_boundary(
        []() -> zlink::result<void*> { return static_cast<void*>(new stopwatch); });
}
ZLINK_ALSO_ZMQ(stopwatch_start)

extern "C" unsigned long zlink_stopwatch_intermediate(void* watch) {
    return microseconds_of(*static_cast<stopwatch*>(watch));
}
ZLINK_ALSO_ZMQ(stopwatch_intermediate)

extern "C" unsigned long zlink_stopwatch_stop(void* watch) {
    const std::unique_ptr<stopwatch> stopped{static_cast<stopwatch*>(watch)};
    return microseconds_of(*stopped);
}
ZLINK_ALSO_ZMQ(stopwatch_stop)
