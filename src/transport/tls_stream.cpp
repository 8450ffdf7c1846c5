// SPDX-License-Identifier: MPL-2.0
#include "transport/tls_stream.hpp"

#include "base/limits.hpp"
#include "base/retry.hpp"
#include "runtime/post.hpp"
#include "runtime/timer_clock.hpp"
#include "wire/tls_records.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <openssl/err.h>
#include <optional>
#include <utility>
#include <vector>

namespace zlink::transport {

namespace {

using status = io_outcome::status;
using limits::tls_record_bytes_max;
constexpr std::size_t write_bytes_max = limits::tls_write_bytes_max;

/// The overhead of a record of AES-GCM or ChaCha20-Poly1305.
constexpr std::size_t record_overhead_bytes = 32;

/// The rest of the parts of a gathered write.
class unwritten {
public:
    explicit unwritten(std::span<const iovec> parts) noexcept : parts_(parts) {}

    /// The bytes of the next record. Small parts are gathered in `together`: a record for each
    /// small message would cost more than its content.
    std::span<const std::byte> next(std::span<std::byte, tls_record_bytes_max> together) noexcept {
        skip_empty();
        if (parts_.empty() || rest_of_first() >= together.size() || parts_.size() == 1) {
            return parts_.empty() ? std::span<const std::byte>{}
                                  : std::span{first(), std::min(rest_of_first(), together.size())};
        }
        std::size_t bytes = 0;
        std::size_t skipped = taken_;
        for (const iovec& part : parts_) {
            const std::size_t some = std::min(part.iov_len - skipped, together.size() - bytes);
            std::memcpy(together.data() + bytes,
                        static_cast<const std::byte*>(part.iov_base) + skipped, some);
            bytes += some;
            skipped = 0;
        }
        return together.first(bytes);
    }

    void take(std::size_t bytes) noexcept {
        while (bytes > 0) {
            const std::size_t some = std::min(bytes, rest_of_first());
            taken_ += some;
            bytes -= some;
            skip_empty();
        }
    }

    std::size_t bytes() const noexcept {
        std::size_t sum = 0;
        for (const iovec& part : parts_) {
            sum += part.iov_len;
        }
        return sum - taken_;
    }

private:
    const std::byte* first() const noexcept {
        return static_cast<const std::byte*>(parts_.front().iov_base) + taken_;
    }
    std::size_t rest_of_first() const noexcept { return parts_.front().iov_len - taken_; }
    void skip_empty() noexcept {
        while (!parts_.empty() && rest_of_first() == 0) {
            parts_ = parts_.subspan(1);
            taken_ = 0;
        }
    }

    std::span<const iovec> parts_;
    std::size_t taken_ = 0; ///< Of the first part.
};

/// The ends of the records of one write, in their content and on the wire.
class written_records {
public:
    void add(std::size_t content_bytes, std::size_t wire_end) noexcept {
        ends_[count_] = {this->content_bytes() + content_bytes, wire_end};
        ++count_;
    }
    bool is_full() const noexcept { return count_ == ends_.size(); }
    std::size_t content_bytes() const noexcept {
        return count_ == 0 ? 0 : ends_[count_ - 1].content;
    }

    /// The content of the records that are complete within the first `wire_bytes` bytes.
    std::size_t content_within(std::size_t wire_bytes) const noexcept {
        std::size_t found = 0;
        for (std::size_t index = 0; index < count_ && ends_[index].wire <= wire_bytes; ++index) {
            found = ends_[index].content;
        }
        return found;
    }

private:
    struct end {
        std::size_t content;
        std::size_t wire;
    };
    std::array<end, write_bytes_max / tls_record_bytes_max + 1> ends_;
    std::size_t count_ = 0;
};

/// Counts records of a peer without application data: alerts, and messages of TLS itself. Each new
/// key that it announces costs as much as thousands of bytes. So other sessions have their turn
/// after some of them, and a peer that sends nothing else is disconnected.
class control_records {
public:
    /// Counts one. @param is_established  Otherwise the handshake goes on.
    void count(bool is_established) noexcept {
        ++in_turn_;
        if (const auto now = runtime::timer_clock::now();
            is_established && now - period_begin_ >= limits::tls_control_period) {
            period_begin_ = now;
            in_period_ = 0;
        }
        ++in_period_;
    }

    void begin_turn() noexcept { in_turn_ = 0; }
    bool is_turn_over() const noexcept { return in_turn_ >= limits::tls_control_per_turn; }

    /// The handshake is over.
    void establish() noexcept {
        in_period_ = 0;
        period_begin_ = runtime::timer_clock::now();
    }
    bool are_too_many(bool is_established) const noexcept {
        return in_period_ >
               (is_established ? limits::tls_control_max : limits::tls_handshake_control_max);
    }

private:
    unsigned in_turn_ = 0;
    unsigned in_period_ = 0; ///< Or in the handshake.
    runtime::timer_clock::time_point period_begin_;
};

/// Received bytes that OpenSSL gets later.
class held_back {
public:
    /// @throws std::bad_alloc
    void hold(std::span<const std::byte> data) { data_.assign(data.begin(), data.end()); }
    std::span<const std::byte> rest() const noexcept {
        return std::span{data_}.subspan(taken_bytes_);
    }
    bool is_empty() const noexcept { return data_.empty(); }
    void take(std::size_t bytes) noexcept {
        taken_bytes_ += bytes;
        if (taken_bytes_ == data_.size()) {
            std::vector<std::byte>{}.swap(data_);
            taken_bytes_ = 0;
        }
    }

private:
    std::vector<std::byte> data_;
    std::size_t taken_bytes_ = 0;
};

class tls_stream final : public stream {
public:
    tls_stream(boost::asio::io_context& reactor, stream_ptr below, tls_context_ptr rules)
        : reactor_(reactor), below_(std::move(below)), rules_(std::move(rules)),
          relay_(new relay(*this)) {}
    ~tls_stream() override { close(); }

    bool open() noexcept;

    io_outcome try_open() noexcept override;
    io_outcome try_read(std::span<const iovec> room) noexcept override;
    io_outcome try_write(std::span<const iovec> data) noexcept override;
    bool holds_unsent() const noexcept override { return sent_bytes_ < unsent_.size(); }
    void describe(pipe::property_list& properties) const override;
    void wait_readable(stream_user& user) override;
    bool stay_readable(stream_user& user) noexcept override;
    void wait_end(stream_user& user, end_of_input least) override;
    end_of_input end_ahead() const noexcept override;
    void wait_writable(stream_user& user) override;
    void offer_place(bool is_offered) noexcept override {
        if (below_) {
            below_->offer_place(is_offered);
        }
    }
    void end_writing() noexcept override;
    void close() noexcept override;
    int descriptor() const noexcept override { return below_ ? below_->descriptor() : -1; }
    result<void> adopt_client(const socket_address& client) override {
        return below_ ? below_->adopt_client(client) : result<void>{};
    }
    socket_address peer() const noexcept override {
        return below_ ? below_->peer() : socket_address{};
    }

private:
    /// Forwards the readiness of the stream below.
    class relay final : public stream_user {
    public:
        explicit relay(tls_stream& its_owner) noexcept : owner(&its_owner) {}
        void on_readable() noexcept override {
            if (owner != nullptr) {
                owner->on_readable_below();
            }
        }
        void on_writable() noexcept override {
            if (owner != nullptr) {
                owner->on_writable_below();
            }
        }
        void on_end() noexcept override { on_readable(); }

        tls_stream* owner; ///< Null once it is closed.
    };

    // Functions that OpenSSL calls to move bytes. Under an openssl_use.
    // @return Null: there is no memory for it now.
    /// @return Null: there is no memory for it now.
    static const BIO_METHOD* bio_method() noexcept;
    static tls_stream& of(BIO* bio) noexcept {
        return *static_cast<tls_stream*>(BIO_get_data(bio));
    }
    static int bio_read(BIO* bio, char* to, int bytes) noexcept;
    static int bio_write(BIO* bio, const char* from, int bytes) noexcept;
    static long bio_control(BIO* bio, int what, long, void*) noexcept;

    static void on_bytes(int is_written, int version, int kind, const void* data, std::size_t bytes,
                         SSL* ssl, void* stream) noexcept;

    int fetch(BIO* bio, char* to, std::size_t bytes) noexcept;
    int fetch_held(std::span<std::byte> to) noexcept;
    int fetch_below(BIO* bio, std::span<std::byte> to) noexcept;
    int feed(std::span<const std::byte> received) noexcept;
    int put(BIO* bio, const char* from, std::size_t bytes) noexcept;
    void begin_call() noexcept;
    io_outcome outcome_of(int returned) noexcept;
    io_outcome fail(int error) noexcept;
    io_outcome fail_writing(int error) noexcept;
    /// OpenSSL was cleaned up.
    static io_outcome over() noexcept { return {status::failed, 0, ESHUTDOWN}; }
    void send_close_notify() noexcept;
    std::size_t flush() noexcept;
    void flush_later() noexcept;
    void on_readable_below() noexcept;
    void on_writable_below() noexcept;
    void tell_reader() noexcept;
    void tell_writer() noexcept;

    boost::asio::io_context& reactor_;
    stream_ptr below_;
    tls_context_ptr rules_;
    boost::intrusive_ptr<relay> relay_;
    crypto::openssl_ptr<SSL> ssl_;
    boost::intrusive_ptr<stream_user> reader_; ///< Waits to read, or for the end.
    boost::intrusive_ptr<stream_user> writer_; ///< Waits to write.
    std::vector<std::byte> unsent_;            ///< Encrypted.
    std::size_t sent_bytes_ = 0;               ///< Of `unsent_`.
    int error_ = 0;                            ///< Of the stream below, or of this one.
    wire::tls_records records_;                ///< Of the bytes that OpenSSL got.
    held_back held_;
    control_records controls_;
    std::optional<io_outcome> end_; ///< The result of every further read.

    /// The result of the last call for reading.
    enum class supply : std::uint8_t {
        more,      ///< There may be decrypted or received bytes.
        exhausted, ///< Nothing is left to decrypt or to receive.
        blocked,   ///< OpenSSL has to write before it continues.
    } supply_ = supply::exhausted;
    end_of_input awaited_end_ = end_of_input::none; ///< By reader_; none: it waits to read.
    bool is_established_ = false;
    bool has_end_below_ = false; ///< The stream below has ended.
};

bool tls_stream::open() noexcept {
    const crypto::openssl_use library;
    ssl_ = rules_->open();
    const BIO_METHOD* const method = ssl_ ? bio_method() : nullptr;
    BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
    if (bio == nullptr) {
        if (library) {
            ERR_clear_error();
        }
        return false;
    }
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_msg_callback(ssl_.get(), &on_bytes);
    SSL_set_msg_callback_arg(ssl_.get(), this);
    return true;
}

// Below OpenSSL.

const BIO_METHOD* tls_stream::bio_method() noexcept {
    static constinit std::mutex making;
    static constinit BIO_METHOD* made = nullptr; // Stays as long as the process.
    const std::lock_guard lock{making};
    if (made == nullptr) {
        made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "zlink stream");
        if (made != nullptr) {
            BIO_meth_set_read(made, &bio_read);
            BIO_meth_set_write(made, &bio_write);
            BIO_meth_set_ctrl(made, &bio_control);
        }
    }
    return made;
}

int tls_stream::bio_read(BIO* bio, char* to, int bytes) noexcept {
    return of(bio).fetch(bio, to, static_cast<std::size_t>(bytes));
}

int tls_stream::bio_write(BIO* bio, const char* from, int bytes) noexcept {
    return of(bio).put(bio, from, static_cast<std::size_t>(bytes));
}

long tls_stream::bio_control(BIO* bio, int what, long, void*) noexcept {
    switch (what) {
    case BIO_CTRL_FLUSH:
        return 1; // flush() follows each call.
    case BIO_CTRL_EOF:
        return of(bio).has_end_below_ ? 1 : 0;
    default:
        return 0;
    }
}

/// OpenSSL reports the records that it reads and writes.
void tls_stream::on_bytes(int is_written, int, int kind, const void* data, std::size_t bytes, SSL*,
                          void* stream) noexcept {
    if (is_written != 0 || bytes == 0) {
        return;
    }
    // For an encrypted record, the type of its content is reported separately.
    const bool is_type = kind == SSL3_RT_HEADER || kind == SSL3_RT_INNER_CONTENT_TYPE;
    const unsigned type = *static_cast<const unsigned char*>(data);
    if (kind == SSL3_RT_HANDSHAKE || (is_type && type != SSL3_RT_APPLICATION_DATA)) {
        auto& self = *static_cast<tls_stream*>(stream);
        self.controls_.count(self.is_established_);
    }
}

/// Gives OpenSSL a few records at a time, since it continues as long as there are records without
/// application data: their number is known before it asks for more.
int tls_stream::fetch(BIO* bio, char* to, std::size_t bytes) noexcept {
    BIO_clear_retry_flags(bio);
    if (controls_.are_too_many(is_established_)) {
        error_ = EPROTO;
        return -1;
    }
    const bool has_some = supply_ != supply::exhausted || !held_.is_empty();
    if (!has_some || controls_.is_turn_over()) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const std::span room{reinterpret_cast<std::byte*>(to), bytes};
    return held_.is_empty() ? fetch_below(bio, room) : fetch_held(room);
}

int tls_stream::fetch_held(std::span<std::byte> to) noexcept {
    const auto next = held_.rest().first(std::min(held_.rest().size(), to.size()));
    const std::size_t taken = records_.step_over(next, limits::tls_records_at_once);
    std::copy_n(next.begin(), taken, to.begin());
    held_.take(taken);
    return static_cast<int>(taken);
}

/// @return The number of bytes that OpenSSL gets now.
int tls_stream::feed(std::span<const std::byte> received) noexcept {
    const std::size_t taken = records_.step_over(received, limits::tls_records_at_once);
    if (taken != received.size()) {
        try {
            held_.hold(received.subspan(taken));
        } catch (const std::bad_alloc&) {
            error_ = ENOMEM;
            return -1;
        }
    }
    return static_cast<int>(taken);
}

int tls_stream::fetch_below(BIO* bio, std::span<std::byte> to) noexcept {
    const iovec room{to.data(), to.size()};
    const io_outcome got = below_->try_read({&room, 1});
    switch (got.what) {
    case status::moved:
        // Less than the room means that nothing is left; a wait reports further bytes.
        supply_ = got.bytes < to.size() ? supply::exhausted : supply::more;
        return feed(to.first(got.bytes));
    case status::would_block:
        supply_ = supply::exhausted;
        BIO_set_retry_read(bio);
        return -1;
    case status::ended:
        has_end_below_ = true;
        return 0;
    case status::failed:
        break;
    }
    error_ = got.error;
    return -1;
}

int tls_stream::put(BIO* bio, const char* from, std::size_t bytes) noexcept {
    BIO_clear_retry_flags(bio);
    if (error_ != 0) {
        return -1;
    }
    if (unsent_.size() - sent_bytes_ + bytes > limits::tls_unsent_bytes_max) {
        BIO_set_retry_write(bio); // Only for a peer that causes replies and does not read.
        return -1;
    }
    try {
        const auto* const data = reinterpret_cast<const std::byte*>(from);
        unsent_.insert(unsent_.end(), data, data + bytes);
    } catch (const std::bad_alloc&) {
        error_ = ENOMEM;
        return -1;
    }
    return static_cast<int>(bytes);
}

/// Sends encrypted bytes, as far as possible now.
/// @return The number of bytes that were sent.
std::size_t tls_stream::flush() noexcept {
    const std::size_t before = sent_bytes_;
    while (holds_unsent() && error_ == 0) {
        const iovec part{unsent_.data() + sent_bytes_, unsent_.size() - sent_bytes_};
        const io_outcome outcome = below_->try_write({&part, 1});
        if (outcome.what == status::would_block) {
            flush_later();
            return sent_bytes_ - before;
        }
        if (outcome.what != status::moved) {
            error_ = outcome.error != 0 ? outcome.error : EPIPE;
        }
        sent_bytes_ += outcome.bytes;
    }
    const std::size_t sent = std::exchange(sent_bytes_, 0) - before;
    std::vector<std::byte>{}.swap(unsent_); // Most connections are idle.
    return sent;
}

void tls_stream::flush_later() noexcept {
    try {
        below_->wait_writable(*relay_);
    } catch (const std::bad_alloc&) {
        error_ = ENOMEM;
    }
}

// Moving bytes.

/// Call before each call of OpenSSL whose result is examined.
void tls_stream::begin_call() noexcept {
    ERR_clear_error();
    supply_ = supply::more;
}

/// @param returned  The result of the failed call.
io_outcome tls_stream::outcome_of(int returned) noexcept {
    if (has_end_below_) {
        return is_established_ ? fail(ECONNRESET) : io_outcome{status::ended}; // No close_notify.
    }
    switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
        return {status::would_block};
    case SSL_ERROR_WANT_WRITE:
        supply_ = supply::blocked;
        return {status::would_block};
    case SSL_ERROR_ZERO_RETURN:
        return {status::ended};
    default:
        break;
    }
    if (error_ != 0) {
        return fail(error_);
    }
    return fail(crypto::take_connection_error(ssl_.get()));
}

io_outcome tls_stream::fail(int error) noexcept {
    ERR_clear_error();
    return {status::failed, 0, error};
}

/// Writing is no longer possible. The reader is notified, since the stream below may be unchanged.
io_outcome tls_stream::fail_writing(int error) noexcept {
    error_ = error;
    retry_allocation([this] {
        runtime::post(reactor_,
                      [self = boost::intrusive_ptr<tls_stream>(this)] { self->tell_reader(); });
    });
    return fail(error);
}

io_outcome tls_stream::try_open() noexcept {
    if (const io_outcome opened = below_->try_open(); opened.what != status::moved) {
        return opened;
    }
    const crypto::openssl_use library;
    if (!library) {
        return over();
    }
    begin_call();
    const int returned = SSL_do_handshake(ssl_.get());
    if (returned != 1) {
        const io_outcome outcome = outcome_of(returned);
        flush(); // At least to tell the peer the reason.
        return outcome.what == status::would_block && error_ != 0 ? fail(error_) : outcome;
    }
    flush();
    is_established_ = true;
    controls_.establish();
    // From now on, so that a peer whose handshake stalls costs little.
    SSL_set_default_read_buffer_len(ssl_.get(), limits::tls_read_bytes);
    supply_ = supply::more;
    return {status::moved, 1};
}

io_outcome tls_stream::try_read(std::span<const iovec> room) noexcept {
    if (end_) {
        return *end_;
    }
    const crypto::openssl_use library;
    if (!library) {
        return over();
    }
    begin_call();
    std::size_t bytes = 0;
    for (const iovec& part : room) {
        std::size_t filled = 0;
        while (filled < part.iov_len) {
            std::size_t got = 0;
            const int returned =
                SSL_read_ex(ssl_.get(), static_cast<std::byte*>(part.iov_base) + filled,
                            part.iov_len - filled, &got);
            filled += got;
            bytes += got;
            if (returned == 1) {
                continue;
            }
            const io_outcome outcome = outcome_of(returned);
            if (outcome.what != status::would_block) {
                end_ = outcome;
            }
            flush();
            if (bytes > 0) {
                return {status::moved, bytes};
            }
            return outcome.what == status::would_block && error_ != 0 ? fail(error_) : outcome;
        }
    }
    supply_ = supply::more;
    flush();
    return {status::moved, bytes};
}

io_outcome tls_stream::try_write(std::span<const iovec> data) noexcept {
    const crypto::openssl_use library;
    flush();
    if (!library) {
        return over();
    }
    if (error_ != 0) {
        return fail(error_);
    }
    if (holds_unsent()) {
        return {status::would_block};
    }
    unwritten rest{data};
    try {
        const std::size_t bytes_max = std::min(rest.bytes(), write_bytes_max);
        unsent_.reserve(bytes_max + (bytes_max / tls_record_bytes_max + 1) * record_overhead_bytes);
    } catch (const std::bad_alloc&) {
        return fail_writing(ENOMEM);
    }
    const supply before = supply_;
    written_records records;
    io_outcome failure{status::would_block};
    std::array<std::byte, tls_record_bytes_max> together;
    for (auto next = rest.next(together);
         !next.empty() && !records.is_full() && records.content_bytes() < write_bytes_max;
         next = rest.next(together)) {
        ERR_clear_error();
        std::size_t put = 0;
        const int returned = SSL_write_ex(ssl_.get(), next.data(), next.size(), &put);
        if (returned != 1) {
            failure = outcome_of(returned);
            if (failure.what == status::would_block && records.content_bytes() == 0) {
                failure = fail(EPROTO); // Only an unfinished handshake can block it.
            }
            break;
        }
        rest.take(put);
        records.add(put, unsent_.size());
    }
    supply_ = before;
    const std::size_t sent = flush();
    // A truncated record is useless to the peer; the records before it are not.
    const std::size_t bytes = error_ == 0 ? records.content_bytes() : records.content_within(sent);
    if (bytes > 0) {
        return {status::moved, bytes};
    }
    if (error_ != 0) {
        return fail_writing(error_);
    }
    return failure.what == status::failed ? fail_writing(failure.error) : failure;
}

// Waiting.

void tls_stream::wait_readable(stream_user& user) {
    if (reader_ && awaited_end_ == end_of_input::none) {
        return;
    }
    reader_.reset(&user);
    awaited_end_ = end_of_input::none;
    if (supply_ == supply::blocked && holds_unsent()) {
        return; // The reader is notified after that is sent.
    }
    const bool waits_for_peer =
        supply_ == supply::exhausted && held_.is_empty() && !controls_.is_turn_over();
    if (waits_for_peer && !end_ && error_ == 0) {
        return below_->wait_readable(*relay_);
    }
    // The stream below does not know of the bytes that are here already.
    runtime::post(reactor_,
                  [self = boost::intrusive_ptr<tls_stream>(this)] { self->tell_reader(); });
}

bool tls_stream::stay_readable(stream_user& user) noexcept {
    const bool waits_for_writing = supply_ == supply::blocked && holds_unsent();
    if (reader_ || waits_for_writing || !below_->stay_readable(*relay_)) {
        return false;
    }
    reader_.reset(&user);
    awaited_end_ = end_of_input::none;
    return true;
}

void tls_stream::wait_end(stream_user& user, end_of_input least) {
    reader_.reset(&user);
    awaited_end_ = least;
    if (end_ahead() < least) {
        return below_->wait_end(*relay_, least);
    }
    runtime::post(reactor_,
                  [self = boost::intrusive_ptr<tls_stream>(this)] { self->tell_reader(); });
}

/// Where only the stream below has an end, the records before it are still to be decrypted.
end_of_input tls_stream::end_ahead() const noexcept {
    if (error_ != 0 || (end_ && end_->what == status::failed)) {
        return end_of_input::lost;
    }
    return end_ ? end_of_input::ended : below_->end_ahead();
}

void tls_stream::wait_writable(stream_user& user) {
    if (writer_) {
        return;
    }
    writer_.reset(&user);
    below_->wait_writable(*relay_);
}

void tls_stream::on_readable_below() noexcept {
    const stream_ptr keep{this};
    tell_reader();
}

void tls_stream::on_writable_below() noexcept {
    const stream_ptr keep{this};
    flush();
    if (holds_unsent() && error_ == 0) {
        return;
    }
    if (supply_ == supply::blocked || error_ != 0) {
        tell_reader();
    }
    tell_writer();
}

void tls_stream::tell_reader() noexcept {
    controls_.begin_turn();
    if (!reader_) {
        return;
    }
    if (awaited_end_ == end_of_input::none) {
        const auto told = std::exchange(reader_, nullptr);
        return told->on_readable();
    }
    if (end_ahead() >= awaited_end_) {
        awaited_end_ = end_of_input::none;
        const auto told = std::exchange(reader_, nullptr);
        return told->on_end();
    }
    below_->wait_end(*relay_, awaited_end_);
}

void tls_stream::tell_writer() noexcept {
    if (const auto told = std::exchange(writer_, nullptr)) {
        told->on_writable();
    }
}

void tls_stream::describe(pipe::property_list& properties) const {
    const crypto::openssl_use library;
    if (!library) {
        return;
    }
    properties.add("Tls-Version", SSL_get_version(ssl_.get()));
    properties.add("Tls-Cipher", SSL_get_cipher_name(ssl_.get()));
    properties.add("Tls-Resumed", SSL_session_reused(ssl_.get()) == 1 ? "1" : "0");
    const unsigned char* alpn = nullptr;
    unsigned alpn_bytes = 0;
    SSL_get0_alpn_selected(ssl_.get(), &alpn, &alpn_bytes);
    if (alpn_bytes != 0) {
        properties.add("Tls-Alpn", {reinterpret_cast<const char*>(alpn), alpn_bytes});
    }
    const crypto::openssl_ptr<X509> certificate{SSL_get1_peer_certificate(ssl_.get())};
    if (certificate) {
        properties.add("Tls-Subject", crypto::subject_of(certificate.get()));
    }
}

void tls_stream::end_writing() noexcept {
    const crypto::openssl_use library;
    if (!library) {
        return below_->end_writing();
    }
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    flush();
}

void tls_stream::close() noexcept {
    if (!below_) {
        return;
    }
    relay_->owner = nullptr;
    if (const crypto::openssl_use library; library) {
        send_close_notify();
    }
    ssl_.reset();
    below_->close();
    below_.reset();
    reader_.reset();
    writer_.reset();
    std::vector<std::byte>{}.swap(unsent_);
    sent_bytes_ = 0;
}

void tls_stream::send_close_notify() noexcept {
    const bool is_lost = error_ != 0 || has_end_below_;
    const bool is_broken = !is_lost && end_ && end_->what == status::failed;
    if (is_established_ && !is_broken) {
        if (!is_lost && (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) == 0) {
            end_writing();
        }
        // Its session may be resumed, although the peer has sent no close_notify.
        SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
    ERR_clear_error();
}

} // namespace

stream_ptr make_tls_stream(boost::asio::io_context& reactor, stream_ptr below,
                           tls_context_ptr rules) noexcept {
    try {
        boost::intrusive_ptr<tls_stream> made{
            new tls_stream(reactor, std::move(below), std::move(rules))};
        return made->open() ? stream_ptr(std::move(made)) : nullptr;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

} // namespace zlink::transport
