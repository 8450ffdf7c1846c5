// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "server_settings.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace stream_bench {

/// Accepts connections on the first of several io_contexts, each of which has a thread, and assigns
/// them to the io_contexts in turn.
class io_context_pool {
public:
    using accepted_handler = std::function<void(boost::asio::ip::tcp::socket)>;

    io_context_pool(const server_settings& settings, accepted_handler on_accepted)
        : settings_{settings}, on_accepted_{std::move(on_accepted)} {
        for (int index = 0; index < std::max(settings.io_threads, 1); ++index) {
            contexts_.push_back(std::make_unique<boost::asio::io_context>(1));
        }
        acceptor_ = std::make_unique<boost::asio::ip::tcp::acceptor>(
            *contexts_.front(), boost::asio::ip::tcp::v4(),
            listen_on(settings.port, settings.backlog, settings.sockets));
        accept_next();
    }

    void run() {
        report_ready(settings_);
        std::vector<std::thread> threads;
        for (auto& context : contexts_) {
            threads.emplace_back([&context] {
                const auto work = boost::asio::make_work_guard(*context);
                context->run();
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }

private:
    void accept_next() {
        boost::asio::io_context& next = *contexts_[accepted_count_++ % contexts_.size()];
        acceptor_->async_accept(next, [this, &next](const boost::system::error_code& error,
                                                    boost::asio::ip::tcp::socket socket) {
            if (!error) {
                set_options(socket.native_handle(), settings_.sockets);
                // The session starts on the thread that runs it.
                boost::asio::post(next, [this, accepted = std::move(socket)]() mutable {
                    on_accepted_(std::move(accepted));
                });
            }
            accept_next();
        });
    }

    const server_settings& settings_;
    accepted_handler on_accepted_;
    std::vector<std::unique_ptr<boost::asio::io_context>> contexts_;
    std::unique_ptr<boost::asio::ip::tcp::acceptor> acceptor_;
    std::size_t accepted_count_ = 0;
};

} // namespace stream_bench
