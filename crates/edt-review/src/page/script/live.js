// The page of a server changes with the session.
const say = (text) => { const news = $("news"); news.textContent = text; news.hidden = false; };
// What a renewal would take from the user: a choice, a question, a text.
const busy = () => document.querySelector(
  ".menu[open], .g > .chosen, dialog[open], textarea:focus, select:focus, main input:checked",
) || [...document.querySelectorAll("main textarea")].some((text) => text.value !== text.defaultValue);
const wait = () => say("The session changed. Load the page again to see it.");
// The files as the server sent them, so that a fold of the user's is known.
const sent = () => { for (const file of document.querySelectorAll("main .file")) file.sent = file.open; };
const pathOf = (file) => file.querySelector(".path")?.textContent;
const fileOf = (path) => [...document.querySelectorAll("main .file")].find((file) => pathOf(file) === path);
// Returns what puts the user's folds and focus back: at the file of the same path, the link to the
// same address.
const keep = () => {
  const folds = [...document.querySelectorAll("main .file")]
    .filter((file) => file.open !== file.sent).map((file) => [pathOf(file), file.open]);
  const focused = document.activeElement;
  const file = focused?.closest("main .file");
  const path = file && pathOf(file);
  const href = focused?.closest("a[href]")?.getAttribute("href");
  return () => {
    sent();
    for (const [of, open] of folds) { const found = fileOf(of); if (found) found.open = open; }
    if (focused?.isConnected) return;
    const link = href && [...document.querySelectorAll("a[href]")]
      .find((one) => one.getAttribute("href") === href);
    (link ?? (path && fileOf(path)?.querySelector("summary")))?.focus?.({ preventScroll: true });
  };
};
const load = async (address) => {
  const headers = { "x-edt-renew": "1" };
  const answer = await fetch(address, { credentials: "same-origin", headers });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};
const loadPage = async () => {
  if (busy()) { wait(); return; }
  const page = await load(location.href);
  const main = page.querySelector("main");
  const nav = page.querySelector("nav");
  // The user may have begun something meanwhile.
  if (busy()) { wait(); return; }
  if (!main || !nav) { location.reload(); return; }
  const back = keep();
  const shown = document.querySelector("main > .answer");
  document.querySelector("main").replaceChildren(...main.childNodes);
  if (shown) document.querySelector("main").prepend(shown);
  document.querySelector("nav").replaceChildren(...nav.childNodes);
  document.querySelector(".top .meta").replaceChildren(...page.querySelector(".top .meta").childNodes);
  back();
  local();
  sayButtons();
  mark();
  sources();
};
// The list alone: the server has read more of it.
const loadList = async () => {
  const page = await load("/?at=list");
  const back = keep();
  for (const what of ["nav", ".top .meta"]) {
    const part = page.querySelector(what);
    if (part) document.querySelector(what)?.replaceChildren(...part.childNodes);
  }
  back();
  mark();
};
// One after the other: an earlier answer must not replace a later one.
let loaded = Promise.resolve();
const next = (what) => { loaded = loaded.then(what).catch(() => {}); };
const renew = () => next(loadPage);
const renewList = () => next(loadList);
// Who wrote each added line of the session, file by file, after the page is there.
const sources = async () => {
  const article = document.querySelector("article[data-tip]");
  for (const file of article?.querySelectorAll(".file[data-path]") ?? []) {
    const lines = [...file.querySelectorAll("ins[data-n]:not([data-w])")];
    if (!lines.length) continue;
    const query = `tip=${article.dataset.tip}&path=${file.dataset.path}`;
    const answer = await fetch(`/sources?${query}`, { credentials: "same-origin" });
    if (!answer.ok || !article.isConnected) return;
    const ranges = await answer.json();
    let at = 0;
    for (const line of lines) {
      const number = Number(line.dataset.n);
      while (at < ranges.length && ranges[at][1] < number) at += 1;
      if (ranges[at]?.[0] <= number) line.dataset.w = ranges[at][2];
    }
  }
};
// A browser opens few connections to one server. So one page listens, the others hear it from that.
const hear = (channel) => {
  let last = $("news").dataset.state;
  let is_over = false;
  const changed = (state) => {
    last = state;
    if (state !== $("news").dataset.state) renew();
  };
  const unread = () => { if (document.querySelector("nav [data-unread]")) renewList(); };
  const act = { changed, read: renewList, unread, ended: () => { is_over = true; say("edt review has ended."); } };
  const listen = () => {
    const events = new EventSource(`/events?state=${last}`);
    for (const name of ["changed", "read", "ended"]) {
      events.addEventListener(name, (event) => {
        channel?.postMessage([name, event.data]);
        act[name](event.data);
        if (is_over) events.close();
      });
    }
    // What was read before this page listened.
    events.addEventListener("open", unread);
    events.addEventListener("error", () => {
      events.close();
      if (!is_over) setTimeout(listen, 2000);
    });
    if (channel) {
      channel.onmessage = ({ data: [name] }) => {
        if (name !== "hello") return;
        channel.postMessage(["changed", last]);
        channel.postMessage(["unread"]);
      };
    }
  };
  if (!channel) { listen(); return; }
  channel.onmessage = ({ data: [name, value] }) => act[name]?.(value);
  channel.postMessage(["hello"]);
  // Whoever has the lock listens, until its page is closed.
  navigator.locks.request("edt-events", () => new Promise(() => { if (!is_over) listen(); }));
};
if ($("news")) {
  sent();
  sources();
  hear(navigator.locks && window.BroadcastChannel ? new BroadcastChannel("edt-events") : null);
}
