// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

namespace zlink {

/// Blocks signals on the calling thread, and so on those that it starts, for as long as it lives:
/// signals are the application's, whose threads take them, and learn of them by EINTR. Signals that
/// a fault of the thread itself raises stay open: blocked, they could not be handled, and the
/// application's handler would never say where the process died.
class blocked_signals {
public:
    blocked_signals() noexcept {
        sigset_t blocked;
        sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
            sigdelset(&blocked, fault);
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &former_);
    }
    ~blocked_signals() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

private:
    sigset_t former_;
};

} // namespace zlink
