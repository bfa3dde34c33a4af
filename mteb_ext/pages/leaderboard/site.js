(() => {
  "use strict";

  const labelled = (text, type) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = type;
    label.append(...(type === "checkbox" ? [input, ` ${text}`] : [`${text} `, input]));
    return { label, input };
  };

  for (const table of document.querySelectorAll("table.filterable")) {
    const rows = [...table.tBodies[0].rows];
    const words = labelled("Models whose name has", "search");
    const verified = labelled("verified only", "checkbox");
    const status = document.createElement("span");
    status.setAttribute("role", "status");
    const filter = () => {
      const wanted = words.input.value.toLowerCase().split(/\s+/);
      for (const row of rows) {
        const name = row.querySelector("th").textContent.toLowerCase();
        const hasWords = wanted.every((word) => name.includes(word));
        row.hidden = !hasWords || (verified.input.checked && !("verified" in row.dataset));
      }
      status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} models`;
    };
    words.input.addEventListener("input", filter);
    verified.input.addEventListener("change", filter);
    const bar = document.createElement("div");
    bar.className = "filter";
    bar.append(words.label, verified.label, status);
    table.closest(".scroll").before(bar);
  }
})();
