// Tables: a field above long ones, by which only the rows with all of its words stay; names that may break; the column of
// each cell, which site.css shows on narrow screens.
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

// A name may break behind a dot and between its words, as people read it; copied text stays as it is.
function letBreak(text) {
    const parts = text.data.split(/(?<=[._/,:=(])|(?<=[a-z])(?=[A-Z])/);
    text.replaceWith(...parts.flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part])));
}

function nameColumns(table) {
    const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
    table.classList.toggle("stacked", columns.length > 2);
    for (const row of table.tBodies[0].rows) {
        [...row.cells].forEach((cell, at) => {
            cell.setAttribute("data-column", columns[at]);
            cell.toggleAttribute("data-empty", !cell.textContent.trim());
        });
    }
}

for (const table of document.querySelectorAll("article table.docutils")) {
    nameColumns(table);
    if (table.tBodies[0].rows.length >= LONG) {
        addFilter(table);
    }
    for (const name of table.querySelectorAll("code .pre, td a")) {
        [...name.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).forEach(letBreak);
    }
}
