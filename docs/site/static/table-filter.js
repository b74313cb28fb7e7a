// A field above each long table: only the rows that have all of its words stay visible.
"use strict";

const LONG = 12; // rows; fewer are seen at a glance

function matches(row, words) {
    const text = row.textContent.toLowerCase();
    return words.every((word) => text.includes(word));
}

function filterRows(table, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
        row.hidden = !matches(row, words);
    }
}

function addFilter(table) {
    const field = document.createElement("input");
    field.type = "search";
    field.className = "table-filter";
    field.placeholder = `Filter ${table.tBodies[0].rows.length} rows`;
    field.setAttribute("aria-label", field.placeholder);
    field.addEventListener("input", () => filterRows(table, field.value));
    const place = table.closest(".table-wrapper") || table;
    place.before(field);
}

for (const table of document.querySelectorAll("article table.docutils")) {
    if (table.tBodies.length && table.tBodies[0].rows.length >= LONG) {
        addFilter(table);
    }
}
