// What the program has to tell those who look for a fault: a text file in the data folder, bounded in size.
// It holds messages of Qt and of ours, never what somebody wrote or a model answered.
#pragma once

#include <QString>
#include <QStringList>

namespace vitrine::ui {

// Begins the log in this folder; from then on Qt's messages go there as well as to standard error. A file
// that has grown beyond a megabyte becomes vitrine.log.1. A folder that cannot be written is no error.
void begin_log(const QString& folder);
void end_log();
QString log_path();  // empty: there is none
// One line, with time. From any thread.
void log_line(const QString& text);
// The newest lines.
QStringList last_log_lines(int count);

}  // namespace vitrine::ui
