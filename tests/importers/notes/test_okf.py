"""Bundles in the Open Knowledge Format, after its specification 0.2 and its sample bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignRecord
from cortex.importers.notes import okf
from cortex.operations.care.doctor import doctor
from cortex.operations.exchange.import_ import import_

FILES = {
    "index.md": "---\nokf_version: '0.2'\n---\n# Metrics\n\n* [Margin](metrics/margin.md)\n",
    "log.md": "# Log\n\n## 2026-05-22\n* **Creation**: all.\n",
    "metrics/index.md": "# Metrics\n",
    "metrics/margin.md": (
        "---\ntype: Metric\ntitle: Gross margin\ndescription: Margin for a period.\n"
        "resource: https://example.com/margin\ntags: [finance, margin]\n"
        "generated: { by: agent/1, at: 2026-06-30T14:00:00Z }\n"
        "verified:\n  - { by: human:kim, at: 2026-07-01T09:00:00Z }\nstatus: stable\n"
        "sources:\n  - id: p\n    resource: policies/standard.md\n"
        "  - id: w\n    resource: https://example.com/wiki.md\nlonger: { a: [1, 2] }\n---\n\n"
        "# Definition\n\nSee [the old one](./legacy.md#why), [orders](/tables/orders.md),\n"
        "[none](gone.md), ![chart](legacy.md) and [a site](https://example.com/x.md).\n"
    ),
    "metrics/legacy.md": (
        "---\ntype: Metric\ntimestamp: '2024-01-15T10:00:00Z'\nstatus: deprecated\n"
        "superseded_by: /metrics/margin.md\n---\nOld.\n"
    ),
    "policies/standard.md": "---\ntype: Policy\nstatus: draft\nsupersedes: [metrics/legacy]\n---\n# Standard\n",
    "tables/orders.md": "---\ntype: BigQuery Table\n---\n",
    "tables/untyped.md": "# A note\n",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "acme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "acme"


def read(folder: Path) -> dict[str, ForeignRecord]:
    items = list(okf.read(str(folder)))
    assert items == list(okf.read(str(folder)))
    return {one.key: one for one in items if isinstance(one, ForeignRecord)}


def test_a_concept_is_a_record_with_its_links(folder: Path) -> None:
    margin = read(folder)["acme/metrics/margin.md"]
    assert (margin.type, margin.title, margin.status) == ("Metric", "Gross margin", "")
    assert (margin.at, margin.tags) == ("2026-06-30T14:00:00Z", ("finance", "margin"))
    assert margin.body.startswith("Margin for a period.\n\n# Definition\n")
    assert margin.body.endswith("\n\nhttps://example.com/margin")
    assert margin.derived_from == ("acme/policies/standard.md",)
    assert margin.relations == (
        ("relates_to", "acme/metrics/legacy.md"),
        ("relates_to", "acme/tables/orders.md"),
    )


def test_links_lead_from_a_concept_to_the_other(folder: Path, vault, caller) -> None:
    more = "[up](../policies/standard.md#a), [all](/tables/orders.md), [own](metrics/legacy.md), [gone](/gone.md)"
    (folder / "metrics" / "new one.md").write_text(f"---\ntype: Metric\n---\n{more}\n")
    (folder / "tables" / "orders.md").write_text(
        "---\ntype: Table\n---\n[n](/metrics/new%20one.md) [m](<../metrics/new one.md>)\n"
    )
    found = read(folder)
    assert found["acme/metrics/new one.md"].body == (
        "[up](../policies/standard.md#a), [all](../tables/orders.md), [own](legacy.md), [gone](/gone.md)"
    )
    assert found["acme/tables/orders.md"].body == (
        "[n](../metrics/new%20one.md) [m](../metrics/new%20one.md)"
    )
    (folder / "metrics" / "new one.md").write_text(
        f"---\ntype: Metric\n---\n{more.replace(', [gone](/gone.md)', '')}\n"
    )
    (folder / "metrics" / "margin.md").unlink()
    import_(vault, caller, ("okf", str(folder)))
    [made] = Path(vault.root, "records/metric").glob("new-one-*.md")
    assert "](" not in made.read_text()
    assert doctor(vault, caller).problems == ()


def test_what_is_deprecated_is_archived_and_what_replaces_it_is_known(folder: Path) -> None:
    found = read(folder)
    old, policy = found["acme/metrics/legacy.md"], found["acme/policies/standard.md"]
    assert (old.title, old.status, old.at) == ("legacy", "archived", "2024-01-15T10:00:00Z")
    assert old.superseded_by == "acme/metrics/margin.md"
    assert (policy.title, policy.status) == ("Standard", "draft")
    assert policy.supersedes == ("acme/metrics/legacy.md",)


def test_listings_are_left_out_and_what_has_no_type_is_named(folder: Path) -> None:
    assert len(read(folder)) == 4
    assert [one.where for one in okf.read(str(folder)) if isinstance(one, Problem)] == [
        "tables/untyped.md"
    ]


def test_a_folder_is_a_bundle_if_its_notes_have_types(folder: Path) -> None:
    assert not okf.accepts(str(folder))
    (folder / "tables/untyped.md").unlink()
    assert okf.accepts(str(folder))
    (folder / "index.md").unlink()
    assert not okf.accepts(str(folder))
    with pytest.raises(InvalidInputError, match="no concepts"):
        list(okf.read(str(folder / "metrics" / "index.md")))


def test_the_verb_makes_records_of_it(folder: Path, vault, import_twice) -> None:
    done = import_twice("okf", folder)
    assert [(one.kind, one.found) for one in done.items] == [("record", 4)]
    [old] = Path(vault.root, "records/metric").glob("legacy-*.md")
    assert "status: superseded\n" in old.read_text()
    [margin] = Path(vault.root, "records/metric").glob("gross-margin-*.md")
    assert "created: 2026-06-30T14:00:00Z\n" in margin.read_text()
    assert "relates_to" in margin.read_text()
