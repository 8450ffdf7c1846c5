// SPDX-License-Identifier: MPL-2.0
#include "session/zws.hpp"

#include "base/random_bytes.hpp"
#include "wire/field_text.hpp"
#include "wire/zws_frame.hpp"

namespace zlink::session {

namespace zws = wire::zws;
namespace zmtp = wire::zmtp;

std::string_view zws_subprotocols(const socket_options& options) noexcept {
    switch (options.mechanism) {
    case security_mechanism::null:
        break;
    case security_mechanism::plain:
        return "ZWS2.0/PLAIN";
    case security_mechanism::curve:
        return "ZWS2.0/CURVE";
    }
    return options.zap_domain.empty() ? "ZWS2.0/NULL,ZWS2.0" : "ZWS2.0/NULL";
}

bool offers_only_zws(std::string_view subprotocols) noexcept {
    bool has_some = false;
    while (!subprotocols.empty()) {
        const std::string_view each = wire::take_element(subprotocols, ',');
        if (!each.empty() && !each.starts_with(zws_bare)) {
            return false;
        }
        has_some = has_some || !each.empty();
    }
    return has_some;
}

void append_as_zws(std::span<const std::byte> frames, bool is_client, std::vector<std::byte>& out) {
    while (!frames.empty()) {
        const zmtp::frame_head head = zmtp::read_head_trusted(frames.data());
        const auto body = frames.first(head.frame_bytes()).subspan(head.header_bytes);
        const std::size_t before = out.size();
        out.resize(before + zws::header_bytes_max + body.size());
        const std::size_t bytes =
            is_client
                ? zws::write_masked_frame(out.data() + before, head.flags, body, random_bytes())
                : zws::write_frame(out.data() + before, head.flags, body);
        out.resize(before + bytes);
        frames = frames.subspan(head.frame_bytes());
    }
}

} // namespace zlink::session
