// A table of claims that can be filtered and sorted. Without this file it is whole, in the order of the paper.
// What is chosen stands in the address, so that a choice can be linked: claims.html?paper=iv&verdict=corrected.
const value = (cell) => cell.dataset.value ?? cell.textContent.trim();
const make = (name, content = {}) => Object.assign(document.createElement(name), content);

function prepare(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, cells: [...row.cells].map(value), text: row.textContent.toLowerCase() }));
  const asked = new URLSearchParams(window.location.search);
  const form = make("form", { className: "filters" });
  const count = make("output");
  const words = make("input", { type: "search", name: "words", placeholder: "place or id", value: asked.get("words") ?? "" });
  form.append(make("label", { textContent: "Words " }), ...heads.flatMap(chooser), count);
  form.firstChild.append(words);

  function chooser(head, column) {
    if (!("filter" in head.dataset)) return [];
    const name = head.textContent.toLowerCase();
    const select = make("select", { name });
    const values = [...new Set(rows.map((item) => item.cells[column]))];
    select.append(make("option", { value: "", textContent: "all" }));
    for (const one of values.filter(Boolean)) select.append(make("option", { value: one, textContent: one }));
    if (values.includes(asked.get(name))) select.value = asked.get(name);
    select.dataset.column = column;
    const label = make("label", { textContent: `${head.textContent} ` });
    label.append(select);
    return [label];
  }

  function filter() {
    const chosen = [...form.querySelectorAll("select")].filter((select) => select.value);
    const parts = words.value.toLowerCase().split(/\s+/);
    for (const { row, cells, text } of rows) {
      const fits = chosen.every((select) => cells[select.dataset.column] === select.value);
      row.hidden = !(fits && parts.every((part) => text.includes(part)));
    }
    count.value = `${rows.filter((item) => !item.row.hidden).length} of ${rows.length} claims`;
  }

  // First up, then down, then as in the paper; what is empty comes last.
  function sort(head, column) {
    const order = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"];
    for (const one of heads) one.ariaSort = one === head ? order : "none";
    const sign = order === "descending" ? -1 : 1;
    const compare = (a, b) => {
      const [x, y] = [a.cells[column], b.cells[column]];
      if (!x || !y) return Boolean(y) - Boolean(x);
      return sign * (Number(x) - Number(y) || x.localeCompare(y, "en", { numeric: true }));
    };
    body.append(...(order === "none" ? rows : [...rows].sort(compare)).map((item) => item.row));
  }

  heads.forEach((head, column) => {
    const button = make("button", { type: "button", textContent: head.textContent, title: "Sort" });
    button.addEventListener("click", () => sort(head, column));
    head.replaceChildren(button);
  });
  form.addEventListener("input", () => {
    filter();
    const kept = [...new FormData(form)].filter(([, chosen]) => chosen);
    window.history.replaceState(null, "", `?${new URLSearchParams(kept)}${window.location.hash}`);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  table.parentElement.before(form);
  filter();
}

document.querySelectorAll("table.claims").forEach(prepare);
