// SPDX-License-Identifier: MPL-2.0
#include "transport/dialer.hpp"

#include "transport/address.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/socks_dialer.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>
#include <new>
#include <unistd.h>
#include <utility>

namespace zlink::transport {

using boost::asio::ip::tcp;
using boost::asio::posix::stream_descriptor;

namespace {

class descriptor_dialer final : public dialer {
public:
    descriptor_dialer(boost::asio::io_context& reactor, endpoint target, std::string target_text,
                      std::shared_ptr<const socket_options> options,
                      std::shared_ptr<connection_observer> observer)
        : reactor_(reactor), target_(std::move(target)), target_text_(std::move(target_text)),
          options_(std::move(options)), observer_(std::move(observer)), connecting_(reactor) {}

    void start(outcome_handler handler) override;
    void stop() noexcept override;

private:
    template<class Action>
    void guarded(Action&& action);
    void attempt();
    void resolve();
    void connect(const socket_address& address);
    void finish_connected(int descriptor);
    void finish(result<int> outcome);
    void give_up(int descriptor, int error);
    void tell(connection_event what, std::int32_t value) const noexcept;
    result<void> bind_source(int descriptor, int family);

    boost::asio::io_context& reactor_;
    endpoint target_;
    std::string target_text_; ///< For the observer.
    std::shared_ptr<const socket_options> options_;
    std::shared_ptr<connection_observer> observer_;
    outcome_handler handler_;
    boost::asio::posix::stream_descriptor connecting_;
    std::unique_ptr<boost::asio::ip::tcp::resolver> resolver_;
    std::uint64_t attempt_count_ = 0;
};

void descriptor_dialer::start(outcome_handler handler) {
    handler_ = std::move(handler);
    ++attempt_count_;
    boost::asio::post(
        reactor_, [self = boost::intrusive_ptr<descriptor_dialer>(this), attempt = attempt_count_] {
            if (self->handler_ && attempt == self->attempt_count_) {
                self->guarded([&] { self->attempt(); });
            }
        });
}

void descriptor_dialer::attempt() {
    if (target_.via == scheme::ipc) {
        const result<socket_address> address = unix_address(target_.path);
        return address ? connect(*address) : finish(address.error());
    }
    if (const auto address = local_address(target_.address, options_->ipv6)) {
        return connect(*address);
    }
    resolve();
}

/// Runs `action`; memory that the system refuses ends the attempt.
template<class Action>
void descriptor_dialer::guarded(Action&& action) {
    try {
        action();
    } catch (const std::bad_alloc&) {
        if (connecting_.is_open()) {
            return give_up(connecting_.release(), ENOMEM);
        }
        if (handler_) {
            finish(errc::no_memory);
        }
    }
}

void descriptor_dialer::stop() noexcept {
    handler_ = nullptr;
    if (connecting_.is_open()) {
        tell(connection_event::closed, connecting_.native_handle());
    }
    boost::system::error_code ignored;
    connecting_.close(ignored);
    if (resolver_) {
        resolver_->cancel();
    }
}

void descriptor_dialer::resolve() {
    if (!resolver_) {
        resolver_ = std::make_unique<tcp::resolver>(reactor_);
    }
    const auto on_resolved = [self = boost::intrusive_ptr<descriptor_dialer>(this),
                              attempt = attempt_count_](const boost::system::error_code& failure,
                                                        const tcp::resolver::results_type& found) {
        if (!self->handler_ || attempt != self->attempt_count_) {
            return;
        }
        if (failure || found.empty()) {
            return self->finish(static_cast<errc>(EHOSTUNREACH));
        }
        const tcp::endpoint first = found.begin()->endpoint();
        socket_address address;
        std::memcpy(&address.storage, first.data(), first.size());
        address.bytes = static_cast<socklen_t>(first.size());
        self->guarded([&] { self->connect(address); });
    };
    const std::string service = std::to_string(target_.address.port);
    try {
        if (options_->ipv6) {
            resolver_->async_resolve(target_.address.host, service, on_resolved);
        } else {
            resolver_->async_resolve(tcp::v4(), target_.address.host, service, on_resolved);
        }
    } catch (const boost::system::system_error& refused) {
        finish(static_cast<errc>(refused.code().value())); // There is no thread for it.
    }
}

result<void> descriptor_dialer::bind_source(int descriptor, int family) {
    if (!target_.source) {
        return {};
    }
    const auto source = local_address(*target_.source, family == AF_INET6);
    if (!source || source->family() != family) {
        return errc::invalid_argument;
    }
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(descriptor, source->get(), source->bytes) != 0) {
        return static_cast<errc>(errno);
    }
    return {};
}

void descriptor_dialer::connect(const socket_address& address) {
    const result<int> opened = open_socket(address.family(), *options_);
    if (!opened) {
        return finish(opened.error());
    }
    const int descriptor = *opened;
    if (const result<void> bound = bind_source(descriptor, address.family()); !bound) {
        return give_up(descriptor, static_cast<int>(bound.error()));
    }
    if (::connect(descriptor, address.get(), address.bytes) == 0) {
        return finish_connected(descriptor);
    }
    boost::system::error_code refused;
    if (errno == EINPROGRESS) {
        try {
            connecting_.assign(descriptor, refused);
        } catch (const std::bad_alloc&) {
            return give_up(descriptor, ENOMEM);
        }
        errno = refused.value();
    }
    if (errno != 0) {
        return give_up(descriptor, errno);
    }
    tell(connection_event::connect_delayed, EINPROGRESS);
    connecting_.async_wait(
        stream_descriptor::wait_write,
        [self = boost::intrusive_ptr<descriptor_dialer>(this),
         attempt = attempt_count_](const boost::system::error_code& cancelled) {
            if (cancelled || !self->handler_ || attempt != self->attempt_count_) {
                return;
            }
            const int connected = self->connecting_.release();
            int error = 0;
            socklen_t error_bytes = sizeof error;
            if (::getsockopt(connected, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0) {
                error = errno;
            }
            if (error != 0) {
                return self->give_up(connected, error);
            }
            self->finish_connected(connected);
        });
}

void descriptor_dialer::finish_connected(int descriptor) {
    if (is_connected_to_itself(descriptor)) {
        return give_up(descriptor, ECONNREFUSED);
    }
    tune_connection(descriptor, *options_);
    finish(descriptor);
}

/// Ends the attempt that `descriptor` was opened for.
void descriptor_dialer::give_up(int descriptor, int error) {
    tell(connection_event::closed, descriptor);
    ::close(descriptor);
    finish(static_cast<errc>(error));
}

void descriptor_dialer::tell(connection_event what, std::int32_t value) const noexcept {
    if (observer_ && observer_->watches(what)) {
        observer_->on_connection_event(what, value, target_text_);
    }
}

/// @param outcome  A connected descriptor, or why there is none.
void descriptor_dialer::finish(result<int> outcome) {
    const outcome_handler handler = std::exchange(handler_, nullptr);
    if (!outcome) {
        return handler(outcome.error());
    }
    stream_ptr connected = make_descriptor_stream(reactor_, *outcome);
    handler(connected ? result<stream_ptr>(std::move(connected)) : errc::no_descriptors);
}

} // namespace

result<endpoint> socks_proxy_of(const socket_options& options) {
    return decode_endpoint("tcp://" + options.socks_proxy, endpoint_use::dial);
}

dialer_ptr make_dialer(boost::asio::io_context& reactor, endpoint target,
                       std::shared_ptr<const socket_options> options,
                       std::shared_ptr<connection_observer> observer) {
    std::string text = target.text();
    if (!has_host(target.via) || options->socks_proxy.empty()) {
        return dialer_ptr{new descriptor_dialer(reactor, std::move(target), std::move(text),
                                                std::move(options), std::move(observer))};
    }
    endpoint proxy = *socks_proxy_of(*options);
    proxy.source = target.source;
    dialer_ptr to_proxy{
        new descriptor_dialer(reactor, std::move(proxy), std::move(text), options, observer)};
    return make_socks_dialer(reactor, std::move(to_proxy), target, std::move(options),
                             std::move(observer));
}

} // namespace zlink::transport
