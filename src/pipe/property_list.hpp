// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace zlink::pipe {

/// Names and values in compact form: a peer keeps them as long as it is connected.
///
///   +-----------------+----------------+------+---+-------+---+
///   | value bytes (4) | name bytes (1) | name | 0 | value | 0 |   repeated
///   +-----------------+----------------+------+---+-------+---+
class property_list {
public:
    /// @param name  At most 255 bytes, as in ZMTP (23/ZMTP, "Metadata").
    /// @throws std::bad_alloc  Nothing changed.
    void add(std::string_view name, std::string_view value) {
        const std::size_t former_bytes = bytes_;
        grow(head_bytes + name.size() + 1 + value.size() + 1);
        char* at = data_.get() + former_bytes;
        const auto value_bytes = static_cast<std::uint32_t>(value.size());
        std::memcpy(at, &value_bytes, sizeof value_bytes);
        at[sizeof value_bytes] = static_cast<char>(name.size());
        at = write(at + head_bytes, name);
        write(at, value);
    }

    /// Inserts the contents of `others` first, where find() prefers it.
    /// @throws std::bad_alloc  Nothing changed.
    void prepend(const property_list& others) {
        const std::size_t former_bytes = bytes_;
        if (others.bytes_ != 0) {
            grow(others.bytes_);
            std::memmove(data_.get() + others.bytes_, data_.get(), former_bytes);
            std::memcpy(data_.get(), others.data_.get(), others.bytes_);
        }
    }

    /// The first value of exactly that name, followed by a zero byte.
    std::optional<std::string_view> find(std::string_view name) const noexcept {
        const char* at = data_.get();
        const char* const end = at + bytes_;
        while (at != end) {
            std::uint32_t value_bytes = 0;
            std::memcpy(&value_bytes, at, sizeof value_bytes);
            const std::size_t name_bytes = static_cast<unsigned char>(at[sizeof value_bytes]);
            const char* const own_name = at + head_bytes;
            const char* const value = own_name + name_bytes + 1;
            if (std::string_view{own_name, name_bytes} == name) {
                return std::string_view{value, value_bytes};
            }
            at = value + value_bytes + 1;
        }
        return std::nullopt;
    }

    /// Frees unused capacity.
    /// @throws std::bad_alloc  Nothing changed.
    void shrink() {
        if (bytes_ != capacity_) {
            move_to_room(bytes_);
        }
    }

private:
    static constexpr std::size_t head_bytes = 5;
    static constexpr std::size_t bytes_min = 64; ///< Until shrink().

    static char* write(char* at, std::string_view text) noexcept {
        at = std::copy(text.begin(), text.end(), at);
        *at = '\0';
        return at + 1;
    }

    void grow(std::size_t by_bytes) {
        const std::size_t bytes = bytes_ + by_bytes;
        if (bytes > UINT32_MAX) {
            throw std::bad_alloc{};
        }
        if (bytes > capacity_) {
            const std::size_t room = std::max({bytes, std::size_t{2} * capacity_, bytes_min});
            move_to_room(std::min<std::size_t>(room, UINT32_MAX));
        }
        bytes_ = static_cast<std::uint32_t>(bytes);
    }

    void move_to_room(std::size_t bytes) {
        auto moved = std::make_unique_for_overwrite<char[]>(bytes);
        std::copy_n(data_.get(), bytes_, moved.get());
        data_ = std::move(moved);
        capacity_ = static_cast<std::uint32_t>(bytes);
    }

    // Not a string: that takes twice the memory.
    std::unique_ptr<char[]> data_;
    std::uint32_t bytes_ = 0;
    std::uint32_t capacity_ = 0;
};

} // namespace zlink::pipe
