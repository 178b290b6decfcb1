#include "ui/chat/code_palette.h"

#include "ui/settings/theme.h"

namespace vitrine::ui {

QColor code_background(const Theme& theme) { return mix(theme.surface, theme.text, 0.05); }

QColor code_color(Span::Style style, const Theme& theme) {
    QColor color = theme.text;
    const bool dark = theme.is_dark;
    switch (style) {
        case Span::Keyword: color = dark ? QColor(0xC7, 0x92, 0xEA) : QColor(0x7A, 0x2E, 0x9E); break;
        case Span::Type: color = dark ? QColor(0x7F, 0xC8, 0xF8) : QColor(0x0B, 0x5F, 0x99); break;
        case Span::Literal: color = dark ? QColor(0x9F, 0xD6, 0x8A) : QColor(0x2B, 0x6E, 0x1F); break;
        case Span::Number: color = dark ? QColor(0xF0, 0xA9, 0x72) : QColor(0x9A, 0x4A, 0x00); break;
        case Span::Comment: color = theme.text_second; break;
        case Span::Name: color = dark ? QColor(0x82, 0xAA, 0xFF) : QColor(0x1F, 0x4F, 0xC4); break;
        case Span::Added: color = theme.good; break;
        case Span::Removed: color = theme.bad; break;
        default: break;
    }
    return ink(color, code_background(theme));
}

}  // namespace vitrine::ui
