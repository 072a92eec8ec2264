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
// The file with the focus, or else the one in which lines are chosen.
const fileHere = () => document.activeElement?.closest(".file")
  ?? document.querySelector(".file:has(.chosen)");
// The article of the edit that wrote the chosen line, or else the first added line of the file; in
// the article of an edit, all of a folded file.
const open = () => {
  const here = fileHere();
  if (!here) return;
  const line = here.querySelector("ins.chosen[data-w]") ?? here.querySelector("ins[data-w^='#']");
  const edit = line?.dataset.w.replace("#", "edit-");
  const link = links().find((one) => one.href.endsWith(`at=${edit}`) || one.href.endsWith(`#${edit}`));
  if (link) link.click();
  else if (here.querySelector(".all")) here.querySelector(".all").click();
  else here.open = !here.open;
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    j: () => entry(1), k: () => entry(-1), n: () => file(1), p: () => file(-1),
    r: () => fileHere()?.querySelector(".mark button")?.click(),
    c: () => comment(fileHere()),
    u: () => ask(buttonOf("undo-to")), e: open,
    s: () => split.click(), w: () => space.click(), "?": () => setHelp(help.hidden),
    Escape: () => { setHelp(false); clearChosen(); },
  }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
