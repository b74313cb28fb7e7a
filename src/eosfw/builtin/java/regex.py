"""Replacements as Java writes them (`java.util.regex.Matcher`)."""

from __future__ import annotations

import re


def replacement_parts(pattern: re.Pattern[str], replacement: str) -> list[str | int]:
    """A replacement of Java's `Matcher` as texts and numbers of groups; ValueError for one that Java refuses."""
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        character = replacement[at]
        if character == "\\":
            if at + 1 == len(replacement):
                raise ValueError("character to be escaped is missing")
            parts.append(replacement[at + 1])
            at += 2
        elif character == "$":
            group, at = _group(pattern, replacement, at + 1)
            parts.append(group)
        else:
            parts.append(character)
            at += 1
    return parts


def expand(match: re.Match[str], parts: list[str | int]) -> str:
    """A replacement with the groups of a match; a group that took no part is empty, as in Java."""
    return "".join(part if isinstance(part, str) else match.group(part) or "" for part in parts)


def _group(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int]:
    """The number of the group that is named at a place, and the place behind it."""
    if text[at : at + 1] == "{":
        end = text.find("}", at)
        name = text[at + 1 : end]
        if end < 0 or name not in pattern.groupindex:
            raise ValueError(f"No group with name {{{name}}}")
        return pattern.groupindex[name], end + 1
    if not (text[at : at + 1].isascii() and text[at : at + 1].isdigit()):
        raise ValueError("Illegal group reference")
    number, at = int(text[at]), at + 1
    if number > pattern.groups:
        raise ValueError(f"No group {number}")
    # Java takes as many digits as make the number of a group.
    while text[at : at + 1].isascii() and text[at : at + 1].isdigit() and number * 10 + int(text[at]) <= pattern.groups:
        number, at = number * 10 + int(text[at]), at + 1
    return number, at
