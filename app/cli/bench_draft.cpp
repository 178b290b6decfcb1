#include "app/cli/bench_draft.h"

#include <algorithm>
#include <sstream>

#include "app/cli/bench.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/strict_json.h"
#include "core/engine/prompt.h"

namespace vitrine::cli {

namespace {

constexpr std::size_t longest_file = 64U << 20;

// Prose, a list, code, and texts to be copied.
constexpr const char* own_prompts[] = {
    "What is the difference between weather and climate?",
    "Explain to a child why the sky is blue.",
    "List seven things to pack for a day in the mountains.",
    "Write a function in Python that counts the words of a text.",
    "Repeat this text word for word: The harbour wakes before the town does. Boats come in with the tide, "
    "gulls follow them, and on the quay the first baskets are set down while the lamps are still burning.",
    "Correct the spelling and give the whole text back: The old clock in the hall stoped last winter. Nobody "
    "wound it, nobody missed it, and the hall became a quieter place than it had been for a hundred yeers.",
};

Result<std::vector<std::string>> read_prompts(const std::string& file) {
    if (file.empty()) return std::vector<std::string>(std::begin(own_prompts), std::end(own_prompts));
    VITRINE_TRY(const std::string text, read_text(file, longest_file));
    std::vector<std::string> prompts;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        VITRINE_TRY(const OrderedJson json, parse_strict(line));
        if (!json.is_object() || !json.contains("prompt") || !json["prompt"].is_string())
            return Error{ErrorKind::InvalidArgument,
                         file + ": each line must be a JSON object with a text \"prompt\"."};
        prompts.push_back(json["prompt"].get<std::string>());
    }
    if (prompts.empty()) return Error{ErrorKind::InvalidArgument, file + " holds no prompt."};
    return prompts;
}

class Hearer : public EngineListener {
  public:
    void on_token(const TokenEvent& event) override { ids.push_back(event.id); }
    void on_finish(const FinishEvent& event) override {
        stats = event.stats;
        if (event.reason == FinishReason::Failed) error = event.error;
    }
    std::vector<TokenId> ids;
    RequestStats stats;
    std::optional<Error> error;
};

void count(DraftBenchResult& result, std::span<const Record> records) {
    for (const Record& r : records) {
        if (r.kind == RecordKind::Speculation) {
            ++result.steps;
            result.proposed += r.speculation.proposed;
            result.accepted += r.speculation.accepted;
        } else if (r.kind == RecordKind::Proposal && r.proposal.fate != ProposalFate::Unread) {
            const auto place = static_cast<std::size_t>(r.proposal.position);
            if (place >= result.reached.size()) {
                result.reached.resize(place + 1, 0);
                result.kept.resize(place + 1, 0);
            }
            ++result.reached[place];
            result.kept[place] += r.proposal.fate == ProposalFate::Accepted ? 1 : 0;
        }
    }
}

std::vector<double> ratios(const DraftBenchResult& result) {
    std::vector<double> values;
    for (const DraftRound& r : result.rounds) values.push_back(r.ratio());
    return values;
}

double rate(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

}  // namespace

Result<DraftBenchResult> bench_drafts(const std::shared_ptr<Model>& model,
                                      const std::shared_ptr<Model>& draft,
                                      const EngineOptions& engine_options, const Speculation& speculation,
                                      const DraftBenchOptions& options, Recorder& recorder,
                                      const std::function<bool()>& stopped) {
    VITRINE_TRY(const std::vector<std::string> texts, read_prompts(options.prompts));
    VITRINE_TRY(const auto engine, Engine::make(model, engine_options));
    VITRINE_CHECK(engine->set_draft(draft));
    recorder.attach(*engine);
    std::vector<std::vector<TokenId>> prompts;
    for (const std::string& text : texts) {
        if (model->chat_template() != nullptr) {
            VITRINE_TRY(auto ids, build_prompt(*model, to_json(std::vector<ChatMessage>{{"user", text}}),
                                               PromptOptions{}));
            prompts.push_back(std::move(ids));
        } else {
            prompts.push_back(model->tokenizer().encode(text, false, true));
        }
    }

    DraftBenchResult result;
    const auto answer = [&](const std::vector<TokenId>& prompt, bool drafted) -> Result<Hearer> {
        Hearer hearer;
        Request request;
        request.prompt = prompt;
        request.max_tokens = options.tokens;
        request.sampling = options.sampling;
        if (drafted) request.speculation = speculation;
        VITRINE_TRY(const RequestId id, engine->submit(std::move(request)));
        static_cast<void>(id);
        const std::int64_t before = engine->iterations();
        while (engine->step(hearer)) {
        }
        if (hearer.error) return *hearer.error;
        if (drafted) result.iterations += engine->iterations() - before;
        return hearer;
    };
    for (std::int32_t round = -1; round < options.rounds; ++round) {  // the first one warms up
        DraftRound sums;
        if (round == 0) {
            const bool same = result.same;
            result = {};
            result.same = same;
        }
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            if (stopped && stopped()) return Error{ErrorKind::Cancelled, "Stopped."};
            std::vector<TokenId> plain_ids;
            // Who is first changes from prompt to prompt and from round to round.
            const bool drafts_first = (i + static_cast<std::size_t>(round + 1)) % 2 == 1;
            std::vector<TokenId> drafted_ids;
            for (const bool drafted : {drafts_first, !drafts_first}) {
                recorder.collect(*engine);
                VITRINE_TRY(const Hearer hearer, answer(prompts[i], drafted));
                const double seconds = hearer.stats.total_seconds - hearer.stats.ttft_seconds;
                if (drafted) {
                    sums.draft_seconds += seconds;
                    sums.tokens += hearer.stats.generated_tokens;
                    result.tokens += hearer.stats.generated_tokens;
                    drafted_ids = hearer.ids;
                    recorder.collect(*engine,
                                     [&](std::span<const Record> records) { count(result, records); });
                } else {
                    sums.plain_seconds += seconds;
                    plain_ids = hearer.ids;
                }
            }
            if (options.sampling.greedy() && plain_ids != drafted_ids) result.same = false;
        }
        if (round >= 0) result.rounds.push_back(sums);
    }
    result.figures = engine->speculation();
    return result;
}

OrderedJson draft_bench_json(const DraftBenchResult& result, const Speculation& speculation) {
    const std::vector<double> all = ratios(result);
    OrderedJson json;
    json["test"] = "speculation";
    json["draft"] = name_of(speculation.drafting);
    json["draft_tokens"] = speculation.length;
    json["ratio_median"] = median(all);
    json["ratio_min"] = *std::min_element(all.begin(), all.end());
    json["ratio_max"] = *std::max_element(all.begin(), all.end());
    json["acceptance"] = rate(result.accepted, result.proposed);
    OrderedJson by_position = OrderedJson::array();
    for (std::size_t i = 0; i < result.reached.size(); ++i)
        by_position.push_back(rate(result.kept[i], result.reached[i]));
    json["acceptance_by_position"] = std::move(by_position);
    json["tokens_per_iteration"] = rate(result.tokens, result.iterations);
    json["iterations_with_drafts"] = rate(result.steps, result.iterations);
    json["same_answers"] = result.same;
    json["rounds"] = OrderedJson::array();
    for (const DraftRound& r : result.rounds)
        json["rounds"].push_back({{"plain_tok_s", static_cast<double>(r.tokens) / r.plain_seconds},
                                  {"draft_tok_s", static_cast<double>(r.tokens) / r.draft_seconds},
                                  {"ratio", r.ratio()}});
    json["step_ms"] = OrderedJson::array();
    for (const double s : result.figures.step) json["step_ms"].push_back(s * 1e3);
    json["draft_step_ms"] = result.figures.draft_step * 1e3;
    return json;
}

std::string draft_bench_text(const DraftBenchResult& result, const Speculation& speculation) {
    const std::vector<double> all = ratios(result);
    std::string text = "drafts: " + std::string(name_of(speculation.drafting)) + ", " +
                       (speculation.drafting == Drafting::Auto ? "at most " : "") +
                       std::to_string(speculation.length) + " tokens\n";
    text += "round   plain tok/s   with drafts   ratio\n";
    for (std::size_t i = 0; i < result.rounds.size(); ++i) {
        const DraftRound& r = result.rounds[i];
        const auto column = [](const std::string& s, std::size_t width) {
            return s.size() >= width ? s : std::string(width - s.size(), ' ') + s;
        };
        text += column(std::to_string(i + 1), 5) +
                column(fixed(static_cast<double>(r.tokens) / r.plain_seconds, 1), 14) +
                column(fixed(static_cast<double>(r.tokens) / r.draft_seconds, 1), 14) +
                column(fixed(r.ratio(), 2), 8) + "\n";
    }
    text += "median " + fixed(median(all), 2) + " times plain decoding; answers " +
            (result.same ? "the same" : "NOT the same") + "\n";
    text += fixed(rate(result.tokens, result.iterations), 2) + " tokens an iteration, " +
            fixed(100 * rate(result.steps, result.iterations), 0) + " % of the iterations with drafts, " +
            fixed(100 * rate(result.accepted, result.proposed), 1) + " % of the proposed tokens accepted\n";
    if (!result.reached.empty()) {
        text += "accepted by position:";
        for (std::size_t i = 0; i < result.reached.size(); ++i)
            text += " " + fixed(100 * rate(result.kept[i], result.reached[i]), 0);
        text += " %\n";
    }
    const SpeculationFigures& f = result.figures;
    text += "a step of 1, 2, 3, 5, 9 rows: ";
    for (const std::size_t k : {0U, 1U, 2U, 4U, 8U})
        text += fixed(f.step[k] * 1e3, 2) + (k < 8 ? ", " : " ms\n");
    if (f.draft_step > 0) text += "a step of the draft model: " + fixed(f.draft_step * 1e3, 2) + " ms\n";
    return text;
}

}  // namespace vitrine::cli
