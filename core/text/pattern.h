// One regular expression on PCRE2, just-in-time compiled where the system allows it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace vitrine {

struct PatternMatch {
    std::size_t begin = 0;
    std::size_t end = 0;
};

class Pattern {
  public:
    // An expression of our own, in PCRE2's dialect. Internal where PCRE2 refuses it.
    static Result<Pattern> ours(std::string_view expression);
    // An expression of a tokenizer.json, in the dialect of the library Oniguruma. Unsupported where it uses
    // what the two read differently, where PCRE2 refuses it, or where its time could grow faster than any
    // text deserves.
    static Result<Pattern> of_file(std::string_view expression);
    ~Pattern();
    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;

    // What a search needs from call to call; for one thread. The pattern must outlive it.
    class Search {
      public:
        explicit Search(const Pattern& pattern);
        ~Search();
        Search(Search&&) noexcept;
        Search& operator=(Search&&) noexcept;
        // The first match in `text` (valid UTF-8) at or behind `from` (a character's begin); none also where
        // the expression of a file takes too many steps.
        std::optional<PatternMatch> next(std::string_view text, std::size_t from);

      private:
        struct State;
        const Pattern* pattern_;
        std::unique_ptr<State> state_;
    };

  private:
    struct Code;
    explicit Pattern(std::unique_ptr<Code> code);
    static Result<std::unique_ptr<Code>> compile(std::string_view expression);
    std::unique_ptr<Code> code_;
};

}  // namespace vitrine
