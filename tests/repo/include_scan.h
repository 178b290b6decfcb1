// Finds what a C++ source includes, as the preprocessor would, without running it.
#pragma once

#include <vector>

#include <QString>

namespace vitrine::repo {

struct Include {
    QString target;  // what stands between the quotes or angle brackets; the macro's text if computed
    bool quoted = false;
    bool computed = false;  // #include SOME_MACRO: nobody can check it
    int line = 0;           // from 1
};

// Comments are skipped, string literals are respected, lines that end in a backslash are joined, the digraph
// %: counts as #. Branches of #if are all taken: a forbidden include is forbidden on every platform.
std::vector<Include> includes_of(const QString& source);

}  // namespace vitrine::repo
