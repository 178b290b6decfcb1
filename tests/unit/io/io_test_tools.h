// What the tests of core/io share: a folder of their own, and files made of bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <QTemporaryDir>
#include <QtTest>

#include "core/io/gguf_content.h"
#include "core/io/gguf_file.h"
#include "core/io/model_source.h"
#include "tests/unit/io/small_model.h"

Q_DECLARE_METATYPE(vitrine::ErrorKind)

namespace vitrine::test {

class TestFolder {
  public:
    // Qt cannot name files whose names are not UTF-8, so it cannot remove them either.
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path(""), ignored);
    }
    std::filesystem::path path(const std::string& name) const {
        return std::filesystem::path(folder_.path().toStdString()) / std::filesystem::path(name);
    }
    // Writes the bytes under that name and returns the path.
    std::filesystem::path put(const Bytes& bytes, const std::string& name = "test.gguf") const {
        const auto where = path(name);
        std::filesystem::remove(where);  // an earlier one may still be mapped
        if (!write_file(where, bytes)) qFatal("cannot write %s", where.c_str());
        return where;
    }
    Result<std::unique_ptr<GgufFile>> open(const Bytes& bytes) const { return GgufFile::open(put(bytes)); }
    Result<std::unique_ptr<ModelSource>> model(const Bytes& bytes, bool vocabulary_only = false) const {
        return ModelSource::open(put(bytes), {vocabulary_only});
    }

  private:
    QTemporaryDir folder_;
};

// The checks of GgufFile on bytes in memory, without a file: a read beyond the end is a read beyond a heap
// block, which the address sanitizer sees. The content's views end with the bytes.
struct Parsed {
    GgufContent content;
    Status status;
};

inline Parsed parse(const Bytes& bytes) {
    Parsed out;
    out.status = read_gguf_directory(bytes, out.content);
    if (out.status.ok()) {
        const auto problems = check_gguf_layout(bytes.size(), out.content);
        if (!problems.empty()) out.status = problems.front();
    }
    return out;
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline bool any_contains(const std::vector<std::string>& texts, const std::string& part) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return contains(text, part); });
}

// Empty where the result is an error of that kind whose sentence holds that part; else what came instead.
template <class T>
std::string error_mismatch(const Result<T>& result, ErrorKind kind, const std::string& part) {
    if (result.ok()) return "no error, but one with '" + part + "' was expected";
    const Error& error = result.error();
    if (error.kind == kind && contains(error.message, part)) return "";
    return std::string(name_of(error.kind)) + ": " + error.message + "  (expected: " + part + ")";
}

template <class T>
std::string error_of(const Result<T>& result) {
    return result.ok() ? "" : result.error().message;
}

}  // namespace vitrine::test

#define VERIFY_ERROR(result, kind, part)                                                         \
    do {                                                                                         \
        const std::string verify_mismatch = vitrine::test::error_mismatch((result), kind, part); \
        QVERIFY2(verify_mismatch.empty(), verify_mismatch.c_str());                              \
    } while (false)

#define VERIFY_OK(result)                                                 \
    do {                                                                  \
        const std::string verify_error = vitrine::test::error_of(result); \
        QVERIFY2(verify_error.empty(), verify_error.c_str());             \
    } while (false)
