// SPDX-License-Identifier: MPL-2.0
// Input: operations on the containers of topics, in the encoding of testing/topic_operations.hpp.
#include "fuzz.hpp"

#include "testing/topic_operations.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    zlink::fuzz::require(
        zlink::testing::topic_operations{std::as_bytes(std::span{data, size})}.run());
    return 0;
}
