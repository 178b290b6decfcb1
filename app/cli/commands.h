// The commands of vitrine-cli but probe and chat. Each adds its options to the program and returns its exit
// status: 0 done, 1 the task failed, 2 the model or a file to read cannot be opened.
#pragma once

#include <string>
#include <vector>

#include "app/cli/options.h"

namespace vitrine::cli {

struct RunOptions {
    ModelOptions model;
    EngineFlags engine;
    SamplerFlags sampler;
    DraftFlags draft;
    std::optional<std::string> prompt;  // none: standard input
    std::optional<std::string> system;
    std::int32_t max_tokens = -1;  // −1: until the context is full
    std::int32_t n = 1;            // answers
    std::int32_t candidates = 0;   // with each token, in JSON
    std::vector<std::string> stop;
    bool ignore_eog = false;
    std::string overflow = "refuse";
    bool raw = false;
    bool json = false;
};
int run_run(const RunOptions& options);

struct TokenizeOptions {
    ModelOptions model;
    std::optional<std::string> text;  // none: standard input
    bool parse_special = false;
    bool add_special = false;
    bool json = false;
};
int run_tokenize(const TokenizeOptions& options);

struct PerplexityOptions {
    ModelOptions model;
    EngineFlags engine;
    std::string file;
    std::int32_t window = 512;
    std::int32_t stride = 256;
    bool json = false;
};
int run_perplexity(const PerplexityOptions& options);

struct InspectOptions {
    std::string path;
    bool json = false;
};
int run_inspect(const InspectOptions& options);

struct QuantizeOptions {
    std::string input;
    std::string output;
    std::string type = "q8_0";
};
int run_quantize(const QuantizeOptions& options);

// The whole of a file, or of standard input for "-" and "": at most `limit` bytes.
Result<std::string> read_text(const std::string& path, std::size_t limit);

}  // namespace vitrine::cli
