// Errors as values, on the lowest floor so that every floor can use them.
//
// An Error carries one sentence for the person who can act on it: what failed, which file, tensor or key,
// what was needed and what was found, and what to do. Nothing in core or kernels throws on bad input.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace vitrine {

enum class ErrorKind {
    InvalidArgument,  // a request that cannot be served as it was put
    BadFile,          // a file whose content breaks its format
    NotFound,         // a file, key or tensor that is not there
    Unsupported,      // well-formed, but not something this program can run
    OutOfMemory,      // needed more than is free
    TooLarge,         // beyond a stated limit (context, pool, template output)
    Io,               // the operating system refused
    Template,         // a chat template failed or raised
    Cancelled,        // stopped on request
    Internal,         // a broken invariant of our own: please report
};

// The stable lower-case name used in JSON ("invalid_argument", …).
constexpr const char* name_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::InvalidArgument: return "invalid_argument";
        case ErrorKind::BadFile: return "bad_file";
        case ErrorKind::NotFound: return "not_found";
        case ErrorKind::Unsupported: return "unsupported";
        case ErrorKind::OutOfMemory: return "out_of_memory";
        case ErrorKind::TooLarge: return "too_large";
        case ErrorKind::Io: return "io";
        case ErrorKind::Template: return "template";
        case ErrorKind::Cancelled: return "cancelled";
        case ErrorKind::Internal: return "internal";
    }
    return "internal";
}

struct Error {
    ErrorKind kind = ErrorKind::Internal;
    std::string message;
};

// A value or an Error. Check ok() before value(); reading the wrong side is a programming error.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & {
        assert(ok());
        return *std::get_if<0>(&state_);
    }
    const T& value() const& {
        assert(ok());
        return *std::get_if<0>(&state_);
    }
    T&& value() && {
        assert(ok());
        return std::move(*std::get_if<0>(&state_));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const& {
        assert(!ok());
        return *std::get_if<1>(&state_);
    }
    Error&& error() && {
        assert(!ok());
        return std::move(*std::get_if<1>(&state_));
    }

  private:
    std::variant<T, Error> state_;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit on purpose

    bool ok() const { return ok_; }
    explicit operator bool() const { return ok_; }
    const Error& error() const {
        assert(!ok_);
        return error_;
    }

  private:
    Error error_;
    bool ok_ = true;
};

using Status = Result<void>;

}  // namespace vitrine

#define VITRINE_CONCAT_(a, b) a##b
#define VITRINE_CONCAT(a, b) VITRINE_CONCAT_(a, b)

// VITRINE_TRY(auto x, expression): x is the value, or the enclosing function returns the error.
#define VITRINE_TRY(declaration, expression) \
    VITRINE_TRY_(VITRINE_CONCAT(try_result_, __LINE__), declaration, expression)
#define VITRINE_TRY_(temporary, declaration, expression)      \
    auto temporary = (expression);                            \
    if (!temporary.ok()) return std::move(temporary).error(); \
    declaration = std::move(temporary).value()

// VITRINE_CHECK(status): the enclosing function returns the error, if there is one.
#define VITRINE_CHECK(expression)                                                                 \
    do {                                                                                          \
        if (auto check_result_ = (expression); !check_result_.ok()) return check_result_.error(); \
    } while (false)
