// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "files/file_root.hpp"
#include "wire/http/content_coding.hpp"

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zlink::web {

/// A value of Cache-Control for files whose names match.
struct cache_rule {
    std::string pattern; ///< "*.m3u8", or a name. An asterisk only in front.
    std::string value;   ///< "no-cache", "public, max-age=3600".
};

/// How the files of a folder are served.
struct folder_settings {
    std::string index = "index.html"; ///< Served for a folder; empty: none.
    bool lists = false;               ///< Folders without an index are listed.
    bool precompressed = true;        ///< "x.br" or "x.gz" is sent in place of "x" if there is one.
    bool portable_tags = false;       ///< Entity tags without the inode.
    std::string cors_origin{};        ///< Access-Control-Allow-Origin; empty: no CORS.
    std::vector<cache_rule> cache{};  ///< The first that matches counts.
};

/// A file as it is sent: open, with the fields of responses that depend only on it.
///
/// @threads Any; it does not change.
struct served_file {
    files::open_file_ptr file;
    wire::http::content_coding coding = wire::http::content_coding::identity;
    std::string_view media_type;  ///< Of static duration.
    std::string tag;              ///< Its entity tag, with the quotes: strong.
    std::string validator_fields; ///< Lines for 200, 206 and 304 (RFC 9110, 15.4.5).
    std::string content_fields;   ///< Lines for 200 and 206 besides these and Last-Modified.
    std::string last_modified;    ///< The line of that field.
    bool has_gzip = false;        ///< A compressed form is there.
    bool has_br = false;
};
using served_file_ptr = std::shared_ptr<const served_file>;

/// A folder that is served at a prefix of the path, with a cache of open files. If its path leads
/// to another folder, that one is served within check_interval.
///
/// @threads Any.
class folder {
public:
    /// Between two looks at where the path leads.
    static constexpr std::chrono::milliseconds check_interval{250};

    /// @param prefix  Begins and ends with a slash.
    folder(std::string prefix, files::file_root root, folder_settings settings)
        : prefix_(std::move(prefix)), settings_(std::move(settings)),
          root_(std::make_shared<const files::file_root>(std::move(root))) {}

    const std::string& prefix() const noexcept { return prefix_; }
    const folder_settings& settings() const noexcept { return settings_; }

    /// The file at `path`, in its state of now; null: it is a folder.
    /// @param was_kept  Set to whether it was open already.
    /// @error  As file_root::find().
    /// @throws std::bad_alloc
    result<served_file_ptr> find(const std::string& path, files::file_root::may_block how,
                                 bool& was_kept) const;

    /// One of its compressed forms.
    /// @param of    What find() returned for `path`.
    /// @return `of` if there is none, or an outdated one.
    served_file_ptr find_coded(const std::string& path, const served_file_ptr& of,
                               wire::http::content_coding coding,
                               files::file_root::may_block how) const;

    result<std::vector<files::file_root::entry>> list(const std::string& path) const;

private:
    using clock = std::chrono::steady_clock;
    using root_ptr = std::shared_ptr<const files::file_root>;

    struct cached {
        std::string key; ///< The path.
        served_file_ptr file;
    };

    result<void> follow(files::file_root::may_block how) const;
    root_ptr root() const;
    served_file_ptr cached_at(const std::string& path, root_ptr& root) const;
    void keep(const std::string& path, served_file_ptr made) const;
    void drop(const std::string& path) const noexcept;
    result<served_file_ptr> open(const files::file_root& root, const std::string& path,
                                 std::string_view named, wire::http::content_coding coding,
                                 files::file_root::may_block how) const;
    std::string_view cache_control(std::string_view name) const noexcept;

    std::string prefix_;
    folder_settings settings_;

    /// When the path is looked at next. The thread that advances it does so.
    mutable std::atomic<clock::time_point> check_at_{clock::time_point{}};

    mutable std::mutex mutex_;
    mutable root_ptr root_;
    mutable std::list<cached> cache_; ///< The one that was used last in front.
    mutable std::unordered_map<std::string_view, std::list<cached>::iterator> places_;
};

} // namespace zlink::web
