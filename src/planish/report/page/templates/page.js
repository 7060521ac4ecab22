"use strict";
(() => {
  const root = document.documentElement;
  const functions = [...document.querySelectorAll(".function")];
  const parts = () => [...document.querySelectorAll("details.part")];

  // Light, dark, or as the system; kept where the browser allows it for a local file.
  const themes = ["", "light", "dark"];
  const keep = (value) => { try { localStorage.setItem("planish-theme", value); } catch { /* not kept */ } };
  const kept = () => { try { return localStorage.getItem("planish-theme") ?? ""; } catch { return ""; } };
  const setTheme = (value) => {
    if (value) root.dataset.theme = value; else delete root.dataset.theme;
    document.getElementById("theme").textContent = `Theme: ${value || "system"}`;
  };
  const nextTheme = () => {
    const value = themes[(themes.indexOf(root.dataset.theme ?? "") + 1) % themes.length];
    setTheme(value);
    keep(value);
  };
  setTheme(themes.includes(kept()) ? kept() : "");

  const expand = () => {
    const open = parts().some((x) => !x.open);
    for (const x of parts()) x.open = open;
    document.getElementById("expand").textContent = open ? "Collapse all" : "Expand all";
  };
  let before = [];
  addEventListener("beforeprint", () => {
    before = parts().filter((x) => !x.open);
    for (const x of before) x.open = true;
  });
  addEventListener("afterprint", () => { for (const x of before) x.open = false; });

  // A line belongs to lines of the source (data-s); C and assembly share numbers of lines of C (data-c).
  const numbers = (line) => (line.dataset.s ?? "").split(" ").filter(Boolean);
  const sameC = (a, b) => a.dataset.c && a.dataset.c === b.dataset.c;
  const pane = (line) => line.parentElement.dataset.pane;
  const related = (line, other) => {
    if (line === other) return true;
    if (pane(line) !== "source" && pane(other) !== "source") return pane(line) !== pane(other) && sameC(line, other);
    if (pane(line) === pane(other)) return false;
    const wanted = numbers(line);
    return numbers(other).some((x) => wanted.includes(x));
  };
  const linesOf = (part) => (part.planishLines ??= [...part.querySelectorAll(".lines li")]);
  let pinned = null;

  const show = (line, scroll) => {
    const part = line.closest(".code");
    const seen = new Set([line.closest(".pane")]);
    for (const x of linesOf(part)) {
      const on = related(line, x);
      x.classList.toggle("on", on);
      x.classList.toggle("here", scroll && x === line);
      const place = x.closest(".pane");
      if (on && scroll && !seen.has(place)) {
        seen.add(place);
        const folded = x.closest("details.called");
        if (folded) folded.open = true;
        place.scrollTop += x.getBoundingClientRect().top - place.getBoundingClientRect().top - place.clientHeight / 3;
      }
    }
  };
  const clear = (part) => { for (const x of linesOf(part)) x.classList.remove("on", "here"); };
  const pin = (line) => { pinned = line; show(line, true); };

  for (const part of document.querySelectorAll(".code")) {
    part.addEventListener("mouseover", (event) => {
      const line = event.target.closest(".lines li");
      if (line && !pinned) show(line, false);
    });
    part.addEventListener("mouseleave", () => { if (!pinned) clear(part); });
    part.addEventListener("click", (event) => {
      const line = event.target.closest(".lines li");
      if (!line || String(getSelection())) return;
      const other = pinned && pinned.closest(".code");
      if (other && other !== part) clear(other);
      if (line === pinned) { pinned = null; clear(part); } else pin(line);
    });
  }

  const moveLine = (place, step) => {
    const lines = [...place.querySelectorAll(".lines li")].filter((x) => x.offsetParent);
    const at = lines.findIndex((x) => x.classList.contains("here"));
    const next = lines[at < 0 ? 0 : Math.min(Math.max(at + step, 0), lines.length - 1)];
    if (!next) return;
    pin(next);
    next.scrollIntoView({ block: "nearest" });
  };
  const moveFunction = (step) => {
    const at = functions.findIndex((x) => x.getBoundingClientRect().bottom > 40);
    const top = at >= 0 && functions[at].getBoundingClientRect().top > 40;
    const next = functions[Math.min(Math.max(top && step > 0 ? at : at + step, 0), functions.length - 1)];
    if (next) { next.scrollIntoView(); next.focus({ preventScroll: true }); }
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const place = document.activeElement?.closest(".pane");
    if (place && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      moveLine(place, event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
    } else if (event.key === "Escape" && pinned) {
      clear(pinned.closest(".code"));
      pinned = null;
    } else if (event.key === "n") moveFunction(1);
    else if (event.key === "p") moveFunction(-1);
    else if (event.key === "e") expand();
    else if (event.key === "t") nextTheme();
  });
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.getElementById("expand").addEventListener("click", expand);
  document.getElementById("print").addEventListener("click", () => print());
})();
