(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true });

  // A cell is sorted by its number where it has one, and what is missing always stands last.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.sort === undefined) return cell.textContent.trim();
    return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : collator.compare(a, b));

  const sort = (table, header) => {
    const first = "descending" in header.dataset ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, header.cellIndex), row]);
    rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : sign * compare(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
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
})();
