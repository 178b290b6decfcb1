#include "core/text/normal_form.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/unistr.h>

#include "core/text/utf8.h"

namespace vitrine {

namespace {

// ICU sorts a run of combining marks by insertion, which is quadratic. Longer runs than this are handed to
// it sorted already; real text stays below (UAX #15, "Stream-Safe Text Format", allows 30).
constexpr std::size_t kLongRun = 32;
// ICU counts in 32 bits; a longer text goes through in parts that begin where normalization can begin.
constexpr std::size_t kPart = std::size_t{1} << 28U;

struct Mark {
    char32_t character;
    std::uint8_t combining_class;
};

// Appends the full canonical decomposition of `character` to `run` if it begins with a combining mark.
bool append_marks(const icu::Normalizer2& nfd, char32_t character, std::vector<Mark>& run) {
    if (character < 0x300) return false;
    const auto point = static_cast<UChar32>(character);
    icu::UnicodeString decomposed;
    if (!nfd.getDecomposition(point, decomposed)) {
        const std::uint8_t combining_class = nfd.getCombiningClass(point);
        if (combining_class != 0) run.push_back({character, combining_class});
        return combining_class != 0;
    }
    if (nfd.getCombiningClass(decomposed.char32At(0)) == 0) return false;
    for (std::int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
        const UChar32 mark = decomposed.char32At(i);
        run.push_back({static_cast<char32_t>(mark), nfd.getCombiningClass(mark)});
    }
    return true;
}

// The text with long runs of combining marks decomposed and in canonical order: equivalent to the original.
std::string with_sorted_runs(const icu::Normalizer2& nfd, std::string_view text) {
    std::string result;
    result.reserve(text.size());
    std::vector<Mark> run;
    std::size_t run_begin = 0;
    const auto end_run = [&](std::size_t position) {
        if (run.size() > kLongRun) {
            std::stable_sort(run.begin(), run.end(), [](const Mark& a, const Mark& b) {
                return a.combining_class < b.combining_class;
            });
            for (const Mark& mark : run) append_utf8(result, mark.character);
        } else {
            result.append(text.substr(run_begin, position - run_begin));
        }
        run.clear();
    };
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Unit unit = next_utf8(text, position);
        if (run.empty()) run_begin = position;
        if (!append_marks(nfd, unit.character, run)) {
            end_run(position);
            result.append(text.substr(position, unit.size));
        }
        position += unit.size;
    }
    if (!run.empty()) end_run(text.size());
    return result;
}

const icu::Normalizer2* instance(NormalForm form, UErrorCode& status) {
    switch (form) {
        case NormalForm::C: return icu::Normalizer2::getNFCInstance(status);
        case NormalForm::D: return icu::Normalizer2::getNFDInstance(status);
        case NormalForm::KC: return icu::Normalizer2::getNFKCInstance(status);
        case NormalForm::KD: return icu::Normalizer2::getNFKDInstance(status);
    }
    return icu::Normalizer2::getNFCInstance(status);
}

// Only then is the slow look at every character's class needed.
bool may_hold_long_run(std::string_view text) {
    std::size_t run = 0;
    for (const char c : text) {
        run = static_cast<std::uint8_t>(c) < 0x80 ? 0 : run + 1;
        if (run > 2 * kLongRun) return true;  // a mark takes at least two bytes
    }
    return false;
}

}  // namespace

std::string to_normal_form(std::string_view text, NormalForm form) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* wanted = instance(form, status);
    const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
    if (U_FAILURE(status)) return std::string(text);

    std::string sorted;
    if (may_hold_long_run(text)) {
        sorted = with_sorted_runs(*nfd, text);
        text = sorted;
    }
    std::string result;
    result.reserve(text.size());
    icu::StringByteSink<std::string> sink(&result);
    while (!text.empty()) {
        std::size_t size = std::min(text.size(), kPart);
        for (; size < text.size(); ++size) {
            const Utf8Unit unit = next_utf8(text, size);
            if (unit.kind == Utf8Kind::Whole &&
                wanted->hasBoundaryBefore(static_cast<UChar32>(unit.character)))
                break;
            if (size > 2 * kPart) break;
        }
        const std::size_t before = result.size();
        wanted->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<std::int32_t>(size)), sink,
                              nullptr, status);
        if (U_FAILURE(status)) {
            result.resize(before);
            result.append(text);
            return result;
        }
        text.remove_prefix(size);
    }
    return result;
}

}  // namespace vitrine
