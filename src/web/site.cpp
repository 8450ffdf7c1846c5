// SPDX-License-Identifier: MPL-2.0
#include "web/site.hpp"

#include "wire/http/target_path.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace zlink::web {

void site::add(std::shared_ptr<const folder> added) {
    std::erase_if(folders_, [&](const auto& each) { return each->prefix() == added->prefix(); });
    const auto behind = std::ranges::find_if(
        folders_, [&](const auto& each) { return each->prefix().size() < added->prefix().size(); });
    folders_.insert(behind, std::move(added));
}

void site::add(route added) {
    const auto is_same = [&](const route& each) {
        return each.path == added.path && each.is_prefix == added.is_prefix;
    };
    std::erase_if(routes_, is_same);
    const auto counts_less = [&](const route& each) {
        return each.path.size() < added.path.size() ||
               (each.path.size() == added.path.size() && each.is_prefix);
    };
    routes_.insert(std::ranges::find_if(routes_, counts_less), std::move(added));
}

const route* site::find_route(std::string_view path) const {
    if (routes_.empty()) {
        return nullptr;
    }
    // As a folder would find it, so that no spelling of a path leads around its route.
    const auto decoded = wire::http::decode_target_path(path);
    const auto* const target = std::get_if<wire::http::target_path>(&decoded);
    std::string spelled{path};
    if (target != nullptr) {
        spelled = "/" + target->file;
        spelled += target->ends_with_slash && !target->file.empty() ? "/" : "";
    }
    const auto found = std::ranges::find_if(routes_, [&](const route& each) {
        return each.is_prefix ? spelled.starts_with(each.path) : spelled == each.path;
    });
    if (found == routes_.end()) {
        return nullptr;
    }
    const place files = target != nullptr ? find(target->file) : place{};
    const bool counts_less =
        files.at != nullptr && found->is_prefix && files.at->prefix().size() > found->path.size();
    return counts_less ? nullptr : &*found;
}

const document* site::find_document(std::string_view path) const noexcept {
    const auto found = std::ranges::find_if(documents_, [&](const document& each) {
        return std::string_view{each.path}.substr(1) == path;
    });
    return found != documents_.end() ? &*found : nullptr;
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
