"use strict";
(() => {
  const input = document.getElementById("filter");
  const found = document.getElementById("found");
  const items = [...document.querySelectorAll(".item")];
  const texts = new Map();

  // The text of a long page is made lower case once, when somebody searches first.
  const textOf = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };

  const filter = () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    for (const item of items) {
      const holds = wanted === "" || textOf(item).includes(wanted);
      item.hidden = !holds;
      shown += holds;
      const folded = [...item.querySelectorAll("details")];
      if (item.localName === "details") folded.push(item);
      for (const each of folded)
        each.classList.toggle("hit", wanted !== "" && holds && textOf(each).includes(wanted));
    }
    found.textContent = wanted === "" ? "" : `${shown} of ${items.length} entries`;
  };

  // A link may lead into something that is folded, or that the filter hides.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) {
      input.value = "";
      filter();
    }
    for (let each = target; each; each = each.parentElement)
      if (each.localName === "details") each.open = true;
    target.scrollIntoView();
  };

  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 120);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && document.activeElement === input) {
      input.value = "";
      filter();
    }
  });
  window.addEventListener("hashchange", reveal);
  reveal();
})();
