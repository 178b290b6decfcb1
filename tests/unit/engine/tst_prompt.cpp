// Conversations that do not fit: refused, or cut by whole turns, as was chosen (CTX-02).
#include <algorithm>

#include "core/engine/prompt.h"
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

class TestPrompt : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::shared_ptr<Model> model_;

    static OrderedJson conversation(int turns, bool system = true) {
        std::vector<ChatMessage> messages;
        if (system) messages.push_back({"system", "SYSTEM"});
        for (int i = 0; i < turns; ++i) {
            messages.push_back({"user", "question " + std::to_string(i)});
            if (i + 1 < turns) messages.push_back({"assistant", "answer " + std::to_string(i)});
        }
        return to_json(messages);
    }
    std::int32_t length_of(const OrderedJson& messages) {
        const auto ids = build_prompt(*model_, messages, {});
        if (!ids.ok()) qFatal("%s", ids.error().message.c_str());
        return static_cast<std::int32_t>(ids->size());
    }
    std::string text_of(const std::vector<TokenId>& ids) {
        std::string text;
        for (const TokenId id : ids) text += model_->tokenizer().bytes(id);
        return text;
    }

  private slots:
    void initTestCase() { model_ = small(dir_, {}, "cpu"); }

    void what_fits_is_left_alone() {
        const auto messages = conversation(4);
        const std::int32_t length = length_of(messages);
        for (const Overflow overflow : {Overflow::Refuse, Overflow::Cut}) {
            const auto fitted = fit_prompt(*model_, messages, {}, length + 1, 50, overflow);
            QVERIFY(fitted.ok());
            QCOMPARE(static_cast<std::int32_t>(fitted->ids.size()), length);
            QCOMPARE(fitted->dropped_turns, 0);
        }
    }

    void an_answer_that_goes_on_stands_behind_the_generation_prompt() {
        const auto messages = conversation(2);
        PromptOptions options;
        const auto begun = render_prompt(*model_, messages, options);
        QVERIFY(begun.ok());
        // Spellings of control tokens in it stay text (TOK-07).
        const std::string marker(model_->tokenizer().bytes(*model_->tokenizer().vocabulary().eos));
        options.answer_so_far = "So far " + marker;
        const auto goes_on = render_prompt(*model_, messages, options);
        QVERIFY(goes_on.ok());
        QCOMPARE(goes_on->text, begun->text + options.answer_so_far);
        const auto before = build_prompt(*model_, messages, {});
        const auto ids = build_prompt(*model_, messages, options);
        QVERIFY(ids.ok() && ids->size() > before->size());
        QCOMPARE(text_of(*ids), text_of(*before) + options.answer_so_far);
        QCOMPARE(std::count(ids->begin(), ids->end(), *model_->tokenizer().vocabulary().eos),
                 std::count(before->begin(), before->end(), *model_->tokenizer().vocabulary().eos));
    }

    void a_template_of_the_callers_own_is_rendered() {
        const auto own = ChatTemplate::parse(
            "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{{ 'T' if enable_thinking else "
            "'F' }}");
        QVERIFY(own.ok());
        PromptOptions options;
        options.own_template = own->get();
        for (const bool on : {true, false}) {
            options.extra["enable_thinking"] = on;
            const auto text = render_prompt(*model_, conversation(1), options);
            QVERIFY(text.ok());
            QCOMPARE(text->text, std::string("system:SYSTEM;user:question 0;") + (on ? "T" : "F"));
        }
    }

    void refusing_says_how_much_there_is() {
        const auto messages = conversation(4);
        const std::int32_t length = length_of(messages);
        for (const std::int32_t context : {length, length - 1, length / 2, 1}) {
            const auto refused = fit_prompt(*model_, messages, {}, context, 1, Overflow::Refuse);
            QVERIFY(!refused.ok());
            QCOMPARE(refused.error().kind, ErrorKind::TooLarge);
            QVERIFY(refused.error().message.find(std::to_string(length)) != std::string::npos);
            QCOMPARE(refused.error().message.find("no room") != std::string::npos, context == length);
        }
    }

    void cutting_leaves_out_whole_turns_and_keeps_the_system_data() {
        QTest::addColumn<bool>("system");
        QTest::addColumn<int>("room");
        for (const bool system : {true, false})
            for (const int room : {1, 10, 40})
                QTest::addRow("%s, room for %d", system ? "system" : "no system", room) << system << room;
    }
    void cutting_leaves_out_whole_turns_and_keeps_the_system() {
        QFETCH(bool, system);
        QFETCH(int, room);
        constexpr int turns = 6;
        const auto messages = conversation(turns, system);
        const std::int32_t whole = length_of(messages);
        for (std::int32_t context = whole; context > 0; context -= 3) {
            const auto fitted = fit_prompt(*model_, messages, {}, context, room, Overflow::Cut);
            // The fewest turns that do it, by the definition.
            int wanted = -1;
            for (int drop = 1; drop < turns && wanted < 0; ++drop) {
                OrderedJson rest = OrderedJson::array();
                for (std::size_t i = 0; i < messages.size(); ++i)
                    if ((system && i == 0) || i >= static_cast<std::size_t>(2 * drop + (system ? 1 : 0)))
                        rest.push_back(messages[i]);
                if (length_of(rest) + room <= context || (drop == turns - 1 && length_of(rest) < context))
                    wanted = drop;
            }
            QCOMPARE(fitted.ok(), wanted >= 0);
            if (!fitted.ok()) {
                QCOMPARE(fitted.error().kind, ErrorKind::TooLarge);
                QVERIFY(fitted.error().message.find("does not help") != std::string::npos);
                continue;
            }
            QCOMPARE(fitted->dropped_turns, wanted);
            QCOMPARE(fitted->dropped_messages, 2 * wanted);
            QCOMPARE(fitted->dropped_tokens, whole - static_cast<std::int32_t>(fitted->ids.size()));
            QVERIFY(static_cast<std::int32_t>(fitted->ids.size()) < context);
            const std::string text = text_of(fitted->ids);
            QCOMPARE(text.find("SYSTEM") != std::string::npos, system);
            for (int i = 0; i < turns; ++i)
                QCOMPARE(text.find("question " + std::to_string(i)) != std::string::npos, i >= wanted);
        }
    }

    void one_message_that_is_too_long_cannot_be_cut() {
        const auto messages = to_json({{"user", std::string(200, 'x')}});
        const auto refused = fit_prompt(*model_, messages, {}, 64, 1, Overflow::Cut);
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().kind, ErrorKind::TooLarge);
        QVERIFY(!fit_prompt(*model_, OrderedJson::array(), {}, 3, 1, Overflow::Cut).ok());
    }

    void some_of_the_context_is_kept_for_the_answer() {
        QCOMPARE(answer_room(1000, -1), 250);
        QCOMPARE(answer_room(1000, 20), 20);
        QCOMPARE(answer_room(1000, 900), 250);
        QCOMPARE(answer_room(1, -1), 1);
        QCOMPARE(answer_room(1000, 0), 1);
    }
};

QTEST_GUILESS_MAIN(TestPrompt)
#include "tst_prompt.moc"
