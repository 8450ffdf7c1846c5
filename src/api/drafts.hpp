// SPDX-License-Identifier: MPL-2.0
#pragma once

namespace zlink::api {

/// Whether libzmq's draft interface is part of this build (-D ZLINK_DRAFTS=ON): its functions are
/// exported, its socket types can be opened, and zlink_has("draft") is 1.
extern const bool has_drafts;

} // namespace zlink::api
