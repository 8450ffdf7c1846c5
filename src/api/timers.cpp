// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/symbols.hpp"
#include "api/timer_set.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::api::timer_set;

namespace {

timer_set* timers_from(void* handle) {
    auto* const timers = static_cast<timer_set*>(handle);
    return timers != nullptr && timers->is_valid() ? timers : nullptr;
}

timer_set::milliseconds interval_from(std::size_t interval) {
    constexpr auto interval_max = static_cast<std::size_t>(timer_set::interval_max.count());
    return timer_set::milliseconds{std::min(interval, interval_max)};
}

// Whole milliseconds, rounded down: waiting for the timeout then always makes the timer due.
timer_set::milliseconds now() {
    return std::chrono::floor<timer_set::milliseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
}

} // namespace

extern "C" void* zlink_timers_new() {
    return at_system_boundary([]() -> result<void*> { return static_cast<void*>(new timer_set); });
}
ZLINK_ALSO_ZMQ(timers_new)

extern "C" int zlink_timers_destroy(void** timers) {
    return at_system_boundary([&]() -> result<void> {
        timer_set* const target = timers != nullptr ? timers_from(*timers) : nullptr;
        if (target == nullptr) {
            return errc::bad_address;
        }
        delete target;
        *timers = nullptr;
        return {};
    });
}
ZLINK_ALSO_ZMQ(timers_destroy)

extern "C" int zlink_timers_add(void* timers, size_t interval, zlink_timer_fn handler,
                                void* argument) {
    return at_system_boundary([&]() -> result<int> {
        timer_set* const target = timers_from(timers);
        if (target == nullptr || handler == nullptr) {
            return errc::bad_address;
        }
        return target->add(interval_from(interval), handler, argument, now());
    });
}
ZLINK_ALSO_ZMQ(timers_add)

extern "C" int zlink_timers_cancel(void* timers, int timer_id) {
    return at_system_boundary([&]() -> result<void> {
        timer_set* const target = timers_from(timers);
        if (target == nullptr) {
            return errc::bad_address;
        }
        return target->cancel(timer_id);
    });
}
ZLINK_ALSO_ZMQ(timers_cancel)

extern "C" int zlink_timers_set_interval(void* timers, int timer_id, size_t interval) {
    return at_system_boundary([&]() -> result<void> {
        timer_set* const target = timers_from(timers);
        if (target == nullptr) {
            return errc::bad_address;
        }
        return target->set_interval(timer_id, interval_from(interval), now());
    });
}
ZLINK_ALSO_ZMQ(timers_set_interval)

extern "C" int zlink_timers_reset(void* timers, int timer_id) {
    return at_system_boundary([&]() -> result<void> {
        timer_set* const target = timers_from(timers);
        if (target == nullptr) {
            return errc::bad_address;
        }
        return target->reset(timer_id, now());
    });
}
ZLINK_ALSO_ZMQ(timers_reset)

extern "C" long zlink_timers_timeout(void* timers) {
    return at_system_boundary([&]() -> result<long> {
        const timer_set* const target = timers_from(timers);
        if (target == nullptr) {
            return errc::bad_address;
        }
        const std::optional<timer_set::milliseconds> timeout = target->timeout(now());
        if (!timeout) {
            return -1L;
        }
        constexpr timer_set::milliseconds::rep long_max = std::numeric_limits<long>::max();
        return static_cast<long>(std::min(timeout->count(), long_max));
    });
}
ZLINK_ALSO_ZMQ(timers_timeout)

extern "C" int zlink_timers_execute(void* timers) {
    return at_system_boundary([&]() -> result<void> {
        timer_set* const target = timers_from(timers);
        if (target == nullptr) {
            return errc::bad_address;
        }
        target->execute(now());
        return {};
    });
}
ZLINK_ALSO_ZMQ(timers_execute)
