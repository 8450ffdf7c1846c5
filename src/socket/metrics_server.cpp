// SPDX-License-Identifier: MPL-2.0
#include "socket/metrics_server.hpp"

#include "base/error_text.hpp"
#include "base/limits.hpp"
#include "base/own_descriptors.hpp"
#include "session/session.hpp"
#include "socket/context.hpp"
#include "socket/listening.hpp"
#include "socket/metrics.hpp"

#include <unistd.h>
#include <utility>

namespace zlink::socket {

namespace {

/// Nobody watches the connections of this server.
class no_observer final : public connection_observer {
public:
    bool watches(connection_event) const noexcept override { return false; }
    void on_connection_event(connection_event, std::int32_t, const event_place&) noexcept override {
    }
};

/// No peer ever comes to messages, so nothing is delivered.
class no_mailbox final : public pipe::mailbox {
private:
    void on_first_letter() noexcept override {}
    void on_collect() noexcept override {}
};

socket_options options_of_server() {
    socket_options made;
    made.type = socket_type::stream;
    made.linger = 0;
    made.connections_max = limits::metrics_connections_max;
    return made;
}

result<endpoint> decode(std::string_view address) {
    result<endpoint> where = decode_endpoint(address, endpoint_use::listen);
    if (where && where->via == scheme::http && where->path == "/") {
        return where;
    }
    set_error_text("ZLINK_METRICS_ENDPOINT \"" + std::string{address} +
                   "\": it has to be http://HOST:PORT, where * stands for every address or a free "
                   "port, or local");
    return errc::invalid_argument;
}

} // namespace

result<std::unique_ptr<metrics_server>> metrics_server::start(context& owner,
                                                              std::string_view address) {
    const auto site = std::make_shared<web::site>();
    site->refuse_peers();
    site->expect_promptness();
    site->add(web::document{"/metrics", metrics_media_type,
                            [&owner](std::string_view query) -> std::optional<std::string> {
                                const result<context_sample> known =
                                    owner.sample(query == "peers" || query == "peers=1");
                                return known ? std::optional{metrics_text(*known)} : std::nullopt;
                            }});
    auto made = std::make_unique<metrics_server>(owner);
    made->address_ = address;
    if (address != "local") {
        const result<endpoint> where = decode(address);
        if (!where) {
            return where.error();
        }
        result<std::string> opened = made->listen(*where, options_of_server(), site);
        if (!opened) {
            return opened.error();
        }
        opened->erase(opened->find_last_not_of('/') + 1);
        made->address_ = std::move(*opened);
    }
    if (const result<void> opened = made->listen_locally(site); !opened) {
        made->stop();
        return opened.error();
    }
    return made;
}

result<void> metrics_server::listen_locally(const web::site_ptr& site) {
    socket_options options = options_of_server();
    options.ipc_filter_uids = {::geteuid(), 0};
    endpoint where;
    where.via = scheme::ipc;
    const std::string name = "@zlink-metrics-" + std::to_string(::getpid()) + "-";
    for (int number = 1; number <= limits::metrics_names_max; ++number) {
        where.path = name + std::to_string(number);
        const result<std::string> opened = listen(where, options, site);
        if (opened || opened.error() != errc::address_in_use) {
            return opened ? result<void>{} : opened.error();
        }
    }
    set_error_text("ZLINK_METRICS_ENDPOINT: too many contexts of this process serve their metrics");
    return errc::address_in_use;
}

/// @return The address with the chosen port.
result<std::string> metrics_server::listen(const endpoint& where, const socket_options& options,
                                           const web::site_ptr& site) {
    const auto call = std::make_shared<session::endpoint_call>();
    const auto observer = std::make_shared<no_observer>();
    call->host = &context_;
    call->socket = pipe::mailbox_ptr{new no_mailbox};
    call->options = std::make_shared<const socket_options>(options);
    call->observer = observer;
    call->site = site;
    call->where = where;
    call->where.via = scheme::http;
    call->id = context_.next_call_id();
    all_.reserve(all_.size() + 1);
    runtime::io_thread& thread = context_.choose_thread(0);
    result<transport::listening> opened = transport::open_listening(where, options, *observer);
    if (!opened) {
        return opened.error();
    }
    std::string text;
    boost::intrusive_ptr<transport::listener> listener;
    try {
        text = opened->endpoint_text;
        listener.reset(
            new transport::listener(thread.context(), *opened, call->options, observer, {}));
    } catch (...) {
        close_descriptor(opened->descriptor);
        throw;
    }
    transport::listener::accept_handler accept =
        [call, &owner = context_](int descriptor, transport::counted_connection_ptr who) {
            begin_session(owner, call, descriptor, std::move(who));
        };
    context_.add_dependant();
    try {
        thread.post([listener, accept = std::move(accept)]() mutable {
            listener->start(std::move(accept));
        });
    } catch (...) {
        context_.on_session_gone();
        throw;
    }
    all_.push_back({listener, &thread, call->id});
    return text;
}

void metrics_server::stop() noexcept {
    for (const listening& each : all_) {
        each.listener->free_address();
        stop_listener(context_, *each.thread, each.listener, each.call_id, {});
    }
    all_.clear();
}

} // namespace zlink::socket
