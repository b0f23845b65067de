// A contact sheet of a cache. The description (gallery/icons.js) calls larder.begin, or
// larder.later while the description is being created. Each file of icons calls larder.add. Names
// and URLs come from manifests and servers, so no text is ever inserted as HTML.
"use strict";

globalThis.larder = (() => {
  const perPage = 240;
  // Browsers take seconds to show longer lists.
  const longestList = 300;
  const labels = {
    fresh: "fresh", stale: "stale", missing: "missing", failed: "failed", corrupt: "damaged",
  };
  const states = Object.keys(labels);
  const problems = ["missing", "failed", "corrupt"];
  const find = (id) => document.getElementById(id);
  const filters = ["manifest", "host", "type", "state"];
  const bytes = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const count = new Intl.NumberFormat("en");
  const instant = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
  const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  let about = null;
  let icons = [];
  // For each sort key: all icons in sorted order, and the rank of each icon by its place.
  let sorted = new Map();
  let shown = [];
  let page = 0;
  // The icons on the page, as indices into `icons`.
  let drawn = [];
  let isBroken = false;
  let isLoaded = false;
  // Filter values and the page number in the address, until the icons are loaded.
  let awaited = {};

  // Loads the files one after another. Shows the icons of the first file while the rest loads.

  function load(path) {
    const script = document.createElement("script");
    script.src = path;
    script.onload = () => script.remove();
    script.onerror = () => fail("The icons could not be loaded. Reload the page.");
    document.head.append(script);
  }

  function fail(message) {
    isBroken = true;
    find("status").classList.add("problem");
    say(message);
  }

  function say(message) {
    if (find("status").textContent !== message) find("status").textContent = message;
  }

  function begin(description) {
    if (description.problem) return fail(description.problem);
    if (description.version !== 1) return fail("This page is outdated. Reload it.");
    about = description;
    const all = about.total > about.shown
      ? `the first ${count.format(about.shown)} of ${count.format(about.total)}`
      : count.format(about.total);
    const last = about.received === null ? "" : `, last received ${time(about.received)}`;
    find("about").textContent = all + last;
    fill("manifest", about.manifests.map((name, number) => [String(number), name]));
    find("manifest-control").hidden = about.manifests.length === 0;
    if (about.manifests.length > 0) {
      find("manifest").append(new Option("In no manifest", "none"));
    }
    // Called before the icons are loaded, to keep the user's input during loading.
    restore();
    next(0);
  }

  /// Called while a server is still reading the cache.
  function later() {
    say("Reading the cache …");
    setTimeout(() => load("gallery/icons.js"), 500);
  }

  function add(number, some) {
    for (const icon of some) {
      icon.place = icons.length;
      icon.words = [icon.name, icon.url].filter(Boolean).join("\n").toLowerCase();
      icons.push(icon);
    }
    sorted = new Map();
    next(number + 1);
  }

  function next(number) {
    if (number < about.files.length) {
      load(about.files[number]);
      // Show the first icons before the rest is loaded.
      if (number === 1) show();
      return;
    }
    isLoaded = true;
    fillFilters();
    page = awaited.page ?? page;
    awaited = {};
    show();
    document.documentElement.dataset.loaded = "yes";
  }

  function tally(member) {
    const counts = new Map();
    for (const icon of icons) {
      const value = icon[member];
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return counts;
  }

  function fill(id, options) {
    find(id).append(...options.map(([value, text]) => new Option(text, value)));
  }

  function fillFilters() {
    for (const id of ["host", "type"]) {
      const all = [...tally(id)].sort((a, b) => b[1] - a[1]);
      const most = all.slice(0, longestList).sort((a, b) => order.compare(a[0], b[0]));
      fill(id, most.map(([value, n]) => [value, `${value} (${count.format(n)})`]));
      const others = all.length - most.length;
      if (others > 0) {
        const note = new Option(`${count.format(others)} more: use the search`, "");
        note.disabled = true;
        find(id).append(note);
      }
    }
    const counts = tally("state");
    fill("state", states.map((state) =>
      [state, `${labels[state]} (${count.format(counts.get(state) ?? 0)})`]));
    const found = problems.filter((state) => counts.has(state));
    find("problems").replaceChildren(...found.map((state) => {
      const button = element("button", `${count.format(counts.get(state))} ${labels[state]}`);
      button.type = "button";
      button.value = state;
      return button;
    }));
    find("problems").hidden = found.length === 0;
    for (const id of filters) if (awaited[id] && !find(id).value) choose(id, awaited[id]);
  }

  /// Sets a filter. Adds an option for a rare value. Ignores a value that no icon has.
  function choose(id, value) {
    const control = find(id);
    control.value = value;
    if (control.value === value) return;
    if (isLoaded && icons.some((icon) => icon[id] === value)) fill(id, [[value, value]]);
    control.value = value;
    if (control.value !== value) control.value = "";
  }

  const comparisons = {
    name: (a, b) => order.compare(a.name, b.name),
    host: (a, b) => order.compare(a.host ?? "", b.host ?? ""),
    size: (a, b) => (a.size ?? -1) - (b.size ?? -1),
    // By age. Icons that were never received are last.
    received: (a, b) => (b.received ?? 0) - (a.received ?? 0),
    state: (a, b) => states.indexOf(b.state) - states.indexOf(a.state),
  };

  /// Returns sorted icons. Comparing all names with a collator takes a second, so ranks are saved.
  function inOrder(some, sort) {
    const compare = comparisons[sort];
    if (!compare) return some;
    if (!sorted.has(sort)) {
      const all = [...icons].sort((a, b) => compare(a, b) || a.place - b.place);
      const ranks = new Uint32Array(all.length);
      all.forEach((icon, rank) => { ranks[icon.place] = rank; });
      sorted.set(sort, { all, ranks });
    }
    const { all, ranks } = sorted.get(sort);
    return Array.from(Uint32Array.from(some, (icon) => ranks[icon.place]).sort(),
      (rank) => all[rank]);
  }

  function select() {
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = filters.map((id) => [id, find(id).value]).filter(([, value]) => value !== "");
    shown = icons.filter((icon) =>
      wanted.every(([id, value]) =>
        value === (id === "manifest" ? String(icon.manifest ?? "none") : icon[id]))
      && words.every((word) => icon.words.includes(word) || isDigest(word, icon)));
    shown = inOrder(shown, find("sort").value);
    if (find("direction").getAttribute("aria-pressed") === "true") shown.reverse();
  }

  function isDigest(word, icon) {
    return word.length >= 7 && icon.digest !== undefined && icon.digest.startsWith(word);
  }

  function show() {
    select();
    page = Math.min(page, pageCount() - 1);
    draw();
  }

  function pageCount() { return Math.max(1, Math.ceil(shown.length / perPage)); }

  function draw() {
    const first = page * perPage;
    const some = shown.slice(first, first + perPage);
    lay(some, first);
    find("pages").hidden = pageCount() === 1;
    find("page").value = page + 1;
    find("page").max = pageCount();
    find("page-count").textContent = count.format(pageCount());
    // A disabled button would lose the focus.
    find("previous").setAttribute("aria-disabled", String(page === 0));
    find("next").setAttribute("aria-disabled", String(page === pageCount() - 1));
    for (const button of find("problems").children) {
      button.setAttribute("aria-pressed", String(button.value === find("state").value));
    }
    const used = [...filters, "sort"].filter((id) => find(id).value !== "").length;
    find("unfold").textContent = used === 0 ? "Filters" : `Filters (${used})`;
    if (!isBroken) say(summary(first, some.length));
    remember();
  }

  /// Replaces the icons on the page if they changed. Focus stays on its icon or moves to the first.
  function lay(some, first) {
    const places = some.map((icon) => icon.place);
    const sheet = find("sheet");
    if (places.length !== drawn.length || places.some((place, at) => place !== drawn[at])) {
      const current = sheet.contains(document.activeElement)
        ? drawn[cards().indexOf(document.activeElement)] : null;
      drawn = places;
      sheet.replaceChildren(...some.map((icon) => card(icon)));
      const all = cards();
      if (all.length > 0) all[0].tabIndex = 0;
      if (current !== null) {
        const at = Math.max(0, places.indexOf(current));
        if (all.length > 0) focus(all[at], { preventScroll: true }); else sheet.focus();
      }
    }
    cards().forEach((card, at) => { card.dataset.index = first + at; });
  }

  function summary(first, length) {
    if (shown.length === 0) {
      return icons.length === 0 ? "The cache has no icons." : "No icon matches.";
    }
    const all = shown.length === icons.length
      ? `${count.format(icons.length)} icons`
      : `${count.format(shown.length)} of ${count.format(icons.length)} icons`;
    if (pageCount() === 1) return all;
    return `${all}, ${count.format(first + 1)} to ${count.format(first + length)} shown`;
  }

  function element(name, text, kind) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function card(icon) {
    const isProblem = problems.includes(icon.state);
    const item = element("li", undefined, isProblem ? "problem" : undefined);
    const button = element("button", undefined, "card");
    button.type = "button";
    // Only one card is a tab stop. Arrow keys move to the others.
    button.tabIndex = -1;
    const frame = element("span", undefined, "picture");
    frame.append(picture(icon, "lazy"));
    const name = element("span", undefined, "name");
    name.append(element("span", icon.name));
    button.append(
      frame, name, element("span", icon.host ?? "no host", "host"),
      element("span", isProblem ? sentence(icon) : facts(icon), "facts"));
    if (icon.state !== "fresh") button.append(element("span", labels[icon.state], "state"));
    item.append(button);
    return item;
  }

  function picture(icon, loading) {
    if (icon.image === undefined) return element("span", "no image", "none");
    const image = element("img");
    image.alt = "";
    image.loading = loading;
    image.decoding = "async";
    if (icon.width && icon.height) {
      [image.width, image.height] = [icon.width, icon.height];
      // The maximum height also limits the width, so that the box keeps its ratio.
      image.style.setProperty("--ratio", icon.width / icon.height);
    }
    image.onerror = () => image.replaceWith(element("span", "cannot be shown", "none"));
    image.src = about.objects + icon.image;
    return image;
  }

  function facts(icon) {
    return `${size(icon.size)} · ${age(icon.received)}`;
  }

  function sentence({ note, failed }) {
    if (!note) return undefined;
    const when = failed === undefined ? "" : `, ${age(failed)}`;
    return `${note[0].toUpperCase()}${note.slice(1)}${when}.`;
  }

  function size(value) {
    const units = ["B", "kB", "MB", "GB"];
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
    return `${bytes.format(value)} ${units[unit]}`;
  }

  function age(seconds) {
    const passed = seconds - Date.now() / 1000;
    const units = [
      ["year", 31557600], ["month", 2629800], ["day", 86400], ["hour", 3600], ["minute", 60],
    ];
    const [unit, length] = units.find(([, length]) => Math.abs(passed) >= length) ?? ["second", 1];
    return relative.format(Math.round(passed / length), unit);
  }

  function open(icon) {
    find("detail-name").textContent = icon.name;
    find("detail-picture").replaceChildren(picture(icon, "eager"));
    const rows = [
      ["State", labels[icon.state]], ["Problem", sentence(icon)],
      ["URL", icon.url], ["Host", icon.host],
      ["Manifest", icon.manifest === undefined ? undefined : about.manifests[icon.manifest]],
      ["Type", icon.type],
      ["Dimensions", icon.width && icon.height ? `${icon.width} × ${icon.height}` : undefined],
      ["Size", icon.size === undefined ? undefined : `${count.format(icon.size)} bytes`],
      ["Received", time(icon.received)],
      ["Fresh until", time(icon.fresh)],
      ["SHA-256", icon.digest],
    ].filter(([, value]) => value !== undefined);
    find("detail-facts").replaceChildren(
      ...rows.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
    const link = find("detail-open");
    link.hidden = icon.image === undefined;
    if (icon.image !== undefined) link.href = about.objects + icon.image;
    find("detail").showModal();
  }

  function time(seconds) {
    return seconds === undefined ? undefined : instant.format(new Date(seconds * 1000));
  }

  // The address contains the selection, so that users can share it.

  const members = ["search", ...filters, "sort"];

  function remember() {
    if (!isLoaded) return;
    const state = new URLSearchParams();
    for (const id of members) if (find(id).value !== "") state.set(id, find(id).value);
    if (find("direction").getAttribute("aria-pressed") === "true") state.set("reverse", "1");
    if (page > 0) state.set("page", page + 1);
    const text = state.toString();
    if (location.hash.slice(1) !== text) {
      const plain = location.pathname + location.search;
      history.replaceState(null, "", text === "" ? plain : `#${text}`);
    }
  }

  function restore() {
    const state = new URLSearchParams(location.hash.slice(1));
    awaited = {};
    for (const id of members) {
      const value = state.get(id) ?? "";
      choose(id, value);
      if (!isLoaded && find(id).value !== value) awaited[id] = value;
    }
    find("direction").setAttribute("aria-pressed", String(state.get("reverse") === "1"));
    const number = Number.parseInt(state.get("page") ?? "1", 10) - 1;
    page = number > 0 ? number : 0;
    if (!isLoaded) awaited.page = page;
  }

  function turn(to) {
    delete awaited.page;
    page = Number.isInteger(to) ? Math.min(Math.max(0, to), pageCount() - 1) : 0;
    draw();
    if (find("sheet").getBoundingClientRect().top < 0) find("sheet").scrollIntoView();
  }

  function cards() { return [...document.querySelectorAll(".card")]; }

  function columns(all) {
    const top = all[0].getBoundingClientRect().top;
    const end = all.findIndex((card) => card.getBoundingClientRect().top > top + 1);
    return end < 0 ? all.length : end;
  }

  function focus(card, options) {
    for (const other of document.querySelectorAll('.card[tabindex="0"]')) other.tabIndex = -1;
    card.tabIndex = 0;
    card.focus(options);
    if (!options?.preventScroll) card.scrollIntoView({ block: "nearest" });
  }

  function move(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const all = cards();
    const current = all.indexOf(event.target);
    if (current < 0) return;
    const steps = {
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(all), ArrowUp: -columns(all),
      Home: -current, End: all.length - 1 - current,
    };
    let to = current + (steps[event.key] ?? Number.NaN);
    if (event.key === "PageDown" || event.key === "PageUp") {
      const toPage = page + (event.key === "PageDown" ? 1 : -1);
      if (toPage >= 0 && toPage < pageCount()) {
        turn(toPage);
        focus(cards()[0]);
      }
    } else if (Number.isNaN(to)) {
      return;
    } else if (to >= 0 && to < all.length) {
      focus(all[to]);
    }
    event.preventDefault();
  }

  function listen() {
    const changed = () => {
      page = 0;
      delete awaited.page;
      show();
    };
    find("search").addEventListener("input", changed);
    for (const id of [...filters, "sort"]) find(id).addEventListener("change", changed);
    find("direction").addEventListener("click", () => {
      const isOn = find("direction").getAttribute("aria-pressed") === "true";
      find("direction").setAttribute("aria-pressed", String(!isOn));
      changed();
    });
    find("problems").addEventListener("click", ({ target }) => {
      if (target.localName !== "button") return;
      const isOn = find("state").value === target.value;
      for (const id of ["search", ...filters]) find(id).value = "";
      if (!isOn) find("state").value = target.value;
      changed();
    });
    find("unfold").addEventListener("click", () => {
      const isOpen = find("filters").classList.toggle("open");
      find("unfold").setAttribute("aria-expanded", String(isOpen));
    });
    find("controls").addEventListener("submit", (event) => event.preventDefault());
    find("controls").addEventListener("reset", () => {
      find("direction").setAttribute("aria-pressed", "false");
      awaited = {};
      // The controls are reset after this event.
      setTimeout(changed);
    });
    for (const [id, step] of [["previous", -1], ["next", 1]]) {
      find(id).addEventListener("click", () => {
        if (find(id).getAttribute("aria-disabled") !== "true") turn(page + step);
      });
    }
    find("skip").addEventListener("click", (event) => {
      // The address contains the selection, so keep it.
      event.preventDefault();
      (document.querySelector('.card[tabindex="0"]') ?? find("sheet")).focus();
    });
    find("page").addEventListener("change", () => turn(find("page").valueAsNumber - 1));
    find("sheet").addEventListener("click", (event) => {
      const button = event.target.closest(".card");
      if (button) open(shown[Number(button.dataset.index)]);
    });
    find("sheet").addEventListener("keydown", move);
    find("detail-close").addEventListener("click", () => find("detail").close());
    window.addEventListener("hashchange", () => { restore(); show(); });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.matches("input, select, dialog *")) return;
      event.preventDefault();
      find("search").focus();
    });
  }

  listen();
  // Deferred until `larder` is defined.
  setTimeout(() => load("gallery/icons.js"));
  return { begin, add, later };
})();
