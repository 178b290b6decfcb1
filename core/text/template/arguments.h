// Binds the arguments of a filter, test or method to its parameters, with Python's complaints.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/template/machine.h"

namespace vitrine::jinja {

class Bound {
  public:
    enum class Names : std::uint8_t { Allowed, Refused };
    // The first `required` parameters must be given. Refused: none may be given by name.
    Bound(Machine& machine, const Arguments& arguments, std::string_view who,
          std::initializer_list<std::string_view> parameters, std::size_t required = 0,
          Names names = Names::Allowed);

    bool ok() const { return ok_; }
    bool given(std::size_t i) const { return values_[i] != nullptr; }
    // Missing where it was not given.
    const Value& operator[](std::size_t i) const { return values_[i] != nullptr ? *values_[i] : missing_; }
    // An argument of a type; the fallback where it was not given. Fails, and ok() is false, on another type.
    std::int64_t integer(std::size_t i, std::int64_t fallback);
    bool truth(std::size_t i, bool fallback) const;
    // The text of a string argument, nullptr where it was not given (or is none, where that is allowed).
    const StringObject* text(std::size_t i, bool none_allowed = false);

  private:
    Machine& machine_;
    std::string who_;
    std::vector<const Value*> values_;
    Value missing_;
    bool ok_ = true;
};

}  // namespace vitrine::jinja
