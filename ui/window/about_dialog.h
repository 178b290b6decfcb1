// What the program is, its licence and those of what it is built from, and what a report of a fault needs.
#pragma once

#include <QDialog>

namespace vitrine::ui {

struct AboutFacts {
    QString version;
    QString model;   // "SmolLM2 Q4_1"; empty: none is open
    QString device;  // with why it is no GPU
    QString folder;  // where chats, settings and log lie
};

// Versions, system, device, the newest lines of the log; no text of any conversation.
QString diagnostics_text(const AboutFacts& facts);

class AboutDialog : public QDialog {
    Q_OBJECT

  public:
    explicit AboutDialog(const AboutFacts& facts, QWidget* parent = nullptr);
};

}  // namespace vitrine::ui
