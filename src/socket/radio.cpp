// SPDX-License-Identifier: MPL-2.0
#include "socket/radio.hpp"

namespace zlink::socket {

namespace {

void write_key(std::string& key, std::string_view group) {
    key.assign(group);
    key.push_back('\0');
}

} // namespace

void radio::on_attached(peer& added) {
    xpub::on_attached(added);
    if (added.end().whole().is_datagram) {
        publish_all_to(added);
    }
}

std::optional<wire::zmtp::subscription_view> radio::subscription_in(std::span<const std::byte> body,
                                                                    bool is_command) {
    if (!is_command) {
        return {};
    }
    const auto change = wire::zmtp::decode_group_command(body);
    if (!change || change->group.find('\0') != std::string_view::npos) {
        return {};
    }
    write_key(key_, change->group);
    return wire::zmtp::subscription_view{change->join, std::as_bytes(std::span{key_})};
}

result<void> radio::send(outgoing& source) {
    if (source.more()) {
        return errc::invalid_argument;
    }
    const std::string_view group = source.group();
    write_key(key_, group);
    if (const result<void> chosen = choose(std::as_bytes(std::span{key_})); !chosen) {
        return chosen.error();
    }
    std::size_t begun_count = 0;
    try {
        for (peer* const each : matched()) {
            ++begun_count;
            each->push_bytes(reinterpret_cast<const std::byte*>(group.data()), group.size(),
                             wire::zmtp::flag_more);
            each->push(source);
        }
    } catch (...) {
        for (std::size_t index = 0; index < begun_count; ++index) {
            matched()[index]->rollback();
        }
        throw;
    }
    for (peer* const each : matched()) {
        each->finish_message();
    }
    return {};
}

} // namespace zlink::socket
