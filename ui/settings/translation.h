// The language of the window: English in the sources, others as compiled translations in the program.
#pragma once

#include <QString>

namespace vitrine::ui {

// Translates what is shown from now on, Qt's own dialogs included. language: "de", "en", or empty for the
// system's. False where it stays English.
bool load_translation(const QString& language);

}  // namespace vitrine::ui
