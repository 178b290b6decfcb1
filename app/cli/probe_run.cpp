// The operations of probe that compute.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "app/cli/probe.h"
#include "app/cli/rows.h"
#include "app/cli/scoring.h"
#include "core/spec/vocabulary_match.h"

namespace vitrine::cli {

namespace {

constexpr std::int64_t most_draws = 1'000'000;
constexpr std::int64_t most_drawn_ids = 50'000'000;
constexpr std::int32_t most_beside = 255;
constexpr std::int64_t draws_at_once = 32;

OrderedJson number_or_null(std::optional<double> value) {
    return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson();
}

// What the other requests of a batch do: some begin like the first one and share its blocks, some do not;
// each has its own length, and none ends by itself.
Request companion(const std::vector<TokenId>& ids, std::int32_t number, std::int32_t vocabulary,
                  std::int32_t n) {
    Request other;
    const std::size_t length = 1 + (static_cast<std::size_t>(number) * 7 + ids.size() / 2) % ids.size();
    other.prompt.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(length));
    if (number % 2 == 1)
        for (TokenId& id : other.prompt)
            id = TokenId(
                static_cast<std::int32_t>((static_cast<std::int64_t>(id.value) + 31 * number) % vocabulary));
    other.sampling.temperature = 1.0F;
    other.sampling.seed = static_cast<std::uint64_t>(number);
    other.max_tokens = n;
    other.ignore_eog = true;
    return other;
}

std::string finish_name(FinishReason reason) { return name_of(reason); }

}  // namespace

Result<std::vector<TokenId>> Probe::sequence(const Fields& request) const {
    VITRINE_TRY(std::vector<TokenId> ids, request.ids("ids", rows(), false));
    return ids;
}

Probe::Reply Probe::logits(const Fields& request) {
    VITRINE_TRY(std::vector<TokenId> ids, sequence(request));
    const auto count = static_cast<std::int64_t>(ids.size());
    VITRINE_TRY(const std::vector<std::int32_t> positions, request.positions("positions", count));
    VITRINE_TRY(const std::vector<TokenId> probe, request.ids("probe", rows(), true));
    VITRINE_TRY(const std::int64_t top, request.integer("top", 0, int32_most, 20));
    if (count > runner_.context())
        return Error{ErrorKind::TooLarge, "The sequence has " + std::to_string(count) +
                                              " ids, and the context of the model is " +
                                              std::to_string(runner_.context()) + "."};

    OrderedJson shown = OrderedJson::object();
    OrderedJson argmax = OrderedJson::array();
    OrderedJson gap = OrderedJson::array();
    std::optional<Error> failed;
    Request run;
    run.prompt = std::move(ids);
    run.max_tokens = 0;
    run.on_logits = [&](std::int32_t position, std::span<const float> row) {
        if (failed) return;
        row = row.first(std::min(static_cast<std::size_t>(rows()), row.size()));
        const auto peak = peak_of(row, position);
        if (!peak.ok()) {
            failed = peak.error();
            return;
        }
        argmax.push_back(peak->argmax);
        gap.push_back(number_or_null(peak->gap));
        if (!std::binary_search(positions.begin(), positions.end(), position)) return;
        OrderedJson ids_shown = OrderedJson::array();
        OrderedJson logits_shown = OrderedJson::array();
        for (const std::int32_t id : top_ids(row, static_cast<std::size_t>(top))) {
            ids_shown.push_back(id);
            logits_shown.push_back(static_cast<double>(row[static_cast<std::size_t>(id)]));
        }
        OrderedJson probed = OrderedJson::array();
        for (const TokenId id : probe) {
            const auto at = static_cast<std::size_t>(id.value);
            probed.push_back(
                number_or_null(at < row.size() ? std::optional(static_cast<double>(row[at])) : std::nullopt));
        }
        shown[std::to_string(position)] = {{"top_ids", std::move(ids_shown)},
                                           {"top_logits", std::move(logits_shown)},
                                           {"logsumexp", log_sum_exp(row)},
                                           {"probe_logits", std::move(probed)}};
    };
    VITRINE_TRY(const Outcome outcome, runner_.run_one(std::move(run)));
    static_cast<void>(outcome);
    if (failed) return *std::move(failed);
    if (static_cast<std::int64_t>(argmax.size()) != count)
        return Error{ErrorKind::Internal, "The engine gave " + std::to_string(argmax.size()) +
                                              " rows of logits for " + std::to_string(count) +
                                              " ids. Please report this."};
    OrderedJson reply;
    reply["positions"] = std::move(shown);
    reply["argmax"] = std::move(argmax);
    reply["gap"] = std::move(gap);
    return reply;
}

Result<Speculation> Probe::speculate(const Fields& request) {
    Speculation speculation;
    if (request.is_null_or_absent("speculate")) return speculation;
    VITRINE_TRY(const OrderedJson member, request.object_or_empty("speculate"));
    const Fields fields(member, "\"speculate\"");
    VITRINE_CHECK(fields.only({"drafter", "k"}));
    VITRINE_TRY(const std::string drafter, fields.text("drafter"));
    VITRINE_TRY(const std::int64_t k, fields.integer("k", 1, kLongestDraft, 4));
    speculation.length = static_cast<std::int32_t>(k);
    speculation.drafting = drafter == "lookup" ? Drafting::Lookup : Drafting::Model;
    if (drafter == "lookup" || (drafter == draft_path_ && !drafter.empty())) return speculation;
    LoadOptions load;
    load.beside = model_;
    VITRINE_TRY(auto draft, Model::load(drafter, load));
    VITRINE_CHECK(same_vocabulary(model_->tokenizer().vocabulary(), draft->tokenizer().vocabulary()));
    VITRINE_CHECK(runner_.set_draft(std::move(draft)));
    draft_path_ = drafter;
    return speculation;
}

Probe::Reply Probe::greedy(const Fields& request) {
    VITRINE_TRY(std::vector<TokenId> ids, sequence(request));
    VITRINE_TRY(const std::int64_t n, request.integer("n", 0, int32_most));
    VITRINE_TRY(const bool ignore_eog, request.flag("ignore_eog", false));
    VITRINE_TRY(const std::int64_t beside, request.integer("beside", 0, most_beside, 0));
    VITRINE_TRY(const Speculation speculation, speculate(request));
    const auto limit = static_cast<std::int32_t>(n);

    OrderedJson gap = OrderedJson::array();
    std::optional<Error> failed;
    std::vector<Request> batch(1);
    for (std::int32_t i = 0; i < beside; ++i) {
        batch.push_back(companion(ids, i, rows(), limit));
        if (i % 2 == 0) batch.back().speculation = speculation;
    }
    Request& main = batch.front();
    main.speculation = speculation;
    main.prompt = std::move(ids);
    main.max_tokens = limit;
    main.vocabulary = rows();
    main.ignore_eog = ignore_eog;
    main.on_sample_logits = [&](std::span<const float> row) {
        row = row.first(std::min(static_cast<std::size_t>(rows()), row.size()));
        const auto peak = peak_of(row, static_cast<std::int32_t>(gap.size()));
        if (!peak.ok() && !failed) failed = peak.error();
        gap.push_back(peak.ok() ? number_or_null(peak->gap) : OrderedJson());
    };
    VITRINE_TRY(const std::vector<Outcome> outcomes, runner_.run(std::move(batch), 1));
    if (failed) return *std::move(failed);
    const Outcome& outcome = outcomes.front();
    // A row that was computed again after a preemption, or whose token was not kept, has no gap of its own.
    while (gap.size() > outcome.ids.size()) gap.erase(gap.size() - 1);
    OrderedJson reply;
    reply["ids"] = id_list(outcome.ids);
    reply["gap"] = std::move(gap);
    reply["finish"] = finish_name(outcome.reason);
    return reply;
}

Probe::Reply Probe::score(const Fields& request) {
    VITRINE_TRY(const std::vector<TokenId> ids, sequence(request));
    VITRINE_TRY(const std::int64_t window, request.integer("window", 2, int32_most, 512));
    VITRINE_TRY(const std::int64_t stride, request.integer("stride", 1, int32_most, 256));
    const ScoreWindows windows{static_cast<std::int32_t>(window), static_cast<std::int32_t>(stride)};
    VITRINE_TRY(const std::vector<double> nll, cli::score(runner_, ids, windows));
    OrderedJson reply;
    reply["nll"] = nll;
    return reply;
}

Result<SamplingParams> read_sampler(const OrderedJson& sampler, std::int32_t vocabulary) {
    constexpr double most = std::numeric_limits<float>::max();
    const Fields fields(sampler, "\"sampler\"");
    VITRINE_CHECK(fields.only({"logit_bias", "repetition_penalty", "frequency_penalty", "presence_penalty",
                               "penalty_window", "temperature", "top_k", "typical_p", "top_p", "min_p"}));
    SamplingParams params;
    VITRINE_TRY(const double repetition, fields.decimal("repetition_penalty", 0, most, 1.0));
    VITRINE_TRY(const double frequency, fields.decimal("frequency_penalty", -most, most, 0.0));
    VITRINE_TRY(const double presence, fields.decimal("presence_penalty", -most, most, 0.0));
    VITRINE_TRY(const std::int64_t window, fields.integer("penalty_window", 0, int32_most, 0));
    VITRINE_TRY(const double temperature, fields.decimal("temperature", 0, most, 1.0));
    VITRINE_TRY(const std::int64_t top_k, fields.integer("top_k", 0, int32_most, 0));
    VITRINE_TRY(const double typical_p, fields.decimal("typical_p", -most, most, 1.0));
    VITRINE_TRY(const double top_p, fields.decimal("top_p", -most, most, 1.0));
    VITRINE_TRY(const double min_p, fields.decimal("min_p", 0, most, 0.0));
    VITRINE_TRY(const OrderedJson biases, fields.object_or_empty("logit_bias"));
    params.repetition_penalty = static_cast<float>(repetition);
    params.frequency_penalty = static_cast<float>(frequency);
    params.presence_penalty = static_cast<float>(presence);
    params.penalty_window = static_cast<std::int32_t>(window);
    params.temperature = static_cast<float>(temperature);
    params.top_k = static_cast<std::int32_t>(top_k);
    params.typical_p = static_cast<float>(typical_p);
    params.top_p = static_cast<float>(top_p);
    params.min_p = static_cast<float>(min_p);
    for (auto it = biases.begin(); it != biases.end(); ++it) {
        VITRINE_TRY(const std::int64_t id,
                    parse_integer(it.key(), "A key of \"logit_bias\"", 0, vocabulary - 1));
        const double bias = it.value().is_number() ? it.value().get<double>() : NAN;
        if (!std::isfinite(bias) || bias > most)
            return Error{ErrorKind::InvalidArgument, "The bias of id " + std::to_string(id) +
                                                         " in \"logit_bias\" is not a usable number."};
        // Below every float: JSON has no minus infinity, and this is how a ban is written.
        const bool ban = bias < -most;
        params.logit_bias.emplace_back(
            TokenId(static_cast<std::int32_t>(id)),
            ban ? -std::numeric_limits<float>::infinity() : static_cast<float>(bias));
    }
    VITRINE_CHECK(validate(params, vocabulary));
    return params;
}

Probe::Reply Probe::sample(const Fields& request) {
    VITRINE_TRY(const std::vector<TokenId> ids, sequence(request));
    VITRINE_TRY(const std::int64_t n, request.integer("n", 0, int32_most));
    VITRINE_TRY(const std::int64_t draws, request.integer("draws", 0, most_draws, 1));
    VITRINE_TRY(const std::uint64_t seed, request.seed("seed", 0));
    VITRINE_TRY(const bool ignore_eog, request.flag("ignore_eog", false));
    VITRINE_TRY(const Speculation speculation, speculate(request));
    VITRINE_TRY(const OrderedJson sampler, request.object_or_empty("sampler"));
    VITRINE_TRY(const SamplingParams params, read_sampler(sampler, rows()));
    const std::int64_t room =
        std::max<std::int64_t>(0, runner_.context() - static_cast<std::int64_t>(ids.size()));
    if (draws * std::min(n, room) > most_drawn_ids)
        return Error{ErrorKind::TooLarge, std::to_string(draws) + " draws of " + std::to_string(n) +
                                              " tokens are more than one reply can hold (" +
                                              std::to_string(most_drawn_ids) + " ids)."};
    OrderedJson all = OrderedJson::array();
    for (std::int64_t first = 0; first < draws; first += draws_at_once) {
        // Answers to one prompt: it is computed once.
        Request some;
        some.prompt = ids;
        some.n = static_cast<std::int32_t>(std::min(draws - first, draws_at_once));
        some.max_tokens = static_cast<std::int32_t>(n);
        some.ignore_eog = ignore_eog;
        some.vocabulary = rows();
        some.speculation = speculation;
        some.sampling = params;
        some.sampling.seed = seed;
        some.sampling.stream = static_cast<std::uint64_t>(first);
        std::vector<Request> batch;
        batch.push_back(std::move(some));
        VITRINE_TRY(const std::vector<Outcome> outcomes, runner_.run(std::move(batch), 1));
        for (const Outcome& outcome : outcomes) all.push_back(id_list(outcome.ids));
    }
    OrderedJson reply;
    reply["draws"] = std::move(all);
    return reply;
}

}  // namespace vitrine::cli
