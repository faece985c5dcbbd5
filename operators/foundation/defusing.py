r"""Passages for a context, in which nothing reads as a boundary of the context or of a chat.

Templates of chat models part their messages by tokens such as ``<|im_end|>``, ``</s>``, ``[INST]``
or ``Human:``, and a model's input may be made by a tokenizer that takes them from any text. Here a
backslash breaks each (``<\|im_end|>``), and each label of a corpus (``\[wiki: Policy]``). One
backslash more than the text has is added, so that :func:`restored` can take it away.

The tokens are those of ChatML, Qwen, Phi, Llama 2 to 4, Mistral, Gemma, DeepSeek, GPT-OSS, Alpaca,
Vicuna and of Claude's prompts, and whatever looks like one: ``<IN_CAPITALS>``, ``<of_two_words>``
that is no type (``list<size_t>``). Of 35,000 passages of prose and code, these changed 1 in 300.
"""

import re
from collections.abc import Iterable
from functools import cache

import polars as pl

from operators.foundation.escape import visible

_TAGS = (
    "s|bos|eos|pad|unk|start_of_turn|end_of_turn|start_of_image|end_of_image|think|thinking|invoke"
    "|system|user|assistant|human|tools?|tool_(?:call|response|result)s?|function"
    "|function_(?:call|result)s?|instructions?|context|source|documents?|document_contents?"
    "|document_index|search_results?|parameters?|prompt|answer|reasoning|sop|eop|eot|sep|cls|mask"
)
_FIRST = "fim|tool|system|user|assistant|function|start|end|begin|bos|eos|eot|im|extra|unused"
_END = r"[ \t\n]{0,9}(?:/?>|\w{1,40}=)"
_BRACKETED = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|ARGS|THINK"
    "|IMG|IMG_BREAK|IMG_END|PREFIX|MIDDLE|SUFFIX|gMASK"
)
_ROLES = "Human|Assistant|System|User|HUMAN|ASSISTANT|SYSTEM|USER"

# Each matches where a backslash is put: what is before it, and the backslashes that are there.
_ANGLE = re.compile(
    r"<\\*+(?=[|\uff5c][^\s<>|\uff5c]{1,60}[|\uff5c]>|</?SYS>>"
    rf"|/?(?:[a-z]{{1,10}}:)?(?i:{_TAGS})[\s/>=]|/?(?i:{_FIRST})_\w{{1,60}}{_END}"
    r"|/?(?!SYS>>)[A-Z]{2,20}(?:[_-][A-Z0-9]{1,20}){0,6}/?>)"
    rf"|(?<!\w)(?<!include )<\\*+(?=/?[A-Za-z]{{1,20}}(?:_[A-Za-z0-9]{{1,20}}){{1,6}}{_END})"
)
_BRACKET = re.compile(rf"\[\\*+(?=/?(?:{_BRACKETED})\])")
_ROLE = re.compile(
    rf"(?:^[ \t]*(?:(?:#{{2,3}} ?)?(?:{_ROLES})|#{{2,3}} ?(?:Instruction|Input|Response))"
    r"|(?<!\w)(?:HUMAN|ASSISTANT|SYSTEM|USER))\\*+(?=:)",
    re.MULTILINE,
)
# Links, images, definitions of links; tags, comments and autolinks; bare addresses.
_MARKDOWN_LINK = re.compile(r"\]\\*+(?=[(:])")
_MARKDOWN_TAG = re.compile(r"<\\*+(?=[!?]|/?[A-Za-z0-9])")
_ADDRESS = re.compile(r"(?<!\\)\\*+(?=://)|\b[wW]{3}\\*+(?=\.)")
_PLAIN = re.compile(r"[\t\n -~]*+")


def defused(
    texts: pl.Series, label_names: Iterable[str], *, inert_markdown: bool = False
) -> list[str]:
    """Passages for a context, with unseen characters shown and boundaries broken; null is empty.

    Args:
        texts: strings.
        label_names: what labels begin with, such as ``wiki``; no passage may imitate a label.
        inert_markdown: Markdown's links and images, tags and addresses are broken too, for a
            context that is rendered.

    >>> defused(pl.Series(["[wiki: Policy] a[0]", "</s> if a <b"]), ["wiki"])
    ['\\\\[wiki: Policy] a[0]', '<\\\\/s> if a <b']
    """
    patterns = _patterns(frozenset(label_names), inert_markdown)
    passages = []
    for text in (text or "" for text in texts.to_list()):
        shown = text if _PLAIN.fullmatch(text) else visible(text)
        for sign, pattern in patterns:
            if sign in shown:
                shown = pattern.sub(r"\g<0>\\", shown)
        passages.append(shown)
    return passages


def restored(text: str, label_names: Iterable[str], *, inert_markdown: bool = False) -> str:
    """The text that :func:`defused` made ``text`` of; unseen characters stay shown.

    >>> restored('<\\\\/s> if a <b', [])
    '</s> if a <b'
    """
    for _, pattern in reversed(_patterns(frozenset(label_names), inert_markdown)):
        text = pattern.sub(lambda match: match[0].removesuffix("\\"), text)
    return text


@cache
def _patterns(label_names: frozenset[str], inert: bool) -> list[tuple[str, re.Pattern[str]]]:
    """The patterns in their order, each with a sign without which it matches nothing."""
    names = "|".join(map(re.escape, [*sorted(label_names), "source"]))
    label = re.compile(rf"(?<!\\)\\*+(?=\[\s*(?i:{names})\b)")
    chats = [("<", _ANGLE), ("[", _BRACKET), (":", _ROLE), ("[", label)]
    markdown = [("]", _MARKDOWN_LINK), ("<", _MARKDOWN_TAG), ("", _ADDRESS)]
    return [*chats, *markdown] if inert else chats
