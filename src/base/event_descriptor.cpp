// SPDX-License-Identifier: MPL-2.0
#include "base/event_descriptor.hpp"

#include "base/own_descriptors.hpp"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink {

int open_event() noexcept {
    return open_descriptor([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
}

void signal_event(int descriptor) noexcept {
    const std::uint64_t one = 1;
    ::syscall(SYS_write, descriptor, &one, sizeof one);
}

std::uint64_t take_signals(int descriptor) noexcept {
    std::uint64_t count = 0;
    return ::syscall(SYS_read, descriptor, &count, sizeof count) > 0 ? count : 0;
}

} // namespace zlink
