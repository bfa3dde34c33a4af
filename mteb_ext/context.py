"""What of a task a model's answer can depend on: the key under which an answer may be reused.

mteb hands every call the task's metadata, split, subset and prompt type, so that models can choose
a prompt. Two tasks may share an embedding only where that choice comes out the same. For mteb's own
wrappers it is computed; for other models it is read off the function, which cannot depend on an
argument that it never loads; and where neither can tell, nothing is shared between tasks.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import get_prompt
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import PromptType

_TASK_ARGUMENTS = frozenset({"task_metadata", "hf_split", "hf_subset", "prompt_type"})
_VARKEYWORDS = 0x08  # inspect.CO_VARKEYWORDS


@dataclass(frozen=True)
class Call:
    """What mteb tells a model about the texts it is given."""

    task_metadata: TaskMetadata
    hf_split: str
    hf_subset: str
    prompt_type: PromptType | None = None

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of ``encode``."""
        return dict(vars(self))


def answer_key(model: Any, function: Callable[..., Any], call: Call) -> Hashable:  # noqa: ANN401
    """A key that is equal for two calls only if the model answers both alike.

    The prompt type is always part of it: the columns of a batch tell a model the side as well.

    Args:
        model: An mteb encoder or cross-encoder.
        function: Its bound ``encode`` or ``predict``.
        call: What the function is told about the task.
    """
    plain = getattr(function, "__func__", None)
    if plain is SentenceTransformerEncoderWrapper.encode:
        prompt = get_prompt(model.model_prompts, call.task_metadata, call.prompt_type)
        return call.prompt_type, prompt
    if plain is InstructSentenceTransformerModel.encode:
        return call.prompt_type, model.get_task_instruction(call.task_metadata, call.prompt_type)
    given = {**vars(call), "task_metadata": call.task_metadata.name}
    read = task_arguments_read(function) | {"prompt_type"}
    return tuple((name, given[name]) for name in sorted(read))


def task_arguments_read(function: Callable[..., Any]) -> set[str]:
    """Which of mteb's task arguments a function loads anywhere in its body.

    Arguments that arrive in ``**kwargs`` count as read when ``kwargs`` is. A callable without
    Python code counts as reading all.
    """
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or {"locals", "vars", "eval", "exec"} & set(code.co_names):
        return set(_TASK_ARGUMENTS)
    n_named = code.co_argcount + code.co_kwonlyargcount
    named, variadic = code.co_varnames[:n_named], code.co_varnames[n_named:]
    loaded = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if "LOAD" in instruction.opname and isinstance(instruction.argval, (str, tuple)):
            value = instruction.argval
            loaded.update((value,) if isinstance(value, str) else value)
    read = _TASK_ARGUMENTS & loaded
    if code.co_flags & _VARKEYWORDS:
        n_starred = bool(code.co_flags & 0x04)  # inspect.CO_VARARGS
        if variadic[n_starred] in loaded:
            read |= _TASK_ARGUMENTS - set(named)
    return set(read)
