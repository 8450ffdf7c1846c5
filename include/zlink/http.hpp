// SPDX-License-Identifier: MPL-2.0
//
// HTTP requests to a STREAM, and what answers are made of.
#pragma once

#include <zlink/message.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zlink {

/// A request that the application answers. Its texts are valid as long as this object, also after
/// it was moved.
class http_request {
public:
    /// @throws std::system_error  The message is no request.
    explicit http_request(message content) : content_(std::move(content)) {
        if (!take_apart()) {
            detail::raise(last_error());
        }
    }

    http_request(http_request&& from) noexcept : content_(std::move(from.content_)) {
        take_apart();
        from.take_apart();
    }
    http_request& operator=(http_request&& from) noexcept {
        content_ = std::move(from.content_);
        take_apart();
        from.take_apart();
        return *this;
    }

    /// "GET".
    std::string_view method() const noexcept { return {parts_.method, parts_.method_size}; }
    /// "/api/users/5", as it was sent, with its escapes.
    std::string_view path() const noexcept { return {parts_.path, parts_.path_size}; }
    /// What follows the question mark.
    std::string_view query() const noexcept { return {parts_.query, parts_.query_size}; }
    std::span<const std::byte> content() const noexcept {
        return {static_cast<const std::byte*>(parts_.content), parts_.content_size};
    }
    std::string_view text() const noexcept {
        return {static_cast<const char*>(parts_.content), parts_.content_size};
    }

    /// The first field of that name; upper and lower case are the same.
    std::optional<std::string_view> field(const char* name) const noexcept {
        const char* value = nullptr;
        std::size_t bytes = 0;
        if (zlink_http_field(&parts_, name, &value, &bytes) != 0) {
            return std::nullopt;
        }
        return std::string_view{value, bytes};
    }

    /// Whether it asks to become a WebSocket peer, of a path with http_route::upgrades.
    bool is_upgrade() const noexcept { return field("Upgrade").has_value(); }

private:
    /// A message that was moved from is empty, and then so are all parts.
    /// @return Whether the message is a request.
    bool take_apart() noexcept {
        parts_ = {};
        parts_.struct_size = sizeof parts_;
        return content_.empty() ||
               zlink_http_request(content_.data(), content_.size(), &parts_) == 0;
    }

    message content_;
    zlink_http_request_t parts_{};
};

/// The fields of an answer: http_fields{{"Content-Type", "application/json"}}.
class http_fields {
public:
    http_fields() = default;
    http_fields(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
        for (const auto& [name, value] : fields) {
            add(name, value);
        }
    }

    /// An answer with a line feed or zero byte in a name or value is refused with EINVAL.
    /// @throws std::bad_alloc
    http_fields& add(std::string_view name, std::string_view value) {
        const std::size_t begin = lines_.size();
        lines_.append(name).append(": ").append(value);
        // Neither can begin a field of its own: a carriage return is refused.
        std::replace_if(
            lines_.begin() + static_cast<std::ptrdiff_t>(begin), lines_.end(),
            [](char each) { return each == '\n' || each == '\0'; }, '\r');
        lines_.append("\n");
        return *this;
    }

    /// The lines, as zlink_http_reply takes them.
    const char* c_str() const noexcept { return lines_.c_str(); }

private:
    std::string lines_;
};

/// What the application takes part in, below a path.
enum class http_route : int {
    none = 0,
    requests = ZLINK_HTTP_REQUESTS, ///< It answers requests.
    peers = ZLINK_HTTP_PEERS,       ///< Upgrades to WebSocket are accepted.
    upgrades = ZLINK_HTTP_UPGRADES, ///< It decides about upgrades.
};
constexpr http_route operator|(http_route one, http_route other) noexcept {
    return static_cast<http_route>(static_cast<int>(one) | static_cast<int>(other));
}

/// How the files of a folder are served: zlink_http_folder_t.
struct http_folder {
    std::optional<std::string> index{};
    std::string cors_origin{};
    std::string cache_control{};
    bool lists = false;
    bool is_precompressed = true;    ///< "x.br" and "x.gz" may be sent in place of "x".
    bool has_portable_etags = false; ///< Entity tags without the inode.
};

} // namespace zlink
