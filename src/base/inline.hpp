// SPDX-License-Identifier: MPL-2.0
#pragma once

/// For the few functions on the path of every message that the compiler would otherwise not inline.
/// Inlined, the views that they pass on stay in registers.
#define ZLINK_HOT [[gnu::always_inline]] inline

/// For code that those functions run rarely.
#define ZLINK_COLD [[gnu::noinline, gnu::cold]]
