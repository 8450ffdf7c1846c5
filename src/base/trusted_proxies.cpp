// SPDX-License-Identifier: MPL-2.0
#include "base/trusted_proxies.hpp"

#include <algorithm>

namespace zlink {

namespace {

std::string_view without_spaces(std::string_view text) noexcept {
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string_view::npos
               ? std::string_view{}
               : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

} // namespace

bool trusted_proxies::contains(std::span<const std::byte> host) const noexcept {
    if (host.empty()) {
        return has_unix;
    }
    return std::any_of(networks.begin(), networks.end(),
                       [&](const network& each) { return each.contains(host); });
}

result<trusted_proxies> decode_trusted_proxies(std::string_view list, std::string_view& refused) {
    trusted_proxies decoded;
    bool has_more = !list.empty();
    while (has_more) {
        const std::size_t end = std::min(list.find(','), list.size());
        const std::string_view part = without_spaces(list.substr(0, end));
        has_more = end != list.size();
        list.remove_prefix(has_more ? end + 1 : end);
        if (part == "unix") {
            decoded.has_unix = true;
        } else if (const result<network> range = decode_network(part, true)) {
            decoded.networks.push_back(*range);
        } else {
            refused = part;
            return errc::invalid_argument;
        }
    }
    return decoded;
}

} // namespace zlink
