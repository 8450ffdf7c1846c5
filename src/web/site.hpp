// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "web/folder.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::web {

/// Requests for a path that the application takes part in.
struct route {
    std::string path;       ///< Begins with a slash.
    bool is_prefix = false; ///< All paths that begin so.

    bool takes_requests = false;   ///< Requests are for the application.
    bool connects = false;         ///< Upgrades to WebSocket are accepted.
    bool decides_upgrades = false; ///< Upgrades to WebSocket are for the application to decide.
};

/// A text that is made anew for each request for its path.
struct document {
    std::string path; ///< Begins with a slash.
    std::string media_type;
    /// @param query  As it was sent, without the question mark.
    /// @return Nothing if there is none now.
    /// @throws std::bad_alloc
    /// @threads Any, several at a time.
    std::function<std::optional<std::string>(std::string_view query)> make;
};

/// The folders that a listener serves, each at a prefix of the path, and the paths that are the
/// application's. The longest prefix counts, of those and of these.
///
/// @threads Any; it does not change while it is used.
class site {
public:
    /// @throws std::bad_alloc
    void add(std::shared_ptr<const folder> added);

    /// Replaces the route of the same path, if there is one.
    /// @throws std::bad_alloc
    void add(route added);

    /// @throws std::bad_alloc
    void add(document added) { documents_.push_back(std::move(added)); }

    /// Null if there is none.
    /// @param path  Decoded, relative.
    const document* find_document(std::string_view path) const noexcept;

    /// WebSocket peers are not accepted: a request for an upgrade is one for a file.
    void refuse_peers() noexcept { takes_peers_ = false; }
    bool takes_peers() const noexcept { return takes_peers_; }

    /// Clients are expected to ask at once, and to take the answer: they are given seconds.
    void expect_promptness() noexcept { is_prompt_ = true; }
    bool expects_promptness() const noexcept { return is_prompt_; }

    /// The application's route for a path; null: it has none, or one that counts less than a
    /// folder's.
    /// @param path  As it was sent, without the query.
    /// @throws std::bad_alloc
    const route* find_route(std::string_view path) const;

    /// The folder for a path, and the path within it.
    struct place {
        const folder* at = nullptr; ///< Null: none has this prefix.
        std::string path;
    };
    /// @param path  Decoded, relative.
    /// @throws std::bad_alloc
    place find(std::string_view path) const;

private:
    std::vector<std::shared_ptr<const folder>> folders_; ///< The longest prefix first.
    std::vector<route> routes_;                          ///< The longest path first.
    std::vector<document> documents_;
    bool takes_peers_ = true;
    bool is_prompt_ = false;
};

using site_ptr = std::shared_ptr<const site>;

} // namespace zlink::web
