// The page of a record: an overview, the columns, and what is known about the place that is looked at.

const COLOURS = 6;

class Viewer {
  constructor(record) {
    this.record = record;
    this.kernels = record.kernels.map((data) => new Kernel(data));
    this.chosen = new Map();
    this.lines = new Set();
    this.search = make("input", {
      type: "search",
      placeholder: "search (/)",
      ariaLabel: "search in all columns",
      on: { input: () => this.find(), keydown: (event) => this.searchKey(event) },
    });
    this.hits = make("span", { className: "hits", ariaLive: "polite" });
    this.main = make("main");
    this.overview = make("section", { className: "overview", id: "overview" });
    this.strip = make("section", { className: "columns", id: "columns", ariaLabel: "steps" });
    this.panel = make("aside", { className: "panel", ariaLabel: "details" });
    this.difference = new DifferenceView(this);
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const view = this.views[Number(target.dataset.column)];
          view.isNear = isIntersecting;
          if (isIntersecting) view.render();
          else view.list.replaceChildren();
        }
      },
      { root: this.strip, rootMargin: "0px 400px" },
    );
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => this.render());
    this.main.append(this.overview, this.strip);
    document.body.append(this.top(), this.main, this.panel, this.difference.dialog);
    this.show(0);
  }

  top() {
    const kernels = make(
      "select",
      { className: "kernels", ariaLabel: "kernel", on: { change: (event) => this.show(event.target.selectedIndex) } },
      ...this.record.kernels.map((kernel) => make("option", { text: kernel.name })),
    );
    this.state = make("span", { className: "state" });
    this.launch = make("span", { className: "quiet launch" });
    const theme = button("◐", "Dark or light", () => {
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
      document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    });
    return make(
      "header",
      { className: "top" },
      make(
        "div",
        { className: "name" },
        this.record.kernels.length > 1 ? kernels : make("h1", { text: this.record.kernels[0]?.name ?? "no kernel" }),
        this.state,
      ),
      this.launch,
      make(
        "div",
        { className: "search" },
        this.search,
        this.hits,
        button("‹", "Previous hit (Shift+Enter)", () => this.toHit(-1)),
        button("›", "Next hit (Enter)", () => this.toHit(1)),
      ),
      make(
        "div",
        { className: "tools" },
        button("overview", "Show or hide the table of steps (o)", () => this.overview.toggleAttribute("hidden")),
        button("diff", "Compare two columns (d)", () => this.compare()),
        button("clear", "Choose nothing (Escape)", () => this.clear()),
        button("?", "Keys", () => this.help()),
        theme,
      ),
    );
  }

  // Shows another kernel.
  show(number) {
    this.kernel = this.kernels[number];
    this.chosen.clear();
    this.lines.clear();
    this.found = null;
    if (!this.kernel) return;
    this.kernel.view = this;
    const { data } = this.kernel;
    this.state.replaceChildren(verdict(data.verdict, data.findings.length > 0 || data.verdict === "unexpected"));
    const extent = (of) => of.join("×");
    const file = (name) => name.split("/").pop();
    this.launch.textContent = data.launch
      ? `${data.target} · ${file(data.launch.case)} · grid ${extent(data.launch.grid)} · block ${extent(data.launch.block)}`
      : `${data.target} · no launch says what it should do`;
    this.launch.title = data.launch?.case ?? "";
    this.overview.replaceChildren(...overview(this.kernel));
    this.observer.disconnect();
    this.views = this.kernel.columns.map((column) => new ColumnView(this, column));
    this.strip.replaceChildren(...this.views.map((view) => view.element));
    this.views.forEach((view) => this.observer.observe(view.element));
    this.panel.replaceChildren(
      make("p", {
        className: "quiet",
        text: "Click a value or a block to see it in all columns, a line to see where it comes from, a title to see what the step does.",
      }),
    );
    this.panel.classList.remove("open");
  }

  render() {
    this.views?.forEach((view) => view.render());
  }

  // Chooses a value or a block, or no longer. The other columns come to where the name is, at the same height.
  choose(key, origin) {
    if (this.chosen.has(key)) {
      this.chosen.delete(key);
    } else {
      const used = new Set(this.chosen.values());
      let colour = 0;
      while (used.has(colour) && colour < COLOURS - 1) colour++;
      this.chosen.set(key, colour);
      this.align(key, origin);
    }
    this.lastChosen = this.chosen.has(key) ? { key, column: origin.column } : null;
    this.live = null;
    this.showRow(origin, origin.cursor);
  }

  // Brings the first row with a name to the height that it has in the column of origin.
  align(key, origin) {
    const row = origin.column.rows[origin.cursor];
    const height = origin.heightOf(origin.cursor);
    for (const view of this.views) {
      if (view === origin || view.element.classList.contains("folded")) continue;
      const at = this.placeOf(view.column, key, row);
      if (at >= 0) view.scrollTo(at, height);
    }
  }

  // The row of a column that a name or a row of another column leads to: the name itself, the same text, the same line.
  placeOf(column, key, row) {
    const name = key?.split(" ").pop();
    const rows = column.rows;
    const names = (other) => other.text.includes(name) && tokens(other).some((token) => keyOf(other, token) === key);
    let at = key ? rows.findIndex((other) => valuesOf(other).defined.includes(name) && names(other)) : -1;
    if (at < 0 && key?.startsWith("block")) at = rows.findIndex((other) => other.kind === "block" && names(other));
    if (at < 0 && key) at = rows.findIndex(names);
    if (at < 0 && row) at = rows.findIndex((other) => other.text === row.text && other.kind === row.kind);
    if (at < 0 && row?.line) at = column.rowOfLine(row.line);
    return at;
  }

  // The rows at which the value that was chosen last is live.
  liveIn(column) {
    const key = this.lastChosen?.key;
    if (!key?.startsWith("value")) return null;
    this.live ??= new Map();
    if (!this.live.has(column)) {
      const func = column.program?.functions[0];
      const isSame = func && key.startsWith(`value ${column.rows.find((row) => row.kind === "inst")?.space ?? "?"}`);
      this.live.set(column, isSame ? liveRows(column, key.split(" ").pop()) : null);
    }
    return this.live.get(column);
  }

  clear() {
    this.chosen.clear();
    this.lines.clear();
    this.lastChosen = this.live = null;
    this.panel.classList.remove("open");
    this.render();
  }

  // What is known about a row; and its line of PTX in all columns.
  showRow(view, at) {
    const { column } = view;
    const row = column.rows[at];
    if (!row) return;
    this.lines = new Set(row.line ? [row.line] : []);
    this.render();
    const { data } = this.kernel;
    const parts = [make("h2", { text: column.title })];
    if (row.kind !== "line")
      parts.push(make("p", { className: "quiet", text: `${row.func.name}${row.block ? `, ${row.block.name}` : ""}` }));
    parts.push(make("pre", { text: row.text }));
    if (row.note) parts.push(make("pre", { className: "quiet", text: row.note }));
    if (row.line && data.source) {
      const place = data.source.places[row.line];
      parts.push(
        make("h3", { text: `line ${row.line} of the PTX${place ? `, ${place}` : ""}` }),
        make("pre", { text: (data.source.lines[row.line - 1] ?? "").trim() }),
      );
    }
    const mark = column.marks[at];
    if (mark?.isNew) parts.push(...this.reasons(`${column.title} brought it`, column.step, mark.by));
    if (mark?.isGone) parts.push(...this.reasons(`${column.next.title} takes it`, column.next.step, mark.takenBy));
    if (row.kind === "inst") {
      const facts = [];
      if (row.threads !== undefined) {
        const lanes = row.warps ? ` (${(row.threads / row.warps).toFixed(1)} lanes of 32)` : "";
        facts.push(`executed by ${counted(row.threads, "thread")} in ${counted(row.warps, "group")}${lanes}`);
      }
      if (row.pressure !== undefined) facts.push(`${counted(row.pressure, "register")} live before it`);
      parts.push(...facts.map((text) => make("p", { text })));
    }
    if (row.block) parts.push(...this.aboutBlock(row));
    this.open(parts);
  }

  aboutBlock({ block }) {
    const { texts } = this.kernel.data;
    const parts = [make("h3", { text: block.name })];
    const say = (text) => parts.push(make("p", { text }));
    if (block.depth) say(`in ${counted(block.depth, "loop")}; the innermost begins at ${block.header}`);
    if (block.branch)
      say(
        {
          varying: "lanes of a warp may part at its end",
          warp: "its branch is the same for a warp",
          cta: "its branch is the same for a block of threads",
          launch: "its branch is the same for all threads",
        }[block.branch] ?? block.branch,
      );
    if (block.successors.length) say(`continues at ${block.successors.join(", ")}`);
    if (block.live_in)
      parts.push(
        make("p", { text: `${counted(block.live_in.length, "value")} live at its start` }),
        make("p", { className: "values", text: block.live_in.map((text) => texts[text]).join(" ") }),
      );
    return parts;
  }

  // By which rule a line came or goes: the change itself where it was listed, otherwise all rules of the step.
  reasons(title, step, causes) {
    const parts = [make("h3", { text: title })];
    if (!step) return parts;
    const rules = new Map(step.rules.map((rule) => [rule.name, rule]));
    const one = (name, index, total) => {
      const rule = rules.get(name);
      parts.push(
        make(
          "p",
          { className: "rule" },
          make("strong", { text: name ?? "no named rule" }),
          index ? ` change ${index} of ${step.rewrites}` : ` ×${total}`,
          (rule?.document ?? step.document)
            ? make("span", { className: "quiet", text: ` ${rule?.document ?? step.document}` })
            : null,
        ),
      );
      parts.push(make("p", { className: "reason", text: rule?.reason || step.doc }));
    };
    if (causes.length) {
      causes.slice(0, 3).forEach(({ change }) => one(change.rule, change.index));
    } else if (step.rules.length) {
      if (step.rules.length > 1) parts.push(make("p", { className: "quiet", text: "by one of these:" }));
      step.rules.slice(0, 6).forEach((rule) => one(rule.name, 0, rule.count));
    } else {
      parts.push(make("p", { className: "reason", text: step.doc }));
    }
    return parts;
  }

  // What a step does, and what it did here.
  showStep(column) {
    const { step } = column;
    const parts = [make("h2", { text: column.title })];
    if (step) {
      if (step.verdict) parts.push(make("p", {}, verdict(step.verdict, step.wrong)));
      if (step.doc) parts.push(make("p", { text: step.doc }));
      if (step.document) parts.push(make("p", { className: "quiet", text: step.document }));
      if (step.skipped) parts.push(make("p", { className: "worse", text: step.skipped }));
      parts.push(
        make("p", {
          text: `${counted(step.rewrites, "change")}, ${step.instructions_before} → ${step.instructions_after} instructions, ${(step.microseconds / 1000).toFixed(1)} ms`,
        }),
      );
      for (const rule of step.rules) {
        parts.push(
          make(
            "details",
            {},
            make(
              "summary",
              {},
              make("strong", { text: rule.name }),
              ` ×${rule.count} `,
              make("span", { className: "quiet", text: rule.document ?? "" }),
            ),
            make("p", { className: "reason", text: rule.reason }),
          ),
        );
      }
      if (step.changes.length) {
        const list = step.changes.slice(0, 200).map((change) => this.changeOf(column, change));
        const more = step.rewrites - step.changes.length;
        parts.push(
          make("h3", { text: "changes" }),
          ...list,
          ...(more > 0
            ? [make("p", { className: "quiet", text: `${number(more)} more are counted by rule alone` })]
            : []),
        );
      }
    } else if (column.program) {
      parts.push(make("p", { text: "The program before any step." }));
    } else {
      parts.push(make("p", { text: "The text of the kernel. Lines of the source are beside those that have a .loc." }));
    }
    this.open(parts);
  }

  changeOf(column, change) {
    const { texts } = this.kernel.data;
    const place = [change.function, change.block, change.line ? `line ${change.line}` : "", change.source]
      .filter(Boolean)
      .join(", ");
    const lines = [
      ...change.removed.map((text) => `- ${texts[text]}`),
      ...change.added.map((text) => `+ ${texts[text]}`),
    ];
    const goTo = () => {
      const view = this.views[column.number];
      const text = change.added.find((text) => !texts[text].endsWith(":"));
      let at = column.rows.findIndex((row) => row.id === text && row.func?.name === change.function);
      if (at < 0) at = column.rowOfBlock(change.block, change.function);
      if (at >= 0) {
        view.cursor = at;
        this.reveal(column);
        view.scrollTo(at);
        view.render();
      }
    };
    return make(
      "div",
      { className: "change" },
      make("button", {
        type: "button",
        className: "title",
        text: `${change.index} ${change.rule ?? "no named rule"}`,
        on: { click: goTo },
      }),
      make("span", { className: "quiet", text: ` ${place}` }),
      unified(lines.join("\n")),
    );
  }

  showGraph(column) {
    const goTo =
      (func) =>
      (name, offset = 0) => {
        const at = column.rowOfBlock(name, func.name);
        const view = this.views[column.number];
        view.fold(false);
        this.reveal(column);
        view.cursor = at + (offset ? offset + 1 : 0);
        view.scrollTo(view.cursor);
        this.lines.clear();
        view.render();
      };
    const parts = [make("h2", { text: `${column.title}: blocks and pressure` })];
    for (const func of column.program.functions) {
      parts.push(
        make("h3", { text: func.name }),
        curveOf(this.kernel, func, goTo(func)),
        graphOf(this.kernel, func, goTo(func)),
      );
    }
    parts.push(
      make("p", {
        className: "quiet legend",
        text: "Frames are loops, dashed borders branches at which lanes may part; colour is how many threads execute a block.",
      }),
    );
    this.open(parts, true);
  }

  open(parts, isWide = false) {
    this.panel.replaceChildren(
      button("×", "Close", () => this.panel.classList.remove("open", "wide")),
      ...parts,
    );
    this.panel.lastScroll = 0;
    this.panel.scrollTop = 0;
    this.panel.classList.add("open");
    this.panel.classList.toggle("wide", isWide);
  }

  // Brings a column into view.
  reveal(column) {
    const view = this.views[column.number];
    view.fold(false);
    view.element.scrollIntoView({ inline: "start", block: "nearest" });
    this.views.forEach((other) => other.element.classList.toggle("current", other === view));
    view.isNear = true;
    view.render();
  }

  // To the same place in the next column that is not folded.
  moveAcross(origin, step) {
    let number = origin.column.number + step;
    while (this.views[number]?.element.classList.contains("folded")) number += step;
    const view = this.views[number];
    if (!view) return;
    const row = origin.column.rows[origin.cursor];
    const key = row
      ? tokens(row)
          .map((token) => keyOf(row, token))
          .find(Boolean)
      : null;
    const at = this.placeOf(view.column, key ?? null, row);
    view.cursor = Math.max(0, at);
    this.reveal(view.column);
    view.scrollTo(view.cursor, origin.heightOf(origin.cursor));
    view.scroller.focus({ preventScroll: true });
    this.showRow(view, view.cursor);
  }

  compare() {
    const changed = changes(this.kernel);
    const column =
      this.kernel.columns.find((column) => this.views[column.number].element.classList.contains("current")) ??
      changed[0];
    const left = column?.before ?? this.kernel.columns[0];
    this.difference.open(left, column ?? this.kernel.columns[this.kernel.columns.length - 1]);
  }

  // Looks for a text in all columns, without regard to case.
  find() {
    const wanted = this.search.value.trim().toLowerCase();
    this.found = wanted ? new Found(this.kernel, wanted) : null;
    this.hits.textContent = this.found ? this.found.summary() : "";
    if (this.found?.places.length) this.toHit(0);
    this.render();
  }

  toHit(step) {
    const place = this.found?.move(step);
    if (!place) return;
    const [column, at] = place;
    const view = this.views[column.number];
    this.reveal(column);
    view.cursor = at;
    view.scrollTo(at);
    this.hits.textContent = this.found.summary();
  }

  searchKey(event) {
    if (event.key === "Enter") this.toHit(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      this.search.value = "";
      this.find();
      this.search.blur();
    }
  }

  key(event) {
    if (
      event.target.matches("input, select") ||
      this.difference.dialog.open ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    if (event.key === "/") {
      event.preventDefault();
      this.search.focus();
    } else if (event.key === "d") this.compare();
    else if (event.key === "o") this.overview.toggleAttribute("hidden");
    else if (event.key === "n") this.toHit(1);
    else if (event.key === "N") this.toHit(-1);
    else if (event.key === "Escape") this.clear();
    else if (event.key === "?") this.help();
  }

  help() {
    const keys = [
      ["↑ ↓", "move in a column"],
      ["← →", "to the same place in the column beside"],
      ["Enter", "choose the names of a line, one after the other"],
      ["/", "search; Enter and Shift+Enter, or n and N, go through the hits"],
      ["g", "graph and pressure of a column"],
      ["f", "fold a column"],
      ["d", "compare two columns"],
      ["o", "the table of steps"],
      ["Escape", "choose nothing"],
    ];
    this.open([
      make("h2", { text: "Keys" }),
      make("dl", {}, ...keys.flatMap(([key, text]) => [make("dt", { text: key }), make("dd", { text })])),
      make("p", {
        className: "quiet",
        text: "Green lines came with the step of their column, lines with a red edge go with the next. The first cell is colour by executions, the bar is register pressure.",
      }),
    ]);
  }
}

// The places of a text, column by column. A text that many rows share is looked at once.
class Found {
  constructor(kernel, wanted) {
    this.places = [];
    this.sets = new Map();
    this.at = 0;
    const known = new Map();
    const holds = (text) => {
      if (!known.has(text)) known.set(text, text.toLowerCase().includes(wanted));
      return known.get(text);
    };
    for (const column of kernel.columns) {
      const set = new Set();
      column.rows.forEach((row, at) => holds(row.text) && set.add(at));
      this.sets.set(column, set);
      set.forEach((at) => this.places.push([column, at]));
    }
  }

  has(column, at) {
    return this.sets.get(column)?.has(at) ?? false;
  }

  move(step) {
    const count = this.places.length;
    if (!count) return null;
    this.at = (this.at + step + count) % count;
    return this.places[this.at];
  }

  summary() {
    return this.places.length ? `${number(this.at + 1)} of ${number(this.places.length)}` : "nothing found";
  }
}

const viewer = new Viewer(JSON.parse(document.getElementById("data").textContent));
