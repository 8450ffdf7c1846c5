// SPDX-License-Identifier: MPL-2.0
#pragma once

/// For the few functions that every message passes and that the compiler, left alone, would call:
/// inlined, the views that they pass on stay in registers.
#define ZLINK_HOT [[gnu::always_inline]] inline

/// For what those functions do once in a while.
#define ZLINK_COLD [[gnu::noinline, gnu::cold]]
