#include "core/text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace vitrine {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
    for (std::string& text : stops) {
        if (text.empty()) continue;
        Stop stop;
        stop.border.resize(text.size());
        for (std::size_t i = 1, k = 0; i < text.size(); ++i) {
            while (k > 0 && text[i] != text[k]) k = stop.border[k - 1];
            if (text[i] == text[k]) ++k;
            stop.border[i] = k;
        }
        stop.text = std::move(text);
        stops_.push_back(std::move(stop));
    }
}

void StopMatcher::advance(Stop& stop, char byte, std::size_t end) {
    std::size_t k = stop.length;
    while (k > 0 && byte != stop.text[k]) k = stop.border[k - 1];
    if (byte == stop.text[k]) ++k;
    if (k == stop.text.size()) {
        // The first completion is the earliest beginning of this stop string; later ones cannot win.
        best_ = std::min(best_, end - k);
        k = stop.border[k - 1];
    }
    stop.length = k;
}

std::size_t StopMatcher::earliest_unfinished() const {
    std::size_t longest = 0;
    for (const Stop& stop : stops_) longest = std::max(longest, stop.length);
    return position_ - longest;
}

std::string StopMatcher::push(std::string_view text) {
    if (matched_) return {};
    if (stops_.empty()) return std::string(text);
    const std::size_t shown = position_ - held_.size();  // position of the first byte not given out
    held_.append(text);
    for (const char byte : text) {
        ++position_;
        for (Stop& stop : stops_) advance(stop, byte, position_);
        if (best_ != kNone && earliest_unfinished() >= best_) {
            matched_ = true;
            std::string out = held_.substr(0, best_ - shown);
            held_.clear();
            return out;
        }
    }
    const std::size_t certain = earliest_unfinished() - shown;
    std::string out = held_.substr(0, certain);
    held_.erase(0, certain);
    return out;
}

std::string StopMatcher::flush() {
    if (matched_) return {};
    std::string out = std::exchange(held_, {});
    if (best_ != kNone) {
        matched_ = true;
        out.resize(best_ - (position_ - out.size()));
    }
    for (Stop& stop : stops_) stop.length = 0;
    return out;
}

}  // namespace vitrine
