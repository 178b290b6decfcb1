#include "app/cli/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace vitrine::cli {

namespace {

// A value as a message shows it: short, and never a whole document.
std::string shown(const OrderedJson& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    std::string text = value.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
    return text.size() <= 40 ? text : text.substr(0, 40) + "...";
}

// The whole number, or none where it is another type or does not fit.
std::optional<std::int64_t> whole(const OrderedJson& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (value.is_number_integer()) return value.get<std::int64_t>();
    return std::nullopt;
}

std::string decimal_text(double value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

}  // namespace

const OrderedJson* Fields::find(std::string_view member) const {
    for (auto it = object_->begin(); it != object_->end(); ++it)
        if (it.key() == member) return &it.value();
    return nullptr;
}

bool Fields::is_null_or_absent(std::string_view member) const {
    const OrderedJson* value = find(member);
    return value == nullptr || value->is_null();
}

Error Fields::wrong(std::string_view member, const std::string& wanted) const {
    const OrderedJson* value = find(member);
    return Error{ErrorKind::InvalidArgument,
                 name_ + " needs \"" + std::string(member) + "\" as " + wanted +
                     (value == nullptr ? "; it is not there." : ", not " + shown(*value) + ".")};
}

Result<std::string> Fields::text(std::string_view member) const {
    const OrderedJson* value = find(member);
    if (value == nullptr || !value->is_string()) return wrong(member, "a string");
    return value->get<std::string>();
}

Result<std::optional<std::string>> Fields::text_or_null(std::string_view member) const {
    if (is_null_or_absent(member)) return std::optional<std::string>();
    if (!find(member)->is_string()) return wrong(member, "a string or null");
    return std::optional<std::string>(find(member)->get<std::string>());
}

Result<bool> Fields::flag(std::string_view member, bool otherwise) const {
    const OrderedJson* value = find(member);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) return wrong(member, "true or false");
    return value->get<bool>();
}

Result<std::int64_t> Fields::integer(std::string_view member, std::int64_t low, std::int64_t high,
                                     std::optional<std::int64_t> otherwise) const {
    const OrderedJson* value = find(member);
    if (value == nullptr && otherwise) return *otherwise;
    const auto number = value == nullptr ? std::nullopt : whole(*value);
    if (!number || *number < low || *number > high)
        return wrong(member, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return *number;
}

Result<std::uint64_t> Fields::seed(std::string_view member, std::optional<std::uint64_t> otherwise) const {
    const OrderedJson* value = find(member);
    if (value == nullptr && otherwise) return *otherwise;
    const auto number = value == nullptr ? std::nullopt : whole(*value);
    if (value != nullptr && value->is_number_unsigned()) return value->get<std::uint64_t>();
    if (!number || *number < 0) return wrong(member, "a whole number from 0 to 18446744073709551615");
    return static_cast<std::uint64_t>(*number);
}

Result<double> Fields::decimal(std::string_view member, double low, double high, double otherwise) const {
    const OrderedJson* value = find(member);
    if (value == nullptr) return otherwise;
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (!std::isfinite(number) || number < low || number > high)
        return wrong(member, "a number from " + decimal_text(low) + " to " + decimal_text(high));
    return number;
}

Result<std::vector<std::int64_t>> Fields::numbers(std::string_view member, std::int64_t below,
                                                  const std::string& what, ErrorKind outside) const {
    const OrderedJson* value = find(member);
    if (value == nullptr || !value->is_array()) return wrong(member, "a list of " + what);
    std::vector<std::int64_t> numbers;
    numbers.reserve(value->size());
    std::size_t index = 0;
    for (const OrderedJson& item : *value) {
        const auto number = whole(item);
        if (!number && !item.is_number_unsigned())
            return Error{ErrorKind::InvalidArgument, name_ + " needs \"" + std::string(member) +
                                                         "\" as a list of " + what + "; item " +
                                                         std::to_string(index) + " is " + shown(item) + "."};
        if (!number || *number < 0 || *number >= below)
            return Error{outside, "Item " + std::to_string(index) + " of \"" + std::string(member) +
                                      "\" is " + shown(item) + ", which is not among the " + what +
                                      ": they go from 0 to " + std::to_string(below - 1) + "."};
        numbers.push_back(*number);
        ++index;
    }
    return numbers;
}

Result<std::vector<TokenId>> Fields::ids(std::string_view member, std::int32_t vocabulary,
                                         bool may_be_empty) const {
    if (may_be_empty && find(member) == nullptr) return std::vector<TokenId>();
    VITRINE_TRY(std::vector<std::int64_t> numbers,
                this->numbers(member, vocabulary, "ids of the vocabulary", ErrorKind::InvalidArgument));
    if (numbers.empty() && !may_be_empty)
        return Error{
            ErrorKind::InvalidArgument,
            "\"" + std::string(member) + "\" is empty: at least one id is needed to compute anything."};
    std::vector<TokenId> ids;
    ids.reserve(numbers.size());
    for (const std::int64_t number : numbers) ids.emplace_back(static_cast<std::int32_t>(number));
    return ids;
}

Result<std::vector<std::int32_t>> Fields::positions(std::string_view member, std::int64_t count) const {
    if (find(member) == nullptr) return std::vector<std::int32_t>();
    VITRINE_TRY(std::vector<std::int64_t> numbers,
                this->numbers(member, count, "positions of the sequence", ErrorKind::InvalidArgument));
    std::vector<std::int32_t> positions;
    positions.reserve(numbers.size());
    for (const std::int64_t number : numbers) positions.push_back(static_cast<std::int32_t>(number));
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    return positions;
}

Result<OrderedJson> Fields::list(std::string_view member) const {
    const OrderedJson* value = find(member);
    if (value == nullptr || !value->is_array()) return wrong(member, "a list of objects");
    for (const OrderedJson& item : *value)
        if (!item.is_object())
            return Error{
                ErrorKind::InvalidArgument,
                "\"" + std::string(member) + "\" is a list of objects; one item is " + shown(item) + "."};
    return *value;
}

Result<OrderedJson> Fields::list_or_null(std::string_view member) const {
    if (is_null_or_absent(member)) return OrderedJson();
    if (!find(member)->is_array()) return wrong(member, "a list or null");
    return *find(member);
}

Result<OrderedJson> Fields::object_or_empty(std::string_view member) const {
    if (is_null_or_absent(member)) return OrderedJson::object();
    if (!find(member)->is_object()) return wrong(member, "an object");
    return *find(member);
}

Status Fields::only(std::initializer_list<std::string_view> members) const {
    for (auto it = object_->begin(); it != object_->end(); ++it) {
        if (std::find(members.begin(), members.end(), it.key()) != members.end()) continue;
        std::string known;
        for (const std::string_view member : members)
            known += (known.empty() ? "" : ", ") + std::string(member);
        return Error{
            ErrorKind::InvalidArgument,
            name_ + " has an unknown member \"" + it.key().substr(0, 40) + "\"; known ones: " + known + "."};
    }
    return {};
}

}  // namespace vitrine::cli
