// The page: what is asked and what is open stand in its address, so that it can be shared.
const $ = (id) => document.getElementById(id);
const FIELDS = ["repo", "language", "path", "version", "as_of", "trigger", "top_k"];
const TABS = { place: "Passage", why: "Why here", versions: "Versions" };
let asked = 0; // only the newest question may change the page
let shown = ""; // the address's question, as it was last asked

/** An element: attributes, then children; text is always text. */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function table(caption, head, rows) {
  const numeric = (cell) => (typeof cell === "number" ? { class: "number" } : {});
  const cells = ([first, ...others]) =>
    make("tr", {}, make("th", { scope: "row" }, first),
      ...others.map((cell) => make("td", numeric(cell), String(cell ?? ""))));
  return make("div", { class: "scroll" }, make("table", {},
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...head.map((one) => make("th", { scope: "col" }, one)))),
    make("tbody", {}, ...rows.map(cells))));
}

async function api(name, body) {
  const how = body && { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  let answer;
  try {
    answer = await fetch(`/api/${name}`, how);
  } catch {
    throw new Error("the server does not answer: is it still running?");
  }
  const said = await answer.json();
  if (answer.ok) return said;
  if (answer.status === 401) await known();
  throw new Error(said.detail);
}

function say(text, error = false) {
  $("said").textContent = text;
  $("said").classList.toggle("error", error);
}

// --- the address ---

const address = () => new URLSearchParams(location.search);

function go(changes, replace = false) {
  const to = address();
  for (const [key, value] of Object.entries(changes)) value ? to.set(key, value) : to.delete(key);
  history[replace ? "replaceState" : "pushState"]({}, "", `/?${to}`);
  return follow();
}

function question(to) {
  const body = { query: to.get("q") };
  if (to.get("corpora")) body.corpora = to.get("corpora").split(",");
  if (to.get("repo")) body.repos = [to.get("repo")];
  for (const name of ["language", "path", "version", "trigger"]) if (to.get(name)) body[name] = to.get(name);
  if (to.get("as_of")) body.as_of = `${to.get("as_of")}T00:00:00Z`;
  if (to.get("top_k")) body.top_k = Number(to.get("top_k"));
  return body;
}

function fill(to) {
  $("q").value = to.get("q") ?? "";
  for (const name of FIELDS) $("ask").elements[name].value = to.get(name) ?? "";
  const corpora = to.get("corpora")?.split(",");
  for (const box of $("corpora").querySelectorAll("input")) box.checked = !corpora || corpora.includes(box.value);
  const set = [...FIELDS, "corpora"].filter((name) => to.get(name));
  $("filtered").textContent = set.length ? `(${set.map((name) => `${name}: ${to.get(name)}`).join(", ")})` : "";
  if (set.length) $("filters").open = true;
}

async function follow() {
  const to = address();
  fill(to);
  const open = to.get("open"), tab = to.get("tab") || "place";
  const now = to.get("q") ? JSON.stringify(question(to)) : "";
  if (now !== shown) {
    shown = now;
    await ask(now);
  }
  for (const link of $("results").querySelectorAll("a.hit")) {
    if (link.dataset.id === open) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  if (open) await detail(open, tab, to);
  else $("detail").hidden = true;
}

// --- results ---

async function ask(body) {
  const turn = ++asked, began = performance.now();
  $("results").replaceChildren();
  $("around").replaceChildren();
  document.title = body ? `${JSON.parse(body).query} · crosscorpus` : "crosscorpus";
  if (!body) return say("");
  say("Asking…");
  try {
    const answer = await api("search", JSON.parse(body));
    if (turn !== asked) return;
    const count = answer.results.length;
    const evidence = answer.evidence ? `; ${answer.evidence} evidence` : "";
    const weak = answer.evidence === "weak";
    say(`${count || "No"} result${count === 1 ? "" : "s"} in ${Math.round(performance.now() - began)} ms${evidence}${weak ? ": they may not answer the question" : ""}`, weak);
    $("results").append(...answer.results.map(hit));
    $("around").append(...notes(answer.notes), make("h3", {}, "Sources"), sources(answer.sources));
  } catch (error) {
    if (turn === asked) say(error.message, true);
  }
}

function hit(one, place) {
  const to = address();
  to.set("open", one.id);
  to.delete("tab");
  const open = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go({ open: one.id, tab: "" }).then(() => {
      $("detail").focus({ preventScroll: true });
      if ($("detail").offsetTop > $("found").offsetTop) $("detail").scrollIntoView(); // it is below
    });
  };
  const also = one.also?.length ? [make("span", {}, `also ${one.also.join(", ")}`)] : [];
  return make("li", {}, make("a", { class: "hit", href: `/?${to}`, "data-id": one.id, onclick: open },
    make("strong", {}, `${place + 1}. ${one.title}`), make("span", {}, one.snippet), ...also));
}

const notes = (said) => said.length
  ? [make("h3", {}, "Notes"), make("ul", { class: "notes" }, ...said.map((one) => make("li", {}, one)))] : [];

function sources(read) {
  const rows = read.map((one) => [one.source, one.corpora.join(", "), new Date(one.read_at).toLocaleString(),
    one.state, one.commit?.slice(0, 12), one.since]);
  return table("When each source was read", ["source", "corpora", "read", "state", "commit", "since then"], rows);
}

// --- one passage ---

async function detail(id, tab, to) {
  const pane = $("detail"), turn = `${id} ${tab}`;
  pane.hidden = false;
  pane.dataset.turn = turn;
  const tabs = Object.entries(TABS).filter(([name]) => name !== "why" || to.get("q"));
  const bar = make("div", { role: "tablist", "aria-label": "Views" }, ...tabs.map(([name, title]) =>
    make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", "aria-selected": String(name === tab),
      tabindex: name === tab ? 0 : -1, onclick: () => go({ tab: name }).then(() => $(`tab-${name}`)?.focus()) }, title)));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) go({ tab: tabs.at((tabs.findIndex(([name]) => name === tab) + step) % tabs.length)[0] })
      .then(() => bar.ownerDocument.querySelector('[role="tab"][aria-selected="true"]')?.focus());
  });
  const heading = make("h2", { id: "detail-heading" }, "…");
  const panel = make("div", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${tab}`, "aria-busy": "true" });
  pane.replaceChildren(bar, heading, panel);
  try {
    const parts = await { place, why, versions }[tab](id, to, heading);
    if (pane.dataset.turn === turn) panel.replaceChildren(...parts);
  } catch (error) {
    panel.replaceChildren(make("p", { class: "notes" }, error.message));
  }
  panel.removeAttribute("aria-busy");
}

async function place(id, to, heading) {
  const { passages } = await api("neighbours", { id });
  const at = passages.findIndex((one) => one.id === id), own = passages[at];
  const around = (title, others) => others.length
    ? make("details", {}, make("summary", {}, title), ...others.map((one) => make("pre", {}, one.text))) : null;
  heading.textContent = own.title;
  const facts = Object.entries(own.metadata).map(([name, value]) => [name.replace("_", " "), value]);
  return [
    make("p", {}, make("a", { href: own.url, rel: "noreferrer" }, own.url)),
    around("What stands before it", passages.slice(0, at)),
    make("pre", { class: "own" }, own.text),
    around("What stands after it", passages.slice(at + 1)),
    make("h3", {}, "What it is"), table("What the passage is", ["what", "value"], facts),
  ].filter(Boolean);
}

async function why(id, to, heading) {
  const body = question(to);
  const asks = Object.fromEntries(["query", "corpora", "repos", "version", "trigger"].filter((name) => body[name]).map((name) => [name, body[name]]));
  const { passages } = await api("explain", { ...asks, passages: [id] });
  const one = passages.find((passage) => passage.id === id);
  if (!one) return [make("p", {}, "The question's run says nothing of this passage.")];
  heading.textContent = one.title;
  const rank = one.rank ? `It is result ${one.rank}` : "It is no result";
  return [make("p", {}, `${rank}: ${one.reason}.`),
    table("What its score is made of", ["factor", "what it does", "score so far"],
      one.score.map((step) => [step.factor, step.formula, Number(step.score.toPrecision(5))])),
    make("ul", { class: "quiet" }, ...one.score.map((step) => make("li", {}, `${step.factor}: ${step.meaning}`)))];
}

async function versions(id, to, heading) {
  const { passages } = await api("neighbours", { id });
  const own = passages.find((one) => one.id === id);
  heading.textContent = own.title;
  const document = own.metadata.path ?? own.title;
  const { versions: all } = await api("versions", { document });
  const rows = all.map((one) => [one.version ?? "", one.date?.slice(0, 10), one.title, one.path]);
  const parts = [table("Its versions, oldest first", ["version", "date", "title", "path"], rows)];
  const names = all.map((one) => one.version).filter(Boolean);
  if (names.length > 1) {
    const [older, newer] = [names.at(-2), names.at(-1)];
    const { changes } = await api("versions", { document, older, newer });
    parts.push(make("h3", {}, `From ${older} to ${newer}`), make("ul", {}, ...changes.map((one) =>
      make("li", {}, one.startsWith("removed") ? make("del", {}, one) : one.startsWith("added") ? make("ins", {}, one) : one))));
  }
  return parts;
}

// --- keys and start ---

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const last = $("results").querySelector("a[aria-current]");
    return go({ open: "", tab: "" }).then(() => (last ?? $("results")).focus());
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const links = [...$("results").querySelectorAll("a.hit")], at = links.indexOf(document.activeElement);
  const open = address().get("open") || document.activeElement?.dataset?.id;
  const keys = {
    "/": () => $("q").select(),
    j: () => links[Math.min(at + 1, links.length - 1)]?.focus(),
    k: () => links[Math.max(at - 1, 0)]?.focus(),
    w: () => open && go({ open, tab: "why" }),
    v: () => open && go({ open, tab: "versions" }),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const boxes = [...$("corpora").querySelectorAll("input")], on = boxes.filter((box) => box.checked);
  const values = Object.fromEntries(FIELDS.map((name) => [name, $("ask").elements[name].value.trim()]));
  const corpora = on.length === boxes.length ? "" : on.map((box) => box.value).join(",");
  shown = ""; // the same question may be asked again
  go({ q: $("q").value.trim(), ...values, corpora, open: "", tab: "" })
    .then(() => $("results").querySelector("a.hit")?.focus());
});
window.addEventListener("popstate", follow);

// --- who asks ---

/** Whether a question can be asked; where a token is needed and none is known, the form for it. */
async function known() {
  const who = await (await fetch("/session")).json();
  const out = make("button", { type: "button", onclick: () => session("DELETE").then(() => location.reload()) }, "Sign out");
  $("caller").replaceChildren(`Signed in as ${who.caller} `, out);
  $("caller").hidden = !(who.needed && who.caller);
  $("organisation").hidden = !who.organisation;
  $("organisation").href = `${who.organisation}?to=${encodeURIComponent(location.pathname + location.search)}`;
  $("by-token").hidden = !who.by_token;
  $("sign-in").hidden = !who.needed || who.caller !== null;
  $("ask").hidden = !$("sign-in").hidden;
  return $("sign-in").hidden;
}

const session = (method, body) => fetch("/session", { method, headers: { "content-type": "application/json" }, body });

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await session("POST", JSON.stringify({ token: $("token").value }));
  $("token").value = "";
  if (!answer.ok) return say((await answer.json()).detail, true);
  location.reload();
});

async function start() {
  if (!(await known())) return $($("organisation").hidden ? "token" : "organisation").focus();
  try {
    const held = await api("status", {});
    $("collection").textContent = held.collection;
    $("corpora").append(...held.corpora.map((one) => make("label", {},
      make("input", { type: "checkbox", value: one.corpus, checked: true }), ` ${one.corpus} (${one.chunks.toLocaleString()})`)));
    $("repo").append(...held.repos.map((one) => make("option", {}, one)));
    $("trigger").append(...held.triggers.map((one) => make("option", {}, one)));
  } catch (error) {
    say(error.message, true);
  }
  const direct = location.pathname.match(/^\/p\/(.+)$/);
  if (direct) await go({ open: decodeURIComponent(direct[1]) }, true);
  else await follow();
  if (!address().get("q")) $("q").focus();
}
start();
