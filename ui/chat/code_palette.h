// The colours of code in the present theme: at least 4.5:1 on the background of code blocks.
#pragma once

#include <QColor>

#include "ui/chat/inline_markdown.h"

namespace vitrine::ui {

struct Theme;

QColor code_background(const Theme& theme);
QColor code_color(Span::Style style, const Theme& theme);

}  // namespace vitrine::ui
