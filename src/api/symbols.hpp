// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "zlink.h"
#include "zmq.h"

#include <type_traits>

/// Gives the function `zlink_<name>` its second symbol, `zmq_<name>`.
///
/// Use at namespace scope after the function's definition, in the same file, without a semicolon:
///
///     extern "C" int zlink_close(void* socket) { ... }
///     ZLINK_ALSO_ZMQ(close)
///
/// Does not compile when the prototypes in zlink.h and zmq.h differ. The name must reach # and ##
/// unexpanded (errno is a macro), so this macro may not be wrapped in another.
#define ZLINK_ALSO_ZMQ(name)                                                                       \
    static_assert(std::is_same_v<decltype(zlink_##name), decltype(zmq_##name)>,                    \
                  "zlink.h and zmq.h disagree");                                                   \
    extern "C" __attribute__((visibility("default"),                                               \
                              alias("zlink_" #name))) decltype(zlink_##name) zmq_##name;
