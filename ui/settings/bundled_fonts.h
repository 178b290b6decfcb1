// Typefaces that come with the program: the portable bundle has them, so that text can be read on a machine
// without any, and looks as it was drawn on all others.
#pragma once

#include <QString>

namespace vitrine::ui {

// ../share/vitrine/fonts from where the program lies; packages of a distribution have no such folder.
QString bundled_fonts_folder();

// Makes the fonts of a folder known to the program, before anything is drawn. Returns how many files were
// usable; a folder that is not there has none.
int add_fonts(const QString& folder);

}  // namespace vitrine::ui
