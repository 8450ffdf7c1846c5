// SPDX-License-Identifier: MPL-2.0
#include "base/processor.hpp"

#include <cstring>
#include <optional>
#include <sched.h>

namespace zlink {

namespace {

std::optional<cpu_set_t> allowed_processors() noexcept {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return {}; // There are more processors than fit, or the system refuses.
    }
    return allowed;
}

bool allow(const cpu_set_t& processors) noexcept {
    return sched_setaffinity(0, sizeof processors, &processors) == 0;
}

} // namespace

processor_number current_processor() noexcept {
    const int number = sched_getcpu();
    return number < CPU_SETSIZE ? static_cast<processor_number>(number) : no_processor;
}

bool move_to_processor(processor_number processor) noexcept {
    const std::optional<cpu_set_t> before = allowed_processors();
    if (processor < 0 || !before || !CPU_ISSET(processor, &*before)) {
        return false;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    if (!allow(one)) {
        return false;
    }
    // The system remembers the set that a thread asked for, and applies it when it grants the
    // process more: so asking for all is right unless a smaller set was asked for before.
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    const std::optional<cpu_set_t> given = allow(all) ? allowed_processors() : std::nullopt;
    if (!given || !CPU_EQUAL(&*given, &*before)) {
        allow(*before);
    }
    return true;
}

} // namespace zlink
