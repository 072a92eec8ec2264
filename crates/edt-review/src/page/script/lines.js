// Lines are chosen at their numbers: a click for one, with Shift up to there.
let anchor = null;
const chosenIn = (file) => [...file.querySelectorAll(".g > .chosen")];
const word = (line) => line.matches("ins") ? `a${line.dataset.n}` : `r${line.dataset.o}`;
// While white space is ignored, a line that looks unchanged is chosen with its removed line.
const withPartner = (line) => {
  if (!line.matches("ins[data-s]") || !document.body.classList.contains("nospace")) return [line];
  const at = [...line.parentElement.querySelectorAll("ins[data-s]")].indexOf(line);
  const partner = line.parentElement.querySelectorAll("del[data-s]")[at];
  return partner ? [line, partner] : [line];
};
const choose = (line, on) => {
  for (const one of withPartner(line)) {
    one.classList.toggle("chosen", on);
    const box = one.querySelector("input");
    if (box) box.checked = on;
  }
};
// The form of the file has a button for the lines that are chosen.
const showChosen = (file) => {
  const form = file.querySelector(".part");
  if (!form) return;
  const lines = chosenIn(file);
  const say = form.querySelector(".say");
  let button = form.querySelector(".lines");
  if (!button) {
    button = document.createElement("button");
    button.className = "lines";
    button.name = "lines";
    say.before(button);
  }
  button.hidden = lines.length === 0 || form.querySelector("[value=chosen]") !== null;
  button.value = lines.map(word).join(" ");
  button.textContent = lines.length === 1 ? "Revert this line" : `Revert these ${lines.length} lines`;
  const count = lines.length === 1 ? "the chosen line" : `the ${lines.length} chosen lines`;
  say.querySelector("label").firstChild.data = `Comment on ${lines.length ? count : "the file"}`;
  say.querySelector("button").value = `comment ${lines.map(word).join(" ")}`.trim();
};
// Opens the box for a comment on what is chosen: lines, or else the file, or else the article.
const comment = (place) => {
  const box = place?.querySelector(".say") ?? document.querySelector("main > .actions .say");
  if (!box) return;
  box.open = true;
  box.querySelector("textarea").focus();
  box.scrollIntoView({ block: "nearest" });
};
// Each hunk has a button for a comment on all of it.
const sayButtons = () => {
  for (const at of document.querySelectorAll(".hunk .at:has(button):not(:has(.say-hunk))")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "say-hunk";
    button.textContent = "Comment";
    button.addEventListener("click", () => {
      const file = at.closest(".file");
      clearChosen();
      at.closest(".hunk").querySelectorAll(".g > ins, .g > del").forEach((line) => choose(line, true));
      showChosen(file);
      comment(file);
    });
    at.append(button);
  }
};
document.addEventListener("click", (event) => {
  const line = event.target.closest(".g > *");
  const file = line?.closest(".file");
  if (!line || !file?.querySelector(".part") || event.target.matches("input")) return;
  const gutter = parseFloat(getComputedStyle(line).paddingLeft);
  if (event.clientX - line.getBoundingClientRect().left > gutter) return;
  const all = [...file.querySelectorAll(".g > *")];
  if (event.shiftKey && anchor && file.contains(anchor)) {
    const ends = [all.indexOf(anchor), all.indexOf(line)].sort((one, other) => one - other);
    for (const one of all.slice(ends[0], ends[1] + 1)) choose(one, true);
    getSelection().removeAllRanges();
  } else {
    choose(line, !line.classList.contains("chosen"));
    anchor = line;
  }
  showChosen(file);
});
document.addEventListener("change", (event) => {
  const line = event.target.closest(".g > *");
  if (!line) return;
  choose(line, event.target.checked);
  anchor = line;
});
const clearChosen = () => {
  for (const line of document.querySelectorAll(".g > .chosen")) choose(line, false);
  for (const file of document.querySelectorAll(".file")) showChosen(file);
};
