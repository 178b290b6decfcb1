// `vitrine-cli probe`: one model, one JSON request a line in, one JSON reply a line out. Every station of the
// way from text to token is open to scripts: ids in, ids out, nothing added or removed that the request does
// not name. A request that fails is answered with {"error":{"kind","message"}}, and the next one is served.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/cli/fields.h"
#include "app/cli/options.h"
#include "app/cli/rows.h"
#include "app/cli/runner.h"

namespace vitrine::cli {

struct ProbeOptions {
    ModelOptions model;
    EngineFlags engine;
    bool vocab_only = false;
};

int run_probe(const ProbeOptions& options);  // exit status

class Probe {
  public:
    Probe(std::shared_ptr<Model> model, const EngineFlags& flags, Recorder* recorder = nullptr);

    // The reply to one line, a JSON object; never throws.
    OrderedJson serve(std::string_view line);

  private:
    using Reply = Result<OrderedJson>;

    Reply dispatch(std::string_view line);
    // probe_text.cpp
    Reply info() const;
    Reply tokenize(const Fields& request) const;
    Reply detokenize(const Fields& request) const;
    Reply stream(const Fields& request) const;
    Reply render(const Fields& request) const;
    Reply prompt(const Fields& request) const;
    // probe_run.cpp
    Reply logits(const Fields& request);
    Reply greedy(const Fields& request);
    Reply score(const Fields& request);
    Reply sample(const Fields& request);

    // The "speculate" member; loads the draft model that it names, unless it is the one in use.
    Result<Speculation> speculate(const Fields& request);
    Result<std::vector<TokenId>> sequence(const Fields& request) const;
    Result<TrustedText> rendered(const Fields& request) const;
    std::int32_t vocabulary() const { return model_->tokenizer().size(); }
    std::int32_t rows() const { return vocabulary_of_ids(*model_); }

    std::shared_ptr<Model> model_;
    EngineFlags flags_;
    Runner runner_;
    std::string draft_path_;  // of the draft model in use
};

// The "sampler" member of a request.
Result<SamplingParams> read_sampler(const OrderedJson& sampler, std::int32_t vocabulary);

OrderedJson error_reply(const Error& error);
OrderedJson id_list(std::span<const TokenId> ids);

}  // namespace vitrine::cli
