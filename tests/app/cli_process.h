// Runs vitrine-cli as its users do: as a process, with pipes.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>
#include <QTemporaryDir>
#include <QTest>

inline constexpr int patience_ms = 240000;  // sanitizers and a busy machine included

struct Ran {
    int status = -1;  // −1: it did not end, or by a signal
    QByteArray out;
    QByteArray err;
};

inline Ran run_cli(const QStringList& arguments, const QByteArray& input = {},
                   const QProcessEnvironment& environment = QProcessEnvironment::systemEnvironment()) {
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(VITRINE_CLI), arguments);
    process.write(input);
    process.closeWriteChannel();
    Ran ran;
    if (process.waitForFinished(patience_ms) && process.exitStatus() == QProcess::NormalExit)
        ran.status = process.exitCode();
    ran.out = process.readAllStandardOutput();
    ran.err = process.readAllStandardError();
    if (process.state() != QProcess::NotRunning) process.kill();
    process.waitForFinished();
    return ran;
}

inline const QString embedded_model = QStringLiteral(VITRINE_EMBEDDED_MODEL);

// A probe process that is asked line by line.
class ProbeProcess {
  public:
    explicit ProbeProcess(const QStringList& flags = {}, const QString& model = embedded_model) {
        process_.start(QStringLiteral(VITRINE_CLI), QStringList{"probe", "--model", model} + flags);
    }
    ~ProbeProcess() {
        process_.closeWriteChannel();
        if (!process_.waitForFinished(patience_ms)) process_.kill();
        process_.waitForFinished();
    }

    // The reply to one line as it came, without its line end; empty where the process died.
    QByteArray ask_raw(const QByteArray& line) {
        process_.write(line + '\n');
        return next_line();
    }
    QByteArray next_line() {
        while (!process_.canReadLine())
            if (!process_.waitForReadyRead(patience_ms)) return {};
        return process_.readLine().trimmed();
    }
    QJsonObject ask(const QJsonObject& request) {
        return QJsonDocument::fromJson(ask_raw(QJsonDocument(request).toJson(QJsonDocument::Compact)))
            .object();
    }
    void write(const QByteArray& bytes) { process_.write(bytes); }

  private:
    QProcess process_;
};

inline QString kind_of(const QJsonObject& reply) { return reply["error"].toObject()["kind"].toString(); }

inline QJsonArray ids_array(const std::vector<int>& ids) {
    QJsonArray array;
    for (const int id : ids) array.append(id);
    return array;
}

// Ids of ordinary tokens that look like nothing in particular, always the same.
inline QJsonArray some_ids(int count, unsigned seed = 1) {
    QJsonArray array;
    std::uint64_t state = seed;
    for (int i = 0; i < count; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        array.append(static_cast<int>(100 + (state >> 33) % 40000));
    }
    return array;
}

// A copy of the embedded model whose context is `tokens`, changed in place.
inline QString model_with_context(const QTemporaryDir& folder, quint32 tokens) {
    const QString path = folder.filePath(QStringLiteral("context%1.gguf").arg(tokens));
    QFile source(embedded_model);
    if (!source.open(QIODevice::ReadOnly)) return {};
    QByteArray bytes = source.readAll();
    const QByteArray key = "llama.context_length";
    const auto at = bytes.indexOf(key);
    if (at < 0) return {};
    const auto value = at + key.size() + 4;  // behind the type, a u32
    for (int i = 0; i < 4; ++i) bytes[value + i] = static_cast<char>(tokens >> (8 * i));
    QFile copy(path);
    if (!copy.open(QIODevice::WriteOnly) || copy.write(bytes) != bytes.size()) return {};
    return path;
}
