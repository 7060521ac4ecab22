"""The requests that a worker does, each by its name, with an answer in JSON.

>>> answer({"do": "nothing"})["error"]["code"]
'E0128'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.report.account import FileAccount, drop_in_files
from planish.report.page.contents import describe_outcome, gather_file
from planish.report.page.rendering import render_page
from planish.report.store import build_cached
from planish.report.verdicts.json_summary import summarise_function
from planish.service.analysis import analyse
from planish.service.failures import describe_error
from planish.service.stepping import explore_steps
from planish.service.wishes import read_wishes, refuse
from planish.tuning.choices import with_known_choices
from planish.tuning.store.trial_store import TrialStore, default_store

Answer = dict[str, Any]


def answer(request: Mapping[str, Any]) -> Answer:
    """What a request comes to: `result`, or `error` with the fields of a diagnostic."""
    try:
        made = REQUESTS.get(str(request.get("do")))
        if made is None:
            raise refuse(f"there is no request `{request.get('do')}`", f"the requests are: {', '.join(REQUESTS)}")
        name, text = request.get("name"), request.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise refuse("a request has a `name` and a `text`")
        return {"result": made(Source(name, text), read_wishes(request.get("options") or {}), request)}
    except PlanishError as error:
        return {"error": describe_error(error.diagnostic, error.source)}


def _analyse(source: Source, options: Options, request: Mapping[str, Any]) -> Answer:
    return analyse(source, options)


def _build(source: Source, options: Options, request: Mapping[str, Any]) -> Answer:
    """A build: the drop-in and its header, the command that compiles it, what became of each function."""
    return _told(source, _built(source, options)[0])


def _report(source: Source, options: Options, request: Mapping[str, Any]) -> Answer:
    """The page of a build."""
    return _shown(source, *_built(source, options))


def _session(source: Source, options: Options, request: Mapping[str, Any]) -> Answer:
    """A build with its page: what a browser compares."""
    account, chosen = _built(source, options)
    return {**_told(source, account), **_shown(source, account, chosen)}


def _told(source: Source, account: FileAccount) -> Answer:
    listed = [
        {**summarise_function(x), "outcome": describe_outcome(x), "refusals": x.refusals} for x in account.functions
    ]
    return {"functions": listed, "files": drop_in_files(source.name, account.text, account.header),
            "compile": account.compile, "link": account.link, "warnings": account.warnings}  # fmt: skip


def _shown(source: Source, account: FileAccount, chosen: Options) -> Answer:
    return {"page": render_page([gather_file(source, chosen, account, Cache())], Path(source.name).name)}


def _built(source: Source, options: Options) -> tuple[FileAccount, Options]:
    trials = TrialStore(default_store())
    account, _ = build_cached(source, options, Cache(), trials=trials)
    return account, with_known_choices(source, options, trials)


def _steps(source: Source, options: Options, request: Mapping[str, Any]) -> Answer:
    """What a script makes of a nest, step by step."""
    texts = [request.get(name, "") for name in ("script", "function", "loop")]
    if not all(isinstance(x, str) for x in texts):
        raise refuse("`script`, `function` and `loop` are texts")
    return explore_steps(source, options, *texts)


REQUESTS: dict[str, Callable[[Source, Options, Mapping[str, Any]], Answer]] = {
    "analyse": _analyse, "build": _build, "report": _report, "steps": _steps, "session": _session,
}  # fmt: skip
"""By their names."""
