// Times in the reader's own time zone.
const local = () => {
  for (const time of document.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.textContent = at.toLocaleString();
  }
};
local();
sayButtons();
addEventListener("hashchange", () => { mark(); scrollTo(0, 0); document.querySelector(":target")?.scrollIntoView(); });
mark();
// After a mark the page is at the next file. The browser goes there, without focus, first.
addEventListener("load", () => setTimeout(() => {
  const at = location.hash && $(location.hash.slice(1));
  if (at) at.querySelector("summary")?.focus();
}, 0));
