import pandas as pd
import pytest

from faultline.errors import DataError
from faultline.ths import release

from . import release_files


def change(folder, name, edit):
    path = folder / release.FOLDER / name
    table = pd.read_csv(path)
    edit(table)
    table.to_csv(path, index=False)


@pytest.fixture
def folder(tmp_path):
    return release_files.write(tmp_path)


def test_a_good_release_loads_in_order(folder):
    found = release.load(folder)
    assert found.kpis["promptid"].tolist() == list(range(310))
    assert set(found.judges) == set(release.JUDGE_FILES)
    assert found.judges["g-orig"]["ECS"].isna().sum() == 15
    assert len(found.labels) == 93


def test_no_folder(tmp_path):
    with pytest.raises(DataError, match=r"experiments\.fetch ths_release"):
        release.load(tmp_path)


def set_value(row, column, value):
    def edit(table):
        table[column] = table[column].astype(object)
        table.loc[row, column] = value

    return edit


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        (
            "kpi_per_prompt.csv",
            lambda t: t.drop(columns="third_OSR", inplace=True),
            r"missing \['third_OSR'\]",
        ),
        ("kpi_per_prompt.csv", lambda t: t.insert(0, "more", 1), r"unexpected \['more'\]"),
        ("kpi_per_prompt.csv", set_value(4, "front_ECS", 1.5), r"row 6: front_ECS is 1\.5"),
        ("kpi_per_prompt.csv", set_value(4, "front_ECS", "high"), "row 6: front_ECS is 'high'"),
        ("kpi_per_prompt.csv", set_value(3, "promptid", 2), "row 5: promptid occurs twice"),
        ("kpi_per_prompt.csv", set_value(3, "promptid", 900), r"promptid is not 0\.\.309"),
        ("kpi_per_prompt.csv", set_value(0, "subset", "fiction"), "row 2: subset is 'fiction'"),
        ("judge_qwen3_8b_930.csv", set_value(7, "stage", "fourth"), "row 9: stage is 'fourth'"),
        ("judge_qwen3_8b_930.csv", set_value(7, "FDF", None), "row 9: FDF is "),
        ("judge_gemma4_12b_orig_930.csv", set_value(929, "ECS", 0.5), "row 931: a failed reply has a KPI"),
        ("REF3_scored.csv", set_value(0, "final", 5), "row 2: final is 5"),
        ("REF3_scored.csv", set_value(1, "item_id", "IT0001"), "row 3: item_id occurs twice"),
        ("REF3_scored.csv", set_value(1, "promptid", 3), "set of the 93 stress prompts"),
    ],
)
def test_bad_files_are_named_with_row_and_column(folder, name, edit, message):
    change(folder, name, edit)
    with pytest.raises(DataError, match=message) as caught:
        release.load(folder)
    assert "\n" not in str(caught.value)


def test_a_wrong_coder_file(folder):
    home = folder / release.FOLDER
    sheet = pd.read_excel(home / "labels_coder_B.xlsx")
    sheet.loc[0, "item_id"] = "IT9999"
    sheet.to_excel(home / "labels_coder_B.xlsx", sheet_name="Annotation", index=False)
    with pytest.raises(DataError, match=r"labels_coder_B\.xlsx: column item_id does not match"):
        release.load(folder)
    (home / "labels_coder_B.xlsx").write_bytes((home / "labels_coder_A.xlsx").read_bytes())
    with pytest.raises(DataError, match=r"labels_coder_B\.xlsx: item IT\d+: REF differs from column B"):
        release.load(folder)
    sheet.to_excel(home / "labels_coder_B.xlsx", sheet_name="Other", index=False)
    with pytest.raises(DataError, match="no readable sheet Annotation"):
        release.load(folder)


def test_a_label_out_of_range(folder):
    home = folder / release.FOLDER
    sheet = pd.read_excel(home / "labels_coder_C.xlsx")
    sheet.loc[2, "REF"] = 7
    sheet.to_excel(home / "labels_coder_C.xlsx", sheet_name="Annotation", index=False)
    with pytest.raises(DataError, match="row 4: REF is 7"):
        release.load(folder)
