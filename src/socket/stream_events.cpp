// SPDX-License-Identifier: MPL-2.0
#include "socket/stream_events.hpp"

namespace zlink::socket {

stream_events::~stream_events() {
    while (!waiting_.empty()) {
        pop();
    }
}

std::string_view stream_events::event::text() const noexcept {
    const auto name = is_connect ? pipe::detail_property : pipe::reason_property;
    return info->properties.find(name).value_or(is_connect ? "" : "1001 unbound");
}

void stream_events::push(std::uint32_t id, bool is_connect, const pipe::peer_info* info) {
    auto* const held = const_cast<pipe::peer_info*>(info);
    waiting_.push_back({id, is_connect, held});
    if (held != nullptr) {
        held->add_reference();
    }
}

void stream_events::pop() noexcept {
    if (pipe::peer_info* const info = waiting_.front().info) {
        pipe::departure::tell(*info);
        info->drop();
    }
    waiting_.pop_front();
}

} // namespace zlink::socket
