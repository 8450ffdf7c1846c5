// SPDX-License-Identifier: MPL-2.0
//
// Files over HTTP.
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "base/error_text.hpp"
#include "socket/stream_socket.hpp"
#include "wire/field_text.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_boundary;
using zlink::api::socket_from;

errc refuse(std::string_view why) {
    zlink::set_error_text(why);
    return errc::invalid_argument;
}

bool is_printable(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char each) { return each >= ' ' && each <= '~'; });
}

/// Whether it begins and ends with a slash, and no name in it is empty or begins with a dot.
bool is_prefix(std::string_view text) noexcept {
    return text.starts_with('/') && text.ends_with('/') && is_printable(text) &&
           text.find("//") == std::string_view::npos && text.find("/.") == std::string_view::npos;
}

/// @return Nothing if it is malformed.
std::optional<std::vector<zlink::web::cache_rule>> cache_rules(std::string_view text) {
    std::vector<zlink::web::cache_rule> rules;
    while (!text.empty()) {
        const std::string_view rule = zlink::wire::take_element(text, ';');
        if (rule.empty()) {
            continue;
        }
        std::string_view value = rule;
        const std::string_view pattern = zlink::wire::take_element(value, ':');
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        if (pattern.empty() || value.empty() || pattern.find('*', 1) != std::string_view::npos ||
            !is_printable(rule)) {
            return std::nullopt;
        }
        rules.push_back({std::string(pattern), std::string(value)});
    }
    return rules;
}

result<zlink::web::folder_settings> settings_from(const zlink_http_folder_t* given) {
    zlink::web::folder_settings made;
    if (given == nullptr) {
        return made;
    }
    if (given->struct_size != sizeof *given) {
        return refuse("struct_size is not sizeof (zlink_http_folder_t)");
    }
    if (given->index != nullptr) {
        made.index = given->index;
    }
    if (given->cors_origin != nullptr) {
        made.cors_origin = given->cors_origin;
    }
    if (made.index.find('/') != std::string::npos) {
        return refuse("index is the name of a file, without a slash");
    }
    if (!is_printable(made.cors_origin)) {
        return refuse("cors_origin is not an origin");
    }
    if (given->cache_control != nullptr) {
        auto rules = cache_rules(given->cache_control);
        if (!rules) {
            return refuse(
                "cache_control is not of the form \"*.js: max-age=60; *.html: no-cache\"");
        }
        made.cache = std::move(*rules);
    }
    made.lists = given->lists != 0;
    made.precompressed = given->uncompressed == 0;
    return made;
}

} // namespace

extern "C" int zlink_http_serve(void* socket, const char* prefix, const char* folder,
                                const zlink_http_folder_t* settings) {
    return at_boundary([&]() -> result<void> {
        const auto target = socket_from(socket);
        if (!target) {
            return target.error();
        }
        if ((*target)->as_stream() == nullptr) {
            return errc::not_supported;
        }
        if (prefix == nullptr || !is_prefix(prefix)) {
            return refuse("the prefix has to begin and end with a slash, as \"/video/\"");
        }
        if (folder == nullptr) {
            return errc::invalid_argument;
        }
        auto how = settings_from(settings);
        if (!how) {
            return how.error();
        }
        auto root = zlink::files::file_root::open(folder);
        if (!root) {
            zlink::set_error_text(std::string("the folder \"") + folder + "\" cannot be opened");
            return root.error();
        }
        (*target)->serve(
            std::make_shared<const zlink::web::folder>(prefix, std::move(*root), std::move(*how)));
        return {};
    });
}
