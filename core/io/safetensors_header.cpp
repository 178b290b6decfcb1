#include "core/io/safetensors_header.h"

#include <array>
#include <string>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "core/base/checked.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;

// Members that the format does not know may hold anything, but not without end.
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxDimensions = 16;

// The states of a walk through  { name: { "dtype": text, "shape": [n…], "data_offsets": [n, n] }, … }.
// The parser of the library keeps its own stack, so that nothing here recurses on file data.
class HeaderReader : public nlohmann::json_sax<Json> {
  public:
    explicit HeaderReader(SafetensorsContent& out) : out_(out) {}

    const std::string& problem() const { return problem_; }
    bool complete() const { return complete_; }

    bool null() override { return other("null"); }
    bool boolean(bool /*value*/) override { return other("true or false"); }
    bool number_integer(number_integer_t /*value*/) override { return other("a number with a sign"); }
    bool number_float(number_float_t /*value*/, const string_t& text) override {
        return other("the number " + printable(text, 40) + ", which is no whole number of 64 bits");
    }
    bool binary(binary_t& /*value*/) override { return other("binary data"); }

    bool number_unsigned(number_unsigned_t value) override {
        switch (place_) {
            case Place::Shape:
                if (tensor_.shape.size() == kMaxDimensions)
                    return fail(subject() + " has more than " + std::to_string(kMaxDimensions) +
                                " dimensions");
                tensor_.shape.push_back(value);
                return true;
            case Place::Offsets:
                if (offsets_ == 2) return fail(subject() + " has more than two data_offsets");
                (offsets_++ == 0 ? begin_ : end_) = value;
                return true;
            default: return other("the number " + std::to_string(value));
        }
    }

    bool string(string_t& value) override {
        if (place_ == Place::Member && member_ == "dtype") {
            tensor_.dtype_name = std::move(value);
            return true;
        }
        if (place_ == Place::Metadata) {
            out_.metadata.emplace_back(std::move(member_), std::move(value));
            return true;
        }
        return other("a text");
    }

    bool start_object(std::size_t /*elements*/) override {
        switch (place_) {
            case Place::Begin: place_ = Place::Top; return true;
            case Place::Top:
                members_.clear();
                if (tensor_.name == "__metadata__") {
                    place_ = Place::Metadata;
                } else {
                    place_ = Place::Member;
                    offsets_ = 0;
                    has_ = {};
                }
                return true;
            default: return deeper();
        }
    }

    bool key(string_t& name) override {
        if (depth_ > 0) return true;
        if (place_ == Place::Top) {
            if (!names_.insert(name).second)
                return fail("the header has the key " + in_quotes(name) +
                            " twice, and which of the two counts would be chance");
            tensor_ = {};
            tensor_.name = std::move(name);
            return true;
        }
        member_ = std::move(name);
        if (!members_.insert(member_).second)
            return fail(subject() + " has the key " + in_quotes(member_) +
                        " twice, and which of the two counts would be chance");
        if (place_ == Place::Member) {
            if (member_ == "dtype") has_[0] = true;
            if (member_ == "shape") has_[1] = true;
            if (member_ == "data_offsets") has_[2] = true;
        }
        return true;
    }

    bool end_object() override {
        if (depth_ > 0) {
            --depth_;
            return true;
        }
        if (place_ == Place::Top) {
            complete_ = true;
            return true;
        }
        if (place_ == Place::Member && !finish_tensor()) return false;
        place_ = Place::Top;
        return true;
    }

    bool start_array(std::size_t /*elements*/) override {
        if (place_ == Place::Member && depth_ == 0 && member_ == "shape") {
            place_ = Place::Shape;
            return true;
        }
        if (place_ == Place::Member && depth_ == 0 && member_ == "data_offsets") {
            place_ = Place::Offsets;
            return true;
        }
        return deeper();
    }

    bool end_array() override {
        if (depth_ > 0) {
            --depth_;
        } else {
            place_ = Place::Member;
        }
        return true;
    }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        if (problem_.empty())
            problem_ = "its header is no valid JSON (at byte " + std::to_string(position) + " of it)";
        return false;
    }

  private:
    enum class Place : std::uint8_t { Begin, Top, Metadata, Member, Shape, Offsets };

    bool fail(std::string problem) {
        problem_ = std::move(problem);
        return false;
    }

    std::string subject() const { return "tensor " + in_quotes(tensor_.name); }

    bool is_free() const {
        return depth_ > 0 || (place_ == Place::Member && member_ != "dtype" && member_ != "shape" &&
                              member_ != "data_offsets");
    }

    // A value that belongs nowhere, or into a member that nobody reads.
    bool other(const std::string& what) {
        if (is_free()) return true;
        switch (place_) {
            case Place::Begin: return fail("its header is " + what + " and no object");
            case Place::Top:
                return fail("the entry of " + in_quotes(tensor_.name) + " in the header is " + what +
                            "; an object is needed");
            case Place::Metadata:
                return fail("the value of " + in_quotes(member_) + " in __metadata__ is " + what +
                            "; the format allows texts alone");
            case Place::Shape: return fail(subject() + ": a dimension of its shape is " + what);
            case Place::Offsets: return fail(subject() + ": one of its data_offsets is " + what);
            case Place::Member: break;
        }
        return fail(subject() + ": its " + member_ + " is " + what + "; " +
                    (member_ == "dtype" ? "a text" : "a list of whole numbers") + " is needed");
    }

    bool deeper() {
        if (!is_free()) return other("a list or an object");
        if (++depth_ > kMaxDepth)
            return fail("its header nests more than " + std::to_string(kMaxDepth) +
                        " deep inside the entry of " + in_quotes(tensor_.name) + ", which no model needs");
        return true;
    }

    bool finish_tensor() {
        for (std::size_t i = 0; i < has_.size(); ++i) {
            constexpr std::array kNames = {"dtype", "shape", "data_offsets"};
            if (!has_[i]) return fail(subject() + " has no " + kNames[i]);
        }
        if (offsets_ != 2)
            return fail(subject() + " has " + std::to_string(offsets_) + " data_offsets; two are needed");
        if (begin_ > end_)
            return fail(subject() + " begins at " + std::to_string(begin_) + " and ends before that, at " +
                        std::to_string(end_));
        tensor_.offset = begin_;
        tensor_.bytes = end_ - begin_;
        out_.tensors.push_back(std::move(tensor_));
        tensor_ = {};
        return true;
    }

    SafetensorsContent& out_;
    Place place_ = Place::Begin;
    std::size_t depth_ = 0;  // inside a member that nobody reads
    bool complete_ = false;
    SafetensorsTensor tensor_;
    std::string member_;
    std::array<bool, 3> has_{};
    int offsets_ = 0;
    std::uint64_t begin_ = 0;
    std::uint64_t end_ = 0;
    std::unordered_set<std::string> names_;
    std::unordered_set<std::string> members_;
    std::string problem_;
};

}  // namespace

Status read_safetensors_header(std::string_view json, SafetensorsContent& out) {
    const auto broken = [](const std::string& problem) {
        return Error{ErrorKind::BadFile, "This is no sound safetensors file: " + problem + "."};
    };
    if (json.empty() || json.front() != '{') return broken("its header does not begin with '{'");
    // The library takes a zero byte for the end of the text, so that anything could hide behind it.
    if (json.find('\0') != std::string_view::npos) return broken("its header holds a zero byte");
    HeaderReader reader(out);
    bool read = false;
    try {
        read = Json::sax_parse(json.begin(), json.end(), &reader);
    } catch (const std::exception&) {
        return broken("its header cannot be read");
    }
    if (!read || !reader.complete())
        return broken(reader.problem().empty() ? "its header is incomplete" : reader.problem());
    return {};
}

}  // namespace vitrine
