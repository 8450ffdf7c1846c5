// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/plain.hpp"

#include "wire/zmtp/command.hpp"

namespace zlink::wire::zmtp {

namespace {

void append_text(std::vector<std::byte>& out, std::string_view text) {
    out.push_back(static_cast<std::byte>(text.size()));
    const auto content = std::as_bytes(std::span{text});
    out.insert(out.end(), content.begin(), content.end());
}

} // namespace

std::vector<std::byte> encode_plain_hello(const plain_hello& hello) {
    std::vector<std::byte> body;
    append_text(body, hello_name);
    append_text(body, hello.username);
    append_text(body, hello.password);
    return body;
}

result<plain_hello> decode_plain_hello(std::span<const std::byte> data) noexcept {
    // A length and a text have the structure of a command.
    const result<command_view> username = decode_command(data);
    if (!username) {
        return username.error();
    }
    const result<command_view> password = decode_command(username->data);
    if (!password || !password->data.empty()) {
        return errc::protocol_violation;
    }
    return plain_hello{username->name, password->name};
}

} // namespace zlink::wire::zmtp
