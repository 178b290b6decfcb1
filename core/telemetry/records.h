// What the engine writes down while it runs: fixed-size records, cheap enough to be always on.
//
// Times are seconds of a monotonic clock since the engine was made. TTFT, ITL and the others are computed
// from these by whoever shows them; the engine does not average.
#pragma once

#include <cstdint>
#include <type_traits>

namespace vitrine {

enum class RecordKind : std::uint8_t { Iteration, Token, Block, Request, Slice, Speculation, Proposal };

// One pass over the scheduler, the model and the sampler.
struct IterationRecord {
    std::int64_t index;
    double start;
    float duration;  // seconds; the phases below are parts of it
    float schedule;
    float embed;
    float matrix;
    float attention;
    float sample;
    std::int32_t sequences;
    std::int32_t tokens;  // rows of this iteration
    std::int32_t budget;  // the most rows it could have had
    std::int32_t waiting;
    std::int32_t blocks_used;    // at its end; of the pool, the rest is free
    std::int32_t blocks_cached;  // of the free ones, those that can be found again
};

// What one sequence had computed in an iteration: a line of the plan.
struct SliceRecord {
    std::int64_t sequence;
    std::int64_t request;  // its request; the same number unless it is a further answer
    std::int64_t iteration;
    double start;
    float duration;        // of the iteration's forward pass
    std::int32_t first;    // position of its first row
    std::int32_t tokens;   // rows
    std::int32_t outputs;  // rows with logits
};

enum class TokenOrigin : std::uint8_t { Sampled, Accepted, Corrected, Bonus };

struct TokenRecord {
    std::int64_t request;
    std::int64_t iteration;
    double time;
    float interval;     // seconds since this request's previous token; TTFT for the first
    float probability;  // the model's own, before the sampler's settings
    std::int32_t id;
    std::int32_t index;  // 0: first generated token
    TokenOrigin origin;
};

enum class BlockEvent : std::uint8_t { Allocate, Share, Copy, Free, Evict };

struct BlockRecord {
    std::int64_t sequence;  // −1: none
    std::int64_t iteration;
    double time;
    std::int32_t block;
    std::int32_t other;    // Copy: where it was copied from; else −1
    std::int32_t logical;  // place in the sequence's table, −1: none
    BlockEvent event;
};

enum class RequestEvent : std::uint8_t {
    Submitted,
    Admitted,
    PrefillChunk,
    FirstToken,
    Preempted,
    Finished,
    Cancelled,
    Failed
};

struct RequestRecord {
    std::int64_t request;
    std::int64_t iteration;
    double time;
    float duration;       // PrefillChunk: seconds of the iteration
    std::int32_t tokens;  // Submitted: prompt tokens; Admitted: tokens found in the cache; PrefillChunk:
                          // rows; Finished: generated
    RequestEvent event;
};

// How a verification step ended.
enum class DraftEnd : std::uint8_t {
    Corrected,  // a proposed token was refused, `token` stands in its place
    Bonus,      // all were accepted, and `token` follows them
    Ended,      // the answer ended with an accepted one
    Failed,     // the step could not be sampled from
};

enum class DrafterKind : std::uint8_t { Lookup, Model };

// One sequence in one step that verified proposed tokens. Its tokens of the answer are `accepted` + 1, from
// `index` on, or `accepted` where it ended. The proposed ones follow as ProposalRecords.
struct SpeculationRecord {
    std::int64_t sequence;
    std::int64_t iteration;
    double time;   // end of the verification
    float draft;   // seconds spent on drafting in this iteration, for all its sequences
    float verify;  // seconds of the iteration's forward pass, for all its sequences
    float plain;   // seconds that an iteration of as many sequences takes without drafts, as measured; 0:
                   // not measured yet
    std::int32_t index;  // of the first token of the step in the answer
    std::int32_t token;  // Corrected, Bonus: the id; else −1
    std::uint8_t proposed;
    std::uint8_t accepted;
    std::uint8_t match;  // lookup: tokens of the ending that was found again, up to 255
    DrafterKind drafter;
    DraftEnd end;
};

enum class ProposalFate : std::uint8_t { Accepted, Rejected, Unread };  // Unread: behind a refused one

struct ProposalRecord {
    std::int64_t sequence;
    std::int64_t iteration;
    std::int32_t id;
    std::int32_t position;  // in the draft, from 0
    float confidence;       // the draft model's own probability of it; lookup: 0
    ProposalFate fate;
};

struct Record {
    RecordKind kind;
    union {
        IterationRecord iteration;
        TokenRecord token;
        BlockRecord block;
        RequestRecord request;
        SliceRecord slice;
        SpeculationRecord speculation;
        ProposalRecord proposal;
    };
};
static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= 72);

}  // namespace vitrine
