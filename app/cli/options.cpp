#include "app/cli/options.h"

#include <charconv>
#include <cmath>
#include <random>

#include "app/cli/output.h"
#include "app/common/model_location.h"
#include "core/io/printable.h"

namespace vitrine::cli {

namespace {

Error not_a_number(std::string_view what, std::string_view text, const std::string& wanted) {
    return Error{ErrorKind::InvalidArgument, std::string(what) + " needs " + wanted + ", not \"" +
                                                 std::string(text.substr(0, 40)) + "\"."};
}

std::string range_text(const std::string& kind, const std::string& low, const std::string& high) {
    return kind + " from " + low + " to " + high;
}

std::string short_number(double value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text, std::string_view what, std::int64_t low,
                                   std::int64_t high) {
    std::int64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size() || value < low ||
        value > high)
        return not_a_number(what, text,
                            range_text("a whole number", std::to_string(low), std::to_string(high)));
    return value;
}

Result<std::uint64_t> parse_seed(std::string_view text) {
    std::uint64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size())
        return not_a_number("The seed", text, "a whole number from 0 to 18446744073709551615");
    return value;
}

Result<double> parse_decimal(std::string_view text, std::string_view what, double low, double high) {
    double value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size() ||
        !std::isfinite(value) || value < low || value > high)
        return not_a_number(what, text, range_text("a number", short_number(low), short_number(high)));
    return value;
}

EngineOptions EngineFlags::engine_options() const {
    EngineOptions options;
    options.context = context;
    options.block_size = block_size;
    options.token_budget = chunk;
    options.kv_dtype = kv == "f32" ? DType::F32 : kv == "bf16" ? DType::BF16 : DType::F16;
    options.prefix_cache = prefix_cache == "on";
    return options;
}

std::uint64_t SamplerFlags::seed_or_fresh() const {
    if (seed) return *seed;
    std::random_device source;
    // 53 bits, so that the number survives every JSON reader.
    return ((static_cast<std::uint64_t>(source()) << 32) | source()) & ((std::uint64_t{1} << 53) - 1);
}

Result<OpenedModel> open_model(const ModelOptions& options, bool vocabulary_only) {
    OpenedModel opened;
    std::filesystem::path path;
    if (!options.model) {
        VITRINE_TRY(ModelLocation found, find_model());
        path = found.path;
        opened.sentence = found.sentence;
    } else {
        path = *options.model;
        if (path.empty()) return Error{ErrorKind::NotFound, "The name of the model file is empty."};
        opened.sentence = "Model: " + display_path(path);
    }
    if (options.exact && options.device == "cuda")
        return Error{ErrorKind::Unsupported,
                     "--exact with --device cuda needs the CUDA device, which this build does not have. "
                     "Leave out --device, or name cpu."};
    if (vocabulary_only) {
        VITRINE_TRY(opened.model, Model::load_vocabulary(path));
    } else {
        LoadOptions load;
        load.device = options.exact ? "reference" : options.device;
        load.threads = options.threads;
        VITRINE_TRY(opened.model, Model::load(path, load));
    }
    for (const std::string& warning : opened.model->warnings()) note("Note: " + warning);
    return opened;
}

}  // namespace vitrine::cli
