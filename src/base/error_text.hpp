// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink {

/// Sets a text that explains why the current call on this thread fails, where the errno number does
/// not say enough.
/// @param text  Truncated to 511 bytes.
void set_error_text(std::string_view text) noexcept;

/// The text that was set last on this thread; empty if none was.
/// @return Valid until the next set_error_text() of this thread.
const char* error_text() noexcept;

} // namespace zlink
