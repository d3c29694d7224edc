"""The search for planted secrets finds them wherever they can hide; otherwise finding none says nothing."""

import base64
import sqlite3
import zipfile

import pandas as pd
import pytest

from tests.leaks import leaks

SECRET = "sk-planted-key+with/odd=signs"


def parquet(path):
    pd.DataFrame({"note": ["x" * 1000, f"key {SECRET}"]}).to_parquet(path, compression="zstd")


def packed(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/a.txt", "x" * 1000 + SECRET)


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table replies (key text, value blob)")
        connection.execute("insert into replies values (?, ?)", ("k", f"a{SECRET}".encode()))


HIDING = {
    "run.log": lambda path: path.write_text(f"GET /?key={SECRET}"),
    "results.parquet": parquet,
    "run.zip": packed,
    "replies.sqlite": database,
    "run.wandb": lambda path: path.write_bytes(b"\x00\x01" + SECRET.encode() + b"\xff"),
    "url.txt": lambda path: path.write_text("https://x/?k=sk-planted-key%2Bwith%2Fodd%3Dsigns"),
    **{
        f"coded{lead}.txt": lambda path, lead=lead: path.write_bytes(
            base64.b64encode(b"u" * lead + f":{SECRET} and more".encode())
        )
        for lead in range(3)
    },
    SECRET.replace("/", "_"): lambda path: path.write_text(SECRET),
}


@pytest.mark.parametrize("name", HIDING)
def test_it_is_found_wherever_it_hides(tmp_path, name):
    (tmp_path / "innocent.txt").write_text("sk-planted-key without the rest")
    assert leaks(tmp_path, [SECRET]) == []
    HIDING[name](tmp_path / name)
    assert leaks(tmp_path, [SECRET, "another-planted-value"]) == [f"{name}: {SECRET}"]


def test_a_name_can_tell_it_too(tmp_path):
    (tmp_path / "key-1234567890").mkdir()
    (tmp_path / "key-1234567890" / "a").write_text("")
    assert leaks(tmp_path, ["key-1234567890"]) == ["key-1234567890/a: key-1234567890"]
