// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <csignal>
#include <initializer_list>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace zlink_tool {

/// Signals that a subcommand handles in its loop, as a descriptor. A failed write tells of a reader
/// that is gone, not SIGPIPE.
///
/// @threads One, before others are started: they inherit the mask.
class signals {
public:
    explicit signals(std::initializer_list<int> handled) {
        sigset_t wanted;
        sigemptyset(&wanted);
        for (const int each : handled) {
            sigaddset(&wanted, each);
        }
        pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
        std::signal(SIGPIPE, SIG_IGN);
        descriptor_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;
    ~signals() { ::close(descriptor_); }

    int descriptor() const noexcept { return descriptor_; }

    /// @return The number of the next one; 0 if there is none.
    int take() const noexcept {
        signalfd_siginfo next{};
        return ::read(descriptor_, &next, sizeof next) == sizeof next
                   ? static_cast<int>(next.ssi_signo)
                   : 0;
    }

private:
    int descriptor_;
};

} // namespace zlink_tool
