// The floors of the house, and what each module may know.
//
// app → ui → core → kernels, and no arrow turns round. This is the one place where the rule is written: a
// new module needs a line here, and a module that needs to know more needs a reason in the commit.
#pragma once

#include <functional>
#include <vector>

#include <QString>
#include <QStringList>

namespace vitrine::repo {

struct Rule {
    QString folder;       // the longest folder that holds a file decides
    QStringList allowed;  // what its files may include from this repository: folders end in a slash
    QStringList denied;   // folders excepted from `allowed`; a file that `allowed` names stays allowed
    bool qt = false;
    bool widgets = false;
    bool cuda = false;
};

const std::vector<Rule>& rules();
const Rule* rule_for(const QString& path);

// What a file does that its floor may not, one sentence each. `exists` says whether a path relative to the
// root is a file of the repository; `is_widget` whether a header belongs to Qt Widgets.
struct Surroundings {
    std::function<bool(const QString&)> exists;
    std::function<bool(const QString&)> is_widget;
};
QStringList source_violations(const QString& path, const QString& source, const Surroundings& around);

// The same for the libraries that a CMakeLists.txt of core or kernels links.
QStringList cmake_violations(const QString& path, const QString& source);

}  // namespace vitrine::repo
