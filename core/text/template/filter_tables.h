// The filter tables, by what the filters work on.
#pragma once

#include <span>

#include "core/text/template/registry.h"

namespace vitrine::jinja {

std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> number_filters();
std::span<const FilterEntry> list_filters();
std::span<const FilterEntry> order_filters();
std::span<const FilterEntry> item_filters();

// Small letters where it is text: how sort and others compare.
Value ignore_case(Machine& machine, const Value& value);

// soft_str(): the value itself where it is a string, else str(value).
Value as_string(Machine& machine, const Value& value);

// "a.b.0" as the steps that sort, map and others follow into each item.
class AttributePath {
  public:
    // Missing or none: the item itself.
    void parse(Machine& machine, const Value& attribute);
    // A fallback that is not Missing takes the place of what is undefined on the way.
    Value get(Machine& machine, const Value& item, const Value& fallback) const;

  private:
    Values steps_;
};

}  // namespace vitrine::jinja
