// The models that were found, as rows: what they are, and whether each fits with the settings of the moment.
#pragma once

#include <vector>

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "ui/bridge/model_look.h"

namespace vitrine::ui {

class ModelTable : public QAbstractTableModel {
    Q_OBJECT

  public:
    enum Column {
        NameColumn,
        ArchitectureColumn,
        FormatColumn,
        SizeColumn,
        FitColumn,
        SourceColumn,
        Columns
    };
    enum DataRole {
        PathRole = Qt::UserRole + 1,
        ProblemRole,  // why it cannot be opened; empty: it can be tried
        SortRole,
        KindRole,  // int(ModelFit::Kind)
    };

    using QAbstractTableModel::QAbstractTableModel;

    void clear();
    void add(ModelLook look);
    // What the fit of every row is computed from. free: bytes for a model; 0: not known.
    void set_conditions(const EngineOptions& options, std::uint64_t free);

    const ModelLook& look(int row) const { return rows_[static_cast<std::size_t>(row)].look; }
    const ModelFit& fit(int row) const { return rows_[static_cast<std::size_t>(row)].fit; }
    // One or two sentences for people.
    static QString fit_sentence(const ModelLook& look, const ModelFit& fit);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

  private:
    struct Row {
        ModelLook look;
        ModelFit fit;
    };
    static QString fit_text(const Row& row);

    std::vector<Row> rows_;
    EngineOptions options_;
    std::uint64_t free_ = 0;
};

// Rows that hold every word of the search text in name, architecture, format or source.
class ModelTableFilter : public QSortFilterProxyModel {
    Q_OBJECT

  public:
    explicit ModelTableFilter(QObject* parent = nullptr);
    void set_text(const QString& text);

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

  private:
    QStringList words_;
};

}  // namespace vitrine::ui
