// SPDX-License-Identifier: MPL-2.0
//
// An echo server on Boost.Asio with two send buffers per session, the design of CppServer's
// sessions: messages are appended to `main` under a lock; when nothing is being sent, `main` and
// `flush` are swapped and `flush` is sent in as few writes as the socket takes, while `main` fills
// again. A session has one read at a time under way, into a buffer of its own. As an echo on
// CppServer does, it sends back all whole messages of a read with one call; with `--per-message 1`
// with a call for each, of which the first is written before the second is appended.

#include "framing.hpp"
#include "io_context_pool.hpp"
#include "tls_server.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace {

using namespace stream_bench;
namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::size_t receive_bytes = 64 * 1024;
// The server stops reading from a peer that leaves so many bytes unread. (CppServer's buffers may
// grow without limit; those of ten thousand sessions would use all memory.)
constexpr std::size_t unsent_bytes_max = 64 * 1024;

template<class Stream>
class session final : public std::enable_shared_from_this<session<Stream>> {
public:
    session(Stream stream, const server_settings& settings)
        : stream_{std::move(stream)}, message_bytes_max_{settings.message_bytes_max},
          sends_each_{settings.sends_each_message}, receive_buffer_(receive_bytes) {}

    void start() {
        if constexpr (requires {
                          stream_.async_handshake(asio::ssl::stream_base::server, [](auto) {});
                      }) {
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [self = this->shared_from_this()](const auto& error) {
                                        if (!error) {
                                            self->receive();
                                        }
                                    });
        } else {
            receive();
        }
    }

private:
    void receive() {
        stream_.async_read_some(
            asio::buffer(receive_buffer_),
            [self = this->shared_from_this()](const auto& error, std::size_t byte_count) {
                self->on_received(error, byte_count);
            });
    }

    void on_received(const boost::system::error_code& error, std::size_t byte_count) {
        if (error || !take(receive_buffer_.data(), byte_count)) {
            close();
            return;
        }
        const std::lock_guard hold{send_lock_};
        is_paused_ = main_.size() > unsent_bytes_max;
        if (!is_paused_) {
            receive();
        }
    }

    // Finds whole messages; the bytes of an incomplete one are kept until the rest arrives.
    bool take(const unsigned char* data, std::size_t count) {
        if (partial_.empty()) {
            const std::size_t taken = send_messages(data, count);
            partial_.assign(data + taken, data + count);
        } else {
            partial_.insert(partial_.end(), data, data + count);
            const std::size_t taken = send_messages(partial_.data(), partial_.size());
            partial_.erase(partial_.begin(), partial_.begin() + static_cast<long>(taken));
        }
        return partial_.size() < length_head_bytes ||
               decode_length(partial_.data()) <= message_bytes_max_;
    }

    // @return The bytes of the whole messages, up to a message that is too long.
    std::size_t send_messages(const unsigned char* data, std::size_t count) {
        std::size_t sent = 0;
        std::size_t found = 0;
        while (count - found >= length_head_bytes) {
            const std::size_t body_bytes = decode_length(data + found);
            if (body_bytes > message_bytes_max_ || count - found < length_head_bytes + body_bytes) {
                break;
            }
            found += length_head_bytes + body_bytes;
            if (sends_each_) {
                send_async(data + sent, found - sent);
                sent = found;
            }
        }
        if (found > sent) {
            send_async(data + sent, found - sent);
        }
        return found;
    }

    // May be called by any thread.
    void send_async(const unsigned char* data, std::size_t count) {
        {
            const std::lock_guard hold{send_lock_};
            const bool must_start = main_.empty() || flush_.empty();
            main_.insert(main_.end(), data, data + count);
            if (!must_start) {
                return;
            }
        }
        asio::dispatch(stream_.get_executor(),
                       [self = this->shared_from_this()] { self->send_some(); });
    }

    void send_some() {
        if (is_sending_) {
            return;
        }
        if (flush_.empty()) {
            const std::lock_guard hold{send_lock_};
            flush_.swap(main_);
            flush_done_ = 0;
            if (is_paused_) {
                is_paused_ = false;
                receive();
            }
        }
        if (flush_.empty()) {
            return;
        }
        is_sending_ = true;
        stream_.async_write_some(
            asio::buffer(flush_.data() + flush_done_, flush_.size() - flush_done_),
            [self = this->shared_from_this()](const auto& error, std::size_t byte_count) {
                self->on_sent(error, byte_count);
            });
    }

    void on_sent(const boost::system::error_code& error, std::size_t byte_count) {
        is_sending_ = false;
        if (error) {
            close();
            return;
        }
        flush_done_ += byte_count;
        if (flush_done_ == flush_.size()) {
            const std::lock_guard hold{send_lock_};
            flush_.clear();
        }
        send_some();
    }

    void close() {
        boost::system::error_code ignored;
        stream_.lowest_layer().close(ignored);
    }

    Stream stream_;
    std::size_t message_bytes_max_;
    bool sends_each_;
    std::vector<unsigned char> receive_buffer_;
    std::vector<unsigned char> partial_;

    std::mutex send_lock_; // Guards main_, and the swap with flush_.
    std::vector<unsigned char> main_;
    std::vector<unsigned char> flush_;
    std::size_t flush_done_ = 0;
    bool is_sending_ = false;
    bool is_paused_ = false; // No read is under way until main_ was swapped.
};

} // namespace

int main(int argument_count, char** arguments) {
    const server_settings settings =
        decode_server_settings(argument_count, arguments, {"tcp", "tls"});
    asio::ssl::context tls_context = make_tls_context(settings);
    io_context_pool pool{
        settings, [&](tcp::socket accepted) {
            if (settings.is_secure()) {
                using stream = asio::ssl::stream<tcp::socket>;
                std::make_shared<session<stream>>(stream{std::move(accepted), tls_context},
                                                  settings)
                    ->start();
            } else {
                std::make_shared<session<tcp::socket>>(std::move(accepted), settings)->start();
            }
        }};
    pool.run();
}
