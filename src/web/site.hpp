// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "web/folder.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace zlink::web {

/// Requests for a path that the application takes part in.
struct route {
    std::string path;       ///< Begins with a slash.
    bool is_prefix = false; ///< All paths that begin so.

    bool asks = false;       ///< Requests are for the application.
    bool connects = false;   ///< Upgrades to WebSocket are accepted.
    bool asks_first = false; ///< Upgrades to WebSocket are for the application to decide.
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
};

using site_ptr = std::shared_ptr<const site>;

} // namespace zlink::web
