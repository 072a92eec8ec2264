// The page of a server changes with the session.
const say = (text) => { const news = $("news"); news.textContent = text; news.hidden = false; };
const renew = async () => {
  const headers = { "x-edt-renew": "1" };
  const answer = await fetch(location.href, { credentials: "same-origin", headers });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = page.querySelector("main");
  const nav = page.querySelector("nav");
  if (!main || !nav) { location.reload(); return; }
  const shown = document.querySelector("main > .answer");
  document.querySelector("main").replaceChildren(...main.childNodes);
  if (shown) document.querySelector("main").prepend(shown);
  document.querySelector("nav").replaceChildren(...nav.childNodes);
  document.querySelector(".top .meta").replaceChildren(...page.querySelector(".top .meta").childNodes);
  local();
  sayButtons();
  mark();
  sources();
};
// The list alone: the server has read more of it.
const loadList = async () => {
  const headers = { "x-edt-renew": "1" };
  const answer = await fetch("/?at=list", { credentials: "same-origin", headers });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const what of ["nav", ".top .meta"]) {
    const part = page.querySelector(what);
    if (part) document.querySelector(what)?.replaceChildren(...part.childNodes);
  }
  mark();
};
// One after the other: an earlier answer must not replace a later one.
let listed = Promise.resolve();
const renewList = () => { listed = listed.then(loadList).catch(() => {}); };
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
if ($("news")) {
  sources();
  const events = new EventSource("/events");
  events.addEventListener("changed", () => {
    const busy = ".menu[open], .chosen, dialog[open], textarea:focus, select:focus";
    if (document.querySelector(busy)) {
      say("The session changed. Load the page again to see it.");
    } else {
      renew();
    }
  });
  events.addEventListener("read", renewList);
  // What was read before this page listened.
  events.addEventListener("open", () => { if (document.querySelector("nav [data-unread]")) renewList(); });
  events.addEventListener("ended", () => {
    events.close();
    say("edt review has ended.");
  });
}
