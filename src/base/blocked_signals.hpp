// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cerrno>
#include <ctime>
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

/// Keeps SIGPIPE from the calling thread during the lifetime of this object, for system calls that
/// raise it and cannot be asked not to, such as sendfile(2).
class withheld_pipe_signal {
public:
    withheld_pipe_signal() noexcept {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &former_);
    }
    ~withheld_pipe_signal() {
        if (sigismember(&former_, SIGPIPE) == 0) { // Then none was pending before.
            constexpr timespec at_once{};
            while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
            }
            pthread_sigmask(SIG_SETMASK, &former_, nullptr);
        }
    }

    withheld_pipe_signal(const withheld_pipe_signal&) = delete;
    withheld_pipe_signal& operator=(const withheld_pipe_signal&) = delete;

private:
    sigset_t pipe_;
    sigset_t former_;
};

} // namespace zlink
