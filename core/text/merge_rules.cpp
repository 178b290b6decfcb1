#include "core/text/merge_rules.h"

#include <array>
#include <optional>

#include "core/text/byte_alphabet.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

namespace {

enum Fault : std::size_t { NoSpace, ManyParts, EmptyPart, UnknownPart, UnknownResult, Repeated, FaultCount };

constexpr std::array<std::string_view, FaultCount> kFaultNames = {
    "do not hold two parts with a space between them",
    "hold more than two parts",
    "hold an empty part",
    "name a part that is not an ordinary token of the vocabulary",
    "lead to a text that is not an ordinary token of the vocabulary",
    "occur a second time",
};

std::optional<std::int32_t> find_part(std::string_view part, const TokenTable& tokens) {
    const auto bytes = bytes_of_alphabet(part);
    if (!bytes) return std::nullopt;
    const auto found = tokens.find(*bytes);
    if (found == tokens.end()) return std::nullopt;
    return found->second;
}

// What is wrong with a line, or FaultCount where it went into the table.
Fault read_line(std::string_view line, std::uint32_t rank, const TokenTable& tokens, PairTable& pairs) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return NoSpace;
    const std::string_view left = line.substr(0, space);
    const std::string_view right = line.substr(space + 1);
    if (right.find(' ') != std::string_view::npos) return ManyParts;
    if (left.empty() || right.empty()) return EmptyPart;
    const auto left_id = find_part(left, tokens);
    const auto right_id = find_part(right, tokens);
    if (!left_id || !right_id) return UnknownPart;
    std::string whole(left);
    whole += right;
    const auto whole_id = find_part(whole, tokens);
    if (!whole_id) return UnknownResult;
    return pairs.insert(*left_id, *right_id, {rank, *whole_id}) ? FaultCount : Repeated;
}

// A line for a message: short, valid UTF-8, without control characters.
std::string printable(std::string_view line) {
    std::string text;
    for (const char c : to_valid_utf8(line.substr(0, 60))) {
        text.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c);
    }
    return text;
}

}  // namespace

MergeRules read_merges(std::span<const std::string> lines, const TokenTable& tokens) {
    MergeRules rules;
    rules.pairs = PairTable(lines.size());
    std::array<std::size_t, FaultCount> counts{};
    std::array<std::size_t, FaultCount> first{};
    for (std::size_t rank = 0; rank < lines.size() && rank < BpeMerge::kNone; ++rank) {
        const Fault fault = read_line(lines[rank], static_cast<std::uint32_t>(rank), tokens, rules.pairs);
        if (fault != FaultCount && counts[fault]++ == 0) first[fault] = rank;
    }
    if (lines.empty()) {
        rules.warnings.emplace_back(
            "The vocabulary has no merges, so every text is read byte by byte, which no model was trained "
            "for; the "
            "model file is incomplete.");
    }
    for (std::size_t fault = 0; fault < FaultCount; ++fault) {
        if (counts[fault] == 0) continue;
        rules.warnings.push_back("Of the " + std::to_string(lines.size()) + " merges of the vocabulary, " +
                                 std::to_string(counts[fault]) + " " + std::string(kFaultNames[fault]) +
                                 " and are not used (first: merge " + std::to_string(first[fault]) + ", \"" +
                                 printable(lines[first[fault]]) + "\").");
    }
    return rules;
}

}  // namespace vitrine
