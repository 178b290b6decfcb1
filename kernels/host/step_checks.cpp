// What every device asks of a step and of the arguments of each operation. A problem is a sentence, "" is
// none.
#include <algorithm>
#include <string>

#include "kernels/host/checked_device.h"

namespace vitrine {
namespace {

std::string number(std::int64_t n) { return std::to_string(n); }

bool holds(const BufferStorage* buffer, std::int64_t rows, std::int64_t cols) {
    return buffer != nullptr &&
           static_cast<std::uint64_t>(buffer->size) >= static_cast<std::uint64_t>(rows * cols);
}

// "" when w is absent and may be, or is one row of n float32.
std::string vector_problem(const char* name, const WeightStorage* w, std::int64_t n, bool needed) {
    if (w == nullptr) return needed ? std::string(name) + " is missing." : std::string();
    if (w->dtype != DType::F32 || w->rows != 1 || w->cols != n)
        return std::string(name) + " is " + number(w->rows) + " x " + number(w->cols) + " " +
               std::string(info_of(w->dtype).name) + "; needed is 1 x " + number(n) + " F32.";
    return {};
}

// The first problem of several.
template <class... Problems>
std::string first_of(Problems... problems) {
    std::string found;
    ((found.empty() ? void(found = problems) : void()), ...);
    return found;
}

}  // namespace

std::string CheckedDevice::place_rows() {
    const std::size_t count = step_.tokens.size();
    places_.assign(count, RowPlace());
    if (step_.positions.size() != count)
        return number(static_cast<std::int64_t>(count)) + " tokens with " +
               number(static_cast<std::int64_t>(step_.positions.size())) + " positions.";
    const auto total = static_cast<std::int64_t>(count);
    for (std::size_t s = 0; s < step_.sequences.size(); ++s) {
        const SequenceSlice& slice = step_.sequences[s];
        const std::int64_t last = std::int64_t{slice.first_row} + slice.rows;
        if (slice.first_row < 0 || slice.rows < 0 || last > total || slice.start < 0 ||
            std::int64_t{slice.start} + slice.rows > INT32_MAX)
            return "a sequence with rows " + number(slice.first_row) + " to " + number(last) +
                   " from position " + number(slice.start) + " in a step of " + number(total) + " rows.";
        for (std::int32_t i = 0; i < slice.rows; ++i) {
            RowPlace& place = places_[static_cast<std::size_t>(slice.first_row + i)];
            if (place.sequence >= 0)
                return "row " + number(slice.first_row + i) + " belongs to two sequences.";
            place.sequence = static_cast<std::int32_t>(s);
            place.slot = slice.start + i;
        }
    }
    for (const std::int32_t row : step_.output_rows)
        if (row < 0 || row >= total) return "output row " + number(row) + " of " + number(total) + ".";
    return rope_problem();
}

std::string CheckedDevice::rope_problem() const {
    for (const RopeSpec& rope : step_.ropes)
        if (rope.rotary_dim < 0 || rope.rotary_dim % 2 != 0 ||
            rope.inv_freq.size() != static_cast<std::size_t>(rope.rotary_dim / 2))
            return "a rotary embedding of " + number(rope.rotary_dim) + " elements with " +
                   number(static_cast<std::int64_t>(rope.inv_freq.size())) + " frequencies.";
    const auto sets = static_cast<std::size_t>(std::max(step_.rope_sets, 0));
    if (sets == 0 || step_.ropes.size() % sets != 0)
        return number(static_cast<std::int64_t>(step_.ropes.size())) + " rotary embeddings in " +
               number(step_.rope_sets) + " sets.";
    const std::size_t in_set = step_.ropes.size() / sets;
    for (std::size_t i = in_set; i < step_.ropes.size(); ++i)
        if (step_.ropes[i].style != step_.ropes[i % in_set].style ||
            step_.ropes[i].rotary_dim != step_.ropes[i % in_set].rotary_dim)
            return "rotary embeddings at one index of two sets that differ in shape.";
    for (const SequenceSlice& slice : step_.sequences)
        if (slice.rope_set < 0 || slice.rope_set >= step_.rope_sets)
            return "rotary set " + number(slice.rope_set) + " of " + number(step_.rope_sets) + ".";
    return {};
}

std::string CheckedDevice::matrix_problem(const char* name, const WeightStorage* w, std::int64_t out,
                                          std::int64_t in) const {
    if (w == nullptr) return std::string(name) + " is missing.";
    if (w->rows != out || w->cols != in)
        return std::string(name) + " is " + number(w->rows) + " x " + number(w->cols) + "; needed is " +
               number(out) + " x " + number(in) + ".";
    return {};
}

std::string CheckedDevice::kv_problem(const KvStorage* kv, std::int32_t layer, std::int32_t heads) const {
    if (kv == nullptr) return "the KV cache is missing.";
    const KvShape& s = kv->shape;
    if (layer < 0 || layer >= s.layers) return "layer " + number(layer) + " of " + number(s.layers) + ".";
    if (heads < 1 || heads % s.kv_heads != 0)
        return number(heads) + " query heads over " + number(s.kv_heads) + " key/value heads.";
    for (const RowPlace& place : places_)
        if (place.sequence < 0) return "a row belongs to no sequence.";
    for (const SequenceSlice& slice : step_.sequences) {
        if (slice.rows == 0) continue;
        const std::int64_t tokens = std::int64_t{slice.start} + slice.rows;
        const std::int64_t needed = (tokens + s.block_size - 1) / s.block_size;
        if (static_cast<std::int64_t>(slice.blocks.size()) < needed)
            return "a block table of " + number(static_cast<std::int64_t>(slice.blocks.size())) +
                   " blocks for " + number(tokens) + " tokens.";
        // Blocks before a window may have been given back; they are named by -1 and never read.
        for (std::int64_t b = slice.start / s.block_size; b < needed; ++b) {
            const std::int32_t block = slice.blocks[static_cast<std::size_t>(b)];
            if (block < 0 || block >= s.blocks)
                return "block " + number(block) + " of " + number(s.blocks) + " in a block table.";
        }
    }
    return {};
}

std::string CheckedDevice::problem_of(const EmbedArgs& a) const {
    if (a.table == nullptr || a.x == nullptr) return "the table or the output is missing.";
    if (!holds(a.x, rows(), a.table->cols)) return "the output buffer is too small.";
    for (const std::int32_t token : step_.tokens)
        if (token < 0 || token >= a.table->rows)
            return "token " + number(token) + " is outside the table of " + number(a.table->rows) + " rows.";
    return {};
}

std::string CheckedDevice::problem_of(const QkvArgs& a) const {
    if (std::string p = kv_problem(a.kv, a.layer, a.heads); !p.empty()) return p;
    if (a.norm == nullptr) return "the norm is missing.";
    const std::int64_t d = a.norm->cols;
    const std::int64_t c = a.kv->shape.head_dim;
    const std::int64_t q = a.heads * c;
    const std::int64_t k = a.kv->shape.kv_heads * c;
    if (a.rope < 0 || a.rope >= ropes_in_set())
        return "rotary embedding " + number(a.rope) + " of " + number(ropes_in_set()) + ".";
    if (step_.ropes[static_cast<std::size_t>(a.rope)].rotary_dim > c)
        return "the rotary part is larger than a head.";
    if (!holds(a.x, rows(), d) || !holds(a.q, rows(), q)) return "x or q is missing or too small.";
    return first_of(vector_problem("norm", a.norm, d, true), matrix_problem("wq", a.wq, q, d),
                    matrix_problem("wk", a.wk, k, d), matrix_problem("wv", a.wv, k, d),
                    vector_problem("bq", a.bq, q, false), vector_problem("bk", a.bk, k, false),
                    vector_problem("bv", a.bv, k, false), vector_problem("q_norm", a.q_norm, c, false),
                    vector_problem("k_norm", a.k_norm, c, false));
}

std::string CheckedDevice::problem_of(const AttentionArgs& a) const {
    if (std::string p = kv_problem(a.kv, a.layer, a.heads); !p.empty()) return p;
    const std::int64_t q = std::int64_t{a.heads} * a.kv->shape.head_dim;
    if (!holds(a.q, rows(), q) || !holds(a.out, rows(), q)) return "q or the output is missing or too small.";
    if (a.window < 0) return "a window of " + number(a.window) + ".";
    const KvShape& s = a.kv->shape;
    for (const SequenceSlice& slice : step_.sequences) {
        if (slice.rows == 0) continue;
        const std::int64_t oldest =
            a.window == 0 ? 0 : std::max<std::int64_t>(0, std::int64_t{slice.start} - a.window + 1);
        for (std::int64_t b = oldest / s.block_size; b <= (slice.start + slice.rows - 1) / s.block_size; ++b)
            if (slice.blocks[static_cast<std::size_t>(b)] < 0 ||
                slice.blocks[static_cast<std::size_t>(b)] >= s.blocks)
                return "block " + number(slice.blocks[static_cast<std::size_t>(b)]) + " of " +
                       number(s.blocks) + " in a block table.";
    }
    return {};
}

std::string CheckedDevice::problem_of(const ProjectArgs& a) const {
    if (a.w == nullptr) return "the matrix is missing.";
    if (!holds(a.in, rows(), a.w->cols) || !holds(a.x, rows(), a.w->rows))
        return "in or x is missing or too small.";
    return first_of(vector_problem("bias", a.bias, a.w->rows, false),
                    vector_problem("post_norm", a.post_norm, a.w->rows, false));
}

std::string CheckedDevice::problem_of(const FeedForwardArgs& a) const {
    if (a.norm == nullptr || a.gate == nullptr) return "the norm or the gate is missing.";
    const std::int64_t d = a.norm->cols;
    const std::int64_t f = a.gate->rows;
    if (!holds(a.x, rows(), d) || !holds(a.hidden, rows(), f))
        return "x or the scratch is missing or too small.";
    return first_of(vector_problem("norm", a.norm, d, true), matrix_problem("gate", a.gate, f, d),
                    matrix_problem("up", a.up, f, d), matrix_problem("down", a.down, d, f),
                    vector_problem("gate_bias", a.gate_bias, f, false),
                    vector_problem("up_bias", a.up_bias, f, false),
                    vector_problem("down_bias", a.down_bias, d, false),
                    vector_problem("post_norm", a.post_norm, d, false));
}

std::string CheckedDevice::problem_of(const LogitsArgs& a) const {
    if (a.norm == nullptr || a.w == nullptr) return "the norm or the matrix is missing.";
    const auto outputs = static_cast<std::int64_t>(step_.output_rows.size());
    if (!holds(a.x, rows(), a.norm->cols) || !holds(a.out, outputs, a.w->rows))
        return "x or the output is missing or too small.";
    return first_of(vector_problem("norm", a.norm, a.norm->cols, true),
                    matrix_problem("w", a.w, a.w->rows, a.norm->cols));
}

std::string CheckedDevice::problem_of(const SampleArgs& a) const {
    const auto outputs = static_cast<std::int64_t>(step_.output_rows.size());
    if (a.width < 1 || !holds(a.logits, outputs, a.width)) return "the logits are missing or too small.";
    for (const SampleRow& row : a.rows) {
        if (row.output < 0 || row.output >= outputs)
            return "output " + number(row.output) + " of " + number(outputs) + ".";
        if (row.vocab < 1 || row.vocab > a.width)
            return "a vocabulary of " + number(row.vocab) + " in rows of " + number(a.width) + ".";
        if (!can_sample(row, a.width)) return "settings that this device cannot sample with.";
        std::int32_t last = 0;
        for (const LogitChange& change : row.changes) {
            if (change.token < last || change.token >= row.vocab)
                return "a change of token " + number(change.token) + " after " + number(last) +
                       " in a vocabulary of " + number(row.vocab) + ".";
            last = change.token;
        }
        for (const double u : row.uniforms)
            if (!(u >= 0.0 && u < 1.0)) return "a uniform number that is not in [0, 1).";
    }
    return {};
}

}  // namespace vitrine
