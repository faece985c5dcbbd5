// Draws every chart of the page once.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);

  // Tooltips are text, never markup.
  const show = (_handler, event, _item, value) => {
    if (value === null || value === undefined || value === "") {
      tip.style.visibility = "hidden";
      return;
    }
    if (typeof value === "object") {
      const list = document.createElement("dl");
      for (const [name, content] of Object.entries(value)) {
        const term = document.createElement("dt");
        const text = document.createElement("dd");
        term.textContent = name;
        text.textContent = content;
        list.append(term, text);
      }
      tip.replaceChildren(list);
    } else {
      tip.textContent = value;
    }
    const point = event.changedTouches ? event.changedTouches[0] : event;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(point.clientX + 14, document.documentElement.clientWidth - width - 8);
    const below = point.clientY + 18;
    const above = point.clientY - height - 12;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below + height > window.innerHeight && above > 0 ? above : below}px`;
    tip.style.visibility = "visible";
  };
  addEventListener("scroll", () => (tip.style.visibility = "hidden"), { passive: true });

  const draw = async (place) => {
    const view = new chartRuntime.View(chartRuntime.parse(read(place.dataset.spec)), {
      renderer: "svg",
      logLevel: chartRuntime.Error,
    });
    view.tooltip(show).initialize(place);
    await view.runAsync();
    const picture = place.querySelector("svg");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", place.dataset.label);
  };

  addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);
  for (const place of document.querySelectorAll(".chart")) draw(place);
})();
