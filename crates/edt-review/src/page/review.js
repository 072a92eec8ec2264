"use strict";
(() => {
  const $ = (what) => document.getElementById(what);
  const links = () => [...document.querySelectorAll("nav a[href]")];
  const shown = () => [...document.querySelectorAll("main > article")]
    .find((article) => article.offsetParent !== null);

  // The entry of the list that is shown: the same address, or the same page.
  const current = () => {
    const all = links();
    const page = (url) => url.split("#")[0];
    let at = all.findIndex((link) => link.href === location.href);
    if (at < 0 && location.search) {
      at = all.findIndex((link) => page(link.href) === page(location.href));
    }
    return Math.max(at, 0);
  };
  const mark = () => {
    const at = current();
    links().forEach((link, index) => {
      if (index === at) {
        link.setAttribute("aria-current", "true");
        link.scrollIntoView({ block: "nearest" });
      } else {
        link.removeAttribute("aria-current");
      }
    });
    align();
  };

  // Unchanged lines are on both sides.
  const align = () => {
    const article = shown();
    if (!document.body.classList.contains("split") || !article) return;
    for (const lines of article.querySelectorAll(".k")) {
      if (lines.dataset.both) continue;
      lines.dataset.both = "1";
      for (const line of [...lines.children]) {
        const right = line.cloneNode(true);
        right.className = "right";
        line.after(right);
      }
    }
  };
  const unalign = () => {
    for (const lines of document.querySelectorAll(".k[data-both]")) {
      delete lines.dataset.both;
      lines.querySelectorAll(".right").forEach((line) => line.remove());
    }
  };
  const split = $("split");
  const setSplit = (on) => {
    document.body.classList.toggle("split", on);
    split.setAttribute("aria-pressed", String(on));
    if (on) align(); else unalign();
  };
  split.hidden = false;
  split.addEventListener("click", () => setSplit(!document.body.classList.contains("split")));

  const space = $("space");
  space.hidden = false;
  space.addEventListener("click", () => {
    const on = document.body.classList.toggle("nospace");
    space.setAttribute("aria-pressed", String(on));
  });

  const help = $("help");
  const keys = $("keys");
  const setHelp = (on) => {
    help.hidden = !on;
    keys.setAttribute("aria-expanded", String(on));
  };
  keys.hidden = false;
  keys.addEventListener("click", () => setHelp(help.hidden));

  const entry = (step) => {
    const all = links();
    const link = all[Math.min(Math.max(current() + step, 0), all.length - 1)];
    if (!link) return;
    link.focus({ preventScroll: true });
    link.click();
  };
  const file = (step) => {
    const files = [...(shown()?.querySelectorAll(".file > summary") ?? [])];
    const at = files.indexOf(document.activeElement);
    const next = files[Math.min(Math.max(at < 0 && step < 0 ? 0 : at + step, 0), files.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "start" });
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      j: () => entry(1), k: () => entry(-1), n: () => file(1), p: () => file(-1),
      r: () => document.activeElement?.closest(".file")?.querySelector(".mark button")?.click(),
      s: () => split.click(), w: () => space.click(), "?": () => setHelp(help.hidden), Escape: () => setHelp(false),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

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
      if (document.querySelector(".menu[open]") || document.activeElement?.matches("textarea, select")) {
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

  // Times in the reader's own time zone.
  const local = () => {
    for (const time of document.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.getTime())) time.textContent = at.toLocaleString();
    }
  };
  local();
  addEventListener("hashchange", () => { mark(); scrollTo(0, 0); document.querySelector(":target")?.scrollIntoView(); });
  mark();
  // After a mark the page is at the next file. The browser goes there, without focus, first.
  addEventListener("load", () => setTimeout(() => {
    const at = location.hash && $(location.hash.slice(1));
    if (at) at.querySelector("summary")?.focus();
  }, 0));
})();
