// SPDX-License-Identifier: MPL-2.0
#include "web/answer.hpp"

#include "base/random_bytes.hpp"
#include "web/gzip.hpp"
#include "wire/http/conditions.hpp"
#include "wire/http/date.hpp"
#include "wire/http/range.hpp"
#include "wire/http/response_head.hpp"
#include "wire/http/target_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

namespace zlink::web {

using files::file_root;
using std::chrono::sys_seconds;
using wire::http::content_coding;
using wire::http::refusal;
using wire::http::request;

namespace {

constexpr std::string_view allowed_methods = "GET, HEAD, OPTIONS";
constexpr std::string_view html = "text/html; charset=utf-8";

/// Methods that exist (RFC 9110, 9; RFC 5789), but not for files.
bool is_known_method(std::string_view method) noexcept {
    constexpr std::array<std::string_view, 5> known{"POST", "PUT", "DELETE", "TRACE", "PATCH"};
    return std::ranges::find(known, method) != known.end();
}

/// Writes one response.
class composer {
public:
    composer(const request& asked, sys_seconds now)
        : asked_(asked), now_(now), is_head_(asked.method == "HEAD") {
        using wire::http::body_framing;
        const bool has_content = asked.framing == body_framing::chunked || asked.content_bytes != 0;
        made_.persists = asked.persists && !has_content;
    }

    sys_seconds now() const noexcept { return now_; }
    bool is_head() const noexcept { return is_head_; }
    bool& was_kept() noexcept { return made_.was_kept; }

    /// Pages of this origin may read what is answered instead of a file, too. Empty: none.
    void allow_origin(std::string_view origin) noexcept { origin_ = origin; }

    /// Begins the head.
    void begin(int status) {
        made_.status = status;
        head_.emplace(made_.text, status);
        head_->add_first(now_, made_.persists, asked_.is_version_1_0);
    }
    void add(std::string_view name, std::string_view value) {
        static_cast<void>(head_->add(name, value)); // One that is not possible is left out.
    }
    void add_number(std::string_view name, std::uint64_t value) { head_->add_number(name, value); }
    void add_lines(std::string_view lines) { made_.text.append(lines); }
    void end_head() { head_->end(); }
    std::string& text() noexcept { return made_.text; }

    /// Ends a piece with a region of the file.
    void add_region(const files::open_file_ptr& file, std::uint64_t offset, std::uint64_t bytes) {
        made_.file = file;
        made_.pieces.push_back({made_.text.size() - text_taken_, offset, bytes});
        text_taken_ = made_.text.size();
    }

    response finish() {
        if (made_.text.size() != text_taken_ || made_.pieces.empty()) {
            made_.pieces.push_back({made_.text.size() - text_taken_});
        }
        return std::move(made_);
    }

    /// A page as the content.
    response page(int status, std::string_view content, std::string_view lines = {}) {
        constexpr std::string_view allowed = "Access-Control-Allow-Origin";
        begin(status);
        add_lines(lines);
        if (!origin_.empty() && lines.find(allowed) == std::string_view::npos) {
            add(allowed, origin_);
        }
        add("Content-Type", html);
        add("X-Content-Type-Options", "nosniff");
        add_number("Content-Length", content.size());
        end_head();
        if (!is_head_) {
            text() += content;
        }
        return finish();
    }

    /// A text that was made for this request.
    response text_of(std::string_view content, std::string_view media_type) {
        begin(200);
        add("Content-Type", media_type);
        add("Cache-Control", "no-store");
        add_number("Content-Length", content.size());
        end_head();
        if (!is_head_) {
            text() += content;
        }
        return finish();
    }

    response error(int status, std::string_view why, std::string_view lines = {}) {
        std::string title = std::to_string(status);
        title.append(" ").append(wire::http::reason_of(status));
        std::string content =
            "<!doctype html>\n<title>" + title + "</title>\n<h1>" + title + "</h1>\n";
        if (!why.empty()) {
            content.append("<p>").append(wire::http::html_escaped(why)).append("</p>\n");
        }
        return page(status, content, lines);
    }

    /// Nothing but a head.
    response empty(int status, std::string_view lines) {
        begin(status);
        add_lines(lines);
        end_head();
        return finish();
    }

private:
    const request& asked_;
    sys_seconds now_;
    response made_;
    std::optional<wire::http::response_head> head_;
    std::string_view origin_;
    std::size_t text_taken_ = 0;
    bool is_head_;
};

std::string line(std::string_view name, std::string_view value) {
    return std::string(name).append(": ").append(value).append("\r\n");
}

/// The answer to OPTIONS, and to the request that a browser sends before one to another origin
/// (Fetch, 3.2.2).
std::string options_lines(const folder* at, const request& asked) {
    std::string lines = line("Allow", allowed_methods);
    if (at != nullptr && !at->settings().cors_origin.empty()) {
        lines += line("Access-Control-Allow-Origin", at->settings().cors_origin);
        if (asked.has("access-control-request-method")) {
            lines += line("Access-Control-Allow-Methods", allowed_methods);
            lines += line("Access-Control-Allow-Headers",
                          "Range, If-Range, If-None-Match, If-Modified-Since, Cache-Control");
            lines += line("Access-Control-Max-Age", "86400");
        }
    }
    return lines;
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> units{" B", " KiB", " MiB", " GiB", " TiB"};
    std::size_t unit = 0;
    for (; bytes >= 10 * 1024 && unit + 1 < units.size(); ++unit) {
        bytes /= 1024;
    }
    return std::to_string(bytes) + units[unit];
}

std::string listing(std::string_view path, const std::vector<file_root::entry>& entries) {
    const std::string title = "/" + wire::http::html_escaped(path) + (path.empty() ? "" : "/");
    std::string made = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>" + title +
                       "</title>\n<h1>" + title + "</h1>\n<table>\n";
    if (!path.empty()) {
        made += "<tr><td><a href=\"../\">../</a><td><td>\n";
    }
    for (const file_root::entry& each : entries) {
        const std::string_view slash = each.is_folder ? "/" : "";
        // "./" in front: a colon in the name would look like a scheme.
        made.append("<tr><td><a href=\"./").append(wire::http::percent_encoded(each.name));
        made.append(slash).append("\">").append(wire::http::html_escaped(each.name)).append(slash);
        made.append("</a><td>").append(each.is_folder ? "" : size_text(each.state.bytes));
        made.append("<td>")
            .append(wire::http::date_text{each.state.modified()}.view())
            .append("\n");
    }
    return made + "</table>\n";
}

std::string random_boundary() {
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuv";
    std::string made;
    while (made.size() < wire::http::boundary_bytes) {
        for (std::uint64_t rest = random_number();
             rest != 0 && made.size() < wire::http::boundary_bytes; rest /= digits.size()) {
            made += digits[rest % digits.size()];
        }
    }
    return made;
}

/// The values of conditional fields, and room for those that are lists.
struct asked_conditions {
    explicit asked_conditions(const request& asked)
        : values{.if_match = asked.joined("if-match", if_match),
                 .if_none_match = asked.joined("if-none-match", if_none_match),
                 .if_modified_since = asked.value("if-modified-since"),
                 .if_unmodified_since = asked.value("if-unmodified-since")} {}

    std::string if_match;
    std::string if_none_match;
    wire::http::conditions values;
};

/// The content of a file.
response send(composer& to, const request& asked, const served_file& what) {
    using range = wire::http::range_selection;
    const files::file_state& state = what.file->state();
    const wire::http::validators current{.tag = wire::http::decode_entity_tag(what.tag),
                                         .modified = state.modified()};
    const asked_conditions conditions{asked};
    switch (wire::http::evaluate(conditions.values, current, true, to.now())) {
    case wire::http::condition_outcome::proceed:
        break;
    case wire::http::condition_outcome::not_modified:
        return to.empty(304, what.validator_fields);
    case wire::http::condition_outcome::precondition_failed:
        return to.error(412, "The file is not in the state that the request demands.",
                        what.validator_fields);
    }
    range selected;
    if (const auto field = asked.value("range"); field && asked.method == "GET") {
        const auto if_range = asked.value("if-range");
        if (asked.has("if-range")
                ? if_range && wire::http::is_range_current(*if_range, current, to.now())
                : true) {
            selected = range::decode(*field, state.bytes, what.media_type);
        }
    }
    if (selected.what() == range::kind::unsatisfiable) {
        return to.error(416, "The file is shorter than the range that was asked for.",
                        what.validator_fields +
                            line("Content-Range", wire::http::unsatisfied_range(state.bytes)));
    }
    const auto parts = selected.parts();
    const bool is_whole = selected.what() == range::kind::whole;
    to.begin(is_whole ? 200 : 206);
    to.add_lines(what.validator_fields);
    to.add_lines(what.content_fields);
    if (state.modified() <= to.now()) {
        to.add_lines(what.last_modified);
    } else { // Not later than Date (RFC 9110, 8.8.2.1).
        to.add("Last-Modified", wire::http::date_text{to.now()}.view());
    }
    if (is_whole || parts.size() == 1) {
        const wire::http::byte_range one = is_whole ? wire::http::byte_range{} : parts.front();
        const std::uint64_t bytes = is_whole ? state.bytes : one.bytes();
        to.add("Content-Type", what.media_type);
        to.add_number("Content-Length", bytes);
        if (!is_whole) {
            to.add("Content-Range", wire::http::content_range(one, state.bytes));
        }
        to.end_head();
        if (!to.is_head() && bytes != 0) {
            to.add_region(what.file, one.first, bytes);
        }
        return to.finish();
    }
    const std::string boundary = random_boundary();
    to.add("Content-Type", "multipart/byteranges; boundary=" + boundary);
    to.add_number("Content-Length",
                  wire::http::multipart_bytes(parts, state.bytes, what.media_type));
    to.end_head();
    for (const wire::http::byte_range& each : parts) {
        wire::http::append_part_head(to.text(), each, state.bytes, what.media_type, boundary);
        to.add_region(what.file, each.first, each.bytes());
    }
    wire::http::append_multipart_end(to.text(), boundary);
    return to.finish();
}

/// The file, or its compressed form that the client prefers.
/// @param path  Within the folder.
response send_coded(composer& to, const request& asked, const folder& in, const std::string& path,
                    served_file_ptr what, file_root::may_block how) {
    if ((what->has_br || what->has_gzip) && !asked.has("range")) {
        std::string room;
        const auto coding =
            wire::http::choose_coding(asked.joined("accept-encoding", room),
                                      {.has_gzip = what->has_gzip, .has_br = what->has_br});
        if (coding && *coding != content_coding::identity) {
            what = in.find_coded(path, what, *coding, how);
        }
    }
    return send(to, asked, *what);
}

/// The listing of a folder, compressed if the client takes that.
response send_listing(composer& to, const request& asked, const folder& in, std::string content) {
    std::string lines = line("Cache-Control", "no-cache");
    if (!in.settings().precompressed) {
        return to.page(200, content, lines);
    }
    lines += line("Vary", "Accept-Encoding");
    std::string room;
    const auto coding =
        wire::http::choose_coding(asked.joined("accept-encoding", room), {.has_gzip = true});
    if (coding && *coding == content_coding::gzip) {
        if (std::optional<std::string> packed = gzip(content)) {
            content = std::move(*packed);
            lines += line("Content-Encoding", wire::http::name_of(*coding));
        }
    }
    return to.page(200, content, lines);
}

response not_found(composer& to, errc reason) {
    if (reason == errc::permission_denied) {
        return to.error(403, "The server may not read it.");
    }
    return reason == errc::no_such_endpoint
               ? to.error(404, {})
               : to.error(503, "The server lacks resources now.", line("Retry-After", "1"));
}

/// A folder was asked for.
std::optional<response> answer_with_folder(composer& to, const request& asked,
                                           const wire::http::target_path& target,
                                           const site::place& place, file_root::may_block how) {
    if (!target.ends_with_slash) {
        std::string location = wire::http::percent_encoded("/" + target.file) + "/";
        if (!target.query.empty()) {
            location.append("?").append(target.query);
        }
        return to.error(301, "It is a folder.", line("Location", location));
    }
    const folder_settings& settings = place.at->settings();
    if (!settings.index.empty()) {
        const std::string path =
            place.path.empty() ? settings.index : place.path + "/" + settings.index;
        const auto index = place.at->find(path, how, to.was_kept());
        if (index && *index) {
            return send_coded(to, asked, *place.at, path, *index, how);
        }
        if (!index && index.error() == errc::again) {
            return std::nullopt;
        }
    }
    if (!settings.lists) {
        return to.error(404, {});
    }
    if (how == file_root::may_block::no) {
        return std::nullopt;
    }
    const auto entries = place.at->list(place.path);
    return entries ? send_listing(to, asked, *place.at, listing(target.file, *entries))
                   : not_found(to, entries.error());
}

} // namespace

std::optional<response> answer(const request& asked, const site& from, sys_seconds now,
                               file_root::may_block how) {
    composer to{asked, now};
    if (asked.form == wire::http::target_form::asterisk || asked.path == "*") {
        return to.empty(204, line("Allow", allowed_methods));
    }
    std::string origin_form{asked.path};
    if (!asked.query.empty()) {
        origin_form.append("?").append(asked.query);
    }
    const auto decoded = wire::http::decode_target_path(origin_form);
    if (const auto* refused = std::get_if<refusal>(&decoded)) {
        return to.error(refused->status, refused->why);
    }
    const auto& target = std::get<wire::http::target_path>(decoded);
    const site::place place = from.find(target.file);
    if (place.at != nullptr) {
        to.allow_origin(place.at->settings().cors_origin);
    }
    if (asked.method == "OPTIONS") {
        return to.empty(204, options_lines(place.at, asked));
    }
    if (asked.method != "GET" && asked.method != "HEAD") {
        return is_known_method(asked.method)
                   ? to.error(405, "Files can only be read.", line("Allow", allowed_methods))
                   : to.error(501, "There is no such method here.");
    }
    if (const document* const made = from.find_document(target.file); made != nullptr) {
        const std::optional<std::string> content = made->make(target.query);
        return content ? to.text_of(*content, made->media_type)
                       : to.error(503, "The server is going away.");
    }
    if (place.at == nullptr) {
        return to.error(404, {});
    }
    const auto found = place.at->find(place.path, how, to.was_kept());
    if (!found) {
        if (found.error() == errc::again) {
            return std::nullopt;
        }
        return not_found(to, found.error());
    }
    if (!*found) {
        return answer_with_folder(to, asked, target, place, how);
    }
    if (target.ends_with_slash) {
        return to.error(404, {});
    }
    return send_coded(to, asked, *place.at, place.path, *found, how);
}

response refuse(const refusal& why, sys_seconds now, bool has_content) {
    request none;
    none.method = has_content ? "GET" : "HEAD";
    composer to{none, now};
    return to.error(why.status, why.why);
}

} // namespace zlink::web
