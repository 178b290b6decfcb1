// What a tokenizer.json does to a stretch of text before its model sees it: normalizer and pre-tokenizer,
// step by step as the library `tokenizers` runs them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/vocabulary.h"
#include "core/text/pattern.h"

namespace vitrine {

class TextPipeline {
  public:
    // Unsupported where a pattern cannot be run as it is meant.
    static Result<TextPipeline> make(const PipelineRules& rules);

    bool normalizes() const { return !normalizer_.empty(); }
    // Text must be valid UTF-8, here and below.
    std::string normalized(std::string_view text) const;

    // Pieces of a normalized stretch, none empty, in order: views of `text` or of `storage`. `first`: the
    // stretch begins the whole text.
    std::vector<std::string_view> split(std::string_view text, bool first,
                                        std::deque<std::string>& storage) const;

  private:
    struct Normalization {
        NormalizerStep step;
        std::optional<Pattern> pattern;
    };
    struct Cut {
        SplitStep step;
        std::optional<Pattern> pattern;
    };
    std::vector<Normalization> normalizer_;
    std::vector<Cut> cuts_;
    bool prefix_space_ = false;
};

}  // namespace vitrine
