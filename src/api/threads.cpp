// SPDX-License-Identifier: MPL-2.0
//
// Threads and sleep for portable programs. pthreads and not std::thread, which reports a refused
// thread by an exception that carries no errno of its own.
#include "api/boundary.hpp"
#include "api/symbols.hpp"
#include "base/blocked_signals.hpp"

#include <memory>

#include <pthread.h>
#include <unistd.h>

namespace {

struct thread {
    zlink_thread_fn* body;
    void* argument;
    pthread_t id = {};
};

extern "C" void* run_thread(void* started) {
    const thread& self = *static_cast<thread*>(started);
    self.body(self.argument);
    return nullptr;
}

} // namespace

extern "C" void zlink_sleep(int seconds) {
    if (seconds > 0) {
        ::sleep(static_cast<unsigned>(seconds));
    }
}
ZLINK_ALSO_ZMQ(sleep)

extern "C" void* zlink_threadstart(zlink_thread_fn* body, void* argument) {
    return zlink::api::at_system_boundary([&]() -> zlink::result<void*> {
        auto started = std::make_unique<thread>(thread{body, argument});
        const zlink::blocked_signals inherited;
        const int error = pthread_create(&started->id, nullptr, run_thread, started.get());
        if (error != 0) {
            return static_cast<zlink::errc>(error);
        }
        return static_cast<void*>(started.release());
    });
}
ZLINK_ALSO_ZMQ(threadstart)

extern "C" void zlink_threadclose(void* started) {
    const zlink::no_cancellation deferred; // The thread uses what this function frees.
    const std::unique_ptr<thread> ended{static_cast<thread*>(started)};
    pthread_join(ended->id, nullptr);
}
ZLINK_ALSO_ZMQ(threadclose)
