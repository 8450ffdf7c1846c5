// SPDX-License-Identifier: MPL-2.0
#include "top.hpp"

#include "metrics_source.hpp"
#include "prometheus_text.hpp"
#include "signals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink_tool {

namespace {

using clock = std::chrono::steady_clock;

/// A socket of the process.
struct row {
    std::size_t context = 0; ///< Its index among the process's.
    double number = 0;
    std::string type;
    std::string name;
    std::string endpoint; ///< The first one, and how many more there are.

    // Now.
    double peers = 0;
    double send_queue = 0;
    double receive_queue = 0;
    double connections = 0;
    double http_connections = 0;

    // Totals.
    double sent = 0;
    double received = 0;
    double sent_bytes = 0;
    double received_bytes = 0;
    double dropped = 0;
    double blocked_seconds = 0;
    double reconnects = 0;
    double handshakes = 0; ///< That have succeeded.
    double failed_handshakes = 0;
    double http_requests = 0;
    double http_bytes = 0;
};

/// Numbers that change between two looks, per second.
struct rates {
    double sent = 0;
    double received = 0;
    double sent_bytes = 0;
    double received_bytes = 0;
    double dropped = 0;
    double blocked = 0; ///< The share of the time.
    double reconnects = 0;
    double handshakes = 0;
    double failed_handshakes = 0;
    double http_requests = 0;
    double http_bytes = 0;
};

struct shown_row {
    row now;
    rates per_second;
};

struct look {
    clock::time_point when;
    std::vector<row> rows;
};

struct order {
    char key;
    const char* name;
    double (*value)(const shown_row& of); ///< The largest first.
};

constexpr std::array orders{
    order{'s', "sent", [](const shown_row& of) { return of.per_second.sent; }},
    order{'r', "received", [](const shown_row& of) { return of.per_second.received; }},
    order{'b', "bytes",
          [](const shown_row& of) {
              return of.per_second.sent_bytes + of.per_second.received_bytes;
          }},
    order{'u', "queued",
          [](const shown_row& of) { return of.now.send_queue + of.now.receive_queue; }},
    order{'d', "dropped", [](const shown_row& of) { return of.per_second.dropped; }},
    order{'w', "blocked", [](const shown_row& of) { return of.per_second.blocked; }},
    order{'p', "peers", [](const shown_row& of) { return of.now.peers; }},
    order{'c', "connections", [](const shown_row& of) { return of.now.connections; }},
    order{'e', "reconnects", [](const shown_row& of) { return of.now.reconnects; }},
    order{'f', "failed", [](const shown_row& of) { return of.now.failed_handshakes; }},
    order{'h', "http", [](const shown_row& of) { return of.per_second.http_requests; }},
    order{'n', "number", [](const shown_row& of) { return -of.now.number; }},
};

const order& order_named(const std::string& name) {
    const auto found =
        std::ranges::find_if(orders, [&](const order& each) { return each.name == name; });
    return found != orders.end() ? *found : orders.front();
}

// Reading.

/// Texts come from the other program: nothing in them may control the terminal.
std::string printable(std::string_view text) {
    std::string made{text};
    std::ranges::replace_if(
        made, [](char each) { return (each >= 0 && each < ' ') || each == '\x7f'; }, '?');
    // C1 controls are two bytes in UTF-8.
    for (std::size_t at = 0; (at = made.find('\xc2', at)) != std::string::npos; ++at) {
        if (at + 1 < made.size() && static_cast<unsigned char>(made[at + 1]) < 0xa0) {
            made.replace(at, 2, "?");
        }
    }
    return made;
}

using key = std::pair<std::size_t, std::string>;

void read_into(std::map<key, row>& rows, const samples& known, std::size_t context) {
    const auto each_of = [&](std::string_view name, auto&& visit) {
        const auto found = known.find(name);
        for (const sample& each : found != known.end() ? found->second : std::vector<sample>{}) {
            row& of = rows[{context, std::string{each.label("socket")}}];
            visit(of, each);
        }
    };
    each_of("zlink_socket_sent_messages_total", [&](row& of, const sample& each) {
        of.context = context;
        of.number = std::atof(std::string{each.label("socket")}.c_str());
        of.type = printable(each.label("type"));
        of.name = printable(each.label("name"));
        of.sent = each.value;
    });
    constexpr std::array<std::pair<const char*, double row::*>, 15> values{{
        {"zlink_socket_received_messages_total", &row::received},
        {"zlink_socket_sent_bytes_total", &row::sent_bytes},
        {"zlink_socket_received_bytes_total", &row::received_bytes},
        {"zlink_socket_peers", &row::peers},
        {"zlink_socket_send_queue_messages", &row::send_queue},
        {"zlink_socket_receive_queue_messages", &row::receive_queue},
        {"zlink_socket_dropped_messages_total", &row::dropped}, // The sum of all reasons.
        {"zlink_socket_send_blocked_seconds_total", &row::blocked_seconds},
        {"zlink_socket_connections", &row::connections},
        {"zlink_socket_reconnects_total", &row::reconnects},
        {"zlink_socket_established_connections_total", &row::handshakes},
        {"zlink_socket_handshake_failures_total", &row::failed_handshakes}, // As above.
        {"zlink_http_requests_total", &row::http_requests},                 // Of all statuses.
        {"zlink_http_sent_bytes_total", &row::http_bytes},
        {"zlink_http_connections", &row::http_connections},
    }};
    for (const auto& [name, member] : values) {
        each_of(name, [&](row& of, const sample& each) { of.*member += each.value; });
    }
    std::map<std::string, int, std::less<>> endpoint_counts;
    each_of("zlink_endpoint_sent_messages_total", [&](row& of, const sample& each) {
        if (++endpoint_counts[std::string{each.label("socket")}] == 1) {
            of.endpoint = printable(each.label("endpoint"));
        }
    });
    for (auto& [where, of] : rows) {
        const auto found = endpoint_counts.find(where.second);
        if (where.first == context && found != endpoint_counts.end() && found->second > 1) {
            of.endpoint += " +" + std::to_string(found->second - 1);
        }
    }
}

look look_at(std::vector<metrics_source>& sources) {
    std::map<key, row> rows;
    for (std::size_t index = 0; index < sources.size(); ++index) {
        const samples known = parse_samples(sources[index].fetch());
        if (!known.contains("zlink_info")) {
            throw std::runtime_error(sources[index].name() + ": these are no metrics of zlink");
        }
        read_into(rows, known, index);
    }
    look made{clock::now(), {}};
    for (auto& [where, of] : rows) {
        made.rows.push_back(std::move(of));
    }
    return made;
}

std::vector<shown_row> compare(const look& before, const look& now, const order& by) {
    const double seconds =
        std::max(std::chrono::duration<double>(now.when - before.when).count(), 1e-3);
    std::map<std::pair<std::size_t, double>, const row*> earlier;
    for (const row& each : before.rows) {
        earlier[{each.context, each.number}] = &each;
    }
    std::vector<shown_row> made;
    for (const row& each : now.rows) {
        static const row none;
        const auto found = earlier.find({each.context, each.number});
        const row& then = found != earlier.end() ? *found->second : none;
        const auto rate = [&](double row::*of) {
            return std::max(each.*of - then.*of, 0.0) / seconds;
        };
        made.push_back({each,
                        {rate(&row::sent), rate(&row::received), rate(&row::sent_bytes),
                         rate(&row::received_bytes), rate(&row::dropped),
                         std::min(rate(&row::blocked_seconds), 1.0), rate(&row::reconnects),
                         rate(&row::handshakes), rate(&row::failed_handshakes),
                         rate(&row::http_requests), rate(&row::http_bytes)}});
    }
    std::ranges::stable_sort(made, [&](const shown_row& left, const shown_row& right) {
        return by.value(left) > by.value(right);
    });
    return made;
}

// Writing.

/// At most 6 characters: 0, 12, 1234, 12.3k, 1.23M.
std::string short_number(double value) {
    constexpr std::array units{"", "k", "M", "G", "T", "P"};
    std::size_t unit = 0;
    while (value >= (unit == 0 ? 9999.5 : 999.5) && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    std::array<char, 32> text;
    const int digits = unit == 0 ? (value < 10 && value != std::floor(value) ? 1 : 0)
                                 : (value < 10    ? 2
                                    : value < 100 ? 1
                                                  : 0);
    std::snprintf(text.data(), text.size(), "%.*f%s", digits, value, units[unit]);
    return text.data();
}

/// The bytes of the first `count` characters.
std::size_t prefix_bytes(std::string_view text, std::size_t count) {
    std::size_t at = 0;
    while (at < text.size()) {
        const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
        if (begins && count-- == 0) {
            break;
        }
        ++at;
    }
    return at;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
}

std::string to_width(std::string_view text, std::size_t width, bool right = false) {
    std::string cut{text.substr(0, prefix_bytes(text, width))};
    const std::string room(width - std::min(width, width_of(cut)), ' ');
    return right ? room + cut : cut + room;
}

struct column {
    const char* title;
    std::size_t width;
    bool is_right;
    std::string (*text)(const shown_row& of);
};

constexpr std::array columns{
    column{"SOCKET", 6, true, [](const shown_row& of) { return short_number(of.now.number); }},
    column{"TYPE", 10, false, [](const shown_row& of) { return of.now.type; }},
    column{"PEERS", 6, true, [](const shown_row& of) { return short_number(of.now.peers); }},
    column{"SENT/s", 7, true, [](const shown_row& of) { return short_number(of.per_second.sent); }},
    column{"RECV/s", 7, true,
           [](const shown_row& of) { return short_number(of.per_second.received); }},
    column{"OUT B/s", 8, true,
           [](const shown_row& of) { return short_number(of.per_second.sent_bytes); }},
    column{"IN B/s", 8, true,
           [](const shown_row& of) { return short_number(of.per_second.received_bytes); }},
    column{"OUT Q", 7, true, [](const shown_row& of) { return short_number(of.now.send_queue); }},
    column{"IN Q", 7, true, [](const shown_row& of) { return short_number(of.now.receive_queue); }},
    column{"DROP/s", 7, true,
           [](const shown_row& of) { return short_number(of.per_second.dropped); }},
    column{
        "BLOCK%", 6, true,
        [](const shown_row& of) { return short_number(std::round(of.per_second.blocked * 100)); }},
    column{"CONNS", 6, true, [](const shown_row& of) { return short_number(of.now.connections); }},
    column{"RECON", 5, true, [](const shown_row& of) { return short_number(of.now.reconnects); }},
    column{"HSFAIL", 6, true,
           [](const shown_row& of) { return short_number(of.now.failed_handshakes); }},
    column{"HTTP/s", 6, true,
           [](const shown_row& of) { return short_number(of.per_second.http_requests); }},
};
constexpr std::size_t name_width_min = 24;

std::string name_of(const shown_row& of) {
    return of.now.name.empty()       ? of.now.endpoint
           : of.now.endpoint.empty() ? of.now.name
                                     : of.now.name + " (" + of.now.endpoint + ")";
}

/// The lines of a table, of at most `width` characters.
std::vector<std::string> table(const std::vector<shown_row>& rows, const std::string& what,
                               std::size_t width) {
    double sent = 0;
    double received = 0;
    double peers = 0;
    double connections = 0;
    double requests = 0;
    for (const shown_row& each : rows) {
        sent += each.per_second.sent;
        received += each.per_second.received;
        peers += each.now.peers;
        connections += each.now.connections;
        requests += each.per_second.http_requests;
    }
    std::vector<std::string> lines{
        "zlink top: " + what + ", " + std::to_string(rows.size()) + " sockets, " +
            short_number(peers) + " peers, " + short_number(sent) + " messages/s sent, " +
            short_number(received) + " received, " + short_number(connections) + " connections, " +
            short_number(requests) + " HTTP requests/s",
        {}};
    std::string title;
    for (const column& each : columns) {
        title += to_width(each.title, each.width, each.is_right) + " ";
    }
    lines.push_back(title + "NAME (ENDPOINT)");
    for (const shown_row& of : rows) {
        std::string line;
        for (const column& each : columns) {
            line += to_width(each.text(of), each.width, each.is_right) + " ";
        }
        lines.push_back(line + name_of(of));
    }
    for (std::string& each : lines) {
        each.resize(prefix_bytes(each, width));
        each.resize(each.find_last_not_of(' ') + 1);
    }
    return lines;
}

std::string json_line(const std::vector<shown_row>& rows) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const shown_row& of : rows) {
        all.push_back({{"context", of.now.context + 1},
                       {"socket", static_cast<std::uint64_t>(of.now.number)},
                       {"type", of.now.type},
                       {"name", of.now.name},
                       {"endpoint", of.now.endpoint},
                       {"peers", static_cast<std::uint64_t>(of.now.peers)},
                       {"sent_per_second", of.per_second.sent},
                       {"received_per_second", of.per_second.received},
                       {"sent_bytes_per_second", of.per_second.sent_bytes},
                       {"received_bytes_per_second", of.per_second.received_bytes},
                       {"send_queue", static_cast<std::uint64_t>(of.now.send_queue)},
                       {"receive_queue", static_cast<std::uint64_t>(of.now.receive_queue)},
                       {"dropped_per_second", of.per_second.dropped},
                       {"blocked", of.per_second.blocked},
                       {"connections", static_cast<std::uint64_t>(of.now.connections)},
                       {"reconnects", static_cast<std::uint64_t>(of.now.reconnects)},
                       {"reconnects_per_second", of.per_second.reconnects},
                       {"handshakes", static_cast<std::uint64_t>(of.now.handshakes)},
                       {"handshakes_per_second", of.per_second.handshakes},
                       {"failed_handshakes", static_cast<std::uint64_t>(of.now.failed_handshakes)},
                       {"failed_handshakes_per_second", of.per_second.failed_handshakes},
                       {"http_connections", static_cast<std::uint64_t>(of.now.http_connections)},
                       {"http_requests", static_cast<std::uint64_t>(of.now.http_requests)},
                       {"http_requests_per_second", of.per_second.http_requests},
                       {"http_bytes_per_second", of.per_second.http_bytes}});
    }
    return nlohmann::ordered_json{{"sockets", all}}.dump(-1, ' ', false,
                                                         nlohmann::json::error_handler_t::replace) +
           "\n";
}

bool write_all(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
}

/// The terminal, with keys that arrive at once, and a screen of its own, until the end.
class screen {
public:
    screen() {
        has_keys_ = ::tcgetattr(STDIN_FILENO, &former_) == 0;
        if (has_keys_) {
            termios changed = former_;
            changed.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            changed.c_cc[VMIN] = 0;
            changed.c_cc[VTIME] = 0;
            ::tcsetattr(STDIN_FILENO, TCSANOW, &changed);
        }
        write_all("\x1b[?1049h\x1b[?25l");
    }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen() {
        write_all("\x1b[?25h\x1b[?1049l");
        if (has_keys_) {
            ::tcsetattr(STDIN_FILENO, TCSANOW, &former_);
        }
    }

    bool has_keys() const noexcept { return has_keys_; }
    /// @return 0 if there is none, 'q' at the end of the input.
    static char take_key() noexcept {
        char pressed = 0;
        return ::read(STDIN_FILENO, &pressed, 1) == 1 ? pressed : '\0';
    }

    static std::pair<std::size_t, std::size_t> size() noexcept {
        winsize known{};
        const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &known) == 0 && known.ws_col != 0;
        return is_known ? std::pair<std::size_t, std::size_t>{known.ws_col, known.ws_row}
                        : std::pair<std::size_t, std::size_t>{80, 24};
    }

    /// Replaces what is shown, line by line, so that nothing flickers.
    static void show(std::vector<std::string> lines, const std::string& foot) {
        const auto [width, height] = size();
        const std::size_t room = height > 1 ? height - 1 : 1;
        lines.resize(room);
        std::string text = "\x1b[H";
        for (std::size_t index = 0; index < room; ++index) {
            constexpr std::size_t title_line = 2;
            text += index == title_line ? "\x1b[7m" : "";
            text += index == title_line ? to_width(lines[index], width) : lines[index];
            text += index == title_line ? "\x1b[0m" : "";
            text += "\x1b[K\r\n";
        }
        text += foot.substr(0, prefix_bytes(foot, width > 0 ? width - 1 : 0)) + "\x1b[K";
        write_all(text);
    }

private:
    termios former_{};
    bool has_keys_ = false;
};

class viewer {
public:
    explicit viewer(const top_arguments& asked)
        : asked_(asked), by_(&order_named(asked.sort)),
          sources_(metrics_source::find(asked.target)), before_(look_at(sources_)), now_(before_) {}

    int run() {
        const bool is_live = ::isatty(STDOUT_FILENO) == 1 && !asked_.json;
        std::optional<screen> live;
        if (is_live) {
            live.emplace();
            draw();
        }
        const auto interval = std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>(asked_.interval));
        clock::time_point next = clock::now() + interval;
        for (int shown = 0; asked_.count == 0 || shown < asked_.count;) {
            if (!wait_until(next, live)) {
                return 0;
            }
            if (clock::now() < next) {
                continue; // A key or a new size.
            }
            next = std::max(next + interval, clock::now());
            if (!is_paused_) {
                before_ = std::exchange(now_, look_at(sources_));
            }
            ++shown;
            if (!(is_live ? (draw(), true) : print())) {
                return 0; // The reader has gone.
            }
        }
        return 0;
    }

private:
    /// @return Whether to go on.
    bool wait_until(clock::time_point next, const std::optional<screen>& live) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(next - clock::now()).count();
        std::array<pollfd, 2> awaited{
            pollfd{.fd = told_.descriptor(), .events = POLLIN, .revents = 0},
            pollfd{.fd = live && live->has_keys() ? STDIN_FILENO : -1,
                   .events = POLLIN,
                   .revents = 0}};
        if (::poll(awaited.data(), awaited.size(), static_cast<int>(std::max<long>(rest, 0))) <=
            0) {
            return true;
        }
        if (const int signal = told_.take(); signal != 0 && signal != SIGWINCH) {
            return false;
        }
        if ((awaited[1].revents & (POLLIN | POLLHUP)) != 0) {
            const char pressed = screen::take_key();
            if (pressed == 'q' || pressed == '\x03' ||
                (pressed == '\0' && (awaited[1].revents & POLLHUP) != 0)) {
                return false;
            }
            is_paused_ ^= pressed == ' ';
            const auto found = std::ranges::find_if(
                orders, [&](const order& each) { return each.key == pressed; });
            by_ = found != orders.end() ? &*found : by_;
        }
        draw();
        return true;
    }

    std::vector<shown_row> rows() const { return compare(before_, now_, *by_); }
    std::string what() const {
        return sources_.front().name() +
               (sources_.size() > 1 ? ", " + std::to_string(sources_.size()) + " contexts" : "");
    }

    bool print() const {
        if (asked_.json) {
            return write_all(json_line(rows()));
        }
        std::string text;
        constexpr std::size_t no_limit = 1000;
        for (const std::string& each : table(rows(), what(), no_limit)) {
            text += each + "\n";
        }
        return write_all(text + "\n");
    }

    void draw() const {
        std::string foot =
            std::string{"by "} + by_->name + (is_paused_ ? ", paused" : "") + "   q quit";
        for (const order& each : orders) {
            foot.append("  ").append(1, each.key).append(" ").append(each.name);
        }
        screen::show(table(rows(), what(), screen::size().first), foot + "  space pause");
    }

    const top_arguments& asked_;
    const signals told_{SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    const order* by_;
    std::vector<metrics_source> sources_;
    look before_;
    look now_;
    bool is_paused_ = false;
};

} // namespace

const char* const top_orders = "sent, received, bytes, queued, dropped, blocked, peers, "
                               "connections, reconnects, failed, http, number";

bool is_top_order(const std::string& name) {
    return std::ranges::any_of(orders, [&](const order& each) { return each.name == name; });
}

int top(const top_arguments& asked) {
    try {
        viewer shown{asked};
        return shown.run();
    } catch (const std::invalid_argument& failure) {
        std::fprintf(stderr, "zlink: %s\n", failure.what());
        return 2;
    } catch (const std::runtime_error& failure) {
        std::fprintf(stderr, "zlink: %s\n", failure.what());
        return 1;
    }
}

} // namespace zlink_tool
