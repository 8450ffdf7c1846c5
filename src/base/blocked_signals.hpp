// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

namespace zlink {

/// Blocks signals on the calling thread, and on the threads that it starts, during the lifetime of
/// this object: the application's own threads are to handle signals, and see them as EINTR. Signals
/// that a fault of the thread itself raises stay unblocked: blocked, they could not be handled, and
/// the application's handler would not report where the process crashed.
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
