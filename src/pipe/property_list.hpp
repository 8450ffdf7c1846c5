// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace zlink::pipe {

/// Names and values in compact form.
///
///   +------------+-------------+------+---+-------+---+
///   | name bytes | value bytes | name | 0 | value | 0 |   repeated
///   +------------+-------------+------+---+-------+---+
class property_list {
public:
    /// @throws std::bad_alloc  Nothing changed.
    void add(std::string_view name, std::string_view value) {
        std::string added;
        added.reserve(sizeof(sizes) + name.size() + value.size() + 2);
        const sizes of{static_cast<std::uint32_t>(name.size()),
                       static_cast<std::uint32_t>(value.size())};
        added.append(reinterpret_cast<const char*>(&of), sizeof of);
        added.append(name).push_back('\0');
        added.append(value).push_back('\0');
        data_.reserve(data_.size() + added.size());
        data_ += added;
    }

    /// Inserts the contents of `others` first, where find() prefers it.
    /// @throws std::bad_alloc  Nothing changed.
    void prepend(const property_list& others) { data_.insert(0, others.data_); }

    /// The first value of exactly that name, followed by a zero byte.
    std::optional<std::string_view> find(std::string_view name) const noexcept {
        const char* at = data_.data();
        const char* const end = at + data_.size();
        while (at != end) {
            sizes of;
            std::memcpy(&of, at, sizeof of);
            const char* const own_name = at + sizeof of;
            const char* const value = own_name + of.name_bytes + 1;
            if (std::string_view{own_name, of.name_bytes} == name) {
                return std::string_view{value, of.value_bytes};
            }
            at = value + of.value_bytes + 1;
        }
        return std::nullopt;
    }

    /// Frees unused capacity.
    void shrink() { data_.shrink_to_fit(); }

private:
    struct sizes {
        std::uint32_t name_bytes;
        std::uint32_t value_bytes;
    };

    std::string data_;
};

} // namespace zlink::pipe
