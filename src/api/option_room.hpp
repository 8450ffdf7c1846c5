// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "api/option_words.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace zlink::api {

/// The caller's buffer for an option (zmq_getsockopt(3)). The rest of it is filled with zeros.
class room {
public:
    /// @param value, size  Not null.
    room(int option, void* value, std::size_t* size) noexcept
        : option_(option), value_(static_cast<char*>(value)), size_(size) {}

    int option() const noexcept { return option_; }
    std::size_t bytes() const noexcept { return *size_; }

    /// Writes a number; the buffer must have exactly its size.
    template<class T>
    result<void> give_number(T number) const {
        return *size_ == sizeof number ? give_within(number)
                                       : refuse_size(option_, sizeof number, *size_);
    }

    /// Writes a number; the buffer may be larger.
    template<class T>
    result<void> give_within(T number) const {
        return give({reinterpret_cast<const char*>(&number), sizeof number});
    }

    result<void> give_text(std::string_view text, bool with_zero) const {
        return give(text, with_zero ? 1 : 0);
    }

    /// @param zero_count  Zeros that follow `data` and count as part of it.
    result<void> give(std::string_view data, std::size_t zero_count = 0) const {
        const std::size_t bytes = data.size() + zero_count;
        if (*size_ < bytes) {
            return refuse_size(option_, bytes, *size_);
        }
        std::fill(std::copy(data.begin(), data.end(), value_), value_ + *size_, '\0');
        *size_ = bytes;
        return {};
    }

private:
    int option_;
    char* value_;
    std::size_t* size_;
};

} // namespace zlink::api
