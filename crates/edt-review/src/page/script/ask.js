// A key that changes something asks first, with the button's own words.
const ask = (button) => {
  const dialog = $("ask");
  if (!button || !dialog) return;
  $("ask-what").textContent = `${button.textContent}? ${button.title}.`;
  dialog.returnValue = "";
  dialog.onclose = () => { if (dialog.returnValue === "yes") button.click(); };
  dialog.showModal();
};
const buttonOf = (action) => document
  .querySelector(`main form input[name=action][value="${action}"]`)?.form.querySelector("button");
