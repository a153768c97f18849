// A column on the screen. Of its rows only those are elements that can be seen.

const ROW = 18;
const MARGIN = 20;

class ColumnView {
  constructor(view, column) {
    Object.assign(this, { view, column, cursor: -1, isNear: false });
    this.list = make("div", { className: "rows" });
    this.scroller = make(
      "div",
      {
        className: "scroller",
        tabIndex: 0,
        on: {
          scroll: () => this.render(),
          keydown: (event) => this.key(event),
          click: (event) => this.click(event),
        },
      },
      this.list,
    );
    this.scroller.setAttribute("role", "listbox");
    this.scroller.setAttribute("aria-label", column.title);
    this.element = make("section", { className: "column" }, this.head(), this.scroller);
    this.element.dataset.column = column.number;
    if (column.program && !column.program.kept) this.element.classList.add("dropped");
    if (column.step?.wrong) this.element.classList.add("is-wrong");
  }

  head() {
    const { column } = this;
    const { program, step } = column;
    const tools = make("span", { className: "tools" });
    if (program) tools.append(button("graph", "Blocks, loops and pressure (g)", () => this.view.showGraph(column)));
    tools.append(button("fold", "Fold or unfold this column (f)", () => this.fold()));
    const facts = make("div", { className: "facts" });
    if (program) {
      const executed = program.executed === null ? "" : `${number(program.executed)} executed`;
      const change = share(column.executedBefore, program.executed);
      facts.append(
        make("span", {
          text: counted(
            column.program.functions.reduce(
              (sum, func) =>
                sum + func.blocks.reduce((sum, id) => sum + column.kernel.data.blocks[id].instructions.length, 0),
              0,
            ),
            "instruction",
          ),
        }),
      );
      if (executed) facts.append(make("span", { text: executed }));
      if (change) facts.append(make("span", { className: change.startsWith("−") ? "better" : "worse", text: change }));
      if (program.pressure !== null) facts.append(make("span", { text: `${program.pressure} live` }));
    } else {
      facts.append(make("span", { text: counted(column.rows.length, "line") }));
    }
    if (program && !program.kept)
      facts.append(make("span", { className: "note", text: step?.wrong ? "dropped" : "judged, then dropped" }));
    const title = make("button", {
      type: "button",
      className: "title",
      text: column.title,
      title: step?.doc ?? "",
      on: { click: () => this.view.showStep(column) },
    });
    const isLast = column.kernel.columns.findLast((other) => other.step === step) === column;
    const state = step?.verdict && isLast ? verdict(step.verdict, step.wrong) : null;
    return make("header", {}, make("div", { className: "line" }, title, state, tools), facts);
  }

  fold(isFolded = !this.element.classList.contains("folded")) {
    this.element.classList.toggle("folded", isFolded);
    if (!isFolded) this.render();
  }

  // Makes the rows that can be seen, and those near them.
  render() {
    if (!this.isNear || this.element.classList.contains("folded")) return;
    const { rows, marks } = this.column;
    this.list.style.height = `${rows.length * ROW}px`;
    if (!this.wasSeen) this.begin();
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - MARGIN);
    const last = Math.min(
      rows.length,
      Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + MARGIN,
    );
    const live = this.view.liveIn(this.column);
    const elements = [];
    for (let at = first; at < last; at++) elements.push(this.row(at, rows[at], marks[at], live));
    this.list.replaceChildren(...elements);
  }

  // The text of a kernel begins with comments and declarations: its first instruction is more to the point.
  begin() {
    this.wasSeen = true;
    if (this.column.program) return;
    const lines = this.view.kernel.columns[1]?.rows.map((row) => row.line).filter(Boolean) ?? [];
    const first = this.column.rowOfLine(lines.reduce((least, line) => Math.min(least, line), Infinity));
    if (first > 6) this.scroller.scrollTop = (first - 5) * ROW;
  }

  row(at, row, mark, live) {
    const element = make("div", { className: `row ${row.kind}` });
    element.dataset.row = at;
    element.style.top = `${at * ROW}px`;
    const { column, view } = this;
    if (at === this.cursor) element.classList.add("cursor");
    if (mark?.isNew) element.classList.add("new");
    if (mark?.isGone) element.classList.add("gone");
    if (live?.has(at)) element.classList.add("live");
    if (row.line && view.lines.has(row.line)) element.classList.add("same-line");
    if (view.found?.has(column, at)) element.classList.add("found");
    element.append(make("span", { className: "number", text: row.line || "" }));
    if (row.kind === "inst") {
      const level = heat(row.threads, column.hottest);
      const executed =
        row.threads === undefined ? null : `${number(row.threads)} threads in ${counted(row.warps, "group")}`;
      const cell = make("span", { className: "heat", title: executed ?? "" });
      cell.style.background = heatOf(level);
      const bar = make("span", {
        className: "pressure",
        title: `${counted(row.pressure ?? 0, "register")} live before it`,
      });
      bar.style.width = `${Math.min(28, row.pressure ?? 0) / 2}px`;
      if (view.kernel.data.registers && row.pressure > view.kernel.data.registers) bar.classList.add("over");
      element.append(cell, make("span", { className: "bar" }, bar));
    }
    element.append(this.code(row));
    if (row.kind === "block") element.append(this.blockFacts(row));
    if (row.place) element.append(make("span", { className: "place", text: row.place }));
    if (row.note) element.title = row.note;
    return element;
  }

  code(row) {
    const code = make("span", { className: "code" });
    for (const token of tokens(row)) {
      if (!token.kind) {
        code.append(token.text);
        continue;
      }
      const key = keyOf(row, token);
      const part = make("span", { className: token.kind, text: token.text });
      if (key) {
        part.dataset.key = key;
        const colour = this.view.chosen.get(key);
        if (colour !== undefined) part.classList.add("chosen", `colour-${colour}`);
      }
      code.append(part);
    }
    return code;
  }

  // Loop, branch and lanes of a block.
  blockFacts({ block }) {
    const facts = make("span", { className: "facts" });
    const add = (className, text, title) => facts.append(make("span", { className, text, title }));
    if (block.depth > 0)
      add(
        "loop",
        `loop ${"●".repeat(Math.min(block.depth, 6))}`,
        `in ${counted(block.depth, "loop")}, the innermost from ${block.header}`,
      );
    if (block.branch === "varying") add("varying", "lanes part", "threads of a warp may take different ways here");
    const warps = mostOf(block.warps);
    if (warps) {
      const lanes = mostOf(block.threads) / warps;
      add(
        "lanes",
        `${number(warps)} × ${lanes.toFixed(lanes % 1 ? 1 : 0)} lanes`,
        "groups of lanes that executed it together, and how many lanes they had",
      );
    }
    if (block.warps.length && !warps) add("cold", "never executed", "the launch does not come here");
    return facts;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    this.cursor = Number(row.dataset.row);
    const key = event.target.closest("[data-key]")?.dataset.key;
    if (key) this.view.choose(key, this);
    else this.view.showRow(this, this.cursor);
  }

  key(event) {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (move) this.moveTo(this.cursor + move);
    else if (event.key === "Home") this.moveTo(0);
    else if (event.key === "End") this.moveTo(this.column.rows.length - 1);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft")
      this.view.moveAcross(this, event.key === "ArrowRight" ? 1 : -1);
    else if (event.key === "Enter") this.chooseAtCursor();
    else if (event.key === "f") this.fold();
    else if (event.key === "g" && this.column.program) this.view.showGraph(this.column);
    else return;
    event.preventDefault();
  }

  moveTo(at) {
    this.cursor = Math.max(0, Math.min(this.column.rows.length - 1, at));
    const top = this.cursor * ROW;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    const end = top + ROW - this.scroller.clientHeight;
    if (end > this.scroller.scrollTop) this.scroller.scrollTop = end;
    this.view.showRow(this, this.cursor);
  }

  // Chooses the names of the row, one after the other.
  chooseAtCursor() {
    const row = this.column.rows[this.cursor];
    if (!row) return;
    const keys = tokens(row)
      .map((token) => keyOf(row, token))
      .filter(Boolean);
    const last = keys.findIndex((key) => this.view.chosen.has(key));
    if (last >= 0) this.view.choose(keys[last], this);
    if (keys[last + 1]) this.view.choose(keys[last + 1], this);
  }

  // Brings a row to a height of the screen.
  scrollTo(at, height = this.scroller.clientHeight / 3) {
    this.scroller.scrollTop = Math.max(0, at * ROW - height);
    this.render();
  }

  heightOf(at) {
    return at * ROW - this.scroller.scrollTop;
  }
}
