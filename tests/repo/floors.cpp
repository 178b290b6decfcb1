#include "tests/repo/floors.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>

#include "tests/repo/include_scan.h"

namespace vitrine::repo {

// The order is the order of the floors. Why a module knows no more stands beside it.
const std::vector<Rule>& rules() {
    static const std::vector<Rule> table{
        // The lowest floor knows nobody above. CUDA's headers stay in the module that is loaded at run time.
        {"kernels", {"kernels/"}, {"kernels/cuda/"}},
        {"kernels/cuda", {"kernels/"}, {}, false, false, true},

        // Everything else stands on base, so base stands on nothing (errors come from the floor below).
        {"core/base", {"core/base/", "kernels/error.h"}, {}},
        // Files are described the same wherever they will run: no device.
        {"core/io",
         {"core/io/", "core/base/", "kernels/error.h", "kernels/tensor.h", "kernels/ops.h", "kernels/host/"},
         {}},
        // Text knows the vocabulary that a file brought, no device and no model.
        {"core/text", {"core/text/", "core/io/", "core/base/"}, {}},
        // Block accounting works on numbers alone; devices copy what it names.
        {"core/kv", {"core/kv/", "core/base/", "core/telemetry/", "kernels/tensor.h", "kernels/ops.h"}, {}},
        // One forward pass; it is told what to compute, not why (no scheduling), and never sees text.
        {"core/model",
         {"core/model/", "core/io/", "core/base/", "core/kv/", "kernels/error.h", "kernels/tensor.h",
          "kernels/ops.h", "kernels/device.h", "kernels/host/"},
         {}},
        // Plans are made from counts and blocks: no device, no text, no model.
        {"core/sched",
         {"core/sched/", "core/kv/", "core/base/", "core/telemetry/", "core/sample/params.h"},
         {}},
        // A sampler sees logits and history, not who asked.
        {"core/sample", {"core/sample/", "core/base/"}, {}},
        // Drafters propose tokens: no scheduling, no text.
        {"core/spec",
         {"core/spec/", "core/model/", "core/sample/", "core/kv/", "core/io/", "core/base/",
          "kernels/error.h", "kernels/tensor.h", "kernels/ops.h", "kernels/device.h"},
         {}},
        // Formats and how good they are. No window.
        {"core/quant",
         {"core/quant/", "core/model/", "core/sample/", "core/kv/", "core/io/", "core/text/", "core/base/",
          "kernels/error.h", "kernels/tensor.h", "kernels/ops.h", "kernels/device.h", "kernels/host/"},
         {}},
        // Records are plain numbers; whoever writes them knows this module, not the other way.
        {"core/telemetry", {"core/telemetry/", "core/base/"}, {}},
        // The engine puts the modules together; of the kernels it sees the interface only.
        {"core/engine",
         {"core/", "kernels/error.h", "kernels/tensor.h", "kernels/ops.h", "kernels/device.h",
          "kernels/gpu/cuda_module.h", "kernels/split_device.h"},
         {}},

        // The one place where Qt meets the engine. It has no window, so that it is tested without one.
        {"ui/bridge", {"ui/bridge/", "core/", "kernels/error.h", "kernels/device.h"}, {}, true},
        // Item models hold values: no widgets, no engine internals.
        {"ui/models",
         {"ui/models/", "ui/bridge/", "core/base/", "core/telemetry/", "core/sample/params.h"},
         {},
         true},
        // The rest of the window talks to the engine through the bridge, and knows what it shows by value.
        {"ui",
         {"ui/", "core/", "core/engine/snapshot.h"},
         {"core/engine/", "core/sched/", "core/kv/", "core/model/", "core/spec/"},
         true,
         true},

        // Composition of everything; of the kernels the interface only.
        {"app",
         {"app/", "ui/", "core/", "kernels/error.h", "kernels/tensor.h", "kernels/ops.h", "kernels/device.h"},
         {},
         true,
         true},
        // Tests look everywhere.
        {"tests", {"tests/", "app/", "ui/", "core/", "kernels/"}, {"kernels/cuda/"}, true, true},
    };
    return table;
}

const Rule* rule_for(const QString& path) {
    const Rule* best = nullptr;
    for (const Rule& rule : rules()) {
        if (path.startsWith(rule.folder + '/') && (!best || rule.folder.size() > best->folder.size()))
            best = &rule;
    }
    return best;
}

namespace {

bool covers(const QStringList& entries, const QString& path) {
    for (const QString& entry : entries) {
        if (entry.endsWith('/') ? path.startsWith(entry) : path == entry) return true;
    }
    return false;
}

// <QString>, <QtCore/QString>, <qstring.h>, <private/qobject_p.h>.
bool is_qt(const QString& header) {
    static const QRegularExpression pattern(
        QStringLiteral("(^|/)(Q[A-Z][A-Za-z0-9]*|Qt[A-Z]\\w*/.*|q[a-z0-9_]+\\.h)$"));
    return pattern.match(header).hasMatch();
}

bool is_cuda(const QString& header) {
    static const QRegularExpression pattern(QStringLiteral(
        "^(cuda|cublas|cusparse|cusolver|cufft|curand|cudnn|cutlass/|cute/|cub/|thrust/|nvtx3/"
        "|nccl|nvrtc|nvml|"
        "nvJitLink|cooperative_groups|device_launch_parameters|driver_types|vector_types|vector_functions|"
        "device_functions|mma\\.h|sm_\\d|.*\\.cuh$)"));
    return pattern.match(header).hasMatch();
}

// moc and other generators write next to the build, not into the repository.
bool is_generated(const QString& header) {
    const QString name = QFileInfo(header).fileName();
    return name.endsWith(".moc") || name.startsWith("moc_") || name.startsWith("ui_");
}

// The path inside the repository that an include means, or nothing. A quoted name is looked up beside the
// file first, as the compiler does; every target has the root in its include path, so <core/…> counts too.
QString in_repository(const QString& path, const Include& include, const Surroundings& around) {
    if (include.quoted) {
        QString beside = QDir::cleanPath(QFileInfo(path).path() + '/' + include.target);
        if (around.exists(beside)) return beside;
    }
    QString from_root = QDir::cleanPath(include.target);
    if (around.exists(from_root)) return from_root;
    return {};
}

}  // namespace

QStringList source_violations(const QString& path, const QString& source, const Surroundings& around) {
    const Rule* rule = rule_for(path);
    if (!rule) {
        return {QStringLiteral("%1 stands on no floor: its folder needs a line in tests/repo/floors.cpp")
                    .arg(path)};
    }
    QStringList out;
    for (const Include& include : includes_of(source)) {
        const QString where =
            QStringLiteral("%1:%2 includes %3").arg(path).arg(include.line).arg(include.target);
        if (include.computed) {
            out << where + ": a computed include cannot be checked";
            continue;
        }
        const QString inside = in_repository(path, include, around);
        if (!inside.isEmpty()) {
            const bool named = rule->allowed.contains(inside);  // a file by name, also in a denied folder
            if (!named && (!covers(rule->allowed, inside) || covers(rule->denied, inside))) {
                out << where + QStringLiteral(": %1 may not know it").arg(rule->folder);
            }
            continue;
        }
        const QString& header = include.target;
        static const QRegularExpression ours(QStringLiteral("^(\\.\\./|(app|core|kernels|ui|tests)/)"));
        if (is_generated(header)) continue;
        if (include.quoted && ours.match(header).hasMatch()) {
            out << where + ": there is no such file";
        } else if (is_cuda(header) && !rule->cuda) {
            out << where + ": CUDA belongs in kernels/cuda";
        } else if (is_qt(header) && !rule->qt) {
            out << where + QStringLiteral(": %1 is free of Qt").arg(rule->folder);
        } else if (!rule->widgets && rule->qt && around.is_widget(header)) {
            out << where + QStringLiteral(": %1 is free of widgets").arg(rule->folder);
        }
    }
    return out;
}

QStringList cmake_violations(const QString& path, const QString& source) {
    const Rule* rule = rule_for(path);
    if (!rule) return {};
    QString text = source;
    static const QRegularExpression comment(QStringLiteral("#[^\\n]*"));
    text.remove(comment);

    QStringList out;
    static const QRegularExpression qt(QStringLiteral("\\bQt\\d*::|find_package\\s*\\(\\s*Qt|\\bAUTOMOC\\b"));
    static const QRegularExpression cuda(QStringLiteral("\\bCUDA::|find_package\\s*\\(\\s*CUDA"));
    if (!rule->qt && qt.match(text).hasMatch()) out << path + ": links Qt, which this floor is free of";
    if (!rule->cuda && cuda.match(text).hasMatch())
        out << path + ": links CUDA, which belongs in kernels/cuda";
    if (!rule->folder.startsWith("core/") && !rule->folder.startsWith("kernels")) return out;

    // Parts of a module have names of their own; only those of modules and floors are judged here. What a
    // part includes is judged like everything else.
    static const QRegularExpression target(QStringLiteral("\\bvitrine_([a-z]+)[a-z0-9_]*"));
    auto it = target.globalMatch(text);
    while (it.hasNext()) {
        const QString name = it.next().captured(1);
        bool module = false;
        for (const Rule& other : rules()) module = module || other.folder == "core/" + name;
        const bool judged = module || name == "kernels" || name == "ui" || name == "app";
        if (!judged || rule->folder == "core/" + name || rule->folder == name) continue;
        bool known = false;
        for (const QString& entry : rule->allowed) {
            known = known || (module && entry == "core/") || entry.startsWith("core/" + name + '/') ||
                    (name == "kernels" && entry.startsWith("kernels/"));
        }
        if (!known)
            out << QStringLiteral("%1: links vitrine_%2, which %3 may not know")
                       .arg(path, name, rule->folder);
    }
    return out;
}

}  // namespace vitrine::repo
