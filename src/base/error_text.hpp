// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink {

/// Says in words why the call of this thread fails that is being made, where its errno number does
/// not say enough.
/// @param text  Cut off after 511 bytes.
void set_error_text(std::string_view text) noexcept;

/// What was said last on this thread; empty if nothing was.
/// @return Valid until the next set_error_text() of this thread.
const char* error_text() noexcept;

} // namespace zlink
