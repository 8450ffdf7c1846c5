// SPDX-License-Identifier: MPL-2.0
// The decoder finds the same ends of records however the bytes are split and however many records
// are skipped at once.
//
// Input: a byte with the size of the pieces, one with the number of records skipped at once, then
// the bytes that a peer sends.
#include "fuzz.hpp"

#include "wire/tls_records.hpp"

#include <algorithm>

using zlink::fuzz::require;
using zlink::wire::tls_records;

namespace {

/// The end of the record that begins at `begin`, or the end of the bytes.
std::size_t end_of_record(std::span<const std::byte> content, std::size_t begin) {
    if (content.size() - begin < tls_records::header_bytes) {
        return content.size();
    }
    const std::size_t content_bytes = std::to_integer<std::size_t>(content[begin + 3]) << 8 |
                                      std::to_integer<std::size_t>(content[begin + 4]);
    return std::min(content.size(), begin + tls_records::header_bytes + content_bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::size_t piece_bytes = std::max<std::size_t>(data[0], 1);
    const unsigned count_max = std::max<unsigned>(data[1], 1);
    const auto content = std::as_bytes(std::span{data + 2, size - 2});
    tls_records in_pieces;
    tls_records at_once;
    std::size_t begin = 0;
    std::size_t done = 0;
    while (begin < content.size()) {
        std::size_t end = begin;
        for (unsigned count = 0; count < count_max; ++count) {
            end = end_of_record(content, end);
        }
        require(at_once.step_over(content.subspan(begin), count_max) == end - begin);
        for (unsigned count = 0; count < count_max && done < content.size(); ++count) {
            const std::size_t one_end = end_of_record(content, done);
            while (done < one_end) {
                const std::size_t given = std::min(piece_bytes, content.size() - done);
                done += in_pieces.step_over(content.subspan(done, given), 1);
            }
            require(done == one_end);
        }
        require(done == end);
        begin = end;
    }
    return 0;
}
