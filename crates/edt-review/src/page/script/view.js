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
  clearChosen();
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
