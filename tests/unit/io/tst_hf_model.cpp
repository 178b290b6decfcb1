// Hugging Face folders: what a good one becomes.
#include "tests/unit/io/hf_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

class TestHfModel : public QObject, private HfOpener {
    Q_OBJECT

  private slots:
    void small_folder();
    void opened_by_a_file_of_it();
    void config_values();
    void rope_parameters_of_newer_files();
    void text_config();
    void index_decides();
    void sets_without_an_index();
    void stray_files_are_left_alone();
    void vocabulary_only();
    void special_tokens();
    void chat_templates();
    void more_tokens_than_rows();
    void truncated_shards();
    void any_damage_is_a_sentence();
    void changed_on_disk();
    void content_hash_tells_models_apart();
};

void TestHfModel::small_folder() {
    const HfFolder folder;
    const auto model = open(folder);
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    QCOMPARE((*model)->config().name, std::string("model"));
    QCOMPARE((*model)->weights_format(), std::string("F32"));
    QCOMPARE((*model)->weights_bytes(), (*model)->parameters() * 4);
    for (const auto& tensor : folder.weights.tensors) {
        std::string name = gguf_name(tensor.name);
        if (name == "model.embed_tokens.weight") name = "token_embd.weight";
        if (name == "model.norm.weight") name = "output_norm.weight";
        if (name == "blk.0.input_layernorm.weight") name = "blk.0.attn_norm.weight";
        if (name == "blk.0.post_attention_layernorm.weight") name = "blk.0.ffn_norm.weight";
        const auto found = (*model)->tensor(name);
        QVERIFY2(found, name.c_str());
        QVERIFY2(values_of(*found) == values_of(tensor), name.c_str());
    }
    QVERIFY((*model)->vocabulary().bos == TokenId(257) && (*model)->vocabulary().eos == TokenId(258));
    QCOMPARE(*(*model)->chat_template(), std::string("{{ messages[0]['content'] }}"));
}

void TestHfModel::opened_by_a_file_of_it() {
    const auto path = write(HfFolder());
    for (const char* name : {"config.json", "model.safetensors", ""}) {
        const auto model = ModelSource::open(name[0] == '\0' ? path / "" : path / name);
        VERIFY_OK(model);
        QCOMPARE((*model)->config().name, std::string("model"));
    }
    VERIFY_ERROR(ModelSource::open(path / "absent.safetensors"), ErrorKind::NotFound, "absent.safetensors");
    VERIFY_ERROR(ModelSource::open(folder_.path("absent") / "config.json"), ErrorKind::NotFound,
                 "config.json");
    // As a cache lays folders out: the name is the repository's.
    const auto cached = folder_.path("models--someone--Some-Model-1B/snapshots/0123abcd");
    HfFolder().write(cached);
    QCOMPARE(ModelSource::open(cached).value()->config().name, std::string("Some-Model-1B"));
}

void TestHfModel::config_values() {
    HfFolder folder;
    folder.config.remove("num_key_value_heads");
    folder.config["head_dim"] = 4;
    for (const char* name : {"k", "v"}) {
        auto& t = *folder.weights.find(std::string("model.layers.0.self_attn.") + name + "_proj.weight");
        t.shape[0] = 16;
        t.data.resize(16 * 16 * 4);
    }
    QCOMPARE(open(folder).value()->config().kv_heads, 4);

    HfFolder mistral;
    mistral.config["model_type"] = "mistral";
    QCOMPARE(open(mistral).value()->config().layer[0].window, 0);  // 4096, wider than the context
    mistral.config["max_position_embeddings"] = 8192;
    QCOMPARE(open(mistral).value()->config().layer[0].window, 4096);
    mistral.config["sliding_window"] = QJsonValue::Null;
    QCOMPARE(open(mistral).value()->config().layer[0].window, 0);
    mistral.config["sliding_window"] = 100;
    QCOMPARE(open(mistral).value()->config().layer[0].window, 100);
    mistral.config["layer_types"] = QJsonArray{"full_attention"};
    QCOMPARE(open(mistral).value()->config().layer[0].window, 0);
    mistral.config["layer_types"] = QJsonArray{"linear_attention"};
    VERIFY_ERROR(open(mistral), ErrorKind::Unsupported, "layer 0 is of kind the text 'linear_attention'");

    // Where the base is absent, it is the family's; a stored one counts (GGUF-25).
    HfFolder plain;
    const double first = open(plain).value()->config().ropes[0].inv_freq[1];
    plain.config.remove("rope_theta");
    QCOMPARE(open(plain).value()->config().ropes[0].inv_freq[1], first);
    plain.config["rope_theta"] = 1000000;
    QCOMPARE(open(plain).value()->config().ropes[0].inv_freq[1], std::pow(1e6, -0.5));
}

void TestHfModel::rope_parameters_of_newer_files() {
    const auto ropes = [&](const QJsonObject& changes, const char* remove = nullptr) {
        HfFolder folder;
        if (remove != nullptr) folder.config.remove(remove);
        for (auto it = changes.begin(); it != changes.end(); ++it) folder.config[it.key()] = *it;
        const auto model = open(folder);
        return model.ok() ? (*model)->config().ropes : std::vector<RopeSpec>();
    };
    const QJsonObject scalings[] = {{{"rope_type", "linear"}, {"factor", 4.0}},
                                    {{"rope_type", "yarn"},
                                     {"factor", 4.0},
                                     {"original_max_position_embeddings", 64},
                                     {"beta_fast", 16.0}},
                                    {{"rope_type", "llama3"},
                                     {"factor", 8.0},
                                     {"low_freq_factor", 1.0},
                                     {"high_freq_factor", 4.0},
                                     {"original_max_position_embeddings", 64}},
                                    {{"rope_type", "longrope"},
                                     {"short_factor", QJsonArray{1.0, 1.5}},
                                     {"long_factor", QJsonArray{2.0, 3.0}},
                                     {"original_max_position_embeddings", 64}}};
    for (const QJsonObject& scaling : scalings) {
        const auto old = ropes({{"rope_theta", 5000.0}, {"rope_scaling", scaling}});
        QVERIFY(!old.empty());
        // Both names of the kind, and the newer place of all of it, mean the same.
        QJsonObject renamed = scaling;
        renamed["type"] = renamed.take("rope_type");
        QJsonObject parameters = scaling;
        parameters["rope_theta"] = 5000.0;
        for (const auto& other : {ropes({{"rope_theta", 5000.0}, {"rope_scaling", renamed}}),
                                  ropes({{"rope_parameters", parameters}}, "rope_theta")}) {
            QCOMPARE(other.size(), old.size());
            for (std::size_t i = 0; i < old.size(); ++i) {
                QVERIFY(other[i].inv_freq == old[i].inv_freq);
                QCOMPARE(other[i].magnitude, old[i].magnitude);
            }
        }
        QVERIFY(old[0].inv_freq != ropes({{"rope_theta", 5000.0}})[0].inv_freq);
    }
}

void TestHfModel::text_config() {
    // The language model inside a model of pictures and text: another prefix, and its own configuration.
    for (const auto& [prefix, head] :
         {std::pair{"language_model.model.", "language_model.lm_head.weight"},
          std::pair{"model.language_model.", "lm_head.weight"}, std::pair{"", "lm_head.weight"}}) {
        for (const bool own_head : {false, true}) {
            HfFolder folder;
            for (auto& t : folder.weights.tensors) t.name = prefix + t.name.substr(6);
            folder.weights.add("vision_tower.x.weight", "F32", {2, 2}, Bytes(16));
            Noise noise(9);
            if (own_head) folder.matrix(noise, head, 260, 16);
            QJsonObject inner = folder.config;
            inner.remove("eos_token_id");
            inner["tie_word_embeddings"] = !own_head;
            folder.config = {{"model_type", "some_vision"},
                             {"text_config", inner},
                             {"eos_token_id", QJsonArray{258, 259}}};
            const auto model = open(folder);
            VERIFY_OK(model);
            QCOMPARE((*model)->tensor("output.weight").has_value(), own_head);
            QVERIFY((*model)->vocabulary().extra_eog == std::vector<TokenId>{TokenId(259)});
            QVERIFY(any_contains((*model)->warnings(), "'vision_tower.x.weight'"));
        }
    }
    // Gemma 3 of pictures and text leaves out what it does not change.
    const auto gemma = ModelSource::open(golden("gemma3_text"));
    VERIFY_OK(gemma);
}

void TestHfModel::index_decides() {
    const HfFolder whole;
    const auto shard = [&](bool first) {
        SafetensorsBuilder b;
        for (const auto& t : whole.weights.tensors)
            if ((t.name.find("mlp") == std::string::npos) == first) b.tensors.push_back(t);
        return b;
    };
    const auto folder_with = [&](const std::function<void(QJsonObject&)>& change) {
        HfFolder f;
        f.weights.tensors.clear();
        f.files["part-a.safetensors"] = shard(true).bytes();
        f.files["part-b.safetensors"] = shard(false).bytes();
        QJsonObject map;
        for (const auto& t : whole.weights.tensors)
            map[QString::fromStdString(t.name)] =
                t.name.find("mlp") == std::string::npos ? "part-a.safetensors" : "part-b.safetensors";
        change(map);
        f.put("model.safetensors.index.json",
              QJsonObject{{"metadata", QJsonObject{{"total_size", 1}}}, {"weight_map", map}});
        return f;
    };
    const auto nothing = [](QJsonObject&) {};
    const QString up = "model.layers.0.mlp.up_proj.weight";

    const auto good = open(folder_with(nothing));
    VERIFY_OK(good);
    QVERIFY((*good)->warnings().empty());
    for (const char* name : {"model.safetensors.index.json", "config.json", "part-b.safetensors"})
        VERIFY_OK(ModelSource::open(folder_.path("model") / name));

    // ST-10: three different messages.
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map.remove(up); })), ErrorKind::BadFile,
                 "does not list tensors that the model needs: 'model.layers.0.mlp.up_proj.weight', although "
                 "'part-b.safetensors' holds some of them");
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map[up] = "part-c.safetensors"; })),
                 ErrorKind::NotFound,
                 "the index names files that are missing: 'part-c.safetensors'. Download");
    VERIFY_ERROR(
        open(folder_with([&](QJsonObject& map) { map[up] = "part-a.safetensors"; })), ErrorKind::BadFile,
        "part-a.safetensors: the file does not contain tensor 'model.layers.0.mlp.up_proj.weight', although");

    // A whole model of another precision beside the set is not mixed in.
    HfFolder stray = folder_with(nothing);
    SafetensorsBuilder other = whole.weights;
    for (auto& t : other.tensors) {
        t.dtype = "F16";
        t.data.resize(t.data.size() / 2);
    }
    stray.files["model.safetensors"] = other.bytes();
    const auto indexed = open(stray);
    VERIFY_OK(indexed);
    QCOMPARE((*indexed)->weights_format(), std::string("F32"));
    // Unless somebody names it.
    const auto named = ModelSource::open(folder_.path("model") / "model.safetensors");
    VERIFY_OK(named);
    QCOMPARE((*named)->weights_format(), std::string("F16"));
    // An index left over from files that are gone.
    stray.files["part-a.safetensors"] = {};
    stray.files["part-b.safetensors"] = {};
    VERIFY_ERROR(open(stray), ErrorKind::NotFound,
                 "if they are the model, the index is a leftover: remove it");

    // What the index does not list is not used, even if it is there.
    HfFolder more = folder_with(nothing);
    SafetensorsBuilder b = shard(false);
    b.add("extra.weight", "F32", {1}, Bytes(4));
    more.files["part-b.safetensors"] = b.bytes();
    const auto unlisted = open(more);
    VERIFY_OK(unlisted);
    QVERIFY(
        any_contains((*unlisted)->warnings(), "1 tensors that model.safetensors.index.json does not list"));
    const auto lost =
        open(folder_with([](QJsonObject& map) { map["vision.weight"] = "part-a.safetensors"; }));
    VERIFY_OK(lost);
    QVERIFY(any_contains((*lost)->warnings(), "in files that do not contain them: 'vision.weight'"));

    for (const char* name :
         {"../model/part-b.safetensors", "/etc/passwd", "..", ".", "", "a/b.safetensors", "a\\b"})
        VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map[up] = name; })), ErrorKind::BadFile,
                     "the plain name of a file in this folder is needed");
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map[up] = 5; })), ErrorKind::BadFile,
                 "a name is needed");
    VERIFY_ERROR(open(folder_with([&](QJsonObject& map) { map = {}; })), ErrorKind::BadFile,
                 "'weight_map' is missing");
    HfFolder broken = folder_with(nothing);
    broken.put("model.safetensors.index.json", "{\"weight_map\":[]}");
    VERIFY_ERROR(open(broken), ErrorKind::BadFile, "'weight_map' is missing");
    broken.put("model.safetensors.index.json", "not JSON");
    VERIFY_ERROR(open(broken), ErrorKind::BadFile, "model.safetensors.index.json");
}

void TestHfModel::sets_without_an_index() {
    const HfFolder whole;
    const auto with = [&](const std::vector<std::string>& names) {
        HfFolder f;
        f.weights.tensors.clear();
        for (std::size_t i = 0; i < names.size(); ++i) {
            SafetensorsBuilder b;
            for (std::size_t t = 0; t < whole.weights.tensors.size(); ++t)
                if (t % names.size() == i) b.tensors.push_back(whole.weights.tensors[t]);
            f.files[names[i]] = b.bytes();
        }
        return f;
    };
    VERIFY_OK(open(with({"other-name.safetensors"})));
    const HfFolder set = with(
        {"m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors", "m-00003-of-00003.safetensors"});
    VERIFY_OK(open(set));
    VERIFY_OK(ModelSource::open(folder_.path("model") / "m-00002-of-00003.safetensors"));
    HfFolder gap = set;
    gap.files["m-00002-of-00003.safetensors"] = {};
    VERIFY_ERROR(open(gap), ErrorKind::NotFound,
                 "parts of the model are missing: 'm-00002-of-00003.safetensors'");
    HfFolder beside = set;
    beside.files["z.safetensors"] = whole.weights.bytes();
    VERIFY_ERROR(open(beside), ErrorKind::BadFile,
                 "there is 'z.safetensors', and no model.safetensors.index.json");
    VERIFY_ERROR(open(with({"a.safetensors", "b.safetensors"})), ErrorKind::BadFile,
                 "several .safetensors files and no model.safetensors.index.json");
    HfFolder twice = set;
    SafetensorsBuilder b;
    b.tensors = whole.weights.tensors;
    twice.files["m-00003-of-00003.safetensors"] = b.bytes();
    VERIFY_ERROR(open(twice), ErrorKind::BadFile, "lies both in m-00001-of-00003.safetensors and in");
}

void TestHfModel::stray_files_are_left_alone() {
    // ST-14, and whatever else lies in folders.
    HfFolder folder;
    SafetensorsBuilder vendor;
    vendor.add("layers.0.attention.wk.weight", "BF16", {8, 16}, Bytes(256));
    folder.files["consolidated.safetensors"] = vendor.bytes();
    folder.files["consolidated.00.pth"] = raw("PK");
    folder.files["adapter_model.safetensors"] = raw("damaged");
    folder.put("params.json", "{}");
    folder.files["other.safetensors"] = raw("damaged");
    std::filesystem::path path = write(folder);
    std::filesystem::create_directory(path / "x.safetensors");
    std::filesystem::create_symlink("nowhere", path / "y.safetensors");
    const auto model = ModelSource::open(path);
    VERIFY_OK(model);
    QVERIFY((*model)->warnings().empty());
    // Without model.safetensors the vendor's file does not take its place.
    folder.files["other.safetensors"] = {};
    folder.files["hf.safetensors"] = folder.weights.bytes();
    folder.weights.tensors.clear();
    VERIFY_OK(open(folder));
}

void TestHfModel::vocabulary_only() {
    HfFolder folder;
    folder.weights.tensors.clear();
    const auto path = write(folder);
    const auto model = ModelSource::open(path, {.vocabulary_only = true});
    VERIFY_OK(model);
    QCOMPARE((*model)->config().vocab, 260);
    QCOMPARE((*model)->config().architecture, std::string("llama"));
    QVERIFY(!(*model)->tensor("token_embd.weight"));
    VERIFY_OK((*model)->unchanged());
    // A tokenizer alone, or beside a model that cannot be run.
    folder.config["model_type"] = "mamba";
    VERIFY_OK(ModelSource::open(write(folder), {.vocabulary_only = true}));
    folder.files["config.json"] = {};
    VERIFY_OK(ModelSource::open(write(folder), {.vocabulary_only = true}));
    folder.files["tokenizer.json"] = {};
    VERIFY_ERROR(ModelSource::open(write(folder), {.vocabulary_only = true}), ErrorKind::NotFound,
                 "no vocabulary");
}

void TestHfModel::special_tokens() {
    HfFolder folder;
    folder.tokenizer_config.remove("bos_token");
    folder.tokenizer_config["eos_token"] = QJsonObject{{"content", "<|turn|>"}, {"lstrip", false}};
    folder.put("special_tokens_map.json",
               QJsonObject{{"bos_token", QJsonObject{{"content", "<|begin|>"}}}, {"eos_token", "<|end|>"}});
    folder.put("generation_config.json", "{\"eos_token_id\":[258,259,258]}");
    const auto model = open(folder);
    VERIFY_OK(model);
    const VocabularyData& v = (*model)->vocabulary();
    QVERIFY(v.bos == TokenId(257));  // only the map names it
    QVERIFY(v.eos == TokenId(259));  // tokenizer_config.json comes first
    QVERIFY(v.extra_eog == std::vector<TokenId>{TokenId(258)});

    // Without any of these files config.json has the ids.
    HfFolder bare;
    bare.files["tokenizer_config.json"] = {};
    bare.config["bos_token_id"] = 257;
    bare.config["eos_token_id"] = QJsonArray{258, 259};
    const auto by_id = open(bare);
    VERIFY_OK(by_id);
    QVERIFY((*by_id)->vocabulary().bos == TokenId(257) && (*by_id)->vocabulary().eos == TokenId(258));
    QVERIFY((*by_id)->vocabulary().extra_eog == std::vector<TokenId>{TokenId(259)});
}

void TestHfModel::chat_templates() {
    const auto shown = [&](const HfFolder& folder) {
        const auto model = open(folder);
        return model.ok() ? (*model)->chat_template().value_or("none") : model.error().message;
    };
    HfFolder folder;
    folder.tokenizer_config["chat_template"] =
        QJsonArray{QJsonObject{{"name", "tool_use"}, {"template", "T"}},
                   QJsonObject{{"name", "default"}, {"template", "D"}}};
    QCOMPARE(shown(folder), std::string("D"));
    folder.put("chat_template.json", "{\"chat_template\":\"J\"}");
    QCOMPARE(shown(folder), std::string("J"));
    folder.put("chat_template.jinja", "▁｜");
    QCOMPARE(shown(folder), std::string("▁｜"));
    HfFolder none;
    none.tokenizer_config.remove("chat_template");
    QCOMPARE(shown(none), std::string("none"));
    none.tokenizer_config["chat_template"] = "";
    QCOMPARE(shown(none), std::string("none"));
}

void TestHfModel::more_tokens_than_rows() {
    HfFolder folder;
    folder.config["vocab_size"] = 259;
    auto& embedding = *folder.weights.find("model.embed_tokens.weight");
    embedding.shape[0] = 259;
    embedding.data.resize(259 * 16 * 4);
    folder.put("generation_config.json", "{\"eos_token_id\":[258,259]}");
    const auto model = open(folder);
    VERIFY_OK(model);
    QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{259});
    QVERIFY((*model)->vocabulary().extra_eog.empty());
    QVERIFY(any_contains((*model)->warnings(), "1 special tokens more than the model has rows"));
    // Rows without a token are ordinary padding.
    folder = {};
    folder.config["vocab_size"] = 300;
    auto& wide = *folder.weights.find("model.embed_tokens.weight");
    wide.shape[0] = 300;
    wide.data.resize(300 * 16 * 4);
    const auto padded = open(folder);
    VERIFY_OK(padded);
    QVERIFY((*padded)->config().vocab == 300 && (*padded)->vocabulary().tokens.size() == 260);
}

void TestHfModel::truncated_shards() {
    const HfFolder folder;
    const Bytes whole = folder.weights.bytes();
    const auto path = write(folder);
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 7) {
        Bytes cut = whole;
        cut.resize(size);
        std::filesystem::remove(path / "model.safetensors");
        QVERIFY(write_file(path / "model.safetensors", cut));
        const auto model = ModelSource::open(path);
        QVERIFY(!model.ok() && contains(model.error().message, "model.safetensors"));
    }
}

void TestHfModel::any_damage_is_a_sentence() {
    const HfFolder folder;
    const auto path = write(folder);
    const std::pair<const char*, Bytes> files[] = {
        {"config.json", raw(json_text(folder.config))},
        {"tokenizer_config.json", raw(json_text(folder.tokenizer_config))},
        {"tokenizer.json", raw(json_text(folder.tokenizer))},
        {"model.safetensors", folder.weights.bytes()}};
    Noise noise(21);
    int opened = 0;
    for (int i = 0; i < 600; ++i) {
        const auto& [name, whole] = files[static_cast<std::size_t>(i) % 4];
        Bytes changed = whole;
        const std::size_t reach = std::min<std::size_t>(changed.size(), 1200);
        for (int k = 0; k < 2; ++k) {
            static constexpr std::string_view kLikely = "0123456789[]{},:\"\\ .-etn";
            changed[noise.next() % reach] =
                noise.next() % 4 != 0 ? static_cast<std::byte>(kLikely[noise.next() % kLikely.size()])
                                      : static_cast<std::byte>(noise.next());
        }
        std::filesystem::remove(path / name);
        QVERIFY(write_file(path / name, changed));
        const auto model = ModelSource::open(path);
        if (model.ok())
            ++opened;
        else
            QVERIFY2(!model.error().message.empty() && is_valid_utf8(model.error().message),
                     model.error().message.c_str());
        std::filesystem::remove(path / name);
        QVERIFY(write_file(path / name, whole));
    }
    QVERIFY(opened > 0 && opened < 500);
    VERIFY_OK(ModelSource::open(path));
}

void TestHfModel::changed_on_disk() {
    const auto path = write(HfFolder());
    const auto model = ModelSource::open(path);
    VERIFY_OK(model);
    VERIFY_OK((*model)->unchanged());
    std::filesystem::resize_file(path / "model.safetensors", 100);
    VERIFY_ERROR((*model)->unchanged(), ErrorKind::Io, "was changed by another program");
}

void TestHfModel::content_hash_tells_models_apart() {
    HfFolder folder;
    const std::uint64_t first = open(folder).value()->content_hash();
    QCOMPARE(open(folder).value()->content_hash(), first);
    folder.weights.find("model.layers.0.mlp.down_proj.weight")->data[8] ^= std::byte{1};
    const std::uint64_t other = open(folder).value()->content_hash();
    QVERIFY(other != first);
    folder.config["rope_theta"] = 20000.0;
    QVERIFY(open(folder).value()->content_hash() != other);
}

QTEST_GUILESS_MAIN(TestHfModel)
#include "tst_hf_model.moc"
