"use strict";
(() => {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const get = (id) => document.getElementById(id);
  const source = get("source"), script = get("script"), file = get("file"), status = get("status");
  const PAUSE = 600;
  let shown = "", scriptName = "", selected = "", chosen = [], built = 0;

  const make = (name, text = "", kind = "") => {
    const found = document.createElement(name);
    found.textContent = text;
    if (kind) found.className = kind;
    return found;
  };
  const say = (text, bad = false) => { status.textContent = text; status.classList.toggle("bad", bad); };

  const ask = async (path, body) => {
    const options = { headers: { "X-Planish-Token": token } };
    if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    const answer = await fetch(path, options);
    const data = await answer.json().catch(() => ({ error: { message: `the server answered ${answer.status}` } }));
    if (data.error) throw Object.assign(new Error(data.error.message), data.error);
    return data;
  };

  const sizes = () => Object.fromEntries(get("sizes").value.split(",").map((x) => x.split("=").map((y) => y.trim()))
    .filter(([name, value]) => name && /^\d+$/.test(value ?? "")).map(([name, value]) => [name, Number(value)]));
  const wishes = () => ({ fp: get("fp").value, measure: get("measure").checked, sizes: sizes() });
  const request = (extra = {}) => ({ name: file.value, text: source.value, options: wishes(), ...extra });

  // What is typed is looked at when nothing has changed for a while; an answer to an older text is dropped.
  const later = (work) => {
    let timer = 0, number = 0;
    return () => {
      clearTimeout(timer);
      const mine = ++number;
      timer = setTimeout(() => work(() => mine === number), PAUSE);
    };
  };
  const goTo = (line) => {
    const lines = source.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, x) => sum + x.length + 1, 0);
    source.focus();
    source.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
    source.scrollTop = Math.max(0, (line - 6) * 19.5);
  };
  const item = (kind, line, text, help) => {
    const found = make("li", "", kind);
    if (line) {
      const button = make("button", `line ${line}`);
      button.addEventListener("click", () => goTo(line));
      found.append(button, ": ");
    }
    found.append(text);
    if (help) found.append(make("small", help));
    return found;
  };
  const analyse = later(async (current) => {
    try {
      const found = await ask("/api/do/analyse", request());
      if (!current()) return;
      const names = found.functions.filter((x) => x.nests.length).map((x) => x.name), before = get("function").value;
      if (names.join() !== [...get("function").options].map((x) => x.value).join()) {
        get("function").replaceChildren(...names.map((x) => new Option(x)));
        if (names.includes(before)) get("function").value = before;
        step();
      }
      const verdicts = found.functions.map((x) => {
        const [head, ...rest] = x.verdict.split("\n");
        return item(head.includes("to be replaced") ? "verdict" : "information", x.line, head.replace(/ \([^)]*\)/, ""), rest.length === 1 ? rest[0].trim() : "");
      });
      const problems = found.problems.map((x) => item(x.severity, x.line, x.message, x.help));
      get("problems").replaceChildren(...problems.filter((x) => x.className === "error"), ...verdicts,
        ...problems.filter((x) => x.className !== "error"));
    } catch (error) {
      if (current()) get("problems").replaceChildren(item("error", error.line, error.message, error.help));
    }
  });

  const number = () => {
    const count = source.value.split("\n").length;
    get("gutter").textContent = Array.from({ length: count }, (_, k) => k + 1).join("\n");
    get("gutter").scrollTop = source.scrollTop;
  };
  const changed = () => { number(); analyse(); step(); };

  // Schedules by hand.
  const draw = (entries) => {
    const list = make("ul");
    for (const x of entries) {
      const entry = make("li");
      if (x.pattern) {
        const button = make("button", x.text);
        button.setAttribute("aria-pressed", String(x.pattern === selected));
        button.addEventListener("click", () => { selected = x.pattern === selected ? "" : x.pattern; step(); });
        entry.append(button);
      } else entry.append(x.text);
      for (const mark of x.marks) entry.append(" ", make("span", mark, "mark"));
      if (x.inner.length) entry.append(draw(x.inner));
      list.append(entry);
    }
    return list;
  };
  const take = (text) => {
    script.value = `${script.value.trimEnd()}\n${text}\n`.trimStart();
    selected = "";
    step();
  };
  const step = later(async (current) => {
    if (!get("schedule").open) return;
    try {
      const found = await ask("/api/do/steps", request({ script: script.value, loop: selected, function: get("function").value }));
      if (!current()) return;
      get("taken").replaceChildren(...found.steps.map((x) => {
        const entry = make("li", x.legal ? "legal" : "refused", x.legal ? "legal" : "illegal");
        entry.prepend(make("code", x.step), " ");
        if (x.why) entry.append(make("small", x.why));
        return entry;
      }));
      get("tree").replaceChildren(draw(found.tree));
      get("next").hidden = !found.next.length;
      get("at").textContent = selected;
      get("legal").replaceChildren(...found.next.map((x) => {
        const entry = make("li");
        if (x.legal) {
          const button = make("button", "take");
          button.addEventListener("click", () => take(x.step));
          entry.append(button, " ");
        } else entry.append(make("span", "✗ ", "no"));
        entry.append(x.step);
        if (x.why) entry.append(make("small", x.why));
        return entry;
      }));
    } catch (error) {
      if (!current()) return;
      if (selected && error.code === "E0602") { selected = ""; step(); return; }
      get("taken").replaceChildren(item("illegal", 0, error.message, error.help));
      get("next").hidden = true;
    }
  });

  // Builds, and what they are compared with.
  const showPage = (run) => {
    for (const row of get("runs").tBodies[0].rows) row.classList.toggle("shown", row.dataset.number === String(run));
    get("page").src = `/report/${run}?token=${encodeURIComponent(token)}`;
    get("page").hidden = false;
    get("diff").hidden = get("empty").hidden = true;
  };
  const compare = async () => {
    if (chosen.length !== 2) return;
    const [first, second] = chosen.toSorted((a, b) => a - b);
    try {
      const found = await ask(`/api/compare?first=${first}&second=${second}`);
      const kinds = { "+": "plus", "-": "minus", "@": "at" };
      get("diff").replaceChildren(...found.lines.flatMap((x) => [make("span", x, kinds[x[0]] ?? ""), "\n"]));
      if (!found.lines.length) get("diff").textContent = "Both drop-ins are the same.";
      get("diff").hidden = false;
      get("page").hidden = get("empty").hidden = true;
      say(`build ${first} beside build ${second}`);
    } catch (error) { say(error.message, true); }
  };
  const addRun = (made, options) => {
    const row = get("runs").tBodies[0].insertRow(0);
    row.dataset.number = made.number;
    const open = make("button", `#${made.number} ${file.value}`);
    open.addEventListener("click", () => showPage(made.number));
    row.insertCell().append(open);
    row.insertCell().textContent = [options.fp, options.measure ? "timed" : "not timed",
      ...Object.entries(options.sizes).map(([k, v]) => `${k}=${v}`), options.script ? "script" : ""].filter(Boolean).join(", ");
    const told = row.insertCell();
    for (const x of made.functions) {
      told.append(make("div", `${x.function}: ${x.outcome}`, x.state === "kept" || x.state === "lost" ? "" : "yes"));
    }
    const box = make("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `compare build ${made.number}`);
    box.addEventListener("change", () => {
      chosen = box.checked ? [...chosen, made.number] : chosen.filter((x) => x !== made.number);
      for (const x of get("runs").querySelectorAll("input")) {
        x.checked = chosen.slice(-2).includes(Number(x.closest("tr").dataset.number));
      }
      chosen = chosen.slice(-2);
      compare();
    });
    row.insertCell().append(box);
    get("runs").classList.add("some");
  };
  const build = async () => {
    if (get("build").disabled) return;
    get("build").disabled = true;
    const begin = performance.now(), options = wishes();
    if (get("schedule").open && script.value.trim()) {
      options.script = script.value;
      options.functions = [get("function").value];
    }
    const clock = setInterval(() => say(`building, ${Math.round((performance.now() - begin) / 1000)} s`), 500);
    say("building");
    try {
      const made = await ask("/api/do/session", request({ options }));
      built = made.number;
      addRun(made, options);
      showPage(built);
      say(`build ${built} took ${((performance.now() - begin) / 1000).toFixed(1)} s`);
    } catch (error) {
      say(error.message.split("\n")[0], true);
      document.querySelectorAll("#problems .error").forEach((x) => x.remove());
      get("problems").prepend(item("error", error.line, error.message, error.help));
    } finally {
      clearInterval(clock);
      get("build").disabled = false;
    }
  };

  // The state as a link: the file, and the script that lies beside it.
  const setLink = () => {
    const state = new URLSearchParams({ file: file.value });
    if (scriptName) state.set("script", scriptName);
    history.replaceState(null, "", `${location.search}#${state}`);
    get("script-name").textContent = scriptName || "no script";
  };
  const save = async () => {
    const name = scriptName || file.value.replace(/\.c$/, ".sched");
    try {
      await ask("/api/script", { name, text: script.value });
      scriptName = name;
      setLink();
      say(`wrote ${name}: planish build ${file.value} --script ${name}`);
    } catch (error) { say(error.message, true); }
  };
  const load = async (name, ofScript = "") => {
    try {
      const found = await ask(`/api/files?name=${encodeURIComponent(name)}`);
      const steps = ofScript ? (await ask(`/api/files?name=${encodeURIComponent(ofScript)}`)).text : "";
      file.value = shown = name;
      source.value = found.text;
      scriptName = ofScript;
      script.value = steps;
      if (ofScript) get("schedule").open = true;
      selected = "";
      setLink();
      changed();
      say("");
    } catch (error) {
      file.value = shown;  // the name of the text that is here
      say(error.message, true);
    }
  };
  const start = async () => {
    try {
      const found = await ask("/api/files");
      const sources = found.files.filter((x) => x.endsWith(".c"));
      file.replaceChildren(...sources.map((x) => new Option(x)));
      document.title = `${found.folder} – Planish explorer`;
      if (!sources.length) { say("there is no C file in this folder", true); return; }
      const state = new URLSearchParams(location.hash.slice(1));
      const first = sources.includes(state.get("file")) ? state.get("file") : sources[0];
      await load(first, found.files.includes(state.get("script")) ? state.get("script") : "");
    } catch (error) { say(error.message, true); }
  };

  source.addEventListener("input", changed);
  source.addEventListener("scroll", () => { get("gutter").scrollTop = source.scrollTop; });
  source.addEventListener("keydown", (event) => {
    // Tab leaves the editor after Escape, as the keyboard has to have a way out.
    if (event.key === "Escape") source.dataset.leave = "yes";
    else if (event.key === "Tab" && !event.shiftKey && !source.dataset.leave) {
      event.preventDefault();
      source.setRangeText("    ", source.selectionStart, source.selectionEnd, "end");
      changed();
    } else if (event.key !== "Tab") delete source.dataset.leave;
  });
  source.addEventListener("blur", () => delete source.dataset.leave);
  script.addEventListener("input", () => { selected = ""; step(); });
  file.addEventListener("change", () => load(file.value));
  get("fp").addEventListener("change", changed);
  get("function").addEventListener("change", () => { selected = ""; step(); });
  get("schedule").addEventListener("toggle", step);
  get("build").addEventListener("click", build);
  get("save").addEventListener("click", save);
  get("undo").addEventListener("click", () => {
    script.value = script.value.trimEnd().split("\n").slice(0, -1).join("\n") + "\n";
    script.value = script.value.trimStart();
    step();
  });
  get("link").addEventListener("click", async () => {
    if (!scriptName && script.value.trim()) await save();
    setLink();
    try { await navigator.clipboard.writeText(location.href); say("the link is copied"); }
    catch { say(location.href); }
  });
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); build(); }
  });
  addEventListener("hashchange", () => start());
  start();
})();
