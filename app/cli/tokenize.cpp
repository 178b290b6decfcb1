// `vitrine-cli tokenize`: the tokens of a text, for people and scripts.
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/probe.h"
#include "core/text/utf8_stream.h"

namespace vitrine::cli {

namespace {

constexpr std::size_t longest_text = 64U << 20;

std::string row(const Tokenizer& tokenizer, TokenId id) {
    std::string number = std::to_string(id.value);
    if (number.size() < 8) number.insert(0, 8 - number.size(), ' ');
    // Quoted as JSON writes it, so that spaces and line ends are seen.
    std::string piece = OrderedJson(to_valid_utf8(tokenizer.bytes(id))).dump();
    return number + "  " + terminal_text(piece) + (tokenizer.is_control(id) ? "  control\n" : "\n");
}

}  // namespace

int run_tokenize(const TokenizeOptions& options) {
    auto opened = open_model(options.model, true);
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    std::string text;
    if (options.text) {
        text = *options.text;
    } else {
        auto read = read_text("-", longest_text);
        if (!read.ok()) {
            note(read.error().message);
            return 1;
        }
        text = std::move(read).value();
    }
    const Tokenizer& tokenizer = opened->model->tokenizer();
    const auto ids = tokenizer.encode(text, options.parse_special, options.add_special);
    if (options.json) {
        OrderedJson reply;
        reply["ids"] = id_list(ids);
        reply["pieces"] = OrderedJson::array();
        for (const TokenId id : ids) reply["pieces"].push_back(to_valid_utf8(tokenizer.bytes(id)));
        write_out(to_line(reply));
        return output_status();
    }
    std::string table;
    for (const TokenId id : ids) {
        table += row(tokenizer, id);
        if (table.size() < 65536) continue;
        if (!write_out(table)) return output_status();
        table.clear();
    }
    write_out(table);
    note(std::to_string(ids.size()) + (ids.size() == 1 ? " token" : " tokens") + ", " +
         std::to_string(text.size()) + " bytes");
    return output_status();
}

}  // namespace vitrine::cli
