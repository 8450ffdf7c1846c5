// SPDX-License-Identifier: MPL-2.0
#include "transport/counted_stream.hpp"

#include "base/limits.hpp"
#include "wire/proxy_protocol.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

namespace zlink::transport {

namespace {

using status = io_outcome::status;

/// The maximum of bytes of a header that are read at a time.
constexpr std::size_t header_read_bytes_max = 256;

/// The address of the peer that a proxy announced.
/// @param said  Not unknown.
socket_address address_of(const wire::proxied_peer& said) {
    switch (said.what) {
    case wire::proxied_peer::kind::ipv4:
        return internet_address(std::span{said.host}.first(4), said.port);
    case wire::proxied_peer::kind::ipv6:
        return internet_address(said.host, said.port);
    case wire::proxied_peer::kind::unix_socket:
    case wire::proxied_peer::kind::unknown:
        break;
    }
    std::string path = said.path;
    if (path.starts_with('\0')) {
        path[0] = '@';
    }
    const result<socket_address> made = unix_address(path);
    socket_address unnamed;
    unnamed.storage.ss_family = AF_UNIX;
    unnamed.bytes = sizeof unnamed.storage.ss_family;
    return made ? *made : unnamed;
}

class counted_stream final : public stream {
public:
    counted_stream(stream_ptr below, counted_connection_ptr who, bool is_proxied)
        : below_(std::move(below)), who_(std::move(who)),
          header_(is_proxied ? std::make_unique<wire::proxy_header>(limits::proxy_header_bytes_max)
                             : nullptr) {}
    ~counted_stream() override { close(); }

    io_outcome try_open() noexcept override {
        if (header_) {
            if (const io_outcome read = read_header(); read.what != status::moved) {
                return read;
            }
        }
        return below_->try_open();
    }

    io_outcome try_read(std::span<const iovec> room) noexcept override {
        return below_->try_read(room);
    }
    io_outcome try_write(std::span<const iovec> data) noexcept override {
        return below_->try_write(data);
    }
    io_outcome try_write_file(std::span<const std::byte> head, const files::file_region& part,
                              std::span<std::byte> scratch) noexcept override {
        return below_->try_write_file(head, part, scratch);
    }
    std::size_t unit_bytes() noexcept override { return below_->unit_bytes(); }
    bool holds_unsent() const noexcept override { return below_->holds_unsent(); }
    void describe(pipe::property_list& properties) const override { below_->describe(properties); }
    void wait_readable(stream_user& user) override { below_->wait_readable(user); }
    bool stay_readable(stream_user& user) noexcept override { return below_->stay_readable(user); }
    void wait_end(stream_user& user, end_of_input least) override { below_->wait_end(user, least); }
    end_of_input end_ahead() const noexcept override { return below_->end_ahead(); }
    void wait_writable(stream_user& user) override { below_->wait_writable(user); }
    void end_writing() noexcept override { below_->end_writing(); }
    void offer_place(bool is_offered) noexcept override {
        if (who_) {
            who_->offer_place(is_offered ? descriptor() : -1);
        }
    }
    void close() noexcept override {
        offer_place(false);
        below_->close();
        who_.reset();
    }
    bool is_plain() const noexcept override { return below_->is_plain(); }
    int descriptor() const noexcept override { return below_->descriptor(); }
    socket_address peer() const noexcept override {
        return announced_ ? *announced_ : below_->peer();
    }

    result<void> adopt_client(const socket_address& client) override {
        auto made = std::make_unique<socket_address>(client);
        if (const result<void> counted = who_->count_address(client); !counted) {
            return counted;
        }
        announced_ = std::move(made);
        return {};
    }

private:
    io_outcome read_header() noexcept {
        try {
            while (header_->wanted_bytes() != 0) {
                std::array<std::byte, header_read_bytes_max> data;
                const iovec room{data.data(), std::min(header_->wanted_bytes(), data.size())};
                const io_outcome got = below_->try_read({&room, 1});
                if (got.what != status::moved) {
                    return got;
                }
                const auto taken = header_->on_received(std::span{data}.first(got.bytes));
                if (!taken) {
                    return fail(taken.error());
                }
            }
            return adopt_peer();
        } catch (const std::bad_alloc&) {
            return fail(errc::no_memory);
        }
    }

    io_outcome adopt_peer() {
        const bool is_named = header_->peer().what != wire::proxied_peer::kind::unknown;
        if (is_named) {
            announced_ = std::make_unique<socket_address>(address_of(header_->peer()));
        }
        header_.reset();
        const result<void> counted = who_->count_address(peer());
        return counted ? io_outcome{status::moved} : fail(counted.error());
    }

    static io_outcome fail(errc error) noexcept {
        return {status::failed, 0, static_cast<int>(error)};
    }

    stream_ptr below_;
    counted_connection_ptr who_;
    std::unique_ptr<wire::proxy_header> header_; ///< Until it is complete.
    std::unique_ptr<socket_address> announced_;  ///< By the proxy; null: none.
};

} // namespace

stream_ptr make_counted_stream(stream_ptr below, counted_connection_ptr who,
                               bool is_proxied) noexcept {
    if (!below || !who) {
        return below;
    }
    try {
        return stream_ptr{new counted_stream(below, std::move(who), is_proxied)};
    } catch (const std::bad_alloc&) {
        below->close();
        return nullptr;
    }
}

} // namespace zlink::transport
