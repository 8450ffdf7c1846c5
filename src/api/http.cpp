// SPDX-License-Identifier: MPL-2.0
//
// Files and requests over HTTP.
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "base/byte_order.hpp"
#include "base/error_text.hpp"
#include "base/own_descriptors.hpp"
#include "socket/stream_socket.hpp"
#include "web/reply.hpp"
#include "web/request_observer.hpp"
#include "wire/field_text.hpp"
#include "wire/websocket/upgrade.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_system_boundary;
using zlink::api::stream_from;
using zlink::socket::stream_socket;
using zlink::web::reply;

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
    constexpr std::size_t first_bytes = offsetof(zlink_http_folder_t, portable_etags);
    if (given->struct_size != sizeof *given && given->struct_size != first_bytes) {
        return refuse("struct_size is not sizeof (zlink_http_folder_t)");
    }
    made.portable_tags = given->struct_size > first_bytes && given->portable_etags != 0;
    if (given->index != nullptr) {
        made.index = given->index;
    }
    if (given->cors_origin != nullptr) {
        made.cors_origin = given->cors_origin;
    }
    if (made.index.find('/') != std::string::npos) {
        return refuse("index is the name of a file, without a slash");
    }
    if (!made.cors_origin.empty() && made.cors_origin != "*" && made.cors_origin != "null" &&
        !zlink::wire::websocket::is_origin(made.cors_origin)) {
        return refuse("cors_origin \"" + made.cors_origin +
                      "\" can never match: it has to be SCHEME://HOST or SCHEME://HOST:PORT, "
                      "without a path and without the scheme's own port, or *");
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

/// Adds the lines of a reply's fields to `to`, each with the end that it has on the wire.
result<void> add_fields(std::string& to, const char* given) {
    constexpr std::array own{"connection", "content-length",    "date",
                             "keep-alive", "transfer-encoding", "upgrade"};
    std::string_view rest = given != nullptr ? given : "";
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        std::string_view value = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
        if (value.empty()) {
            continue;
        }
        const std::string_view name = value.substr(0, value.find(':'));
        value.remove_prefix(std::min(name.size() + 1, value.size()));
        value = zlink::wire::trimmed(value);
        const auto is_control = [](char each) {
            return zlink::wire::is_control(each) && each != '\t';
        };
        if (!zlink::wire::is_token(name) || name.size() == line.size() ||
            std::ranges::any_of(value, is_control)) {
            return refuse("a line of the fields is not of the form \"Name: value\"");
        }
        if (std::ranges::any_of(
                own, [&](const char* each) { return zlink::wire::is_same_text(name, each); })) {
            return refuse("the field " + std::string(name) + " is set by the library");
        }
        to.append(name).append(": ").append(value).append("\r\n");
    }
    return {};
}

constexpr int first_status = 200;
constexpr int last_status = 599;
constexpr int no_content = 204;
constexpr int not_modified = 304;

bool is_status(int status) noexcept {
    return status >= first_status && status <= last_status;
}

/// Sends something to a peer.
/// @param send  Takes the socket, the peer's number and whether it must not block; returns a
///              result<void>.
template<class Send>
int send_to(void* socket, const void* routing_id, int flags, int flags_allowed, Send&& send) {
    return at_system_boundary([&]() -> result<void> {
        const auto streams = stream_from(socket);
        if (!streams) {
            return streams.error();
        }
        if (routing_id == nullptr || (flags & ~flags_allowed) != 0) {
            return errc::invalid_argument;
        }
        const auto id =
            zlink::load_big_endian<std::uint32_t>(static_cast<const std::byte*>(routing_id));
        return send(**streams, id, (flags & ZLINK_DONTWAIT) != 0);
    });
}

/// Sends a part of a reply that `make` makes.
/// @param make  Returns a result<std::unique_ptr<reply>>.
template<class Make>
int reply_with(void* socket, const void* routing_id, int flags, int flags_allowed, Make&& make) {
    return send_to(socket, routing_id, flags, flags_allowed,
                   [&](stream_socket& streams, std::uint32_t id, bool dont_wait) -> result<void> {
                       result<std::unique_ptr<reply>> part = make();
                       return part ? streams.reply(id, std::move(*part), dont_wait) : part.error();
                   });
}

/// @error invalid_argument
result<std::unique_ptr<reply>> make_response(int status, const char* fields) {
    if (!is_status(status)) {
        return refuse("the status of a response is from 200 to 599");
    }
    auto made = std::make_unique<reply>(reply::sort::response);
    made->status = status;
    if (const result<void> added = add_fields(made->fields, fields); !added) {
        return added.error();
    }
    return made;
}

result<void> add_content(reply& to, const void* content, size_t size, int flags) {
    if (content == nullptr && size != 0) {
        return errc::invalid_argument;
    }
    to.content.assign(static_cast<const char*>(content), size);
    to.more = (flags & ZLINK_SNDMORE) != 0;
    return {};
}

/// A region of the file at `descriptor`, which is duplicated.
result<zlink::files::file_region> region_of(int descriptor, std::uint64_t offset,
                                            std::uint64_t bytes) {
    struct stat about;
    if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) ||
        (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY) {
        return static_cast<errc>(EBADF);
    }
    const auto state = zlink::files::file_state::of(about);
    if (offset > state.bytes || bytes > state.bytes - offset) {
        return refuse("the region ends behind the file");
    }
    const int own = zlink::open_descriptor([&] { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0); });
    if (own < 0) {
        return static_cast<errc>(errno);
    }
    try {
        return zlink::files::file_region{
            zlink::files::open_file_ptr{new zlink::files::open_file(own, state)}, offset, bytes};
    } catch (...) {
        zlink::close_descriptor(own);
        throw;
    }
}

/// Calls the application's function.
class calling_observer final : public zlink::web::request_observer {
public:
    calling_observer(zlink_http_observer_fn* called, void* hint) noexcept
        : called_(called), hint_(hint) {}

    void on_request(const zlink::web::request_record& done) noexcept override {
        constexpr int version_1_0 = 10;
        constexpr int version_1_1 = 11;
        const zlink_http_record_t told{.struct_size = sizeof told,
                                       .status = done.status,
                                       .version = done.is_version_1_0 ? version_1_0 : version_1_1,
                                       .incomplete = done.is_complete ? 0 : 1,
                                       .kept = done.was_kept ? 1 : 0,
                                       .cold = done.awaited_disk ? 1 : 0,
                                       .sent_bytes = done.sent_bytes,
                                       .nanoseconds = static_cast<std::uint64_t>(done.took.count()),
                                       .client = done.client.data(),
                                       .client_size = done.client.size(),
                                       .method = done.method.data(),
                                       .method_size = done.method.size(),
                                       .target = done.target.data(),
                                       .target_size = done.target.size(),
                                       .referer = done.referer.data(),
                                       .referer_size = done.referer.size(),
                                       .user_agent = done.user_agent.data(),
                                       .user_agent_size = done.user_agent.size()};
        called_(&told, hint_);
    }

private:
    zlink_http_observer_fn* called_;
    void* hint_;
};

/// Removes the part before `end` from the front of `text`, and `end`.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) noexcept {
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at + end.size());
    return taken;
}

} // namespace

extern "C" int zlink_http_serve(void* socket, const char* prefix, const char* folder,
                                const zlink_http_folder_t* settings) {
    return at_system_boundary([&]() -> result<void> {
        const auto streams = stream_from(socket);
        if (!streams) {
            return streams.error();
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
        (*streams)->whole().serve(
            std::make_shared<const zlink::web::folder>(prefix, std::move(*root), std::move(*how)));
        return {};
    });
}

extern "C" int zlink_http_route(void* socket, const char* path, int what) {
    return at_system_boundary([&]() -> result<void> {
        constexpr int decisions = ZLINK_HTTP_PEERS | ZLINK_HTTP_UPGRADES;
        const auto streams = stream_from(socket);
        if (!streams) {
            return streams.error();
        }
        std::string_view chosen = path != nullptr ? path : "";
        const bool is_prefix = chosen.ends_with('*');
        chosen.remove_suffix(is_prefix ? 1 : 0);
        if (!chosen.starts_with('/') || !is_printable(chosen) ||
            chosen.find_first_of("*?# ") != std::string_view::npos) {
            return refuse("the path has to begin with a slash, as \"/login\" or \"/api/*\"");
        }
        if ((what & ~(ZLINK_HTTP_REQUESTS | decisions)) != 0 || (what & decisions) == decisions) {
            return refuse("ZLINK_HTTP_REQUESTS and one of ZLINK_HTTP_PEERS and "
                          "ZLINK_HTTP_UPGRADES can be chosen");
        }
        (*streams)->whole().route({.path = std::string(chosen),
                                   .is_prefix = is_prefix,
                                   .takes_requests = (what & ZLINK_HTTP_REQUESTS) != 0,
                                   .connects = (what & ZLINK_HTTP_PEERS) != 0,
                                   .decides_upgrades = (what & ZLINK_HTTP_UPGRADES) != 0});
        return {};
    });
}

extern "C" int zlink_http_observe(void* socket, zlink_http_observer_fn* observer, void* hint) {
    return at_system_boundary([&]() -> result<void> {
        const auto streams = stream_from(socket);
        if (!streams) {
            return streams.error();
        }
        (*streams)->whole().observe(observer != nullptr
                                        ? std::make_shared<calling_observer>(observer, hint)
                                        : zlink::web::request_observer_ptr{});
        return {};
    });
}

extern "C" int zlink_http_request(const void* data, size_t size, zlink_http_request_t* request) {
    std::string_view rest{static_cast<const char*>(data), data != nullptr ? size : 0};
    const auto method = take_until(rest, " ");
    auto target = take_until(rest, " ");
    const auto version = take_until(rest, "\r\n");
    const std::size_t head_end = rest.starts_with("\r\n") ? 0 : rest.find("\r\n\r\n");
    if (request == nullptr || request->struct_size != sizeof *request || !method || !target ||
        !version || !version->starts_with("HTTP/") || head_end == std::string_view::npos) {
        return zlink::api::fail(EINVAL);
    }
    constexpr std::size_t line_end_bytes = 2;
    const std::size_t fields_bytes = head_end == 0 ? 0 : head_end + line_end_bytes;
    const std::string_view path = target->substr(0, target->find('?'));
    target->remove_prefix(std::min(path.size() + 1, target->size()));
    const std::string_view content = rest.substr(fields_bytes + line_end_bytes);
    *request = {.struct_size = sizeof *request,
                .method = method->data(),
                .method_size = method->size(),
                .path = path.data(),
                .path_size = path.size(),
                .query = target->data(),
                .query_size = target->size(),
                .fields = rest.data(),
                .fields_size = fields_bytes,
                .content = content.data(),
                .content_size = content.size()};
    return 0;
}

extern "C" int zlink_http_field(const zlink_http_request_t* request, const char* name,
                                const char** value, size_t* size) {
    if (request == nullptr || name == nullptr || value == nullptr || size == nullptr) {
        return zlink::api::fail(EINVAL);
    }
    std::string_view rest{request->fields, request->fields_size};
    while (const auto line = take_until(rest, "\r\n")) {
        std::string_view found = *line;
        const auto own_name = take_until(found, ":");
        if (own_name && zlink::wire::is_same_text(*own_name, name)) {
            found = zlink::wire::trimmed(found);
            *value = found.data();
            *size = found.size();
            return 0;
        }
    }
    return zlink::api::fail(ENOENT);
}

extern "C" int zlink_http_reply(void* socket, const void* routing_id, int status,
                                const char* fields, const void* content, size_t size, int flags) {
    return reply_with(socket, routing_id, flags, ZLINK_DONTWAIT | ZLINK_SNDMORE,
                      [&]() -> result<std::unique_ptr<reply>> {
                          auto made = make_response(status, fields);
                          if (!made) {
                              return made;
                          }
                          if ((status == no_content || status == not_modified) &&
                              (size != 0 || (flags & ZLINK_SNDMORE) != 0)) {
                              return refuse("204 and 304 have no content");
                          }
                          const auto added = add_content(**made, content, size, flags);
                          return added ? std::move(made) : added.error();
                      });
}

extern "C" int zlink_http_reply_file(void* socket, const void* routing_id, int status,
                                     const char* fields, int file, uint64_t offset, uint64_t length,
                                     int flags) {
    return reply_with(socket, routing_id, flags, ZLINK_DONTWAIT,
                      [&]() -> result<std::unique_ptr<reply>> {
                          auto made = make_response(status, fields);
                          if (!made) {
                              return made;
                          }
                          if (status == no_content || status == not_modified) {
                              return refuse("204 and 304 have no content");
                          }
                          auto region = region_of(file, offset, length);
                          if (!region) {
                              return region.error();
                          }
                          (*made)->region = std::move(*region);
                          return made;
                      });
}

extern "C" int zlink_http_reply_part(void* socket, const void* routing_id, const void* content,
                                     size_t size, int flags) {
    return reply_with(socket, routing_id, flags, ZLINK_DONTWAIT | ZLINK_SNDMORE,
                      [&]() -> result<std::unique_ptr<reply>> {
                          auto made = std::make_unique<reply>(reply::sort::part);
                          const auto added = add_content(*made, content, size, flags);
                          if (!added) {
                              return added.error();
                          }
                          return made;
                      });
}

extern "C" int zlink_stream_send_file(void* socket, const void* routing_id, int file,
                                      uint64_t offset, uint64_t length, int flags) {
    return send_to(socket, routing_id, flags, ZLINK_DONTWAIT,
                   [&](stream_socket& streams, std::uint32_t id, bool dont_wait) -> result<void> {
                       const auto region = region_of(file, offset, length);
                       return region ? streams.send_file(id, *region, dont_wait) : region.error();
                   });
}

extern "C" int zlink_http_upgrade(void* socket, const void* routing_id, const char* subprotocol,
                                  const char* fields) {
    return reply_with(socket, routing_id, 0, 0, [&]() -> result<std::unique_ptr<reply>> {
        auto made = std::make_unique<reply>(reply::sort::upgrade);
        made->subprotocol = subprotocol != nullptr ? subprotocol : "";
        if (!made->subprotocol.empty() && !zlink::wire::is_token(made->subprotocol)) {
            return refuse("the subprotocol is not a token");
        }
        if (const auto added = add_fields(made->fields, fields); !added) {
            return added.error();
        }
        return made;
    });
}
