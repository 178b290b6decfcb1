// The small model with something changed, as the bytes of a file.
#pragma once

#include <functional>
#include <vector>

#include "tests/unit/io/io_test_tools.h"

namespace vitrine::test {

using Change = std::function<void(GgufBuilder&)>;

inline Bytes changed(const Change& change, const SmallModelOptions& options = {}) {
    GgufBuilder b = small_model(options);
    change(b);
    return b.bytes();
}

inline Bytes floats(const std::vector<float>& numbers) {
    Bytes out;
    for (const float number : numbers) out = out + le(number);
    return out;
}

}  // namespace vitrine::test

Q_DECLARE_METATYPE(vitrine::test::Change)
