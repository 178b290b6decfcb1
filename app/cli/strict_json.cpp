#include "app/cli/strict_json.h"

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace vitrine::cli {

namespace {

// Builds the value from the events of nlohmann's parser, without recursion. Members are appended as they come
// (looking for a key in a long object would be quadratic), a hash set finds a key that comes twice.
class Builder {
  public:
    using number_integer_t = OrderedJson::number_integer_t;
    using number_unsigned_t = OrderedJson::number_unsigned_t;
    using number_float_t = OrderedJson::number_float_t;
    using string_t = OrderedJson::string_t;
    using binary_t = OrderedJson::binary_t;

    explicit Builder(JsonLimits limits) : limits_(limits) {}

    bool null() { return add(nullptr) != nullptr; }
    bool boolean(bool value) { return add(value) != nullptr; }
    bool number_integer(number_integer_t value) { return add(value) != nullptr; }
    bool number_unsigned(number_unsigned_t value) { return add(value) != nullptr; }
    bool number_float(number_float_t value, const string_t& /*spelling*/) { return add(value) != nullptr; }
    bool string(string_t& value) { return add(std::move(value)) != nullptr; }
    bool binary(binary_t& /*value*/) { return false; }

    bool start_object(std::size_t /*elements*/) { return open(OrderedJson::object(), true); }
    bool key(string_t& name) {
        Open& in = open_.back();
        if (!in.keys.insert(name).second)
            return fail(ErrorKind::InvalidArgument,
                        "the key \"" + name.substr(0, 60) + "\" comes twice in one object");
        in.key = std::move(name);
        return true;
    }
    bool end_object() { return close(); }
    bool start_array(std::size_t /*elements*/) { return open(OrderedJson::array(), false); }
    bool end_array() { return close(); }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& problem) {
        // The library's text: "[json.exception.parse_error.101] parse error at line 1, column 5: what".
        std::string what = problem.what();
        if (const auto colon = what.find(": "); colon != std::string::npos) what.erase(0, colon + 2);
        if (const auto end = what.find("] "); what.starts_with('[') && end != std::string::npos)
            what.erase(0, end + 2);
        if (what.size() > 200) what = what.substr(0, 200) + "…";
        return fail(ErrorKind::InvalidArgument, "byte " + std::to_string(position) + ": " + what);
    }

    OrderedJson root;
    std::optional<Error> error;

  private:
    struct Open {
        OrderedJson* value = nullptr;
        bool object = false;
        std::string key;
        std::unordered_set<std::string> keys;
    };

    bool fail(ErrorKind kind, std::string message) {
        if (!error) error = Error{kind, "The line is not usable as JSON: " + std::move(message) + "."};
        return false;
    }

    OrderedJson* add(OrderedJson value) {
        if (++values_ > limits_.values) {
            fail(ErrorKind::TooLarge, "it holds more than " + std::to_string(limits_.values) + " values");
            return nullptr;
        }
        if (open_.empty()) {
            root = std::move(value);
            return &root;
        }
        Open& in = open_.back();
        if (!in.object) {
            auto& list = in.value->get_ref<OrderedJson::array_t&>();
            list.push_back(std::move(value));
            return &list.back();
        }
        using Members = OrderedJson::object_t;
        Members& members = in.value->get_ref<Members&>();
        members.Members::Container::emplace_back(std::move(in.key), std::move(value));
        return &members.back().second;
    }

    bool open(OrderedJson value, bool object) {
        if (open_.size() >= limits_.depth)
            return fail(ErrorKind::TooLarge,
                        "it is nested deeper than " + std::to_string(limits_.depth) + " levels");
        OrderedJson* place = add(std::move(value));
        if (place == nullptr) return false;
        Open in;
        in.value = place;
        in.object = object;
        open_.push_back(std::move(in));
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    JsonLimits limits_;
    std::size_t values_ = 0;
    std::vector<Open> open_;
};

}  // namespace

Result<OrderedJson> parse_strict(std::string_view text, JsonLimits limits) {
    // The library takes a NUL byte for the end of the text.
    if (const auto nul = text.find('\0'); nul != std::string_view::npos)
        return Error{ErrorKind::InvalidArgument,
                     "The line is not usable as JSON: byte " + std::to_string(nul + 1) + " is a NUL byte."};
    Builder builder(limits);
    const bool ok = OrderedJson::sax_parse(text.begin(), text.end(), &builder);
    if (builder.error) return *std::move(builder.error);
    if (!ok) return Error{ErrorKind::InvalidArgument, "The line is not usable as JSON."};
    return std::move(builder.root);
}

}  // namespace vitrine::cli
