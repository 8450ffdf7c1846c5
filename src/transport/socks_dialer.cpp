// SPDX-License-Identifier: MPL-2.0
#include "transport/socks_dialer.hpp"

#include "runtime/one_shot.hpp"
#include "wire/socks.hpp"

#include <array>
#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace zlink::transport {

namespace {

class socks_dialer final : public dialer {
public:
    socks_dialer(boost::asio::io_context& reactor, dialer_ptr to_proxy, const endpoint& target,
                 std::shared_ptr<const socket_options> options,
                 std::shared_ptr<connection_observer> observer)
        : reactor_(reactor), to_proxy_(std::move(to_proxy)), host_(target.address),
          target_text_(target.text()), options_(std::move(options)),
          observer_(std::move(observer)) {}

    void start(outcome_handler handler) override;
    void stop() noexcept override;

private:
    /// Forwards the stream's readiness.
    class waiter final : public stream_user {
    public:
        explicit waiter(socks_dialer& owner) noexcept : owner_(&owner) {}
        void on_readable() noexcept override { owner_->go_on(); }
        void on_writable() noexcept override { owner_->go_on(); }

    private:
        boost::intrusive_ptr<socks_dialer> owner_;
    };

    void begin(stream_ptr connected) noexcept;
    result<void> greet();
    void go_on() noexcept;
    void on_too_late() noexcept;
    bool write();
    bool read();
    void finish(result<void> outcome);

    boost::asio::io_context& reactor_;
    dialer_ptr to_proxy_;
    host_address host_;
    std::string target_text_;
    std::shared_ptr<const socket_options> options_;
    std::shared_ptr<connection_observer> observer_;
    outcome_handler handler_;
    stream_ptr stream_; ///< To the proxy, during the exchange.
    std::optional<wire::socks_exchange> exchange_;
    std::array<std::byte, 257> received_; ///< The longest reply: a name and a port.
    std::size_t received_bytes_ = 0;
    std::size_t sent_bytes_ = 0;
    runtime::one_shot timer_; ///< During the exchange.
};

void socks_dialer::start(outcome_handler handler) {
    handler_ = std::move(handler);
    to_proxy_->start(
        [self = boost::intrusive_ptr<socks_dialer>(this)](result<stream_ptr> connected) {
            if (!connected) {
                return std::exchange(self->handler_, nullptr)(connected.error());
            }
            self->begin(std::move(*connected));
        });
}

void socks_dialer::stop() noexcept {
    handler_ = nullptr;
    timer_.stop();
    to_proxy_->stop();
    if (stream_) {
        if (observer_) {
            observer_->on_connection_event(connection_event::closed, stream_->descriptor(),
                                           at_dialled(target_text_));
        }
        stream_->close();
        stream_.reset();
    }
}

void socks_dialer::begin(stream_ptr connected) noexcept {
    stream_ = std::move(connected);
    try {
        if (const result<void> greeted = greet(); !greeted) {
            return finish(greeted);
        }
    } catch (const std::bad_alloc&) {
        return finish(errc::no_memory);
    }
    go_on();
}

result<void> socks_dialer::greet() {
    auto made = wire::socks_exchange::make({.host = host_.host,
                                            .port = host_.port,
                                            .username = options_->socks_username,
                                            .password = options_->socks_password});
    if (!made) {
        return made.error();
    }
    exchange_.emplace(std::move(*made));
    received_bytes_ = sent_bytes_ = 0;
    if (options_->handshake_interval > 0) {
        timer_.start(reactor_, milliseconds(options_->handshake_interval),
                     boost::intrusive_ptr<socks_dialer>(this), &socks_dialer::on_too_late);
    }
    return {};
}

void socks_dialer::on_too_late() noexcept {
    finish(static_cast<errc>(ETIMEDOUT));
}

/// Writes and reads as far as possible now.
void socks_dialer::go_on() noexcept {
    const boost::intrusive_ptr<socks_dialer> keep{this};
    try {
        while (stream_ && write() && stream_ && read()) {
        }
    } catch (const std::bad_alloc&) {
        finish(errc::no_memory);
    }
}

/// @return Whether the proxy's reply is next.
bool socks_dialer::write() {
    const auto data = exchange_->outgoing().subspan(sent_bytes_);
    if (data.empty()) {
        return true;
    }
    const iovec part{const_cast<std::byte*>(data.data()), data.size()};
    const io_outcome outcome = stream_->try_write({&part, 1});
    if (outcome.what == io_outcome::status::failed) {
        finish(static_cast<errc>(outcome.error));
        return false;
    }
    sent_bytes_ += outcome.bytes;
    if (outcome.bytes < data.size()) {
        stream_->wait_writable(*boost::intrusive_ptr<waiter>(new waiter(*this)));
        return false;
    }
    return true;
}

/// @return Whether to continue.
bool socks_dialer::read() {
    const iovec room{received_.data() + received_bytes_,
                     exchange_->wanted_bytes() - received_bytes_};
    const io_outcome outcome = stream_->try_read({&room, 1});
    if (outcome.what == io_outcome::status::would_block) {
        stream_->wait_readable(*boost::intrusive_ptr<waiter>(new waiter(*this)));
        return false;
    }
    if (outcome.what != io_outcome::status::moved) {
        finish(outcome.what == io_outcome::status::ended ? errc::host_unreachable
                                                         : static_cast<errc>(outcome.error));
        return false;
    }
    received_bytes_ += outcome.bytes;
    if (received_bytes_ < exchange_->wanted_bytes()) {
        return true;
    }
    const result<void> taken =
        exchange_->on_received(std::span{received_}.first(std::exchange(received_bytes_, 0)));
    sent_bytes_ = 0;
    if (!taken || exchange_->wanted_bytes() == 0) {
        finish(taken);
        return false;
    }
    return true;
}

void socks_dialer::finish(result<void> outcome) {
    const outcome_handler handler = std::exchange(handler_, nullptr);
    if (!handler) {
        return;
    }
    timer_.stop();
    if (outcome) {
        return handler(std::exchange(stream_, nullptr));
    }
    stop();
    handler(outcome.error());
}

} // namespace

dialer_ptr make_socks_dialer(boost::asio::io_context& reactor, dialer_ptr to_proxy,
                             const endpoint& target, std::shared_ptr<const socket_options> options,
                             std::shared_ptr<connection_observer> observer) {
    return dialer_ptr{new socks_dialer(reactor, std::move(to_proxy), target, std::move(options),
                                       std::move(observer))};
}

} // namespace zlink::transport
