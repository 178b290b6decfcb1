// A report on a model file for people and scripts: works on files that this program cannot run, too.
#pragma once

#include <filesystem>
#include <string>

namespace vitrine {

struct InspectReport {
    bool usable = false;  // could be run by this program
    std::string
        text;  // for people, ends with a newline; control and bidi characters escaped, long values cut
    std::string json;  // one JSON object
};

// Never fails: what cannot be read is the report.
InspectReport inspect_model(const std::filesystem::path& path);

}  // namespace vitrine
