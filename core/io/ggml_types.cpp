#include "core/io/ggml_types.h"

#include <algorithm>
#include <array>

namespace vitrine {

namespace {

constexpr std::array kTypes = {
    GgmlType{0, "F32", 1, 4, DType::F32, ""},
    GgmlType{1, "F16", 1, 2, DType::F16, ""},
    GgmlType{2, "Q4_0", 32, 18, DType::Q4_0, ""},
    GgmlType{3, "Q4_1", 32, 20, DType::Q4_1, ""},
    GgmlType{4, "Q4_2", 0, 0, {}, "Q4_0"},
    GgmlType{5, "Q4_3", 0, 0, {}, "Q4_1"},
    GgmlType{6, "Q5_0", 32, 22, DType::Q5_0, ""},
    GgmlType{7, "Q5_1", 32, 24, DType::Q5_1, ""},
    GgmlType{8, "Q8_0", 32, 34, DType::Q8_0, ""},
    GgmlType{9, "Q8_1", 32, 36, {}, ""},
    GgmlType{10, "Q2_K", 256, 84, DType::Q2_K, ""},
    GgmlType{11, "Q3_K", 256, 110, DType::Q3_K, ""},
    GgmlType{12, "Q4_K", 256, 144, DType::Q4_K, ""},
    GgmlType{13, "Q5_K", 256, 176, DType::Q5_K, ""},
    GgmlType{14, "Q6_K", 256, 210, DType::Q6_K, ""},
    GgmlType{15, "Q8_K", 256, 292, {}, ""},
    GgmlType{16, "IQ2_XXS", 256, 66, {}, ""},
    GgmlType{17, "IQ2_XS", 256, 74, {}, ""},
    GgmlType{18, "IQ3_XXS", 256, 98, {}, ""},
    GgmlType{19, "IQ1_S", 256, 50, {}, ""},
    GgmlType{20, "IQ4_NL", 32, 18, DType::IQ4_NL, ""},
    GgmlType{21, "IQ3_S", 256, 110, {}, ""},
    GgmlType{22, "IQ2_S", 256, 82, {}, ""},
    GgmlType{23, "IQ4_XS", 256, 136, DType::IQ4_XS, ""},
    GgmlType{24, "I8", 1, 1, {}, ""},
    GgmlType{25, "I16", 1, 2, {}, ""},
    GgmlType{26, "I32", 1, 4, {}, ""},
    GgmlType{27, "I64", 1, 8, {}, ""},
    GgmlType{28, "F64", 1, 8, {}, ""},
    GgmlType{29, "IQ1_M", 256, 56, {}, ""},
    GgmlType{30, "BF16", 1, 2, DType::BF16, ""},
    GgmlType{31, "Q4_0_4_4", 0, 0, {}, "Q4_0"},
    GgmlType{32, "Q4_0_4_8", 0, 0, {}, "Q4_0"},
    GgmlType{33, "Q4_0_8_8", 0, 0, {}, "Q4_0"},
    GgmlType{34, "TQ1_0", 256, 54, {}, ""},
    GgmlType{35, "TQ2_0", 256, 66, {}, ""},
    GgmlType{36, "IQ4_NL_4_4", 0, 0, {}, "IQ4_NL"},
    GgmlType{37, "IQ4_NL_4_8", 0, 0, {}, "IQ4_NL"},
    GgmlType{38, "IQ4_NL_8_8", 0, 0, {}, "IQ4_NL"},
    GgmlType{39, "MXFP4", 32, 17, {}, ""},
    GgmlType{40, "NVFP4", 64, 36, {}, ""},
};

}  // namespace

const GgmlType* find_ggml_type(std::uint32_t id) {
    const auto found =
        std::find_if(kTypes.begin(), kTypes.end(), [id](const GgmlType& t) { return t.id == id; });
    return found == kTypes.end() ? nullptr : &*found;
}

std::uint32_t ggml_type_id(DType type) {
    const auto found =
        std::find_if(kTypes.begin(), kTypes.end(), [type](const GgmlType& t) { return t.dtype == type; });
    return found == kTypes.end() ? 0 : found->id;
}

std::string_view runnable_type_names() {
    return "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL and IQ4_XS";
}

}  // namespace vitrine
