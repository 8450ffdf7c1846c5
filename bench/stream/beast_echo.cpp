// SPDX-License-Identifier: MPL-2.0
//
// An echo server on Boost.Beast's WebSocket stream, as Beast's documentation writes one: a message
// is read, sent back, and the next one is read. `--tuned 1` selects the fastest settings: no
// fragments, a write buffer for whole batches, no idle timeouts, no validation of text.

#include "io_context_pool.hpp"
#include "tls_server.hpp"

#include <memory>
#include <utility>

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

namespace {

using namespace stream_bench;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;

constexpr std::size_t tuned_buffer_bytes = 256 * 1024;

template<class Stream>
class session final : public std::enable_shared_from_this<session<Stream>> {
public:
    session(Stream stream, const server_settings& settings)
        : websocket_{std::move(stream)}, is_tuned_{settings.is_tuned} {
        websocket_.read_message_max(settings.message_bytes_max);
        if (is_tuned_) {
            websocket_.auto_fragment(false);
            websocket_.write_buffer_bytes(tuned_buffer_bytes);
            websocket_.binary(true);
            buffer_.reserve(tuned_buffer_bytes);
        } else {
            websocket_.set_option(
                websocket::stream_base::timeout::suggested(beast::role_type::server));
        }
    }

    void start() {
        auto& next_layer = websocket_.next_layer();
        if constexpr (requires {
                          next_layer.async_handshake(asio::ssl::stream_base::server, [](auto) {});
                      }) {
            next_layer.async_handshake(asio::ssl::stream_base::server,
                                       [self = this->shared_from_this()](const auto& error) {
                                           if (!error) {
                                               self->upgrade();
                                           }
                                       });
        } else {
            upgrade();
        }
    }

private:
    void upgrade() {
        websocket_.async_accept([self = this->shared_from_this()](const auto& error) {
            if (!error) {
                self->read();
            }
        });
    }

    void read() {
        websocket_.async_read(buffer_,
                              [self = this->shared_from_this()](const auto& error, std::size_t) {
                                  if (!error) {
                                      self->write();
                                  }
                              });
    }

    void write() {
        if (!is_tuned_) {
            websocket_.text(websocket_.got_text());
        }
        websocket_.async_write(buffer_.data(),
                               [self = this->shared_from_this()](const auto& error, std::size_t) {
                                   if (!error) {
                                       self->buffer_.consume(self->buffer_.size());
                                       self->read();
                                   }
                               });
    }

    websocket::stream<Stream> websocket_;
    beast::flat_buffer buffer_;
    bool is_tuned_;
};

template<class Stream>
void start_session(Stream stream, const server_settings& settings) {
    std::make_shared<session<Stream>>(std::move(stream), settings)->start();
}

// The tuned server has no timers of tcp_stream either.
void accept_peer(tcp::socket accepted, asio::ssl::context& tls_context,
                 const server_settings& settings) {
    if (settings.is_tuned && settings.is_secure()) {
        start_session(beast::ssl_stream<tcp::socket>{std::move(accepted), tls_context}, settings);
    } else if (settings.is_tuned) {
        start_session(std::move(accepted), settings);
    } else if (settings.is_secure()) {
        start_session(beast::ssl_stream<beast::tcp_stream>{std::move(accepted), tls_context},
                      settings);
    } else {
        start_session(beast::tcp_stream{std::move(accepted)}, settings);
    }
}

} // namespace

int main(int argument_count, char** arguments) {
    const server_settings settings =
        decode_server_settings(argument_count, arguments, {"ws", "wss"});
    asio::ssl::context tls_context = make_tls_context(settings);
    io_context_pool pool{settings, [&](tcp::socket accepted) {
                             accept_peer(std::move(accepted), tls_context, settings);
                         }};
    pool.run();
}
