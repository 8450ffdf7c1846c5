// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <pthread.h>

namespace zlink {

/// Defers pthread_cancel(3) to the end of a call of this library, whose functions cannot be ended
/// in between.
///
/// @threads One.
class no_cancellation {
public:
    no_cancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;
    ~no_cancellation() { pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace zlink
