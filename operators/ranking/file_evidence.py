"""What the file of a passage says beside its words.

A passage is ranked by what it says itself. The file that it stands in says more: several good
passages, a name that the question says, a definition of what the question names; and a test or an
example mostly shows what another file does.
"""

import re

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
BARE = re.compile(
    r"(?:[A-Za-z_]\w*(?:(?:::|\\|->|\.)[A-Za-z_]\w*)+|_\w*|[A-Za-z][A-Za-z0-9]*[A-Z_]\w*|[A-Z][A-Za-z0-9]*)"
)
_NAME = re.compile(
    r"[A-Z][a-z][A-Za-z0-9]*[A-Z]\w*|[a-z][A-Za-z0-9]*[A-Z]\w+|_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+"
)
_KEY = (
    "class|module|defmodule|def|defp|defmacro|defprotocol|interface|struct|enum|trait|type|func|function|object|fn|fun|"
    "package|namespace|protocol|record|typedef|data|newtype|impl|extension|actor|const|let|var|val|union|mod|alias|"
    "local function|macro_rules!|#define"
)
_TYPED = r"^(?:[^\W\d][\w*&:<>,]*[ \t]+[*&]*)*"
_BODY = r"\([^;{}]{0,500}\)\s*\{"
_TEST = re.compile(
    r"(?:^|/)(?:test_[^/]*\.(?:py|c|cc|cpp|lua|dart)|[^/]*_test\.(?:py|go|rb|c|cc|cpp|lua|dart|exs)|[^/]*_spec\.(?:rb|lua)|"
    r"[^/]*(?:Tests?|Spec|Suite)\.(?:java|kt|swift|cs|scala|php)|[^/]*\.(?:test|spec)\.[jt]sx?|[^/]*\.bats)$"
    r"|(?:^|/)(?:tests?|__tests__|spec|testdata|fixtures|_?compat|legacy|deprecated|_?examples?|docs?_src|samples?|"
    r"benchmarks?|bench)(?:/|$)"
)
_ABOUT_TESTS = re.compile(r"\b(?:tests?|testing|spec|examples?|fixtures?|benchmarks?)\b", re.I)
