// A choice among the versions of this site, which are published in folders beside this one.
"use strict";

function offerVersions(names, folder) {
    const choice = document.createElement("select");
    choice.className = "versions";
    choice.setAttribute("aria-label", "Version of the documentation");
    const here = location.href.slice(folder.href.length).split("/")[0];
    for (const name of names) {
        choice.add(new Option(name, name, false, name === here));
    }
    choice.addEventListener("change", () => location.assign(new URL(`${choice.value}/`, folder)));
    document.querySelector(".sidebar-brand").after(choice);
}

const site = new URL(document.documentElement.dataset.content_root, location.href);
const folder = new URL("..", site);
fetch(new URL("versions.json", folder))
    .then((answer) => answer.json())
    .then((names) => offerVersions(names, folder));
