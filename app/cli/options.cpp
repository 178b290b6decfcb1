#include "app/cli/options.h"

#include <charconv>
#include <cmath>
#include <random>

#include "app/cli/output.h"
#include "app/common/model_location.h"
#include "core/io/printable.h"
#include "core/spec/vocabulary_match.h"

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
    options.cache = cache == "static" ? CacheMode::Static : CacheMode::Paged;
    return options;
}

std::uint64_t SamplerFlags::seed_or_fresh() const {
    if (seed) return *seed;
    std::random_device source;
    // 53 bits, so that the number survives every JSON reader.
    return ((static_cast<std::uint64_t>(source()) << 32) | source()) & ((std::uint64_t{1} << 53) - 1);
}

Status add_logit_bias(std::string_view text, SamplingParams& params) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos)
        return Error{ErrorKind::InvalidArgument, "--logit-bias needs ID:BIAS, such as 42:-2.5 or 42:-inf."};
    VITRINE_TRY(const std::int64_t id,
                parse_integer(text.substr(0, colon), "The id of --logit-bias", 0, int32_most));
    const std::string_view number = text.substr(colon + 1);
    float bias = -std::numeric_limits<float>::infinity();
    if (number != "-inf") {
        VITRINE_TRY(const double value, parse_decimal(number, "The bias of --logit-bias", -1e30, 1e30));
        bias = static_cast<float>(value);
    }
    params.logit_bias.emplace_back(TokenId(static_cast<std::int32_t>(id)), bias);
    return {};
}

Speculation DraftFlags::speculation() const {
    Speculation s;
    s.length = draft_tokens;
    s.drafting = draft == "lookup"                 ? Drafting::Lookup
                 : draft == "auto"                 ? Drafting::Auto
                 : draft == "model" || draft_model ? Drafting::Model
                                                   : Drafting::Off;
    return s;
}

Result<std::shared_ptr<Model>> open_draft(const DraftFlags& flags, const std::shared_ptr<Model>& model) {
    const Drafting drafting = flags.speculation().drafting;
    if (drafting == Drafting::Off || drafting == Drafting::Lookup) return std::shared_ptr<Model>();
    std::filesystem::path path;
    if (flags.draft_model) {
        path = *flags.draft_model;
    } else if (const auto embedded = embedded_model()) {
        path = *embedded;
    } else if (drafting == Drafting::Auto) {
        return std::shared_ptr<Model>();
    } else {
        return Error{ErrorKind::NotFound,
                     "The small model that belongs to the program, which drafts where no other is named, is "
                     "missing. Name a draft model with --draft-model."};
    }
    LoadOptions load;
    load.beside = model;
    auto draft = Model::load(path, load);
    if (draft.ok()) {
        const Status fits =
            same_vocabulary(model->tokenizer().vocabulary(), (*draft)->tokenizer().vocabulary());
        if (fits.ok()) {
            note("Draft model: " + display_path(path));
            return std::move(draft).value();
        }
        if (flags.draft_model || drafting != Drafting::Auto) return fits.error();
        note("No draft model: the embedded one has another vocabulary. Tokens are looked up only.");
        return std::shared_ptr<Model>();
    }
    return draft.error();
}

std::string memory_sentence(const ModelFacts& facts, const EngineFlags& flags) {
    const auto plan = plan_memory(facts.config, flags.engine_options(), facts.weights_bytes, facts.free_bytes,
                                  facts.device);
    if (!plan.ok()) return plan.error().message;
    const std::int32_t wanted = flags.context > 0 ? flags.context : facts.config.context;
    const auto mebibytes = [](std::uint64_t bytes) {
        return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB";
    };
    std::string sentence = "Context " + std::to_string(plan->options.context) + " tokens";
    if (plan->options.context < wanted)
        sentence += " (of " + std::to_string(wanted) + ": more does not fit into the memory that is free)";
    return sentence + ", KV cache up to " + mebibytes(plan->kv) + " (" +
           std::string(info_of(plan->options.kv_dtype).name) + "), weights " +
           mebibytes(facts.weights_bytes) + ".";
}

Result<OpenedModel> open_model(const ModelOptions& options, bool vocabulary_only,
                               const std::function<void(const ModelFacts&)>& planned) {
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
    if (vocabulary_only) {
        VITRINE_TRY(opened.model, Model::load_vocabulary(path));
    } else {
        LoadOptions load;
        load.device = !options.exact ? options.device : options.device == "cuda" ? "cuda-plain" : "reference";
        load.threads = options.threads;
        load.planned = planned;
        VITRINE_TRY(opened.model, Model::load(path, load));
    }
    if (!opened.model->device_note().empty()) opened.sentence += "\n" + opened.model->device_note();
    for (const std::string& warning : opened.model->warnings()) note("Note: " + warning);
    return opened;
}

}  // namespace vitrine::cli
