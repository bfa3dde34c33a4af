"""The parts of the post-import hook that need no process of their own."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from mteb_ext import _autoload, environment
from mteb_ext.plugin import registries


@pytest.mark.parametrize(
    ("version", "supported"),
    [
        ("1.14.0", False),
        ("2.25.9", False),
        ("2.26.0", True),
        ("2.100.1", True),
        ("3.0.0", False),
        ("2.26.0rc1", True),
        ("unknown", True),  # no release: what is needed is looked for in any case
    ],
)
def test_supported_versions(version, supported):
    assert _autoload._supports(version) is supported


@pytest.mark.parametrize(
    ("value", "yes"),
    [("1", True), ("TRUE", True), (" on ", True), ("Yes", True), ("0", False), ("", False)]
    + [(other, False) for other in ("no", "false", "off", "2", "please")],
)
def test_variables_that_say_yes(monkeypatch, value, yes):
    monkeypatch.setenv("MTEB_EXT_TEST", value)
    assert environment.is_set("MTEB_EXT_TEST") is yes


def test_a_variable_that_is_not_set(monkeypatch):
    monkeypatch.delenv("MTEB_EXT_TEST", raising=False)
    assert environment.is_set("MTEB_EXT_TEST") is False


def test_our_finder_goes_back_to_the_front_and_the_others_keep_their_order(monkeypatch):
    class Other:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return None

    others = [f for f in sys.meta_path if f is not _autoload._FINDER]
    monkeypatch.setattr(sys, "meta_path", [Other, *others, _autoload._FINDER])
    assert _autoload._FINDER.find_spec("a_module_of_somebody") is None
    assert sys.meta_path == [_autoload._FINDER, Other, *others]


def test_a_module_has_run_when_its_import_is_over(monkeypatch):
    class Spec:
        _initializing = True

    module = ModuleType("half")
    monkeypatch.setitem(sys.modules, "half", module)
    assert not _autoload._has_run("half", None)  # a stand-in, which was never imported
    module.__spec__ = Spec()
    assert not _autoload._has_run("half", None)
    assert _autoload._has_run("half", module)
    Spec._initializing = False
    assert _autoload._has_run("half", None)
    assert not _autoload._has_run("not_there", None)


@pytest.fixture
def fills(monkeypatch):
    """What the registry is asked to fill."""
    asked = []
    monkeypatch.setattr(registries, "fill", asked.append)
    return asked


def test_nothing_is_filled_while_a_module_is_half_imported(fills):
    seen = []

    def execute(module):
        _autoload.install()
        seen.append(list(fills))

    _autoload._then_fill("mteb_ext.some", execute)(ModuleType("mteb_ext.some"))
    assert seen == [[]]
    assert len(fills) == 1
    assert fills[0][:2] == ["mteb.get_tasks", "mteb.models.model_implementations"]
    assert fills[0][-1] == "mteb"


def test_a_loader_that_serves_another_module_fills_nothing(fills):
    _autoload._then_fill("mteb_ext.some", lambda module: None)(ModuleType("other"))
    assert fills == []


def test_a_module_of_ours_that_fails_leaves_the_hook_working(fills):
    def execute(module):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _autoload._then_fill("mteb_ext.some", execute)(ModuleType("mteb_ext.some"))
    _autoload.install()
    assert len(fills) == 1


def test_what_goes_wrong_is_said_once_and_not_raised(monkeypatch):
    class Panic(BaseException):
        pass

    def fill(names):
        raise Panic("of a plugin")

    monkeypatch.setattr(registries, "fill", fill)
    monkeypatch.setattr(_autoload, "_said", set())
    with pytest.warns(RuntimeWarning, match="mteb_ext is not active: of a plugin") as said:
        _autoload.install()
        _autoload.install()
    assert len(said) == 1


def test_an_interrupt_passes(monkeypatch):
    def fill(names):
        raise KeyboardInterrupt

    monkeypatch.setattr(registries, "fill", fill)
    with pytest.raises(KeyboardInterrupt):
        _autoload.install()
    assert _autoload._busy == 0
