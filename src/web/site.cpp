// SPDX-License-Identifier: MPL-2.0
#include "web/site.hpp"

#include <algorithm>
#include <utility>

namespace zlink::web {

void site::add(std::shared_ptr<const folder> added) {
    std::erase_if(folders_, [&](const auto& each) { return each->prefix() == added->prefix(); });
    const auto behind = std::ranges::find_if(
        folders_, [&](const auto& each) { return each->prefix().size() < added->prefix().size(); });
    folders_.insert(behind, std::move(added));
}

site::place site::find(std::string_view path) const {
    for (const auto& each : folders_) {
        const std::string_view prefix = std::string_view{each->prefix()}.substr(1);
        if (path.starts_with(prefix)) {
            return {each.get(), std::string(path.substr(prefix.size()))};
        }
        if (prefix.size() == path.size() + 1 && prefix.starts_with(path)) {
            return {each.get(), {}}; // The folder itself, without its slash.
        }
    }
    return {};
}

} // namespace zlink::web
