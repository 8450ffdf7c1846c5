// SPDX-License-Identifier: MPL-2.0
#include "socket/pattern.hpp"

#include "socket/dealer.hpp"
#include "socket/dgram.hpp"
#include "socket/dish.hpp"
#include "socket/pair.hpp"
#include "socket/pull.hpp"
#include "socket/push.hpp"
#include "socket/radio.hpp"
#include "socket/rep.hpp"
#include "socket/req.hpp"
#include "socket/router.hpp"
#include "socket/server.hpp"
#include "socket/single_frame.hpp"
#include "socket/stream.hpp"
#include "socket/xpub.hpp"
#include "socket/xsub.hpp"

namespace zlink::socket {

void pattern::on_peer_info(peer&) {}

void pattern::on_closed(peer&) {}

void pattern::on_drained(peer&) {}

void pattern::on_restarted(peer&) {}

result<void> pattern::change_subscription(std::span<const std::byte>, bool) {
    return errc::invalid_argument;
}

std::unique_ptr<pattern> make_pattern(const socket_options& options) {
    switch (options.type) {
    case socket_type::pair:
        return std::make_unique<pair>();
    case socket_type::pub:
    case socket_type::xpub:
        return std::make_unique<xpub>(options);
    case socket_type::sub:
    case socket_type::xsub:
        return std::make_unique<xsub>(options);
    case socket_type::req:
        return std::make_unique<req>(options);
    case socket_type::rep:
        return std::make_unique<rep>();
    case socket_type::dealer:
        return std::make_unique<dealer>(options);
    case socket_type::router:
    case socket_type::raw_stream:
        return std::make_unique<router>(options);
    case socket_type::stream:
        return std::make_unique<stream>(options);
    case socket_type::pull:
        return std::make_unique<pull>();
    case socket_type::push:
        return std::make_unique<push>();
    case socket_type::server:
    case socket_type::peer:
        return std::make_unique<server>();
    case socket_type::client:
        return std::make_unique<client>(options);
    case socket_type::radio:
        return std::make_unique<radio>(options);
    case socket_type::dish:
        return std::make_unique<dish>();
    case socket_type::gather:
        return std::make_unique<gather>();
    case socket_type::scatter:
        return std::make_unique<scatter>();
    case socket_type::channel:
        return std::make_unique<channel>();
    case socket_type::dgram:
        return std::make_unique<dgram>();
    }
    return nullptr;
}

} // namespace zlink::socket
