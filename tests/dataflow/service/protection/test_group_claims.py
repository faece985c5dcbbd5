"""The groups of a token: each form is read, or refused with a line; none is no group silently."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.service.protection.group_claims import UnreadGroups, groups_in

URL = "https://example.org/groups"


@pytest.mark.parametrize(
    ("name", "claims", "groups"),
    [
        ("groups", {"groups": ["ops", "hr", "hr"]}, ["hr", "ops"]),
        ("groups", {"groups": None}, []),
        ("groups", {}, None),
        ("groups", {"groups": ["hr"], "_claim_names": {"email": "src1"}}, ["hr"]),
        ("roles", {"hasgroups": True}, None),
        # a path, and a name with dots
        ("realm_access.roles", {"realm_access": {"roles": ["hr"]}}, ["hr"]),
        ("a.b.c", {"a.b": {"c": "hr"}, "a": {"b": 5}}, ["hr"]),
        ("a.b", {"a.b": ["hr"], "a": {"b": ["ops"]}}, ["hr"]),
        (URL, {URL: ["hr"]}, ["hr"]),
        ("realm_access.roles", {"realm_access": ["hr"]}, None),
        # text
        ("groups", {"groups": "hr, ops,"}, ["hr", "ops"]),
        ("groups", {"groups": "hr;ops"}, ["hr", "ops"]),
        ("groups", {"groups": '["hr", "the ops"]'}, ["hr", "the ops"]),
        ("scope", {"scope": "hr ops"}, ["hr", "ops"]),
        # with a slash
        ("groups", {"groups": ["/team/a", "hr"]}, ["/team/a", "hr", "team/a"]),
        # objects
        ("groups", {"groups": [{"name": "hr", "id": "7"}, "ops"]}, ["hr", "ops"]),
        ("groups", {"groups": {"id": "7"}}, ["7"]),
        ("groups", {"groups": [{"value": "7", "display": "hr"}]}, ["hr"]),
        ("groups", {"groups": {"hr": {"org": "x"}, "ops": {}}}, ["hr", "ops"]),
    ],
)
def test_each_form_of_a_provider_is_read(
    name: str, claims: dict[str, Any], groups: list[str] | None
) -> None:
    assert groups_in(claims, name) == groups


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"groups": "hr ops"}, "may be one name or several"),
        ({"groups": "CN=hr,OU=x"}, "may be one name or several"),
        ({"groups": "[" * 9999}, "may be one name or several"),
        ({"groups": 5}, "a list is needed"),
        ({"groups": ["x" * 201]}, "a user or group is a text"),
        ({"groups": [{"title": "hr"}]}, "a group has none of name"),
        ({"groups": {"roles": ["hr"]}}, r"name its part, as groups\.roles"),
        ({"groups": [str(n) for n in range(1001)]}, "at most 1000"),
        ({"_claim_names": {"groups": "src1"}, "_claim_sources": {}}, "more than a token holds"),
        ({"hasgroups": True}, "more than a token holds"),
        ({"groups:src1": {"endpoint": "https://graph"}}, "more than a token holds"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_form_that_may_mean_two_things_is_refused_with_a_line(
    claims: dict[str, Any], said: str
) -> None:
    with pytest.raises(UnreadGroups, match=said) as error:
        groups_in(claims, "groups")
    assert "\n" not in str(error.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_a_value_that_is_there_is_groups_or_a_line(value: Any) -> None:
    try:
        groups = groups_in({"groups": value}, "groups")
    except UnreadGroups as error:
        line = str(error)
        groups = None
    else:
        line = ""
    assert "\n" not in line
    assert (groups is None) is bool(line)
    if groups == []:
        blank = isinstance(value, str) and not value.strip(" ,;\t\n\r")
        assert blank or not value or not str(value).strip() or value == "[]"
