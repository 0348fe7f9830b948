"""The codebook: every figure in it is one of the released file's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.bundle.codebook import codebook, codebook_html, codebook_xml
from engine.data.microdata import NO_LABELS, ColumnLabels

NS = "{ddi:codebook:2_5}"


@pytest.mark.slow
def test_frequencies_are_those_of_the_released_file(every: Path) -> None:
    table = pq.read_table(every / "public" / "release.parquet")
    book = ElementTree.parse(every / "public" / "codebook.xml")
    weights = np.array([float(w) for w in table["w"].to_pylist()])
    variables = {v.attrib["name"]: v for v in book.iter(f"{NS}var")}
    assert [*variables] == table.column_names
    for name in ("sex", "town", "work", "age_flag"):
        values = [str(v) for v in table[name].to_pylist()]
        wanted = Counter(values)
        got, summed = {}, {}
        for category in variables[name].iter(f"{NS}catgry"):
            raw = category.findtext(f"{NS}catValu")
            plain, weighted = category.findall(f"{NS}catStat")
            assert (plain.attrib, weighted.attrib) == ({"type": "freq"}, {"type": "freq", "wgtd": "wgtd"})
            got[raw], summed[raw] = int(plain.text or ""), float(weighted.text or "")
        assert got == wanted
        for raw, total in summed.items():
            assert total == pytest.approx(weights[[v == raw for v in values]].sum())
    pay = np.array([float(v) for v in table["pay"].to_pylist()])
    figures = {s.attrib["type"]: float(s.text or "") for s in variables["pay"].iter(f"{NS}sumStat")}
    assert figures["vald"] == 160 and figures["invd"] == 0
    assert (figures["min"], figures["max"]) == (pay.min(), pay.max())
    assert figures["mean"] == pytest.approx(pay.mean()) and figures["stdev"] == pytest.approx(pay.std(ddof=1))
    assert variables["sex"].findtext(f"{NS}labl") == "Sex of respondent"
    assert [c.findtext(f"{NS}labl") for c in variables["sex"].iter(f"{NS}catgry")] == ["female", "male"]
    assert variables["w"].attrib["wgt"] == "wgt" and variables["sex"].attrib["wgt-var"] == variables["w"].attrib["ID"]
    assert book.findtext(f".//{NS}caseQnty") == "160"


@pytest.mark.slow
def test_elements_stand_in_the_order_of_the_standard(every: Path) -> None:
    root = ElementTree.parse(every / "public" / "codebook.xml").getroot()
    assert root.tag == f"{NS}codeBook" and root.attrib["version"] == "2.5"
    top = ["docDscr", "stdyDscr", "fileDscr", "dataDscr", "otherMat"]
    assert [top.index(e.tag.removeprefix(NS)) for e in root] == sorted(top.index(e.tag.removeprefix(NS)) for e in root)
    inner = ["location", "labl", "sumStat", "txt", "catgry", "varFormat"]
    for variable in root.iter(f"{NS}var"):
        places = [inner.index(e.tag.removeprefix(NS)) for e in variable]
        assert places == sorted(places)
        for category in variable.iter(f"{NS}catgry"):
            order = ["catValu", "labl", "catStat"]
            places = [order.index(e.tag.removeprefix(NS)) for e in category]
            assert places == sorted(places)


def test_odd_text_stays_well_formed() -> None:
    odd = 'a<b & "c" \x01 ü'
    columns = {odd: pa.array([odd, odd, None, "-9"])}
    labels = {odd: ColumnLabels(odd, (("-9", "don't <know>"),), missing=("-9",))}
    book = codebook(odd, {"release": columns}, labels, ["release.csv"], [odd], None)
    column = book.tables[0].columns[0]
    assert (column.valid, column.empty, column.distinct) == (2, 1, 2)
    root = ElementTree.fromstring(codebook_xml(book))
    missing = [c for c in root.iter(f"{NS}catgry") if c.attrib.get("missing") == "Y"]
    assert len(missing) == 1 and missing[0].findtext(f"{NS}labl") == "don't <know>"
    figures = {s.attrib["type"]: s.text for s in root.iter(f"{NS}sumStat")}
    assert figures == {"vald": "2", "invd": "2"}
    page = codebook_html(book)
    assert "<b &" not in page and "don&#x27;t &lt;know&gt;" in page


def test_names_and_values_are_in_the_xml_as_they_are_in_the_files() -> None:
    odd = "a\n\t\r\u202e \u200b\"'&<]]>=1+1"
    about = {odd: ColumnLabels(odd, ((odd, odd),))}
    root = ElementTree.fromstring(
        codebook_xml(codebook(odd, {"release": {odd: pa.array([odd])}}, about, [], [odd], None))
    )
    (variable,) = root.iter(f"{NS}var")
    found = [variable.attrib["name"], variable.findtext(f"{NS}labl"), root.findtext(f".//{NS}titl")]
    found += [variable.findtext(f"{NS}catgry/{NS}{name}") for name in ("catValu", "labl")]
    assert found == [odd] * 5


@pytest.mark.slow
def test_the_page_leads_to_every_column_and_labels_stand_where_there_are_some(every: Path) -> None:
    page = (every / "public" / "codebook.html").read_text()
    sex, town = page.index('<h3 id="T1V4"><code>sex'), page.index('<h3 id="T1V6"><code>town')
    assert '<a href="#T1V4">sex</a>' in page and '<a href="#T1V6">town</a>' in page
    assert "<td>female</td>" in page[sex:town] and ">Label</th>" in page[sex : page.index('id="T1V5"')]
    assert ">Label</th>" not in page[town : page.index('id="T1V7"')]
    assert "http" not in page.replace("http-equiv", "")


def test_columns_of_many_values_are_summarised() -> None:
    columns = {
        "number": pa.array([*np.arange(200) / 4, None]),
        "text": pa.array([f"t{i}" for i in range(200)] + [None]),
        "coded": pa.array([*range(199), -1, -1]),
    }
    labels = {
        "number": NO_LABELS,
        "text": NO_LABELS,
        "coded": ColumnLabels(values=(("-1", "refused"),), missing=("-1",)),
    }
    number, text, coded = codebook("", {"release": columns}, labels, [], [], None).tables[0].columns
    assert number.values == () and number.kind == "numeric" and number.mean == pytest.approx(24.875)
    assert text.values == () and text.kind == "character" and text.mean is None and text.empty == 1
    assert [(v.raw, v.count, v.missing) for v in coded.values] == [("-1", 2, True)]
    assert (coded.least, coded.most, coded.valid) == (0, 198, 199)


@pytest.mark.slow
def test_a_mean_stands_where_numbers_are_numbers_and_not_where_they_are_codes(every: Path) -> None:
    columns = {name: pa.array([1, 2, 2, 3, -1]) for name in ("labelled", "top", "nominal", "scale", "named", "plain")}
    full = (("1", "low"), ("2", "middle"), ("3", "high"))
    labels = {
        "labelled": ColumnLabels(values=full),
        "top": ColumnLabels(values=(("3", "3 or more"), ("-1", "refused")), missing=("-1",)),
        "nominal": ColumnLabels(measure="nominal"),
        "scale": ColumnLabels(values=full, measure="scale"),
        "named": NO_LABELS,
        "plain": NO_LABELS,
    }
    book = codebook("", {"release": columns}, labels, [], [], None, {"named"})
    found = {column.name: column for column in book.tables[0].columns}
    assert {name for name, column in found.items() if column.mean is None} == {"labelled", "nominal", "scale", "named"}
    assert found["top"].mean == 2.0 and found["plain"].mean == pytest.approx(1.4)
    page, xml = codebook_html(book), codebook_xml(book)
    assert page.count("mean ") == xml.count('type="mean"') == 2 and page.count("numeric codes,") == 4
    assert found["named"].kind == "numeric" and len(found["named"].values) == 4
    root = ElementTree.parse(every / "public" / "codebook.xml").getroot()
    means = {
        v.attrib["name"]: [s for s in v.iter(f"{NS}sumStat") if s.attrib["type"] == "mean"]
        for v in root.iter(f"{NS}var")
    }
    assert not means["sex"] and means["pay"] and means["age"]


def test_codes_that_mean_missing_count_as_invalid_among_many_values_without_labels() -> None:
    columns = {"income": pa.array([*range(1000, 1100), -9, -9, -9, None])}
    labels = {"income": ColumnLabels(missing=("-9",))}
    book = codebook("", {"release": columns}, labels, [], [], None)
    assert [(v.raw, v.count, v.missing) for v in book.tables[0].columns[0].values] == [("-9", 3, True)]
    variable = next(ElementTree.fromstring(codebook_xml(book)).iter(f"{NS}var"))
    assert {s.attrib["type"]: s.text for s in variable.iter(f"{NS}sumStat")}["invd"] == "4"
    assert variable.attrib["intrvl"] == "contin"


def test_several_tables_are_described_each_on_its_own() -> None:
    tables = {"release-01": {"a": pa.array(["x", "y"])}, "release-02": {"a": pa.array(["x", "x"])}}
    book = codebook("T", tables, {"a": NO_LABELS}, ["release-01.csv", "release-02.csv"], [], None)
    root = ElementTree.fromstring(codebook_xml(book))
    assert [f.findtext(f".//{NS}fileName") for f in root.iter(f"{NS}fileDscr")] == ["release-01.csv", "release-02.csv"]
    assert [(v.attrib["ID"], v.attrib["files"]) for v in root.iter(f"{NS}var")] == [("V1", "F1"), ("V2", "F2")]
    assert [len([*v.iter(f"{NS}catgry")]) for v in root.iter(f"{NS}var")] == [2, 1]


@pytest.mark.slow
def test_the_codebook_says_that_csv_holds_values_as_they_are(every: Path) -> None:
    for name in ("codebook.html", "codebook.xml"):
        assert "for a formula, so open them as text." in (every / "public" / name).read_text(encoding="utf-8")
    columns = {"a": pa.array(["=1+1", "b"])}
    book = codebook("", {"release": columns}, {"a": NO_LABELS}, ["release.parquet"], [], None)
    assert not book.notes
