// SPDX-License-Identifier: MPL-2.0
#include "socket/bindings.hpp"

#include "transport/address.hpp"

#include <algorithm>
#include <utility>

namespace zlink::socket {

namespace {

/// Whether `each` has an address that `where` resolves to. Names in connect calls are compared as
/// text, without a resolver.
bool is_spelled(const binding& each, const endpoint& where,
                const std::vector<std::string>& resolved, bool uses_ipv6) {
    const auto is_among = [&](const std::string& text) {
        return std::find(resolved.begin(), resolved.end(), text) != resolved.end();
    };
    if (is_among(each.address)) {
        return true;
    }
    if (each.listens || each.via != where.via) {
        return false;
    }
    const result<endpoint> dialled = decode_endpoint(each.address, endpoint_use::dial);
    if (!dialled || dialled->source != where.source) {
        return false;
    }
    const auto known = transport::listening_texts(*dialled, uses_ipv6, false);
    return *dialled == where || std::any_of(known.begin(), known.end(), is_among);
}

} // namespace

bool has_wildcard(const endpoint& where) noexcept {
    return has_host(where.via) ? where.address.port == 0
                               : where.via == scheme::ipc && where.path == "*";
}

const binding* bindings::find(std::uint64_t call_id) const noexcept {
    const auto found =
        std::lower_bound(all_.begin(), all_.end(), call_id,
                         [](const binding& each, std::uint64_t id) { return each.call_id < id; });
    return found != all_.end() && found->call_id == call_id ? &*found : nullptr;
}

binding* bindings::find(std::uint64_t call_id) noexcept {
    return const_cast<binding*>(std::as_const(*this).find(call_id));
}

void bindings::remove(std::uint64_t call_id) noexcept {
    if (binding* const found = find(call_id)) {
        all_.erase(all_.begin() + (found - all_.data()));
    }
}

std::vector<std::uint64_t> bindings::with_address(std::string_view address, const endpoint& where,
                                                  bool uses_ipv6) const {
    std::vector<std::uint64_t> found;
    const auto add_if = [&](auto&& is_meant) {
        for (const binding& each : all_) {
            if (is_meant(each)) {
                found.push_back(each.call_id);
            }
        }
    };
    if (where.via == scheme::inproc) { // If this socket bound the name, only that is undone.
        add_if([&](const binding& each) { return each.listens && each.address == address; });
    }
    if (found.empty()) {
        add_if([&](const binding& each) {
            return each.address == address || (each.spelling == address && each.listens);
        });
    }
    if (found.empty() && has_host(where.via) && !all_.empty()) {
        const auto resolved = transport::listening_texts(where, uses_ipv6, true);
        add_if([&](const binding& each) { return is_spelled(each, where, resolved, uses_ipv6); });
    }
    return found;
}

void bindings::note_endpoint(std::string text) noexcept {
    const std::lock_guard lock{last_endpoint_mutex_};
    last_endpoint_ = std::move(text);
}

} // namespace zlink::socket
