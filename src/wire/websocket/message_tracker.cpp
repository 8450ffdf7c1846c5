// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/message_tracker.hpp"

namespace zlink::wire::websocket {

std::optional<close_code> message_tracker::on_inflated(std::span<const std::byte> data) noexcept {
    if (state_ != message_state::inside || !is_compressed_) {
        return std::nullopt;
    }
    // The part within the limit is checked first, so that the outcome does not depend on the
    // pieces.
    const std::uint64_t rest_bytes = inflated_bytes_max_ - inflated_bytes_;
    const bool is_too_large = data.size() > rest_bytes;
    if (is_too_large) {
        data = data.first(static_cast<std::size_t>(rest_bytes));
    }
    inflated_bytes_ += data.size();
    if (is_text()) {
        if (const auto refusal = check_text(data)) {
            return refusal;
        }
    }
    return is_too_large ? refuse(close_code::too_large) : std::nullopt;
}

std::optional<close_code> message_tracker::refuse(close_code code) noexcept {
    state_ = message_state::over;
    return code;
}

std::optional<close_code> message_tracker::check_text(std::span<const std::byte> data) noexcept {
    if (!text_.push(data)) {
        return refuse(close_code::invalid_payload);
    }
    return std::nullopt;
}

} // namespace zlink::wire::websocket
