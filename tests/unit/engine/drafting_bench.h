// A model and drafts for it that agree always, often, seldom and never.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/unit/engine/engine_bench.h"

namespace vitrine::test {

class DraftingBench {
  public:
    explicit DraftingBench(const SmallModelOptions& options = {.layers = 2, .seed = 5}) : options_(options) {}

    const std::shared_ptr<Model>& target(const std::string& device = "cpu") {
        auto& m = targets_[device];
        // One thread: where other processes hold the cores, threads that wait for each other at every
        // operation of so small a model take minutes.
        if (!m) m = load_or_die(file("target", small_model(options_)), device, 1);
        return m;
    }

    // "same"; "near": the same weights rounded to four bits; "other": other weights; "end": always proposes
    // an end of the answer; "short": the same with a context of 32 tokens.
    std::shared_ptr<Model> draft(const std::string& kind, const std::string& device = "cpu") {
        auto& m = drafts_[kind + device];
        if (m) return m;
        SmallModelOptions o = options_;
        if (kind == "near") o.dtype = DType::Q4_0;
        if (kind == "other") o.seed += 100;
        if (kind == "short") o.context = 32;
        if (kind == "end") o.tied = false;
        GgufBuilder b = small_model(o);
        if (kind == "end")
            std::fill(b.tensor("output.weight").data.begin(), b.tensor("output.weight").data.end(),
                      std::byte{0});
        LoadOptions load;
        load.beside = target(device);
        auto model = Model::load(file(kind, b), load);
        if (!model.ok()) qFatal("%s", model.error().message.c_str());
        return m = *model;
    }

    // An engine, with a draft model unless `kind` is empty or "lookup".
    std::unique_ptr<Engine> engine(const EngineOptions& options, const std::string& kind = {},
                                   const std::string& device = "cpu") {
        auto e = engine_or_die(target(device), options);
        if (!kind.empty() && kind != "lookup") {
            const Status set = e->set_draft(draft(kind, device));
            if (!set.ok()) qFatal("%s", set.error().message.c_str());
        }
        return e;
    }

  private:
    std::filesystem::path file(const std::string& name, const GgufBuilder& builder) {
        const auto path = std::filesystem::path(dir_.path().toStdString()) / (name + ".gguf");
        if (!write_file(path, builder.bytes())) qFatal("cannot write %s", path.c_str());
        return path;
    }
    SmallModelOptions options_;
    QTemporaryDir dir_;
    std::map<std::string, std::shared_ptr<Model>> targets_;
    std::map<std::string, std::shared_ptr<Model>> drafts_;
};

inline Speculation speculation_of(const std::string& kind, std::int32_t length) {
    return {kind == "lookup" ? Drafting::Lookup : kind == "auto" ? Drafting::Auto : Drafting::Model, length};
}

struct Verifications {
    std::vector<SpeculationRecord> steps;
    std::vector<ProposalRecord> proposals;
    std::vector<TokenRecord> tokens;
    std::int32_t proposed = 0;
    std::int32_t accepted = 0;

    void collect(Engine& engine) {
        std::vector<Record> some(4096);
        for (std::size_t n = 1; n > 0;) {
            n = engine.telemetry().pop(some);
            for (std::size_t i = 0; i < n; ++i) {
                if (some[i].kind == RecordKind::Speculation) {
                    steps.push_back(some[i].speculation);
                    proposed += some[i].speculation.proposed;
                    accepted += some[i].speculation.accepted;
                }
                if (some[i].kind == RecordKind::Proposal) proposals.push_back(some[i].proposal);
                if (some[i].kind == RecordKind::Token) tokens.push_back(some[i].token);
            }
        }
    }
};

}  // namespace vitrine::test
