// SPDX-License-Identifier: MPL-2.0
#include "base/processor.hpp"

#include <sched.h>

namespace zlink {

processor_number current_processor() noexcept {
    const int number = sched_getcpu();
    return number < CPU_SETSIZE ? static_cast<processor_number>(number) : no_processor;
}

bool move_to_processor(processor_number processor) noexcept {
    cpu_set_t allowed;
    if (processor < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        !CPU_ISSET(processor, &allowed)) {
        return false;
    }
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    const bool moved = sched_setaffinity(0, sizeof there, &there) == 0;
    sched_setaffinity(0, sizeof allowed, &allowed);
    return moved;
}

} // namespace zlink
