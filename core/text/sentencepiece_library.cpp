#include "core/text/sentencepiece_library.h"

#include <exception>
#include <mutex>
#include <sentencepiece_processor.h>
#include <string>
#include <utility>

// Where the messages of the library can be turned off depends on its version, and none of its headers says
// so.
namespace sentencepiece {
namespace logging {
[[gnu::weak]] void SetMinLogLevel(int level);
}
[[gnu::weak]] void SetMinLogLevel(int level);
}  // namespace sentencepiece

namespace vitrine {

namespace {

void silence() {
    static std::once_flag once;
    std::call_once(once, [] {
        constexpr int kFatalAlone = 3;
        if (sentencepiece::logging::SetMinLogLevel != nullptr)
            sentencepiece::logging::SetMinLogLevel(kFatalAlone);
        if (sentencepiece::SetMinLogLevel != nullptr) sentencepiece::SetMinLogLevel(kFatalAlone);
    });
}

Error refused(const std::string& why) {
    return Error{ErrorKind::BadFile, "The sentencepiece library cannot use this vocabulary (" + why +
                                         "); the model file is damaged or of a kind that it does not know."};
}

}  // namespace

struct SentencePieceLibrary::Impl {
    sentencepiece::SentencePieceProcessor processor;
};

SentencePieceLibrary::SentencePieceLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SentencePieceLibrary::~SentencePieceLibrary() = default;
SentencePieceLibrary::SentencePieceLibrary(SentencePieceLibrary&&) noexcept = default;
SentencePieceLibrary& SentencePieceLibrary::operator=(SentencePieceLibrary&&) noexcept = default;

Result<SentencePieceLibrary> SentencePieceLibrary::load(std::string_view proto) {
    silence();
    try {
        auto impl = std::make_unique<Impl>();
        const auto status = impl->processor.LoadFromSerializedProto(proto);
        if (!status.ok()) return refused(status.error_message());
        return SentencePieceLibrary(std::move(impl));
    } catch (const std::exception& error) {
        return refused(error.what());
    }
}

bool SentencePieceLibrary::encode(std::string_view text, std::vector<int>& ids) const {
    try {
        return impl_->processor.Encode(text, &ids).ok();
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace vitrine
