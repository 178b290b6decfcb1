// A report on a model file for people and scripts: works on files that this program cannot run, too.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine {

struct InspectReport {
    bool usable = false;  // could be run by this program
    std::string
        text;  // for people, ends with a newline; control and bidi characters escaped, long values cut
    std::string json;  // one JSON object
};

// What else is wrong with a model that opens, as sentences, or why it cannot be used all the same: floors
// above this one know (tokenizer, template).
using FurtherLook = std::function<Result<std::vector<std::string>>()>;

// Never fails: what cannot be read is the report. `further` is asked where the file itself is good.
InspectReport inspect_model(const std::filesystem::path& path, const FurtherLook& further = {});

}  // namespace vitrine
