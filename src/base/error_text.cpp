// SPDX-License-Identifier: MPL-2.0
#include "base/error_text.hpp"

#include <algorithm>
#include <array>

namespace zlink {

namespace {

thread_local std::array<char, 512> last{};
thread_local bool is_of_this_call = false;

} // namespace

void set_error_text(std::string_view text) noexcept {
    const auto kept = text.substr(0, last.size() - 1);
    *std::copy(kept.begin(), kept.end(), last.begin()) = '\0';
    is_of_this_call = true;
}

void begin_error_text() noexcept {
    is_of_this_call = false;
}

void drop_former_error_text() noexcept {
    if (!is_of_this_call) {
        last.front() = '\0';
    }
}

const char* error_text() noexcept {
    return last.data();
}

} // namespace zlink
