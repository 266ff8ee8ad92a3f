"""What the links of a note have to say when a file is renamed."""

from __future__ import annotations

import json
import re
from posixpath import dirname, join, normpath, relpath

from cortex.core.markdown.inline import Link, parse_destination
from cortex.core.markdown.scan import scan
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.relation import NameResolver, basename_key, link_key
from cortex.core.notes import note as notes
from cortex.core.notes.relations import iter_frontmatter_edges
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

CANVAS = ".canvas"  # the ending of a board in the format JSON Canvas
_PROPERTY = "property"  # the kind of a link in the frontmatter
# What may be the name in a link; whether it is one, or code, the index's own reader says.
_NAME_RE = lazy_re(
    r"\[\[[ \t]*(?P<wiki>[^\[\]|#\\\r\n]+)|\](?:\([ \t]*|:[ \t]*)"
    r"(?:<(?P<angled>[^<>#\\\r\n]+)|(?P<bare>(?:[^\s()<>#\\]|\\[^\s]|\([^\s()<>#]*\))+))"
)
_MARK_RE = lazy_re(r"Zq*")
_ESCAPED_RE = lazy_re(r"[\s%()<>\"\\#?`\[\]]")  # in a destination without angle brackets


class Rename(NamedTuple):
    """A file that gets another path, and what all files are called before and after."""

    old: str
    new: str
    before: NameResolver
    after: NameResolver
    is_done: bool = False  # it has its new path already: only links that lead nowhere are changed

    def relink(self, data: bytes, path: str, *, has_id: bool) -> tuple[bytes, int]:
        """The note that was at `path`, with each link leading where it led, and how many changed.
        `has_id`: it is one of ours, whose properties link by id. `InvalidInputError` where a new
        name would be read as something else, as a comma in a list of YAML."""
        text = data.decode("utf-8", "surrogateescape")
        if path.lower().endswith(CANVAS):
            forms = (json.dumps(self.old, ensure_ascii=one) for one in (True, False))
            # No key is in a string: there quotes have a backslash before them.
            card = rf'(?<!\\)("file"\s*:\s*)(?:{"|".join(map(re.escape, forms))})'
            name = json.dumps(self.new, ensure_ascii=False)
            text, count = re.subn(card, lambda one: one[1] + name, text)
            return text.encode("utf-8", "surrogateescape"), count
        written = list(_NAME_RE.finditer(text))
        keys = {basename_key(self.old), basename_key(self.new)}
        names = {one[one.lastgroup or 0].strip() for one in written}
        names |= set(map(parse_destination, names))
        if path != self.old and keys.isdisjoint(map(basename_key, names)):
            return data, 0
        folders = dirname(path), dirname(self.new if path == self.old else path)
        links = _find_links(text, written)
        pieces, at, count = list[str](), 0, 0
        for number, link in sorted(links.items()):
            name = self._name_after(link, *folders, stays=has_id and link.kind == _PROPERTY)
            if name and name != link.target:
                start, end = written[number].span(written[number].lastgroup or 0)
                pieces += text[at:start], _encode(name, written[number], link)
                at, count = end - len(text[start:end]) + len(text[start:end].rstrip()), count + 1
                links[number] = link._replace(target=name)
        changed = "".join((*pieces, text[at:]))
        if count and _find_links(changed, list(_NAME_RE.finditer(changed))) != links:
            raise InvalidInputError(f"its links to {self.old} stay", f"write {self.new} there")
        return changed.encode("utf-8", "surrogateescape"), count

    def _name_after(self, link: Link, folder: str, new_folder: str, *, stays: bool) -> str:
        """What a link has to say; empty for one to no file. `stays`: while it leads there, it does,
        though the file has another name."""
        name, is_markdown = link.target, link.kind in ("markdown", "image")
        found = self.before.resolve(name, folder)
        if not found or (is_markdown and found.path[-3:] == ".md" != name[-3:].lower()):
            return ""  # `guide` is no note, where links are written as in markdown
        path = self.new if found.path == self.old else found.path
        last, base = name.rpartition("/")[2], path.rpartition("/")[2]
        is_old_name = found.path == self.old and basename_key(last) == basename_key(self.old)
        stays = stays or not is_old_name or last in (base, base.removesuffix(".md"))
        # For other programs a path is relative: it stays one.
        is_near = is_markdown and _is_at(found.path, folder, name)
        stays = stays and not (is_near and not _is_at(path, new_folder, name))
        now = self.after.resolve(name, new_folder)
        if now and (self.is_done or (now.path == path and stays)):
            return name
        whole = path if name[-3:].lower() == ".md" else path.removesuffix(".md")
        if name.startswith(("./", "../")) or "/../" in name or is_near:
            way = relpath(whole, new_folder or ".")
            return f"./{way}" if name.startswith("./") and not way.startswith("../") else way
        # As many parts of the path as before, if that is clear; else all.
        end = "/".join(whole.split("/")[-1 - name.count("/") :])
        forms = [end] if "/" not in name or link_key(name) != link_key(found.path) else []
        for form in (*forms, whole) if name[0] != "/" else ():
            to = self.after.resolve(form, new_folder)
            if to and to.path == path and ("/" in form or self.after.is_unique(form)):
                return form
        return f"/{whole}"


def _is_at(path: str, folder: str, name: str) -> bool:
    """Whether a name is the way from a folder to a path."""
    return link_key(normpath(join(folder, name))) == link_key(path)


def _find_links(text: str, written: list[re.Match[str]]) -> dict[int, Link]:
    """Which of the names in `written` are links, by number. Each gets a mark at its end, and those
    whose marks come back from the reader are."""
    mark = max(("Z", *_MARK_RE.findall(text)), key=len) + "q"  # what the text does not hold
    pieces, at = list[str](), 0
    for number, one in enumerate(written):
        end = one.end(one.lastgroup or 0)
        pieces += text[at:end], f"{mark}{number}{mark}"
        at = end
    note = notes.read("".join((*pieces, text[at:])).encode("utf-8", "surrogateescape"))
    links = [Link(_PROPERTY, name, line) for _, name, line in iter_frontmatter_edges(note)]
    found = {}
    for link in (*links, *scan(note.text, note.body_start_line).links):
        name, *marked = link.target.split(mark)
        if marked:
            found[int(marked[0])] = link._replace(target=f"{name}{marked[1]}".strip())
    return found


def _encode(name: str, written: re.Match[str], link: Link) -> str:
    """A name in the form in which the link has one: with escapes or without."""
    if written.lastgroup == "bare":
        return _ESCAPED_RE.sub(lambda s: "".join(f"%{b:02X}" for b in s[0].encode()), name)
    is_quoted = link.kind == _PROPERTY and written.string[written.start() - 1] == "'"
    return name.replace("'", "''") if is_quoted else name
