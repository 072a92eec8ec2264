const $ = (what) => document.getElementById(what);
const links = () => [...document.querySelectorAll("nav a[href]")];
const shown = () => [...document.querySelectorAll("main > article")]
  .find((article) => article.offsetParent !== null);

// The entry of the list that is shown: the same address, or the same page.
const current = () => {
  const all = links();
  const page = (url) => new URL(url).searchParams.get("at");
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
