// SPDX-License-Identifier: MPL-2.0
// Passes each file of a folder to a fuzz target, once: the corpus as a plain test.
#include "fuzz.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

int main(int argument_count, char** arguments) {
    if (argument_count != 2) {
        std::fprintf(stderr, "usage: %s folder\n", arguments[0]);
        return 2;
    }
    std::error_code error;
    std::size_t input_count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{arguments[1], error}) {
        if (!entry.is_regular_file()) {
            continue;
        }
        std::ifstream file{entry.path(), std::ios::binary};
        std::vector<char> data{std::istreambuf_iterator<char>{file}, {}};
        data.shrink_to_fit(); // So that the address sanitizer detects a read beyond the end.
        std::printf("%s: %zu bytes\n", entry.path().filename().c_str(), data.size());
        std::fflush(stdout); // If the target aborts, the last line names the input.
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
        ++input_count;
    }
    std::printf("%zu inputs\n", input_count);
    return input_count > 0 ? 0 : 1;
}
