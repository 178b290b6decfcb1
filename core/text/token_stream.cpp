#include "core/text/token_stream.h"

namespace vitrine {

std::string TokenStream::push(TokenId id) {
    std::string_view bytes = tokenizer_->bytes(id);
    if (drop_space_ && !bytes.empty() && !tokenizer_->is_control(id)) {
        drop_space_ = false;
        if (bytes.front() == ' ') bytes.remove_prefix(1);
    }
    return utf8_.push(bytes);
}

}  // namespace vitrine
