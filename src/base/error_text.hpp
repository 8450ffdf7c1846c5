// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink {

/// Sets a text that explains why the current call on this thread fails, where the errno number does
/// not say enough.
/// @param text  Truncated to 511 bytes.
void set_error_text(std::string_view text) noexcept;

/// Begins a call of the public API: the text that is known is about an earlier one.
void begin_error_text() noexcept;

/// Empties the text unless it was set since begin_error_text(). For a call that fails.
void drop_former_error_text() noexcept;

/// The text that was set last on this thread; empty if none was.
/// @return Valid until the next set_error_text() of this thread.
const char* error_text() noexcept;

} // namespace zlink
