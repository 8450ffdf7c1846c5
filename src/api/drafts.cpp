// SPDX-License-Identifier: MPL-2.0
//
// The only file that is compiled differently with -D ZLINK_DRAFTS=ON.
#include "api/drafts.hpp"

#ifdef ZLINK_DRAFTS
const bool zlink::api::has_drafts = true;
#else
const bool zlink::api::has_drafts = false;
#endif
