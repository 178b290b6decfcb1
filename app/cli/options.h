// Command-line options that several commands share. Numbers are parsed locale-free and checked: a bad one is
// a sentence and exit status 2.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "core/engine/model.h"

namespace vitrine::cli {

// The whole text as a number in [low, high]; the error is a sentence that names `what`.
Result<std::int64_t> parse_integer(std::string_view text, std::string_view what, std::int64_t low,
                                   std::int64_t high);
Result<std::uint64_t> parse_seed(std::string_view text);
Result<double> parse_decimal(std::string_view text, std::string_view what, double low, double high);

constexpr std::int64_t int32_most = std::numeric_limits<std::int32_t>::max();

struct ModelOptions {
    std::optional<std::string> model;  // none: find_model()
    std::string device = "auto";       // auto, cpu, cuda
    std::int32_t threads = 0;          // 0: one for each core
    bool exact = false;                // the reference operations
};

struct EngineFlags {
    std::string kv = "f16";
    std::int32_t block_size = 16;
    std::int32_t chunk = 0;    // 0: what the device likes
    std::int32_t context = 0;  // 0: what the model was trained for
    std::string prefix_cache = "on";
    std::string cache = "paged";
    std::optional<std::string> trace;  // file

    // Context and pool are left to the caller.
    EngineOptions engine_options() const;
};

struct DraftFlags {
    std::string draft = "off";               // off, lookup, model, auto
    std::optional<std::string> draft_model;  // none: the embedded one, where it has the model's vocabulary
    std::int32_t draft_tokens = 4;

    bool wanted() const { return draft != "off" || draft_model; }
    // A file that is named wants to be used.
    Speculation speculation() const;
};

struct SamplerFlags {
    SamplingParams params;
    std::optional<std::uint64_t> seed;

    // The seed that was asked for, else a fresh one, which is shown so that the answer can be repeated.
    std::uint64_t seed_or_fresh() const;
};

// Adds "ID:BIAS"; minus infinity ("-inf") bans. Ids are checked against the model later.
Status add_logit_bias(std::string_view text, SamplingParams& params);

struct OpenedModel {
    std::shared_ptr<Model> model;
    std::string sentence;  // which model it is, for people
};

// Opens the model that the options name, or the one of find_model(). Warnings of the file go to standard
// error.
// Before weights are read, `planned` learns what the file holds and needs.
Result<OpenedModel> open_model(const ModelOptions& options, bool vocabulary_only = false,
                               const std::function<void(const ModelFacts&)>& planned = {});

// The draft model that the flags ask for, on the device of `model`; null where none is asked for, or where
// "auto" finds none that fits. What comes of it goes to standard error.
Result<std::shared_ptr<Model>> open_draft(const DraftFlags& flags, const std::shared_ptr<Model>& model);

// "Context 8192 tokens, KV cache up to 180 MiB (F16), weights 94 MiB.": what an engine would take.
std::string memory_sentence(const ModelFacts& facts, const EngineFlags& flags);

}  // namespace vitrine::cli
