"""What happens at a Python start and at ``import mteb``, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mteb_ext.plugin.discovery import own_tasks

pytestmark = pytest.mark.process

OURS = [task.metadata.name for task in own_tasks()]


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def output(code, **environment):
    done = run(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_nothing_heavy_and_not_mteb():
    heavy = ["numpy", "scipy", "torch", "datasets", "mteb", "pooch", "typing", "dataclasses"]
    loaded = output(
        f"""
        import sys
        before = set(sys.modules)
        import mteb_ext
        new = {{name.partition('.')[0] for name in set(sys.modules) - before}}
        print(sorted(new & set({heavy!r})))
        """,
        MTEB_EXT_DISABLE="0",
    )
    assert loaded.strip() == "[]"


def test_an_installed_copy_needs_no_import():
    names = output(
        """
        import mteb
        tasks = mteb.get_tasks(exclude_private=False)
        print(*sorted(t.metadata.name for t in tasks if type(t).__module__.startswith("mteb_ext")))
        """
    )
    assert set(names.split()) == set(OURS)
    assert len(names.split()) == len(set(names.split()))


# As if the .pth file were not there: the package is on the path, and nothing has imported it.
WITHOUT_PTH = """
    import sys
    sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_PostImportFinder"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "mteb_ext"]:
        del sys.modules[name]
    """
WHAT_IS_THERE = """
    task = mteb.get_task("WikiQA")
    print(task.metadata.name, mteb.get_task("WikiQA.sample").metadata.revision)
    print(len([t for t in mteb.get_tasks() if t.metadata.name == "WikiQA"]))
    print(mteb.get_model_meta("mteb-ext/word-count").name)
    print(mteb.get_benchmark("SemEval2017-STS").name)
    print([cls.__name__ for cls in type(task).__mro__].count("PaperTask"))
    """
ALL_OF_IT = ["WikiQA", "sample", "1", "mteb-ext/word-count", "SemEval2017-STS", "1"]

A_FINDER_THAT_SERVES_MTEB = """
    from importlib.machinery import PathFinder

    class Tracer:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] == "mteb":
                return PathFinder.find_spec(name, path, target)

    sys.meta_path.insert(0, Tracer)
    """


def after(*parts):
    return "\n".join(textwrap.dedent(part) for part in parts)


@pytest.mark.parametrize(
    "imports",
    [
        "import mteb_ext; import mteb",
        "import mteb; import mteb_ext",
        "from mteb.get_tasks import get_task; import mteb, mteb_ext",
        "import mteb.benchmarks.benchmarks, mteb.cli; import mteb_ext",
        "from mteb_ext.bases import PaperSTS; import mteb",
        "import mteb_ext.baselines; import mteb",
        "from mteb_ext import load_dataset; import mteb",
        "import mteb_ext.tasks.wikiqa; import mteb",
        "from mteb_ext.plugin.discovery import own_tasks; import mteb",
        "import mteb_ext.plugin.benchmarks; import mteb",
        "import mteb_ext.plugin.registries; import mteb",
        "import mteb_ext, mteb; mteb_ext._autoload.install(); mteb_ext._autoload.install()",
    ],
)
def test_any_order_of_imports(imports):
    done = run(after(WITHOUT_PTH, imports, WHAT_IS_THERE))
    assert done.stdout.split() == ALL_OF_IT, done.stderr
    assert "mteb_ext" not in done.stderr


def test_what_was_used_before_is_looked_up_again():
    used = """
        import mteb
        mteb.get_benchmark("MTEB(eng, v2)")
        assert not mteb.get_benchmark("MTEB(eng, v2)").name in mteb.get_benchmarks(["BEIR"])
        from mteb.benchmarks._create_table import _meta_df_no_zs
        _meta_df_no_zs()
        import mteb_ext
        assert "mteb-ext/word-count" in _meta_df_no_zs()["model_name"].to_list()
        """
    done = run(after(WITHOUT_PTH, used, WHAT_IS_THERE))
    assert done.stdout.split() == ALL_OF_IT, done.stderr
    assert "mteb_ext" not in done.stderr


@pytest.mark.parametrize(
    "imports",
    [
        "import mteb",  # installed, and a finder that was put in front of ours later
        "import pandas, torch, datasets, rich; import mteb",
        "import mteb; import mteb_ext",
        "import mteb_ext.bases; import mteb",
    ],
)
def test_a_finder_before_ours_that_serves_mteb(imports):
    done = run(after("import sys, mteb_ext", A_FINDER_THAT_SERVES_MTEB, imports, WHAT_IS_THERE))
    assert done.stdout.split() == ALL_OF_IT, done.stderr


def test_what_a_hook_missed_is_added_by_install_and_by_every_public_name():
    code = """
        import sys, mteb_ext
        finders = [f for f in sys.meta_path if type(f).__name__ == "_PostImportFinder"]
        for finder in finders:
            sys.meta_path.remove(finder)
        import mteb
        try:
            mteb.get_task("WikiQA")
        except KeyError:
            print("missed")
        from mteb_ext import load_dataset
        """
    done = run(after(code, WHAT_IS_THERE))
    assert done.stdout.split() == ["missed", *ALL_OF_IT], done.stderr


def test_a_second_copy_takes_the_place_of_the_first():
    code = """
        import sys, mteb, mteb_ext
        for name in [name for name in sys.modules if name.partition(".")[0] == "mteb_ext"]:
            del sys.modules[name]
        import mteb_ext
        from mteb_ext.tasks.wikiqa import WikiQA
        assert type(mteb.get_task("WikiQA")) is WikiQA
        assert [type(f).__name__ for f in sys.meta_path].count("_PostImportFinder") == 1
        """
    done = run(after(code, WHAT_IS_THERE))
    assert done.stdout.split() == ALL_OF_IT, done.stderr
    assert "mteb_ext" not in done.stderr


@pytest.fixture
def other_mteb(tmp_path):
    """Make an mteb of another version, whose get_tasks has none of the names that ours fills."""

    def make(version):
        (tmp_path / "mteb").mkdir()
        (tmp_path / "mteb/__init__.py").write_text(
            f"__version__ = {version!r}\nimport mteb.get_tasks"
        )
        (tmp_path / "mteb/get_tasks.py").write_text("TASK_LIST = ()\n")
        return str(tmp_path) + os.pathsep + os.environ.get("PYTHONPATH", "")

    return make


@pytest.mark.parametrize("version", ["1.14.0", "2.10.0", "2.25.9", "3.0.0"])
def test_outside_the_supported_range_one_sentence_and_mteb_works(other_mteb, version):
    code = "import mteb, mteb_ext; mteb_ext._autoload.install(); print(mteb.get_tasks.TASK_LIST)"
    done = run(code, PYTHONPATH=other_mteb(version))
    assert done.stdout.strip() == "()"
    [said] = [line for line in done.stderr.splitlines() if "mteb_ext" in line]
    assert f"not active: this mteb is outside the supported range (mteb {version}" in said
    assert "supported: mteb>=2.26,<3" in said


def test_a_stand_in_for_mteb_is_left_alone():
    code = """
        import sys, types
        sys.modules["mteb"] = types.ModuleType("mteb")
        import mteb_ext
        mteb_ext._autoload.install()
        """
    done = run(after(WITHOUT_PTH, code))
    assert (done.returncode, done.stderr) == (0, "")


def test_without_torch_everything_works_but_running_models():
    """As with the distribution mteb-core, the same package without what models need."""
    code = """
        from importlib.machinery import PathFinder
        find, missing = PathFinder.find_spec, ("torch", "transformers", "sentence_transformers")
        PathFinder.find_spec = lambda name, *args: None if name in missing else find(name, *args)
        import mteb, mteb_ext
        print(mteb.get_task("WikiQA").metadata.name, len(mteb.get_benchmark("TANDA-AS2").tasks))
        print(len(mteb_ext.load_dataset("WikiQA.sample")), len(mteb_ext.load_published("WikiQA")))
        import mteb_ext.cli
        assert mteb_ext.cli.main(["tasks"]) == 0
        try:
            mteb.evaluate(mteb.get_model("mteb-ext/word-count"), mteb.get_task("WikiQA.sample"))
        except ImportError as error:
            print(str(error).partition(".")[0])
        """
    lines = output(code).splitlines()
    assert lines[0] == "WikiQA 2"
    assert min(map(int, lines[1].split())) > 0
    assert lines[-1] == "Evaluating a model requires a full mteb installation"


def test_the_version_needs_no_installation():
    assert output("import mteb_ext; print(mteb_ext.__version__)").strip() == "0.1.0"


@pytest.mark.types
def test_type_checkers_see_the_public_names(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "client.py").write_text(
        textwrap.dedent(
            """
            import mteb_ext

            reveal_type(mteb_ext.load_dataset)
            reveal_type(mteb_ext.DataError)
            reveal_type(mteb_ext.__version__)
            """
        )
    )
    others = ("datasets", "mteb", "numpy", "pandas", "scipy", "torch", "tqdm")  # not looked into
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = true\nignore_missing_imports = true\n"
        f"[mypy-{','.join(f'{name}.*' for name in others)}]\nfollow_imports = skip\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "client.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    load_dataset, error, version = (
        line.partition(" Revealed type is ")[2] for line in checked.splitlines() if "note" in line
    )
    assert load_dataset.startswith('"def (name: str, split: str =, *, subset: str | None ='), (
        checked
    )
    assert error.endswith('-> mteb_ext.errors.DataError"')
    assert version == '"str"'


def test_plugins_that_are_not_ready_take_nothing_down(tmp_path):
    (tmp_path / "skips.py").write_text("class Stop(BaseException): pass\nraise Stop('not here')")
    (tmp_path / "unfinished.py").write_text(
        "from mteb.abstasks.sts import AbsTaskSTS\n\nclass Unfinished(AbsTaskSTS): metadata = None"
    )
    (tmp_path / "good.py").write_text(
        textwrap.dedent(
            """
            from mteb_ext.tasks.wikiqa import WikiQA

            class Mine(WikiQA):
                metadata = WikiQA.metadata.model_copy(update={"name": "MyWikiQA"})
            """
        )
    )
    info = tmp_path / "broken_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mteb_ext.tasks]\nbroken = nowhere:Task\n")
    listed = """
        import mteb
        names = [t.metadata.name for t in mteb.get_tasks(task_types=["Reranking"])]
        print(names.count("WikiQA"), names.count("MyWikiQA"), len(mteb.get_tasks()) > 100)
        print(mteb.get_task("WikiQA.sample").metadata.name)
        """
    path = str(tmp_path) + os.pathsep + os.environ.get("PYTHONPATH", "")
    done = run(listed, MTEB_EXT_PATH=f"{tmp_path}{os.pathsep}~nosuchuser", PYTHONPATH=path)
    assert done.stdout.split() == ["1", "1", "True", "WikiQA.sample"], done.stderr
    assert "not active" not in done.stderr
    for what in ("skips.py", "Unfinished", "nosuchuser", "entry point 'broken'"):
        assert sum(what in line for line in done.stderr.splitlines()) == 1, done.stderr


def test_listings_know_the_tasks_and_hide_the_samples():
    lines = output(
        """
        import mteb
        print("JACSTS" in [t.metadata.name for t in mteb.get_tasks(languages=["jpn"])])
        print("JACSTS" in [t.metadata.name for t in mteb.get_tasks(task_types=["STS"])])
        print("WikiQA" in [t.metadata.name for t in mteb.get_tasks(task_types=["Reranking"])])
        print([t.metadata.name for t in mteb.get_tasks() if t.metadata.name.endswith(".sample")])
        print(mteb.get_task("WikiQA.sample").metadata.revision)
        """
    ).splitlines()
    assert lines == ["True", "True", "True", "[]", "sample"]


def test_it_can_be_turned_off():
    done = run("import mteb; mteb.get_task('WikiQA')", MTEB_EXT_DISABLE="1")
    assert done.returncode != 0
    assert "KeyError" in done.stderr


def test_a_missing_private_name_is_one_clear_sentence_and_mteb_works():
    done = run(
        """
        import sys

        class Renames:
            def find_spec(self, name, path=None, target=None):
                if name != "mteb.get_tasks":
                    return None
                from importlib.machinery import PathFinder
                spec = PathFinder.find_spec(name, path, target)
                execute = spec.loader.exec_module
                def exec_module(module):
                    execute(module)
                    del module.TASK_LIST
                spec.loader.exec_module = exec_module
                return spec

        sys.meta_path.insert(1, Renames())
        import mteb
        print(mteb.get_task("STS12").metadata.name)
        """
    )
    assert done.stdout.strip() == "STS12", done.stderr
    warning = [line for line in done.stderr.splitlines() if "mteb_ext is not active" in line]
    assert len(warning) == 1
    assert "mteb.get_tasks.TASK_LIST" in warning[0]
    assert ">=2.26,<3" in warning[0]


def test_a_name_that_mteb_has_is_kept():
    done = run(
        """
        import sys

        class Clash:
            def find_spec(self, name, path=None, target=None):
                if name != "mteb.get_tasks":
                    return None
                from importlib.machinery import PathFinder
                spec = PathFinder.find_spec(name, path, target)
                execute = spec.loader.exec_module
                def exec_module(module):
                    execute(module)
                    module._TASKS_REGISTRY["WikiQA"] = module._TASKS_REGISTRY["STS12"]
                spec.loader.exec_module = exec_module
                return spec

        sys.meta_path.insert(1, Clash())
        import mteb
        print(mteb.get_task("WikiQA").metadata.name, mteb.get_task("JACSTS").metadata.name)
        print([t.metadata.name for t in mteb.get_benchmark("TANDA-AS2").tasks])
        """
    )
    assert done.stdout.splitlines() == ["STS12 JACSTS", "['TRECQA']"], done.stderr
    assert "the task 'WikiQA' of mteb_ext.tasks.wikiqa is not registered" in done.stderr


def test_warnings_as_errors_do_not_break_the_import_of_mteb(tmp_path):
    (tmp_path / "clash.py").write_text(
        textwrap.dedent(
            """
            from mteb_ext.tasks.wikiqa import WikiQA

            class Mine(WikiQA):
                metadata = WikiQA.metadata
            """
        )
    )
    code = """
        import warnings
        warnings.simplefilter("error", RuntimeWarning)
        import mteb
        print(type(mteb.get_task("WikiQA")).__module__)
        print(mteb.get_task("JACSTS.sample").metadata.name)
        """
    done = run(code, MTEB_EXT_PATH=str(tmp_path))
    assert done.stdout.split() == ["mteb_ext.tasks.wikiqa", "JACSTS.sample"], done.stderr


def test_a_python_whose_copy_is_gone_starts_without_a_word():
    lines = (Path(__file__).parents[1] / "scripts/site/mteb-ext.pth").read_text().splitlines()
    code = "import sys; sys.modules['mteb_ext'] = None\n" + "\n".join(lines)
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sample_task_goes_to_a_worker_process(tmp_path):
    (tmp_path / "worker.py").write_text(
        "import pickle, sys\ntask = pickle.load(sys.stdin.buffer)\n"
        "print(type(task).__module__, task.metadata.name, task.load('test')[1])\n"
    )
    code = f"""
        import pickle, subprocess, sys, mteb
        task = mteb.get_task("WikiQA.sample")
        print(type(pickle.loads(pickle.dumps(task))) is type(task))
        subprocess.run([sys.executable, {str(tmp_path / "worker.py")!r}], input=pickle.dumps(task))
        """
    assert output(code).splitlines() == ["True", "mteb_ext.bases.task WikiQA.sample sample"]


def test_results_find_their_task(tmp_path):
    lines = output(
        f"""
        import mteb
        model = mteb.get_model("mteb-ext/token-cosine")
        cache = mteb.ResultCache({str(tmp_path)!r})
        task = mteb.get_task("WikiQA.sample")
        result = mteb.evaluate(model, task, cache=cache, show_progress_bar=False)
        print(result.task_results[0].task.metadata.name)
        loaded = cache.load_results(models=["mteb-ext/token-cosine"], tasks=["WikiQA.sample"])
        print([r.task_name for m in loaded.model_results for r in m.task_results])
        """
    ).splitlines()
    assert lines[-2:] == ["WikiQA.sample", "['WikiQA.sample']"]
