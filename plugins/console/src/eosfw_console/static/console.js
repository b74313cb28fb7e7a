// Replaces the regions of a page that changed, as the worker sends them. Without it the pages show the same when loaded.
const live = document.getElementById("live");

async function show(regions) {
  for (const [name, html] of Object.entries(regions)) {
    const region = document.getElementById(`region-${name}`);
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    if (region === null || region.innerHTML.trim() === fresh.innerHTML.trim()) continue;
    const content = document.importNode(fresh.content, true);
    // A picture takes the place of the one before only once it is there.
    await Promise.allSettled([...content.querySelectorAll("img")].map((one) => one.decode()));
    // What a visitor opened stays open, and what has the focus keeps it.
    const open = [...region.querySelectorAll("details")].map((one) => one.open);
    const links = [...region.querySelectorAll("a, summary, button")];
    const focused = links.indexOf(document.activeElement);
    region.replaceChildren(content);
    region.querySelectorAll("details").forEach((one, at) => { one.open = open[at] ?? false; });
    if (focused >= 0) region.querySelectorAll("a, summary, button")[focused]?.focus();
  }
}

const AGAIN = 5000;
let source;

function follow() {
  source = new EventSource(`/ui/live${location.pathname.slice("/ui".length)}${location.search}`);
  source.onopen = () => { live.textContent = "live"; live.dataset.state = "on"; };
  source.onmessage = (event) => {
    const regions = JSON.parse(event.data);
    live.textContent = regions.problem ?? "live";
    live.dataset.state = regions.problem ? "off" : "on";
    show(regions);
  };
  source.onerror = () => {
    live.textContent = "not live: the worker does not answer";
    live.dataset.state = "off";
    // Browsers try again by themselves, but not after an answer, such as that of a worker that starts, or of a proxy.
    if (source.readyState === EventSource.CLOSED) setTimeout(followAgain, AGAIN);
  };
}

function followAgain() {
  if (source.readyState === EventSource.CLOSED && !document.hidden) follow();
}

if (document.querySelector(".region") !== null) {
  if (!document.hidden) follow();
  // A page that nobody looks at asks for nothing.
  document.addEventListener("visibilitychange", () => { source?.close(); if (!document.hidden) follow(); });
}
