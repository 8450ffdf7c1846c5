// SPDX-License-Identifier: MPL-2.0
#include "socket/metrics.hpp"

#include "wire/websocket/utf8.hpp"
#include "zlink.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

namespace zlink::socket {

namespace {

using visitor = std::function<void(const metric&)>;

constexpr double nanoseconds_per_second = 1e9;

// Subjects of a family, by bit.
constexpr unsigned of_context = 1;
constexpr unsigned of_socket = 2;
constexpr unsigned of_endpoint = 4;
constexpr unsigned of_peer = 8;
constexpr unsigned of_all = of_context | of_socket | of_endpoint | of_peer;
constexpr unsigned of_connections = of_context | of_socket | of_endpoint;

struct subject_kind {
    unsigned bit;
    const char* prefix;
    const char* noun;
};
constexpr std::array subject_kinds{subject_kind{of_context, "zlink_context_", "the context"},
                                   subject_kind{of_socket, "zlink_socket_", "the socket"},
                                   subject_kind{of_endpoint, "zlink_endpoint_", "the endpoint"},
                                   subject_kind{of_peer, "zlink_peer_", "the peer"}};

/// One name of every kind of subject. In `help`, % stands for the subject.
struct family {
    const char* suffix;
    const char* help;
    metric_kind kind;
    unsigned subjects;
    double (*value)(const measures& of);
};

double number(std::uint64_t value) noexcept {
    return static_cast<double>(value);
}

constexpr auto counter = metric_kind::counter;
constexpr auto gauge = metric_kind::gauge;

constexpr std::array families{
    family{"sent_messages_total", "Messages that the application has sent through %.", counter,
           of_all, [](const measures& of) { return number(of.sent.message_count); }},
    family{"sent_bytes_total", "Bytes of those messages, in frames.", counter, of_all,
           [](const measures& of) { return number(of.sent.bytes); }},
    family{"received_messages_total",
           "Messages that have come through %, those in its queue included.", counter, of_all,
           [](const measures& of) { return number(of.received.message_count); }},
    family{"received_bytes_total", "Bytes of those messages, in frames.", counter, of_all,
           [](const measures& of) { return number(of.received.bytes); }},
    family{"send_queue_messages", "Sent messages that wait in the queues of %.", gauge, of_all,
           [](const measures& of) { return number(of.sent.waiting.message_count); }},
    family{"send_queue_bytes", "Bytes of those messages.", gauge, of_all,
           [](const measures& of) { return number(of.sent.waiting.bytes); }},
    family{"send_queue_highest_messages",
           "The largest number of sent messages that waited in one queue of %.", gauge, of_all,
           [](const measures& of) { return number(of.sent.highest_count); }},
    family{"receive_queue_messages",
           "Messages in the queues of % that the application has not received.", gauge, of_all,
           [](const measures& of) { return number(of.received.waiting.message_count); }},
    family{"receive_queue_bytes", "Bytes of those messages.", gauge, of_all,
           [](const measures& of) { return number(of.received.waiting.bytes); }},
    family{"receive_queue_highest_messages",
           "The largest number of messages that waited in one queue of % to be received.", gauge,
           of_all, [](const measures& of) { return number(of.received.highest_count); }},
    family{"peers", "Peers of %, connected or to be connected to.", gauge, of_connections,
           [](const measures& of) { return number(of.peer_count); }},
    family{"connections", "Open connections of %, handshakes included.", gauge, of_connections,
           [](const measures& of) {
               return number(of.connections.opened_count - of.connections.ended_count);
           }},
    family{"opened_connections_total", "Connections of % that were accepted, or made.", counter,
           of_connections, [](const measures& of) { return number(of.connections.opened_count); }},
    family{"established_connections_total", "Connections of % whose handshake has succeeded.",
           counter, of_connections,
           [](const measures& of) { return number(of.connections.established_count); }},
    family{"reconnects_total", "Established connections of % that replaced one that had ended.",
           counter, of_connections,
           [](const measures& of) { return number(of.connections.reconnected_count); }},
    family{"connect_retries_total", "Further attempts of % to connect that were scheduled.",
           counter, of_connections,
           [](const measures& of) { return number(of.connections.retry_count); }},
    family{"accept_failures_total",
           "Connections to % that could not be accepted, or exceeded a limit.", counter,
           of_connections,
           [](const measures& of) { return number(of.connections.accept_failed_count); }},
    family{"blocked_sends_total", "Sending calls on % that waited for room.", counter,
           of_context | of_socket, [](const measures& of) { return number(of.blocked_count); }},
    family{
        "send_blocked_seconds_total",
        "Time for which sending calls on % have waited for room, present ones included.", counter,
        of_context | of_socket,
        [](const measures& of) { return number(of.blocked_nanoseconds) / nanoseconds_per_second; }},
    family{"refused_sends_total", "Sending calls on % that failed with EAGAIN.", counter,
           of_context | of_socket, [](const measures& of) { return number(of.refused_count); }},
};

/// A family with a value for each reason.
struct reason_family {
    const char* suffix;
    const char* help;
    unsigned subjects;
    std::span<const std::string_view> reasons;
    std::span<const std::uint64_t> (*values)(const measures& of);
};

const std::array reason_families{
    reason_family{
        "dropped_messages_total", "Messages of % that were dropped, by reason.", of_all, drop_names,
        [](const measures& of) -> std::span<const std::uint64_t> { return of.dropped_counts; }},
    reason_family{"handshake_failures_total", "Handshakes of % that failed, by reason.",
                  of_connections, handshake_failure_names,
                  [](const measures& of) -> std::span<const std::uint64_t> {
                      return of.connections.failed_counts;
                  }},
    reason_family{"disconnections_total",
                  "Established connections of % that have ended, by reason.", of_connections,
                  disconnect_names,
                  [](const measures& of) -> std::span<const std::uint64_t> {
                      return of.connections.disconnected_counts;
                  }},
};

std::string_view type_name(socket_type type) noexcept {
    return type == socket_type::stream       ? "STREAM"
           : type == socket_type::raw_stream ? "RAW_STREAM"
                                             : socket_type_name(type);
}

/// `text` if it is UTF-8; otherwise with a replacement for what is not ASCII.
std::string clean(std::string_view text) {
    if (wire::websocket::is_utf8(text)) {
        return std::string{text};
    }
    std::string made;
    for (const char each : text) {
        made += static_cast<unsigned char>(each) < 0x80 ? each : '?';
    }
    return made;
}

/// A name that a peer has chosen: as it is if it is printable, otherwise in hexadecimal.
std::string readable(std::string_view id) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string made;
    for (const char each : id) {
        if (each < ' ' || each > '~') {
            made = "0x";
            for (const char octet : id) {
                made += digits[static_cast<unsigned char>(octet) >> 4];
                made += digits[static_cast<unsigned char>(octet) & 15U];
            }
            return made;
        }
    }
    return std::string{id};
}

/// Something with measures, and its labels.
struct subject {
    const measures* of;
    std::vector<metric_label> labels;
};

struct subjects_of_kind {
    subject_kind kind;
    std::vector<subject> all;
};

std::vector<metric_label> labels_of(const socket_sample& of) {
    return {{"socket", std::to_string(of.number)},
            {"type", std::string{type_name(of.type)}},
            {"name", clean(of.name)}};
}

std::vector<subjects_of_kind> subjects_of(const context_sample& known) {
    std::vector<subjects_of_kind> made;
    made.reserve(std::size(subject_kinds));
    for (const subject_kind& each : subject_kinds) {
        made.push_back({each, {}});
    }
    made[0].all.push_back({&known.of, {}});
    for (const socket_sample& each : known.sockets) {
        const std::vector<metric_label> labels = labels_of(each);
        made[1].all.push_back({&each.of, labels});
        for (const socket_sample::endpoint& at : each.endpoints) {
            std::vector<metric_label> more = labels;
            more.push_back({"endpoint", clean(at.address)});
            more.push_back({"direction", at.listens ? "bind" : "connect"});
            made[2].all.push_back({&at.of, std::move(more)});
        }
        if (each.others) {
            std::vector<metric_label> more = labels;
            more.push_back({"endpoint", "others"});
            more.push_back({"direction", ""});
            made[2].all.push_back({&each.others->of, std::move(more)});
        }
        for (const socket_sample::peer& with : each.peers) {
            std::vector<metric_label> more = labels;
            more.push_back({"endpoint", clean(with.endpoint)});
            more.push_back({"peer", std::to_string(with.number)});
            more.push_back({"address", clean(with.address)});
            more.push_back({"routing_id", readable(with.routing_id)});
            made[3].all.push_back({&with.of, std::move(more)});
        }
    }
    return made;
}

std::string help_for(const char* pattern, const subject_kind& kind) {
    std::string text{pattern};
    if (const std::size_t place = text.find('%'); place != std::string::npos) {
        text.replace(place, 1, kind.noun);
    }
    return text;
}

void visit_measures(const subjects_of_kind& of, const visitor& visit) {
    for (const family& each : families) {
        if ((each.subjects & of.kind.bit) == 0) {
            continue;
        }
        const std::string name = std::string{of.kind.prefix} + each.suffix;
        const std::string help = help_for(each.help, of.kind);
        for (const subject& about : of.all) {
            visit({name.c_str(), name.c_str(), help.c_str(), each.kind, about.labels,
                   each.value(*about.of)});
        }
    }
    // Of endpoints and peers, which may be many, only the reasons that there were.
    const bool has_zeros = (of.kind.bit & (of_context | of_socket)) != 0;
    for (const reason_family& each : reason_families) {
        if ((each.subjects & of.kind.bit) == 0) {
            continue;
        }
        const std::string name = std::string{of.kind.prefix} + each.suffix;
        const std::string help = help_for(each.help, of.kind);
        for (const subject& about : of.all) {
            std::vector<metric_label> labels = about.labels;
            labels.push_back({"reason", {}});
            const std::span<const std::uint64_t> values = each.values(*about.of);
            for (std::size_t index = 0; index < values.size(); ++index) {
                if (has_zeros || values[index] != 0) {
                    labels.back().value = each.reasons[index];
                    visit({name.c_str(), name.c_str(), help.c_str(), counter, labels,
                           number(values[index])});
                }
            }
        }
    }
}

std::string text_of(double value) {
    std::array<char, 32> text;
    // Integers, as most are, without an exponent; others in as few digits as they need.
    constexpr double integers_end = 9007199254740992.0; // 2^53.
    const auto [end, error] = value == std::floor(value) && std::abs(value) < integers_end
                                  ? std::to_chars(text.data(), text.data() + text.size(),
                                                  static_cast<std::int64_t>(value))
                                  : std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

/// The sockets that answer HTTP.
struct http_subject {
    const web::http_totals* of;
    std::vector<metric_label> labels;
    const connection_totals* connections;
};

void visit_http(const std::vector<http_subject>& all, const visitor& visit) {
    constexpr const char* requests = "zlink_http_requests_total";
    for (const http_subject& each : all) {
        std::vector<metric_label> labels = each.labels;
        labels.push_back({"code", {}});
        for (std::size_t index = 0; index < each.of->by_status.size(); ++index) {
            if (const std::uint64_t count = each.of->by_status[index]; count != 0) {
                labels.back().value =
                    std::to_string(web::http_totals::first_status + static_cast<int>(index));
                visit({requests, requests, "Requests, by status.", counter, labels, number(count)});
            }
        }
    }
    constexpr const char* duration = "zlink_http_request_duration_seconds";
    constexpr const char* duration_help =
        "Time from the end of a request's head to the last byte of the answer.";
    const auto visit_duration = [&](const char* name, const std::vector<metric_label>& labels,
                                    double value) {
        visit({name, duration, duration_help, metric_kind::histogram, labels, value});
    };
    for (const http_subject& each : all) {
        std::vector<metric_label> labels = each.labels;
        labels.push_back({"le", {}});
        std::uint64_t total = 0;
        for (std::size_t index = 0; index < each.of->by_duration.size(); ++index) {
            total += each.of->by_duration[index];
            labels.back().value = index < web::http_totals::bounds.size()
                                      ? text_of(web::http_totals::bounds[index])
                                      : "+Inf";
            visit_duration("zlink_http_request_duration_seconds_bucket", labels, number(total));
        }
        visit_duration("zlink_http_request_duration_seconds_sum", each.labels,
                       number(each.of->nanoseconds) / nanoseconds_per_second);
        visit_duration("zlink_http_request_duration_seconds_count", each.labels, number(total));
    }
    struct http_family {
        const char* name;
        const char* help;
        metric_kind kind;
        std::uint64_t (*value)(const http_subject& of);
    };
    constexpr std::array rest{
        http_family{"zlink_http_sent_bytes_total", "Bytes of answers, with their heads.", counter,
                    [](const http_subject& of) { return of.of->sent_bytes; }},
        http_family{"zlink_http_incomplete_answers_total",
                    "Answers whose connection ended before them.", counter,
                    [](const http_subject& of) { return of.of->incomplete_count; }},
        http_family{"zlink_http_file_cache_hits_total", "Files that were open already.", counter,
                    [](const http_subject& of) { return of.of->kept_count; }},
        http_family{"zlink_http_cold_reads_total", "Requests that had to wait for a disk.", counter,
                    [](const http_subject& of) { return of.of->cold_count; }},
        http_family{"zlink_http_accepted_connections_total", "Connections accepted.", counter,
                    [](const http_subject& of) { return of.connections->opened_count; }},
        http_family{"zlink_http_connections", "Open connections.", gauge,
                    [](const http_subject& of) {
                        return of.connections->opened_count - of.connections->ended_count;
                    }},
    };
    for (const http_family& each : rest) {
        for (const http_subject& about : all) {
            visit({each.name, each.name, each.help, each.kind, about.labels,
                   number(each.value(about))});
        }
    }
}

void visit_context(const context_sample& known, const visitor& visit) {
    const std::array version{
        metric_label{"version", std::to_string(ZLINK_LIBRARY_VERSION_MAJOR) + "." +
                                    std::to_string(ZLINK_LIBRARY_VERSION_MINOR) + "." +
                                    std::to_string(ZLINK_LIBRARY_VERSION_PATCH)}};
    visit({"zlink_info", "zlink_info", "The version of zlink.", gauge, version, 1});
    const auto visit_one = [&](const char* name, const char* help, metric_kind kind, double value) {
        visit({name, name, help, kind, {}, value});
    };
    visit_one("zlink_context_io_threads", "I/O threads; none where the callers drive the I/O.",
              gauge, number(known.io_thread_count));
    visit_one("zlink_context_sockets", "Open sockets.", gauge, number(known.sockets.size()));
    visit_one("zlink_context_opened_sockets_total", "Sockets that were opened.", counter,
              number(known.opened_count));
}

void append_escaped(std::string& to, std::string_view text, bool is_label) {
    for (const char each : text) {
        if (each == '\\' || (is_label && each == '"')) {
            to += '\\';
        }
        if (each == '\n') {
            to += "\\n";
        } else {
            to += each;
        }
    }
}

std::string_view name_of(metric_kind kind) noexcept {
    switch (kind) {
    case metric_kind::counter:
        return "counter";
    case metric_kind::gauge:
        return "gauge";
    case metric_kind::histogram:
        return "histogram";
    }
    return "untyped";
}

} // namespace

void for_each_metric(const context_sample& known, const visitor& visit) {
    visit_context(known, visit);
    for (const subjects_of_kind& each : subjects_of(known)) {
        visit_measures(each, visit);
    }
    std::vector<http_subject> servers;
    for (const socket_sample& each : known.sockets) {
        if (each.http) {
            servers.push_back({&*each.http, labels_of(each), &each.of.connections});
        }
    }
    visit_http(servers, visit);
}

std::string metrics_text(const context_sample& known) {
    std::string made;
    std::string family;
    for_each_metric(known, [&](const metric& each) {
        if (family != each.family) {
            family = each.family;
            made.append("# HELP ").append(family).append(" ");
            append_escaped(made, each.help, false);
            made.append("\n# TYPE ").append(family).append(" ").append(name_of(each.kind));
            made += '\n';
        }
        made += each.name;
        char before = '{';
        for (const metric_label& label : each.labels) {
            made += before;
            made.append(label.name).append("=\"");
            append_escaped(made, label.value, true);
            made += '"';
            before = ',';
        }
        made.append(each.labels.empty() ? " " : "} ").append(text_of(each.value));
        made += '\n';
    });
    return made;
}

} // namespace zlink::socket
