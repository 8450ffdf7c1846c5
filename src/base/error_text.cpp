// SPDX-License-Identifier: MPL-2.0
#include "base/error_text.hpp"

#include <algorithm>
#include <array>

namespace zlink {

namespace {

thread_local std::array<char, 512> last{};

} // namespace

void set_error_text(std::string_view text) noexcept {
    const auto kept = text.substr(0, last.size() - 1);
    *std::copy(kept.begin(), kept.end(), last.begin()) = '\0';
}

const char* error_text() noexcept {
    return last.data();
}

} // namespace zlink
