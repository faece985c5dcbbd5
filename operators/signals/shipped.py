"""The rules that come with the project, by name."""

from operators.signals.current_version import newest_version, replaced
from operators.signals.defines_name import defines_name
from operators.signals.exact_phrase import exact_phrase
from operators.signals.linked import by_commits, by_pull_request, by_reviews
from operators.signals.literal import literal
from operators.signals.named_place import named_place
from operators.signals.named_release import named_release
from operators.signals.rare_name import rare_name
from operators.signals.rule import Rule
from operators.signals.secondary import secondary
from operators.signals.share_of_file import share_of_file
from operators.signals.shared_name import shared_name
from operators.signals.sought_name import sought_name
from operators.signals.superseded import superseded
from operators.signals.uses_name import uses_name

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        *(superseded, by_reviews),
        *(secondary, by_commits, by_pull_request, share_of_file, shared_name, defines_name),
        newest_version,
        *(replaced, named_release, exact_phrase, literal),
        *(sought_name, uses_name, rare_name, named_place),
    )
}
"""By name: factors, gains, leads."""
