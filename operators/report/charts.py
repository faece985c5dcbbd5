"""Altair charts inside a page: compiled with the page, drawn by one Vega runtime in it.

A chart's colours are the page's CSS variables, so that a chart follows the reader's light or dark
setting and the printer without redrawing. The page does not contain Vega-Lite: charts are compiled
here, and the runtime alone is a third smaller.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from operators.foundation.escape import visible
from operators.foundation.extras import installing
from operators.report.page import Html, MissingCharts, element

try:
    import altair as alt
    import vl_convert
except ImportError as error:
    raise MissingCharts(f"charts need {error.name}: {installing('evaluate')}") from None

SERIES = tuple(f"var(--s{number})" for number in range(8))
"""The colours of configurations, corpora or other series; the first, a muted one, is for the
baseline."""

INK, MUTED, RULE = (f"var(--{name})" for name in ("ink", "muted", "rule"))

_FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif'
_CONFIG: dict[str, Any] = {
    "background": None,
    "font": _FONT,
    "padding": {"left": 0, "right": 4, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "range": {"category": list(SERIES)},
    "rule": {"color": INK},
    "text": {"color": INK, "fontSize": 12},
    "axis": {
        "domainColor": RULE,
        "tickColor": RULE,
        "gridColor": "var(--faint)",
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 190,
        "titlePadding": 8,
    },
    "axisY": {"domain": False, "ticks": False, "labelPadding": 8},
    "legend": {
        "labelColor": INK,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "labelLimit": 220,
        "orient": "top",
        "symbolOpacity": 1,
        "title": None,
        "symbolType": "square",
    },
}


def rows(records: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Records as a chart's data: infinite and NaN become null, invisible characters are shown."""
    return alt.InlineData(values=[_plain(dict(record)) for record in records])


def chart(
    figure: alt.TopLevelMixin,
    *,
    title: str,
    label: str,
    note: str = "",
) -> Html:
    """A figure with an Altair chart in it; ``width="container"`` makes it as wide as its container.

    Args:
        figure: the chart; ``title`` is above it, ``note`` under it.
        label: a description for readers who can't see it; a table should have the numbers too.

    Raises:
        altair.SchemaValidationError: the chart is not valid.
    """
    spec = figure.to_dict()
    config = {**_CONFIG, **{k: v for k, v in spec.get("config", {}).items() if k != "view"}}
    compiled = vl_convert.vegalite_to_vega({**spec, "config": config})
    text = _script_json(compiled)
    digest = hashlib.sha256(f"{title}{label}{text}".encode()).hexdigest()
    name = f"chart-{digest[:12]}"
    return element(
        "figure",
        element("p", title, class_="title"),
        Html(f'<script type="application/json" id="{name}">{text}</script>'),
        element("div", class_="chart", data_spec=name, data_label=label),
        element("figcaption", note) if note else Html(),
    )


def scripts() -> Html:
    """The scripts that draw the charts of a page; once per page, for ``page(..., scripts=...)``."""
    drawing = (files(__package__) / "charts.js").read_text(encoding="utf-8")
    return Html(f"<script>{_runtime()}</script>\n<script>\n{drawing}</script>\n")


@cache
def _runtime() -> str:
    """Vega's parser and view, minified, under one name; a part of vl-convert."""
    module = f"/npm/vega@{vl_convert.get_vega_version()}/+esm"
    bundle: str = vl_convert.javascript_bundle(
        f'import {{parse, View, Error as Level}} from "{module}";'
        "window.chartRuntime = {parse, View, Error: Level};"
    )
    return bundle.replace("</script", r"<\/script")


def _script_json(value: object) -> str:
    """JSON whose content can't end its script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(content) for content in value]
    return value
