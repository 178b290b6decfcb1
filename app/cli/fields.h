// The members of a probe request, read strictly: the right type, the right range, or a sentence that names
// the member. A whole number is a JSON number without fraction and exponent; numbers that JSON readers turn
// into doubles are refused where a whole number is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/text/chat_template.h"

namespace vitrine::cli {

class Fields {
  public:
    // `name` is how messages call the object ("the request", "sampler").
    explicit Fields(const OrderedJson& object, std::string name = "The request")
        : object_(&object), name_(std::move(name)) {}

    // Null where the member is absent.
    const OrderedJson* find(std::string_view member) const;
    bool is_null_or_absent(std::string_view member) const;

    Result<std::string> text(std::string_view member) const;
    Result<std::optional<std::string>> text_or_null(std::string_view member) const;
    Result<bool> flag(std::string_view member, bool otherwise) const;
    Result<std::int64_t> integer(std::string_view member, std::int64_t low, std::int64_t high,
                                 std::optional<std::int64_t> otherwise = {}) const;
    Result<std::uint64_t> seed(std::string_view member, std::optional<std::uint64_t> otherwise = {}) const;
    Result<double> decimal(std::string_view member, double low, double high, double otherwise) const;
    // Ids of a vocabulary of that size. At least one unless may_be_empty; absent is empty where that is
    // allowed.
    Result<std::vector<TokenId>> ids(std::string_view member, std::int32_t vocabulary,
                                     bool may_be_empty) const;
    // Positions below `count`.
    Result<std::vector<std::int32_t>> positions(std::string_view member, std::int64_t count) const;
    Result<OrderedJson> list(std::string_view member) const;  // of objects
    Result<OrderedJson> list_or_null(std::string_view member) const;
    Result<OrderedJson> object_or_empty(std::string_view member) const;
    // InvalidArgument where there is a member that is not among these.
    Status only(std::initializer_list<std::string_view> members) const;

    Error wrong(std::string_view member, const std::string& wanted) const;

  private:
    Result<std::vector<std::int64_t>> numbers(std::string_view member, std::int64_t below,
                                              const std::string& what, ErrorKind outside) const;

    const OrderedJson* object_;
    std::string name_;
};

}  // namespace vitrine::cli
