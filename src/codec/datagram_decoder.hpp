// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/connection_counters.hpp"
#include "codec/decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace zlink::codec {

/// Makes a message of two frames from each datagram: its group and its body, or, where datagrams
/// are addressed, the text of the address that it came from and its content. Each read brings one
/// datagram. Those that are not of that form are dropped and counted.
class datagram_decoder final : public decoder {
public:
    /// @param address_bytes  The size of the address in front of each datagram, with the zeros
    ///                       behind it; 0: datagrams have groups, and no address.
    /// @param body_bytes_max  Larger ones are dropped.
    /// @param counters       Null: dropped datagrams are not counted.
    /// @throws std::bad_alloc
    datagram_decoder(std::size_t address_bytes, std::uint64_t body_bytes_max,
                     std::shared_ptr<connection_counters> counters)
        : address_(address_bytes), body_bytes_max_(body_bytes_max), counters_(std::move(counters)) {
    }

    std::size_t prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) override;
    result<void> received(std::size_t bytes, inbound& into) override;
    /// There is no other source.
    result<void> feed(std::span<const std::byte>, inbound&) override { return {}; }

private:
    result<void> append(std::span<const std::byte> first, std::span<const std::byte> body,
                        inbound& into);
    result<void> drop() noexcept;

    std::byte* scratch_ = nullptr;
    std::vector<std::byte> address_; ///< Of the datagram that was read.
    std::uint64_t body_bytes_max_;
    std::shared_ptr<connection_counters> counters_;
};

} // namespace zlink::codec
