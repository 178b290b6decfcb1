#include "ui/window/model_table.h"

#include <algorithm>

#include <QDir>

#include "ui/models/figures.h"

namespace vitrine::ui {

void ModelTable::clear() {
    beginResetModel();
    rows_.clear();
    endResetModel();
}

void ModelTable::add(ModelLook look) {
    Row row{std::move(look), {}};
    row.fit = fit_of(row.look, options_, free_);
    const auto at = static_cast<int>(rows_.size());
    beginInsertRows({}, at, at);
    rows_.push_back(std::move(row));
    endInsertRows();
}

void ModelTable::set_conditions(const EngineOptions& options, std::uint64_t free) {
    options_ = options;
    free_ = free;
    for (Row& row : rows_) row.fit = fit_of(row.look, options_, free_);
    if (!rows_.empty()) emit dataChanged(index(0, FitColumn), index(rowCount() - 1, FitColumn));
}

int ModelTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int ModelTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : Columns; }

QString ModelTable::fit_text(const Row& row) {
    if (!row.look.problem.isEmpty()) return tr("cannot be opened");
    switch (row.fit.kind) {
        case ModelFit::Fits: return tr("fits · %1").arg(bytes_text(row.fit.needed()));
        case ModelFit::Shortened: return tr("fits with %1 tokens").arg(count_text(row.fit.context));
        case ModelFit::TooLarge: return tr("too large");
        case ModelFit::Unknown: break;
    }
    return QStringLiteral("–");
}

QString ModelTable::fit_sentence(const ModelLook& look, const ModelFit& fit) {
    if (!look.problem.isEmpty()) return look.problem;
    const QString sum = tr("weights %1 + KV cache %2 + workspace %3 = %4")
                            .arg(bytes_text(fit.weights), bytes_text(fit.kv), bytes_text(fit.workspace),
                                 bytes_text(fit.needed()));
    switch (fit.kind) {
        case ModelFit::Fits: return tr("%1; %2 are free.").arg(sum, bytes_text(fit.free));
        case ModelFit::Shortened:
            return tr("%1; %2 are free, so the context is shortened to %3 tokens.")
                .arg(sum, bytes_text(fit.free), count_text(fit.context));
        case ModelFit::TooLarge:
            return tr("%1, and %2 are free. Close other programs, or choose a smaller format or model. %3")
                .arg(sum, bytes_text(fit.free), fit.why)
                .trimmed();
        case ModelFit::Unknown: break;
    }
    return tr("%1; how much memory is free is not known. %2").arg(sum, fit.why).trimmed();
}

QVariant ModelTable::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    const ModelLook& look = row.look;
    switch (role) {
        case Qt::DisplayRole:
            switch (index.column()) {
                case NameColumn: return look.name;
                case ArchitectureColumn: return look.architecture;
                case FormatColumn: return look.format;
                case SizeColumn:
                    return look.file_bytes > 0 ? bytes_text(look.file_bytes) : QStringLiteral("–");
                case FitColumn: return fit_text(row);
                case SourceColumn: return look.source;
                default: return {};
            }
        case Qt::ToolTipRole:
            // As rich text, in which nothing of the file's own words is markup.
            return QStringLiteral("<p>%1</p><p>%2</p>")
                .arg(QDir::toNativeSeparators(look.path).toHtmlEscaped(),
                     fit_sentence(look, row.fit).toHtmlEscaped());
        case Qt::AccessibleTextRole:
            return index.column() == NameColumn
                       ? QVariant(tr("%1, %2, %3").arg(look.name, look.format, fit_text(row)))
                       : data(index, Qt::DisplayRole);
        case Qt::TextAlignmentRole:
            return index.column() == SizeColumn ? QVariant(int(Qt::AlignRight) | int(Qt::AlignVCenter))
                                                : QVariant();
        case PathRole: return look.path;
        case ProblemRole: return look.problem;
        case KindRole: return static_cast<int>(row.fit.kind);
        case SortRole:
            switch (index.column()) {
                case SizeColumn: return QVariant::fromValue<quint64>(look.file_bytes);
                // Broken ones last, then by what they need.
                case FitColumn:
                    return QVariant::fromValue<quint64>(
                        !look.problem.isEmpty() ? ~quint64{0}
                                                : (static_cast<quint64>(row.fit.kind) << 60U) +
                                                      std::min<quint64>(row.fit.needed(), quint64{1} << 59U));
                default: return data(index, Qt::DisplayRole);
            }
        default: return {};
    }
}

QVariant ModelTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
        case NameColumn: return tr("Model");
        case ArchitectureColumn: return tr("Architecture");
        case FormatColumn: return tr("Format");
        case SizeColumn: return tr("Size");
        case FitColumn: return tr("Memory");
        case SourceColumn: return tr("Found in");
        default: return {};
    }
}

// Broken ones can be selected, because their reason is shown then; they cannot be opened.
Qt::ItemFlags ModelTable::flags(const QModelIndex& index) const {
    return index.isValid() ? Qt::ItemIsSelectable | Qt::ItemIsEnabled | Qt::ItemNeverHasChildren
                           : Qt::NoItemFlags;
}

ModelTableFilter::ModelTableFilter(QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(ModelTable::SortRole);
    setSortCaseSensitivity(Qt::CaseInsensitive);
}

void ModelTableFilter::set_text(const QString& text) {
    words_ = text.split(u' ', Qt::SkipEmptyParts);
    invalidateFilter();
}

bool ModelTableFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    QString all;
    for (const int column : {ModelTable::NameColumn, ModelTable::ArchitectureColumn, ModelTable::FormatColumn,
                             ModelTable::SourceColumn})
        all += sourceModel()->index(row, column, parent).data().toString() + u' ';
    return std::all_of(words_.begin(), words_.end(),
                       [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

}  // namespace vitrine::ui
