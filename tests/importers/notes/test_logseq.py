"""A graph of Logseq in files, with the forms of its documentation's own graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignFile
from cortex.importers.notes import logseq
from cortex.operations.exchange.import_ import import_

ID = "63bc6201-53b1-47a4-834f-83934b69ad49"
FILES = {
    "logseq/config.edn": "{}\n",
    "journals/2026_11_01.md": (
        "- TODO Call the printer\n- DONE Write\n\t- LATER nested\n"
        f"- See (({ID})) and [that]((({ID})))\n- {{{{embed (({ID}))}}}} {{{{embed [[Term/a]]}}}}\n"
    ),
    "journals/2020_09_14.md": "---\ntitle: Sep 14th, 2020\n---\n\n- Old\n",
    "journals/2020_09_15.org": "* Old\n",
    "pages/Term___a.md": (
        "type:: [[Class]]\ntags:: one, [[Two words]], #three\nalias:: A, B\nid:: not mine\n\n"
        f"- The block\n  id:: {ID}\n  collapsed:: true\n- ((00000000-0000-0000-0000-000000000000))\n"
    ),
    "pages/New%3F.md": "- What is new\r\n",
    "pages/Odd___.md": "- Odd\n",
    "assets/a.png": "png",
    "whiteboards/w.edn": "{}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "graph" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "graph"


def read(folder: Path) -> dict[str, str]:
    items = list(logseq.read(str(folder)))
    assert items == list(logseq.read(str(folder)))
    return {
        one.path.removeprefix("notes/graph/"): one.text
        for one in items
        if isinstance(one, ForeignFile)
    }


def test_journals_are_daily_notes_with_boxes_and_links_to_blocks(folder: Path) -> None:
    assert logseq.accepts(str(folder))
    assert read(folder)["journals/2026-11-01.md"] == (
        '---\naliases: ["Nov 1st, 2026"]\n---\n'
        "- [ ] Call the printer\n- [x] Write\n\t- [ ] nested\n"
        f"- See [[Term/a#^{ID}]] and [[Term/a#^{ID}|that]]\n- ![[Term/a#^{ID}]] ![[Term/a]]\n"
    )
    assert read(folder)["journals/2020-09-14.md"] == FILES["journals/2020_09_14.md"]


def test_pages_lie_where_links_with_their_names_find_them(folder: Path) -> None:
    found = read(folder)
    assert found["pages/Term/a.md"] == (
        '---\ntype: "[[Class]]"\ntags: [one, Two words, three]\naliases: [A, B]\n---\n'
        f"- The block ^{ID}\n  collapsed:: true\n- ((00000000-0000-0000-0000-000000000000))\n"
    )
    assert found["pages/New%3F.md"] == '---\naliases: ["New?"]\n---\n- What is new\n'
    assert found["pages/Odd___.md"] == "- Odd\n"
    assert len(found) == 5


def test_a_task_keeps_its_days(folder: Path) -> None:
    text = "- TODO Pay\n  DEADLINE: <2026-11-20 Fri .+1m>\n- LATER Ask\n  SCHEDULED: <2026-11-21 Sat>\n  now"
    (folder / "pages/tasks.md").write_text(text)
    told = "- [ ] Pay 📅 2026-11-20\n- [ ] Ask ⏳ 2026-11-21\n  now"
    assert read(folder)["pages/tasks.md"] == told


def test_two_pages_of_one_name_are_two_notes_and_that_is_said(folder: Path, vault, caller) -> None:
    (folder / "pages/Term%2Fa.md").write_text("- Another\n")
    for _ in range(2):
        [done] = import_(vault, caller, ("logseq", str(folder))).sources
        [told] = [one.message for one in done.problems if "place" in one.message]
    [other] = Path(vault.root, "notes/graph/pages/Term").glob("a ????.md")
    texts = [other.read_text(), other.with_name("a.md").read_text()]
    assert sorted("Another" in one for one in texts) == [False, True]
    assert told == f"another note has its place; this one is {other.relative_to(vault.root)}"
    assert done.items[0].known == 6


def test_what_is_left_out_is_counted(folder: Path) -> None:
    (folder / "pages/Old.org").write_text("* Old\n")
    org, rest = (one for one in logseq.read(str(folder)) if isinstance(one, Problem))
    left = "left out: 1 in assets, 1 in logseq, 1 in whiteboards"
    assert (rest.where, rest.message) == ("graph", left)
    left = "left out: 2 notes in Org mode, such as journals/2020_09_15.org"
    assert (org.where, org.message) == (str(folder), left)
    assert "export them as Markdown in Logseq" in org.hint


def test_another_folder_is_no_graph(folder: Path) -> None:
    assert not logseq.accepts(str(folder / "pages"))
    with pytest.raises(InvalidInputError, match="no graph"):
        list(logseq.read(str(folder / "pages")))


def test_the_verb_copies_it_and_its_links_lead_there(
    folder: Path, vault, cortex, import_twice
) -> None:
    done = import_twice("logseq", folder)
    assert [(one.kind, one.new) for one in done.items] == [("file", 5)]
    assert Path(vault.root, "notes/graph/pages/Term/a.md").is_file()
    assert "notes/graph/pages/Term/a.md" in cortex("graph", "2026-11-01").stdout
