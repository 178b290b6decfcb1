// Python's iteration protocol.
#pragma once

#include <cstdint>
#include <functional>

#include "core/text/template/value.h"

namespace vitrine::jinja {

// Walks over anything iterable. Containers never change, so an index is enough.
class Cursor {
  public:
    // False, and failed, where the value is not iterable.
    bool open(Machine& machine, const Value& value);
    // False at the end and on failure.
    bool next(Machine& machine, Value& item);

  private:
    Value source_;
    std::size_t position_ = 0;
};

bool is_iterable(const Value& value);
// len(): -1 where the value has none.
std::int64_t length_of(const Value& value);
// All items; false on failure.
bool collect(Machine& machine, const Value& value, Values& items);
// The entry of a dictionary as its view hands it out.
Value view_item(Machine& machine, const DictViewObject& view, std::size_t entry);
// An item of a range, by its checked index.
std::int64_t range_item(const RangeObject& range, std::int64_t index);
// A generator that makes its items from the source when the first one is asked for; held: what else it keeps.
using Produce = std::function<bool(Machine& machine, const Value& source, Values& items)>;
Value generator(Machine& machine, const Value& source, const Values& held, Produce produce);
// Iterates over values that are already there.
Value iterator_over(Machine& machine, Values items, const char* type_name);

}  // namespace vitrine::jinja
