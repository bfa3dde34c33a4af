"""Models in local folders: run as what they are, under a name and revision of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import mteb
import numpy as np
import pytest

from mteb_ext import load_model
from mteb_ext.cli import main
from mteb_ext.errors import ModelError
from mteb_ext.running.folders import (
    folder_name,
    folder_revision,
    kind_of_folder,
    needs_own_code,
    with_saved_prompts,
)

KINDS = {
    "SentenceTransformer": "sentence-transformer",
    "SparseEncoder": "sparse",
    "CrossEncoder": "cross-encoder",
    "MultiVectorEncoder": "multi-vector",
}


def folder_with(folder, **files):
    """A folder of JSON files, whose names are given without the ending."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def modules(*names):
    return [{"idx": i, "type": f"sentence_transformers.{name}"} for i, name in enumerate(names)]


@pytest.mark.parametrize(("model_type", "kind"), [*KINDS.items(), ("ColBERT", "multi-vector")])
def test_the_declared_type_decides(tmp_path, model_type, kind):
    # The architecture says otherwise: a sparse encoder's is that of a masked language model.
    folder = folder_with(
        tmp_path,
        config_sentence_transformers={"model_type": model_type},
        modules=modules("models.Transformer"),
        config={"architectures": ["BertForMaskedLM"]},
    )
    assert kind_of_folder(folder) == kind


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (("models.Transformer", "models.Pooling"), "sentence-transformer"),
        (("models.StaticEmbedding",), "sentence-transformer"),
        (("base.modules.Transformer", "sparse_encoder.models.SpladePooling"), "sparse"),
        (("base.modules.Transformer", "multi_vector_encoder.modules.Mask"), "multi-vector"),
        (("base.modules.Transformer", "cross_encoder.modules.LogitScore"), "cross-encoder"),
    ],
)
def test_else_the_modules_decide(tmp_path, classes, kind):
    config = {"architectures": ["BertForSequenceClassification"]}
    folder = folder_with(tmp_path, modules=modules(*classes), config=config)
    assert kind_of_folder(folder) == kind


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BertModel", "sentence-transformer"),
        ("BertForSequenceClassification", "cross-encoder"),
        ("HF_ColBERT", "multi-vector"),
        ("ColPaliForRetrieval", "multi-vector"),
    ],
)
@pytest.mark.parametrize("classes", [(), ("models.Transformer",)])
def test_else_the_architecture_decides(tmp_path, architecture, kind, classes):
    config = {"architectures": [architecture]}
    folder = folder_with(tmp_path, modules=modules(*classes), config=config)
    assert kind_of_folder(folder) == kind


@pytest.mark.parametrize(
    ("architecture", "flags"),
    [
        ("BertForMaskedLM", ("--kind sentence-transformer", "--kind sparse")),
        ("Qwen3ForCausalLM", ("--kind sentence-transformer", "--kind cross-encoder")),
    ],
)
def test_where_two_kinds_are_possible_the_flags_are_named(tmp_path, architecture, flags):
    folder = folder_with(tmp_path, config={"architectures": [architecture]})
    with pytest.raises(ModelError) as error:
        kind_of_folder(folder)
    assert all(flag in str(error.value) for flag in flags)
    for flag in flags:
        kind = flag.removeprefix("--kind ")
        assert kind_of_folder(folder, kind) == kind


@pytest.mark.parametrize(
    ("files", "asked", "message"),
    [
        (
            {"config_sentence_transformers": {"model_type": "SparseEncoder"}},
            "cross-encoder",
            "spar",
        ),
        ({"config": {"architectures": ["BertModel"]}}, "cross-encoder", "random weights"),
        ({"config": {"architectures": ["BertModel"]}}, "sparse", "random weights"),
        ({"config": {"architectures": ["BertForSequenceClassification"]}}, "sparse", "cross-enc"),
        ({}, None, "holds no model"),
        ({"modules": {"not": "a list"}}, None, "modules.json is damaged"),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path, files, asked, message):
    with pytest.raises(ModelError, match=message):
        kind_of_folder(folder_with(tmp_path, **files), asked)


def test_a_folder_around_models_names_them(tmp_path):
    folder_with(tmp_path / "checkpoint-10", config={})
    with pytest.raises(ModelError, match="Is it in checkpoint-10 inside"):
        kind_of_folder(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": [')
    with pytest.raises(ModelError, match=r"config\.json is damaged"):
        kind_of_folder(tmp_path)


def test_a_file_that_is_nested_without_end_is_named(tmp_path):
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match=r"config\.json is damaged"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/bge-ja", "local/bge-ja"),
        ("/data/run1/model", "local/run1-model"),
        ("/data/run1/best_model", "local/run1-best_model"),
        ("/data/ja-sts/checkpoint-500", "local/ja-sts-checkpoint-500"),
        ("/data/ja-sts/checkpoints/12", "local/ja-sts-checkpoints-12"),
        (
            "/data/models--org--bge/snapshots/" + 20 * "a1",
            "local/models--org--bge-snapshots-" + 20 * "a1",
        ),
        ("/data/my  model__x", "local/my_model_x"),
        ("/data/臨床モデル", "local/臨床モデル"),
        ("/", "local/model"),
    ],
)
def test_name_of_a_folder(path, name):
    assert folder_name(Path(path)) == name


def test_name_of_a_folder_with_more_parents():
    assert folder_name(Path("/data/b/run1/model"), more=1) == "local/b-run1-model"


def test_the_revision_follows_what_decides_scores(tmp_path):
    folder = folder_with(tmp_path / "m", config={"a": 1}, tokenizer={"b": 2})
    before = folder_revision(folder, {"kind": "sparse"})
    assert len(before) == 16
    assert folder_revision(folder, {"kind": "sparse"}) == before
    assert folder_revision(folder, {"kind": "cross-encoder"}) != before
    (folder / "config.json").write_text(json.dumps({"a": 2}))
    changed = folder_revision(folder, {"kind": "sparse"})
    (folder / "config.json").rename(folder / "other.json")
    assert len({before, changed, folder_revision(folder, {"kind": "sparse"})}) == 3


@pytest.mark.parametrize(
    "beside", ["README.md", ".git/HEAD", "__pycache__/a.pyc", "checkpoint-10/model.safetensors"]
)
def test_the_revision_does_not_follow_the_rest(tmp_path, beside):
    folder = folder_with(tmp_path / "m", config={"a": 1})
    before = folder_revision(folder, {})
    (folder / beside).parent.mkdir(exist_ok=True)
    (folder / beside).write_text("other")
    assert folder_revision(folder, {}) == before


def test_a_moved_folder_keeps_its_revision(tmp_path):
    before = folder_revision(folder_with(tmp_path / "a", config={"a": 1}), {})
    (tmp_path / "a").rename(tmp_path / "b")
    assert folder_revision(tmp_path / "b", {}) == before


@pytest.fixture(scope="module")
def tiny(minilm_folder, tmp_path_factory):
    """A function of a transformers class to a folder with such a model of random weights."""
    import torch
    import transformers

    home = tmp_path_factory.mktemp("models")

    def make(class_name, folder="raw", **config):
        path = home / class_name / folder
        if not path.exists():
            torch.manual_seed(0)
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(minilm_folder))
            options = transformers.BertConfig(
                vocab_size=len(tokenizer),
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                **config,
            )
            getattr(transformers, class_name)(options).save_pretrained(path)
            tokenizer.save_pretrained(path)
        return path

    return make


def saved(tiny, class_name):
    """A folder that a sentence-transformers class has saved."""
    import sentence_transformers

    architecture = {
        "SentenceTransformer": "BertModel",
        "SparseEncoder": "BertForMaskedLM",
        "CrossEncoder": "BertForSequenceClassification",
        "MultiVectorEncoder": "BertModel",
    }[class_name]
    raw = tiny(architecture, num_labels=1) if class_name == "CrossEncoder" else tiny(architecture)
    folder = raw.parent / class_name
    found = getattr(sentence_transformers, class_name, None)
    if found is None:
        pytest.skip(f"this sentence-transformers has no {class_name}")
    if class_name == "SparseEncoder" and not hasattr(found, "get_embedding_dimension"):
        pytest.skip("mteb cannot wrap the SparseEncoder of this sentence-transformers")
    if not folder.exists():
        model = getattr(sentence_transformers, class_name)(str(raw), device="cpu")
        model.save_pretrained(str(folder))
    return folder


def score(model, task="WikiQA.sample"):
    result = mteb.evaluate(model, mteb.get_task(task), cache=None, show_progress_bar=False)
    return result.task_results[0].get_score()


@pytest.mark.slow
@pytest.mark.parametrize("class_name", ["SentenceTransformer", "SparseEncoder", "CrossEncoder"])
def test_a_folder_scores_as_the_object_does(tiny, no_data, class_name):
    import sentence_transformers

    folder = saved(tiny, class_name)
    loaded = load_model(folder)
    assert score(loaded) == score(getattr(sentence_transformers, class_name)(str(folder)))
    assert loaded.mteb_model_meta.name == f"local/{class_name}"


def test_a_multi_vector_folder_is_loaded_as_one(tiny):
    from mteb.models import MultiVectorWrapper

    assert isinstance(load_model(saved(tiny, "MultiVectorEncoder")), MultiVectorWrapper)


def test_a_static_embedding_is_a_sentence_transformer(tmp_path, minilm_folder, no_data):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(minilm_folder)).backend_tokenizer
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)])
    model.save_pretrained(str(tmp_path / "static"))
    assert score(load_model(tmp_path / "static")) == score(model)


@pytest.mark.slow
def test_one_folder_as_two_kinds_is_two_models(tiny, tmp_path, no_data):
    folder = tiny("BertForSequenceClassification", num_labels=1)
    cache = mteb.ResultCache(tmp_path)
    found = {}
    for kind in ("cross-encoder", "sentence-transformer"):
        model = load_model(folder, kind=kind)
        result = mteb.evaluate(model, mteb.get_task("WikiQA.sample"), cache=cache)
        found[kind] = result.task_results[0].get_score()
        assert found[kind] == score(model)
    assert len(set(found.values())) == 2
    assert len(list(tmp_path.rglob("WikiQA.sample.json"))) == 2


def test_a_classification_head_that_is_not_in_the_files_is_an_error(tiny, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = saved(tiny, "CrossEncoder")
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    weights = load_file(folder / "model.safetensors")
    for part in ("classifier", "pooler"):  # a cross-encoder's head reads the pooler
        kept = {name: value for name, value in weights.items() if part not in name}
        save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelError, match=rf"lacks 2 of the weights .*{part}"):
            load_model(copy)
    assert load_model(folder)


def test_a_missing_pooler_is_none_of_an_encoders_concern(tiny, no_data):
    # A masked language model has no pooler; mean pooling does not ask for one.
    model = load_model(tiny("BertForMaskedLM"), kind="sentence-transformer")
    assert 0 < score(model) <= 1


def test_loading_leaves_transformers_as_it_was(tiny):
    from transformers import PreTrainedModel

    before = PreTrainedModel.__dict__["from_pretrained"]
    load_model(tiny("BertModel"))
    assert PreTrainedModel.__dict__["from_pretrained"] is before


@pytest.fixture
def with_own_code(tiny, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    source = saved(tiny, "SentenceTransformer")
    for file in source.rglob("*"):
        if file.is_file():
            target = folder / file.relative_to(source)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(file.read_bytes())
    listed = json.loads((folder / "modules.json").read_text())
    listed[1]["type"] = "my_pooling.MyPooling"
    (folder / "modules.json").write_text(json.dumps(listed))
    ran = tmp_path / "ran"
    (folder / "my_pooling.py").write_text(
        "import pathlib\n"
        f"pathlib.Path({str(ran)!r}).touch()\n"
        "from sentence_transformers.models import Pooling as MyPooling\n"
    )
    return folder, ran


def test_code_of_a_folder_runs_only_with_the_flag(with_own_code, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, ran = with_own_code
    with pytest.raises(ModelError, match="--trust-remote-code"):
        load_model(folder)
    assert not ran.exists()
    load_model(folder, trust_remote_code=True)
    assert ran.exists()


def test_classes_from_elsewhere_are_code_of_the_models_own(tmp_path):
    # sentence-transformers trusted local folders before its version 6.
    assert needs_own_code(folder_with(tmp_path / "a", modules=[{"type": "my_pooling.MyPooling"}]))
    assert not needs_own_code(folder_with(tmp_path / "b", modules=modules("models.Pooling")))


def test_code_that_transformers_would_run_needs_the_flag_too(tiny, tmp_path):
    raw = tiny("BertModel")
    config = json.loads((raw / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.C", "AutoModel": "mine.M"}}
    folder = folder_with(tmp_path / "mine", config=config)
    (folder / "mine.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(ModelError, match="--trust-remote-code"):
        load_model(folder)


def test_prompts_are_put_before_the_texts_and_make_another_revision(tiny):
    folder = saved(tiny, "SentenceTransformer")
    plain, prompted = load_model(folder), load_model(folder, prompts={"query": "find: "})
    assert plain.mteb_model_meta.revision != prompted.mteb_model_meta.revision
    seen = prompted.model.encode_query(["x"])
    assert np.allclose(seen, plain.model.encode(["find: x"]), atol=1e-6)


def test_prompts_of_a_cross_encoder(tiny):
    model = load_model(saved(tiny, "CrossEncoder"), prompts={"query": "q: ", "document": "d: "})
    assert (model.query_prefix, model.passage_prefix) == ("q: ", "d: ")


def test_model_kwargs_reach_the_model_and_make_another_revision(tiny):
    folder = saved(tiny, "SentenceTransformer")
    cut = load_model(folder, model_kwargs={"truncate_dim": 4})
    assert cut.model.encode(["x"]).shape == (1, 4)
    assert cut.mteb_model_meta.revision != load_model(folder).mteb_model_meta.revision


def test_a_folders_revision_can_be_demanded(tiny):
    folder = saved(tiny, "SentenceTransformer")
    revision = load_model(folder).mteb_model_meta.revision
    assert load_model(folder, revision=revision).mteb_model_meta.revision == revision
    with pytest.raises(ModelError, match=f"is at revision {revision}, and 0123 is asked for"):
        load_model(folder, revision="0123")


def test_a_name_of_ones_own(tiny):
    model = load_model(saved(tiny, "SentenceTransformer"), name="lab/mine")
    assert model.mteb_model_meta.name == "lab/mine"


def test_models_by_name():
    meta = load_model("mteb-ext/token-cosine").mteb_model_meta
    assert (meta.name, meta.revision) == ("mteb-ext/token-cosine", "1")


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("mteb-ext/token-cosin", {}, "Did you mean 'mteb-ext/token-cosine'"),
        ("mteb-ext/token-cosine", {"kind": "sparse"}, "is no folder"),
        ("mteb-ext/token-cosine", {"revision": "7"}, "Expected 1"),
        ("./nowhere", {}, "there is no folder ./nowhere"),
        ("a/b/c", {}, "there is no folder a/b/c"),
        (__file__, {}, "is a file"),
    ],
)
def test_a_model_that_is_not_there(model, options, message):
    with pytest.raises(ModelError, match=message):
        load_model(model, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "abacus"}, "the device 'abacus' cannot be used here"),
        ({"prompts": {"qurey": "q"}}, "the prompt 'qurey' belongs to nothing"),
        ({"name": "mine"}, "not like organisation/model"),
        ({"model_kwargs": {"truncate_dims": 4}}, "unexpected keyword argument 'truncate_dims'"),
    ],
)
def test_wrong_options(tiny, options, message):
    with pytest.raises(ModelError, match=message):
        load_model(saved(tiny, "SentenceTransformer"), **options)


def test_prompts_that_a_cross_encoder_has_no_place_for(tiny):
    with pytest.raises(ModelError, match="query and document"):
        load_model(saved(tiny, "CrossEncoder"), prompts={"WikiQA": "q"})


def test_damaged_weights_are_one_line(tiny, tmp_path):
    folder = tmp_path / "cut"
    folder.mkdir()
    for file in tiny("BertModel").iterdir():
        content = file.read_bytes()
        cut = len(content) // 2 if file.suffix == ".safetensors" else len(content)
        (folder / file.name).write_bytes(content[:cut])
    with pytest.raises(ModelError, match="cannot be loaded as a sentence-transformer") as error:
        load_model(folder)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "Wikiqa2"], "Did you mean 'WikiQA'"),
        (["-t", "STS121"], "Did you mean 'STS12'"),
        (["-t", "WikiQA.sample", "--eval-splits", "tset"], "no split 'tset'; it has"),
        (["-t", "WikiQA.sample", "-m", "{empty}"], "holds no model"),
        (["-t", "WikiQA.sample", "--device", "abacus"], "the device 'abacus'"),
    ],
)
def test_run_with_wrong_input(tmp_path, capsys, arguments, message):
    (tmp_path / "empty").mkdir()
    arguments = [part.format(empty=tmp_path / "empty") for part in arguments]
    model = [] if "-m" in arguments else ["-m", "mteb-ext/token-cosine"]
    assert main(["run", *model, *arguments, "--output-folder", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_the_revision_follows_links(tmp_path):
    for name in ("one", "two"):
        folder_with(tmp_path / name, weights=name)
    folder = folder_with(tmp_path / "model", config={})
    (folder / "part").symlink_to(tmp_path / "one")
    before = folder_revision(folder, {})
    (folder / "part" / "circle").symlink_to(tmp_path / "one")
    assert folder_revision(folder, {}) == before
    (folder / "part").unlink()
    (folder / "part").symlink_to(tmp_path / "two")
    assert folder_revision(folder, {}) != before


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("adapter_config", lambda base: {"base_model_name_or_path": str(base)}),
        ("modules", lambda base: [{"path": "../base"}]),
        ("sentence_bert_config", lambda base: {"x": [{"tokenizer_name_or_path": str(base)}]}),
    ],
)
def test_the_revision_follows_a_local_base_model(tmp_path, file, content):
    base = folder_with(tmp_path / "base", weights=1)
    folder = folder_with(tmp_path / "model", **{file: content(base)})
    before = folder_revision(folder, {})
    folder_with(base, weights=2)
    assert folder_revision(folder, {}) != before


def test_the_revision_does_not_follow_where_weights_came_from(tmp_path):
    base = folder_with(tmp_path / "base", weights=1)
    folder = folder_with(tmp_path / "model", config={"_name_or_path": str(base)})
    before = folder_revision(folder, {})
    folder_with(base, weights=2)
    assert folder_revision(folder, {}) == before


def test_a_model_folder_with_a_pipe_in_it_is_refused(tmp_path):
    os.mkfifo(folder_with(tmp_path / "model", config={}) / "weights")
    with pytest.raises(ModelError, match="no regular file"):
        folder_revision(tmp_path / "model", {})


def test_given_prompts_go_over_the_saved_ones(tmp_path):
    saved = {"prompts": {"query": "q: ", "document": "d: ", "empty": ""}}
    folder = folder_with(tmp_path, config_sentence_transformers=saved)
    assert with_saved_prompts(folder, {"query": "what "}) == {"query": "what ", "document": "d: "}
    assert with_saved_prompts(folder, {}) == {}
