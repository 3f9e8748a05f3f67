// Sorts and filters tables, filters the rows of the graph, folds what belongs to a weight. The page
// reads without it.
"use strict";
document.documentElement.classList.add("js");

document.addEventListener("DOMContentLoaded", () => {
  const keyOf = (group, column) => {
    const cell = group.rows[0].cells[column];
    return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0);

  const sort = (table, header) => {
    const headers = [...table.tHead.rows[0].cells];
    const column = headers.indexOf(header);
    const isNumber = header.classList.contains("number");
    const last = header.getAttribute("aria-sort");
    const first = isNumber ? "descending" : "ascending";
    const second = isNumber ? "ascending" : "descending";
    const order = last === first ? second : first;
    for (const other of headers) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const groups = [...table.tBodies].map((group) => [keyOf(group, column), group]);
    groups.sort((a, b) => sign * compare(a[0], b[0])); // stable: equal ones keep their order
    table.append(...groups.map((entry) => entry[1]));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      button.addEventListener("click", () => sort(table, header));
      header.append(button);
    }
  }

  for (const button of document.querySelectorAll("button.fold")) {
    const group = button.closest("tbody");
    const fold = (isFolded) => {
      group.classList.toggle("folded", isFolded);
      button.setAttribute("aria-expanded", String(!isFolded));
    };
    fold(true);
    button.addEventListener("click", () => fold(!group.classList.contains("folded")));
  }

  for (const input of document.querySelectorAll("input[data-filter]")) {
    const target = document.getElementById(input.dataset.filter);
    const entries = [...(target.tBodies || target.children)];
    const texts = entries.map((entry) => entry.textContent.toLowerCase());
    const output = input.closest("p").querySelector("output");
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      entries.forEach((entry, i) => {
        const isMatch = words.every((word) => texts[i].includes(word));
        entry.classList.toggle("no-match", !isMatch);
        if (isMatch) shown += 1;
      });
      output.textContent = words.length === 0 ? "" : `${shown} of ${entries.length}`;
    };
    input.addEventListener("input", filter);
  }
});
