"""Which texts of programs are read: those of coding agents, and not those of routine programs.

Pull requests that an agent opened, and its answers to people, explain the code as a person's do.
What a program writes without being asked (updates of dependencies, coverage, deployments) is the
same text many times. GitHub calls both accounts ``Bot``, so a list of names tells them apart.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import replace

from operators.errors import first_of
from operators.postgres.write.sync_state import SyncItem
from operators.sources.protocol import ReadIssue

_ROUTINE = re.compile(
    r"(?:.*[-_])?(?:dependabot|renovate|greenkeeper|snyk|pyup|scala-steward|depfu|imgbot|whitesource"
    r"|mend|deepsource|codecov|codecov-commenter|coveralls|codeclimate|codacy|sonarcloud"
    r"|sonarqubecloud|sonarqube|codspeed|github-actions|github-merge-queue|github-pages"
    r"|github-advanced-security|github-code-scanning|pre-commit-ci|ci|travis|circleci|azure-pipelines"
    r"|netlify|vercel|cloudflare|cloudflare-workers-and-pages|gitpod-io|readthedocs|percy|chromatic"
    r"|changeset|semantic-release|release-please|mergify|bors|kodiakhq|stale|lock|welcome|cla"
    r"|google-cla|cla-assistant|linux-foundation-easycla|easycla|facebook-github-bot|dco"
    r"|allcontributors|all-contributors|k8s-ci-robot|k8s-triage-robot|openshift-ci|size-limit"
    r"|lgtm-com|gitguardian|socket-security|fossabot|weblate|crowdin|transifex-integration)"
    r"(?:[-_](?:bot|robot|app|commenter|preview|integration|for-github|io|ci))*",
    re.IGNORECASE,
)


def is_routine(login: str) -> bool:
    """Whether the account of a program writes without being asked.

    >>> [is_routine(one) for one in ("dependabot[bot]", "acme-renovate[bot]", "Copilot")]
    [True, True, False]
    """
    return _ROUTINE.fullmatch(login[:100].removesuffix("[bot]")) is not None


def judged(items: Iterable[SyncItem], left_out: MutableMapping[str, int]) -> Iterator[SyncItem]:
    """``items``, in which ``bot`` says whether it is a routine program's text, which is left out.

    ``left_out`` counts them by their authors.
    """
    for item in items:
        data = item.data
        login = str(data.get("login"))
        dropped = bool(data.get("bot")) and is_routine(login)
        if dropped:
            left_out[login] = left_out.get(login, 0) + 1
        yield replace(item, data={**data, "bot": dropped})


def program_issues(left_out: Counter[str]) -> Iterator[ReadIssue]:
    """The issue that names the programs whose texts were left out, if there were any."""
    if left_out:
        names = first_of([f"{login} {count}" for login, count in left_out.most_common()], 10)
        why = f"{left_out.total()} left out ({names})"
        yield ReadIssue("texts of programs", why, failed=False)
