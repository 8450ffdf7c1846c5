// SPDX-License-Identifier: MPL-2.0
#include "web/folder.hpp"

#include "base/limits.hpp"
#include "wire/http/date.hpp"
#include "wire/http/media_type.hpp"

#include <array>
#include <cstdio>
#include <optional>
#include <utility>

namespace zlink::web {

using may_block = files::file_root::may_block;
using wire::http::content_coding;

namespace {

/// Strong (RFC 9110, 8.8.1): it differs for every file, size and time of change.
/// @param is_portable  The same for copies of a file that have its time of change.
std::string tag_of(const files::file_state& state, bool is_portable) {
    std::array<char, 80> text;
    int bytes = std::snprintf(text.data(), text.size(), "\"");
    if (!is_portable) {
        bytes += std::snprintf(text.data() + bytes, text.size() - static_cast<std::size_t>(bytes),
                               "%llx-", static_cast<unsigned long long>(state.number));
    }
    bytes +=
        std::snprintf(text.data() + bytes, text.size() - static_cast<std::size_t>(bytes),
                      "%llx-%llx\"", static_cast<unsigned long long>(state.bytes),
                      static_cast<unsigned long long>(state.modified_seconds) * 1'000'000'000ULL +
                          static_cast<unsigned long long>(state.modified_nanoseconds));
    return {text.data(), static_cast<std::size_t>(bytes)};
}

void add(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

std::string_view extension_of(content_coding coding) noexcept {
    return coding == content_coding::br ? ".br" : ".gz";
}

} // namespace

/// Goes over to the folder to which the path leads now, from time to time.
/// @error again  It would have to wait to find out.
result<void> folder::follow(may_block how) const {
    const clock::time_point now = clock::now();
    clock::time_point due = check_at_.load(std::memory_order_relaxed);
    if (now < due ||
        !check_at_.compare_exchange_strong(due, now + check_interval, std::memory_order_relaxed)) {
        return {};
    }
    result<std::optional<files::file_root>> found = root()->replacement(how);
    if (!found) {
        check_at_.store(due, std::memory_order_relaxed); // For a thread that may wait.
        return found.error();
    }
    if (*found) {
        root_ptr replaced = std::make_shared<const files::file_root>(std::move(**found));
        std::list<cached> former; // Its files are closed without the lock.
        const std::lock_guard lock{mutex_};
        root_.swap(replaced);
        places_.clear();
        cache_.swap(former);
    }
    return {};
}

folder::root_ptr folder::root() const {
    const std::lock_guard lock{mutex_};
    return root_;
}

/// @param root  Set to the folder as it is at the same time.
served_file_ptr folder::cached_at(const std::string& path, root_ptr& root) const {
    const std::lock_guard lock{mutex_};
    root = root_;
    const auto found = places_.find(path);
    if (found == places_.end()) {
        return {};
    }
    cache_.splice(cache_.begin(), cache_, found->second);
    return found->second->file;
}

void folder::keep(const std::string& path, served_file_ptr made) const {
    std::list<cached> added;
    added.push_back({path, std::move(made)});
    const std::lock_guard lock{mutex_};
    if (const auto old = places_.find(path); old != places_.end()) {
        const auto place = old->second;
        places_.erase(old);
        cache_.erase(place);
    }
    places_.emplace(added.front().key, added.begin());
    cache_.splice(cache_.begin(), added);
    if (cache_.size() > limits::cached_files_max) {
        places_.erase(cache_.back().key);
        cache_.pop_back();
    }
}

void folder::drop(const std::string& path) const noexcept {
    const std::lock_guard lock{mutex_};
    if (const auto found = places_.find(path); found != places_.end()) {
        const auto place = found->second;
        places_.erase(found);
        cache_.erase(place);
    }
}

std::string_view folder::cache_control(std::string_view name) const noexcept {
    for (const cache_rule& each : settings_.cache) {
        const std::string_view pattern = each.pattern;
        if (pattern.starts_with('*') ? name.ends_with(pattern.substr(1)) : name == pattern) {
            return each.value;
        }
    }
    // Playlists of live streams grow: a player has to ask each time.
    return name.ends_with(".m3u8") || name.ends_with(".mpd") ? "no-cache" : "";
}

/// @param named  The path without the extension of the coding.
result<served_file_ptr> folder::open(const files::file_root& root, const std::string& path,
                                     std::string_view named, content_coding coding,
                                     may_block how) const {
    const auto found = root.find(path, how);
    if (!found) {
        return found.error();
    }
    if (!found->file) {
        return served_file_ptr{};
    }
    auto made = std::make_shared<served_file>();
    const files::file_state& state = found->file->state();
    made->file = found->file;
    made->coding = coding;
    made->media_type = wire::http::media_type_of(named);
    made->tag = tag_of(state, settings_.portable_tags);
    if (settings_.precompressed && coding == content_coding::identity) {
        for (const content_coding other : {content_coding::gzip, content_coding::br}) {
            const auto it = root.find(path + std::string(extension_of(other)), how);
            if (!it && it.error() == errc::again) {
                return errc::again; // Not known to be missing.
            }
            const bool is_usable =
                it && it->file && it->file->state().modified() >= state.modified();
            (other == content_coding::br ? made->has_br : made->has_gzip) = is_usable;
        }
    }
    std::string& both = made->validator_fields;
    add(both, "ETag", made->tag);
    if (const auto value = cache_control(named.substr(named.rfind('/') + 1)); !value.empty()) {
        add(both, "Cache-Control", value);
    }
    std::string varies;
    if (made->has_gzip || made->has_br || coding != content_coding::identity) {
        varies = "Accept-Encoding";
    }
    if (!settings_.cors_origin.empty() && settings_.cors_origin != "*") {
        varies += varies.empty() ? "Origin" : ", Origin";
    }
    if (!varies.empty()) {
        add(both, "Vary", varies);
    }
    if (!settings_.cors_origin.empty()) {
        add(both, "Access-Control-Allow-Origin", settings_.cors_origin);
        add(both, "Access-Control-Expose-Headers",
            "Accept-Ranges, Content-Encoding, Content-Length, Content-Range, Date, ETag");
    }
    std::string& content = made->content_fields;
    if (coding != content_coding::identity) {
        add(content, "Content-Encoding", wire::http::name_of(coding));
    }
    add(made->last_modified, "Last-Modified", wire::http::date_text{state.modified()}.view());
    add(content, "Accept-Ranges", "bytes");
    add(content, "X-Content-Type-Options", "nosniff");
    return served_file_ptr(std::move(made));
}

result<served_file_ptr> folder::find(const std::string& path, may_block how, bool& was_kept) const {
    was_kept = false;
    if (const result<void> followed = follow(how); !followed) {
        return followed.error();
    }
    root_ptr root;
    if (served_file_ptr known = cached_at(path, root)) {
        if (root->is_current(path, known->file->state())) {
            was_kept = true;
            return known;
        }
        drop(path);
    }
    result<served_file_ptr> opened = open(*root, path, path, content_coding::identity, how);
    if (opened && *opened) {
        keep(path, *opened);
    }
    return opened;
}

served_file_ptr folder::find_coded(const std::string& path, const served_file_ptr& of,
                                   content_coding coding, may_block how) const {
    const std::string coded = path + std::string(extension_of(coding));
    const std::string key = coded + "/"; // The file itself may be asked for, too.
    const auto is_usable = [&](const served_file_ptr& each) {
        return each && each->file->state().modified() >= of->file->state().modified();
    };
    root_ptr root;
    if (served_file_ptr known = cached_at(key, root)) {
        if (root->is_current(coded, known->file->state())) {
            return is_usable(known) ? known : of;
        }
        drop(key);
    }
    result<served_file_ptr> opened = open(*root, coded, path, coding, how);
    if (!opened || !is_usable(*opened)) {
        return of;
    }
    keep(key, *opened);
    return *opened;
}

result<std::vector<files::file_root::entry>> folder::list(const std::string& path) const {
    return root()->list(path, limits::listed_files_max);
}

} // namespace zlink::web
