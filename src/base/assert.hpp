// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstdio>
#include <cstdlib>

/// Checks an internal invariant, in every build. Not for conditions that a peer, a caller of the
/// public API or the operating system controls.
#define ZLINK_ASSERT(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) [[unlikely]] {                                                           \
            std::fprintf(stderr, "zlink: broken invariant: %s (%s:%d)\n", #condition, __FILE__,    \
                         __LINE__);                                                                \
            std::abort();                                                                          \
        }                                                                                          \
    } while (false)

/// As ZLINK_ASSERT, for checks that are too costly for a release build.
#ifdef NDEBUG
#define ZLINK_DEBUG_ASSERT(condition)                                                              \
    do {                                                                                           \
    } while (false)
#else
#define ZLINK_DEBUG_ASSERT(condition) ZLINK_ASSERT(condition)
#endif
