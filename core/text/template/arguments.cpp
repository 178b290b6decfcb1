#include "core/text/template/arguments.h"

#include <algorithm>

#include "core/text/template/convert.h"

namespace vitrine::jinja {

Bound::Bound(Machine& machine, const Arguments& arguments, std::string_view who,
             std::initializer_list<std::string_view> parameters, std::size_t required, Names names)
    : machine_(machine), who_(who), values_(parameters.size(), nullptr) {
    const auto refuse = [&](const std::string& why) {
        machine.fail(std::string(who) + "() " + why);
        ok_ = false;
    };
    if (machine.failed()) ok_ = false;
    if (arguments.positional.size() > parameters.size()) {
        refuse("takes at most " + std::to_string(parameters.size()) + " argument(s), got " +
               std::to_string(arguments.positional.size()));
        return;
    }
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
    for (const auto& [key, value] : arguments.keywords) {
        const std::string& name = key.as<StringObject>().text.bytes;
        const auto* found = std::find(parameters.begin(), parameters.end(), name);
        if (names == Names::Refused) {
            refuse("takes no keyword arguments");
        } else if (found == parameters.end()) {
            refuse("got an unexpected keyword argument " + quote(name));
        } else if (values_[static_cast<std::size_t>(found - parameters.begin())] != nullptr) {
            refuse("got multiple values for argument " + quote(name));
        } else {
            values_[static_cast<std::size_t>(found - parameters.begin())] = &value;
        }
        if (!ok_) return;
    }
    for (std::size_t i = 0; i < required; ++i) {
        if (values_[i] == nullptr) {
            refuse("missing the argument " + quote(parameters.begin()[i]));
            return;
        }
    }
}

std::int64_t Bound::integer(std::size_t i, std::int64_t fallback) {
    if (values_[i] == nullptr) return fallback;
    const Value& value = *values_[i];
    if (value.is_integral()) return value.as_int();
    machine_.fail(who_ + "() needs a whole number, got " + type_name(value));
    ok_ = false;
    return fallback;
}

bool Bound::truth(std::size_t i, bool fallback) const {
    return values_[i] == nullptr ? fallback : truthy(*values_[i]);
}

const StringObject* Bound::text(std::size_t i, bool none_allowed) {
    if (values_[i] == nullptr || (none_allowed && values_[i]->is_none())) return nullptr;
    if (values_[i]->is_string()) return &values_[i]->as<StringObject>();
    machine_.fail(who_ + "() needs a string, got " + type_name(*values_[i]));
    ok_ = false;
    return nullptr;
}

}  // namespace vitrine::jinja
