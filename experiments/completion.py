"""Shell completion: ``eval "$(python -m experiments.completion bash)"`` (or ``zsh``).

Completes the verbs after ``python -m experiments.``, their options, and for ``run`` and ``reproduce`` the
experiments, presets and files of ``conf/``. Exit status: 0 printed, 2 an unknown shell.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.catalogue import CONF, entries

SHELLS = ("bash", "zsh")
GENERAL = ("limit=", "seed=", "repeats=", "runs_dir=", "overwrite=", "dry_run=true", "tracking=offline")
_SCRIPT = """\
_faultline() {
    local line="${COMP_LINE:0:COMP_POINT}" word words
    [[ $line =~ -m[[:space:]]+(experiments|paper_figures)\\.[a-z_]*([[:space:]]|$) ]] || {
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); return; }
    word="${line##*[[:space:]]}"
    case "$line" in
%(cases)s
        *) words="%(verbs)s" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ ${#COMPREPLY[@]} -gt 0 || $word == *=* ]] || COMPREPLY=($(compgen -f -- "$word"))
    if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%%"${word##*=}"}"}")
    fi
}
complete -o nospace -o default -F _faultline python python3
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(prog="python -m experiments.completion", description="Shell completion.")
    out.add_argument("shell", choices=SHELLS)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    from faultline.reporting.console import Terminal

    start = "autoload -U +X bashcompinit && bashcompinit\n" if given.shell == "zsh" else ""
    Terminal().print(start + script())
    return 0


def script() -> str:
    """The completion function, with today's verbs, experiments and configuration files in it."""
    known = verbs()
    cases = "\n".join(
        f'        *"experiments.{verb} "*) words="{" ".join(words)}" ;;' for verb, words in known.items()
    )
    return _SCRIPT % {"cases": cases, "verbs": " ".join(f"experiments.{verb}" for verb in known)}


def verbs() -> dict[str, list[str]]:
    """Every verb (a module here with a ``main``) and the words that it takes."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_text()
        if "def main(" not in text or 'if __name__ == "__main__":' not in text:
            continue
        found[path.stem] = _words(path.stem, "def parser()" in text)
    return found


def _words(verb: str, has_parser: bool) -> list[str]:
    words: list[str] = []
    if has_parser:
        known: argparse.ArgumentParser = importlib.import_module(f"experiments.{verb}").parser()
        for action in known._actions:
            words += [option for option in action.option_strings if option.startswith("--")]
            words += [str(c) for c in action.choices or () if not action.option_strings]
    if verb in ("run", "reproduce"):
        words += [f"+exp={entry.name}" for entry in entries()] if verb == "run" else []
        words += [
            f"{'+' if path.parent.name == 'preset' else ''}{path.parent.name}={path.stem}"
            for path in _files()
        ]
        words += GENERAL
    return words


def _files() -> list[Path]:
    """Files that an option chooses."""
    kept = [
        p for p in sorted(CONF.glob("*/*.yaml")) if p.parent.name not in ("exp", "claims", "layouts", "hydra")
    ]
    return [p for p in kept if not p.parent.name.startswith(".")]


if __name__ == "__main__":
    sys.exit(main())
