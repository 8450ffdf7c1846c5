// SPDX-License-Identifier: MPL-2.0
#include "base/endpoint.hpp"

#include "base/error_text.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace zlink {

namespace {

constexpr std::string_view scheme_end = "://";
constexpr std::size_t port_digits_max = 5;

errc refuse(std::string_view why) noexcept {
    set_error_text(why);
    return errc::invalid_argument;
}

errc refuse_host(std::string_view host) {
    return host.empty() ? refuse("the host is missing")
                        : refuse(std::string{"\""}.append(host).append("\" is not a valid host"));
}

bool is_letter_or_digit(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Whether `host` can be a peer's name: a letter, digit or the colon of an IPv6 address, followed
/// by those, dots, dashes and underscores.
bool is_host_to_dial(std::string_view host) noexcept {
    if (host.empty() || !(is_letter_or_digit(host.front()) || host.front() == ':')) {
        return false;
    }
    return std::all_of(host.begin(), host.end(), [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_' || c == ':';
    });
}

std::optional<std::uint16_t> decode_port(std::string_view digits) noexcept {
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (digits.size() > port_digits_max || error != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return port;
}

/// @return With port 0.
result<host_address> decode_host(std::string_view host) {
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    std::string_view scope;
    if (const std::size_t percent = host.rfind('%'); percent != std::string_view::npos) {
        scope = host.substr(percent + 1);
        host = host.substr(0, percent);
        if (scope.empty()) {
            return refuse("no interface follows the %");
        }
    }
    if (host.size() + scope.size() > host_bytes_max) {
        return refuse("the host is too long");
    }
    return host_address{std::string{host}, std::string{scope}, 0};
}

/// @param may_choose_port  Whether "*" may stand for the port.
result<host_address> decode_host_address(std::string_view text, bool may_choose_port) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return refuse("the port is missing");
    }
    const std::string_view port_text = text.substr(colon + 1);
    const std::optional<std::uint16_t> port =
        may_choose_port && port_text == "*" ? 0 : decode_port(port_text);
    if (!port) {
        std::string why{"\""};
        why.append(port_text).append("\" is not a port, 0 to 65535");
        return refuse(why.append(may_choose_port ? " or *" : ""));
    }
    result<host_address> decoded = decode_host(text.substr(0, colon));
    if (decoded) {
        decoded->port = *port;
    }
    return decoded;
}

/// Whether it can be the target of a request unchanged (RFC 3986, 3.3 and 3.4).
bool is_web_path(std::string_view path) noexcept {
    return path.size() <= web_path_bytes_max && path.starts_with('/') &&
           std::all_of(path.begin(), path.end(),
                       [](char c) { return c > ' ' && c <= '~' && c != '#'; });
}

result<endpoint> decode_hosts_to_listen(std::string_view rest) {
    if (rest.find(';') != std::string_view::npos) {
        return refuse("a source before a semicolon is allowed only in an endpoint to connect to");
    }
    result<host_address> address = decode_host_address(rest, true);
    if (!address) {
        return address.error();
    }
    endpoint decoded;
    decoded.address = std::move(*address);
    return decoded;
}

result<endpoint> decode_hosts_to_dial(std::string_view rest) {
    endpoint decoded;
    if (const std::size_t semicolon = rest.find(';'); semicolon != std::string_view::npos) {
        result<host_address> source = decode_host_address(rest.substr(0, semicolon), true);
        if (!source) {
            return source.error();
        }
        if (!is_host_to_dial(source->host)) {
            return refuse_host(source->host);
        }
        decoded.source = std::move(*source);
        rest = rest.substr(semicolon + 1);
    }
    result<host_address> address = decode_host_address(rest, false);
    if (!address) {
        return address.error();
    }
    if (!is_host_to_dial(address->host)) {
        return refuse_host(address->host);
    }
    decoded.address = std::move(*address);
    return decoded;
}

result<endpoint> decode_datagram_hosts(std::string_view rest, endpoint_use use) {
    std::optional<host_address> interface;
    if (const std::size_t semicolon = rest.rfind(';'); semicolon != std::string_view::npos) {
        result<host_address> decoded = decode_host(rest.substr(0, semicolon));
        if (!decoded) {
            return decoded.error();
        }
        if (decoded->host.empty()) {
            return refuse("no interface precedes the semicolon");
        }
        interface = std::move(*decoded);
        rest = rest.substr(semicolon + 1);
    }
    result<endpoint> decoded =
        use == endpoint_use::listen ? decode_hosts_to_listen(rest) : decode_hosts_to_dial(rest);
    if (decoded && use == endpoint_use::dial && decoded->address.port == 0) {
        return refuse("datagrams cannot be sent to port 0");
    }
    if (decoded) {
        decoded->via = scheme::udp;
        decoded->source = std::move(interface);
    }
    return decoded;
}

/// @param via  One with a host.
result<endpoint> decode_hosts(scheme via, std::string_view rest, endpoint_use use) {
    if (via == scheme::udp) {
        return decode_datagram_hosts(rest, use);
    }
    std::string_view path;
    if (is_web(via)) {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        path = slash < rest.size() ? rest.substr(slash) : "/";
        rest = rest.substr(0, slash);
        if (!is_web_path(path)) {
            return refuse(
                "the path is too long, or has characters that an HTTP request cannot have");
        }
    }
    result<endpoint> decoded =
        use == endpoint_use::listen ? decode_hosts_to_listen(rest) : decode_hosts_to_dial(rest);
    if (decoded) {
        decoded->via = via;
        decoded->path = path;
    }
    return decoded;
}

result<endpoint> decode_ipc(std::string_view path) {
    if (path == "@") {
        return refuse("no name follows the @");
    }
    if (path.size() > ipc_path_bytes_max) {
        return path_too_long;
    }
    return endpoint{.via = scheme::ipc, .address = {}, .source = {}, .path = std::string{path}};
}

result<endpoint> decode_inproc(std::string_view name) {
    if (name.size() > inproc_name_bytes_max) {
        return refuse("the name is above " + std::to_string(inproc_name_bytes_max) + " bytes");
    }
    return endpoint{.via = scheme::inproc, .address = {}, .source = {}, .path = std::string{name}};
}

/// Appends the host in a form that decode_host decodes to the same host.
void append_host(std::string& out, const host_address& address) {
    std::string host = address.host;
    if (!address.scope.empty()) {
        host.append("%").append(address.scope);
    }
    const bool has_colon = host.find(':') != std::string::npos;
    const bool looks_bracketed = host.starts_with('[') && host.ends_with(']');
    if (has_colon || looks_bracketed) {
        host.insert(host.begin(), '[');
        host.push_back(']');
    }
    out.append(host);
}

/// The same for decode_host_address.
void append_host_address(std::string& out, const host_address& address) {
    append_host(out, address);
    out.append(":").append(std::to_string(address.port));
}

} // namespace

std::string endpoint::text() const {
    std::string spelled{scheme_name(via)};
    spelled.append(scheme_end);
    if (has_host(via)) {
        if (source) {
            via == scheme::udp ? append_host(spelled, *source)
                               : append_host_address(spelled, *source);
            spelled.push_back(';');
        }
        append_host_address(spelled, address);
    }
    return spelled + path;
}

result<endpoint> decode_endpoint(std::string_view text, endpoint_use use) {
    const std::size_t end = text.find(scheme_end);
    if (end == std::string_view::npos) {
        return refuse("it has no ://");
    }
    if (text.find('\0') != std::string_view::npos) {
        return refuse("it has a zero byte");
    }
    const std::string_view name = text.substr(0, end);
    const std::string_view rest = text.substr(end + scheme_end.size());
    if (name.empty() || rest.empty()) {
        return refuse(name.empty() ? "the transport is missing" : "nothing follows the ://");
    }
    for (const scheme each : {scheme::tcp, scheme::tls, scheme::ws, scheme::wss, scheme::http,
                              scheme::https, scheme::udp}) {
        if (name == scheme_name(each)) {
            if (is_http(each) && use == endpoint_use::dial) {
                set_error_text("http and https can only be bound; connect to ws or wss");
                return errc::protocol_not_supported;
            }
            return decode_hosts(each, rest, use);
        }
    }
    if (name == "ipc") {
        return decode_ipc(rest);
    }
    if (name == "inproc") {
        return decode_inproc(rest);
    }
    set_error_text(std::string{"there is no transport \""}.append(name).append("\""));
    return errc::protocol_not_supported;
}

} // namespace zlink
