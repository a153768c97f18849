// What the record says, as columns with rows. Rows are made when a column is looked at, since a large kernel has
// hundreds of thousands of them.

// One column: the source, or a program.
class Column {
  constructor(kernel, number, program) {
    Object.assign(this, { kernel, number, program, title: program ? program.title : "PTX", before: null, next: null });
    this.step = program && program.step !== null ? kernel.data.steps[program.step] : null;
  }

  // Machine code: its instructions are others, and there are other numbers of them.
  get isMachine() {
    const { notation, functions } = this.program;
    return notation === "words" || functions[0]?.form === "physical" || this.title === "selection";
  }

  // How much the program before executes, where the two can be compared.
  get executedBefore() {
    const before = this.before?.program;
    const isKnown = before && this.program.executed !== null && this.isMachine === this.before.isMachine;
    return isKnown ? before.executed : null;
  }

  get rows() {
    this.made ??= this.program ? this.ofProgram() : this.ofSource();
    return this.made;
  }

  ofSource() {
    const { lines, places } = this.kernel.data.source;
    return lines.map((text, at) => ({ kind: "line", text, line: at + 1, place: places[at + 1], space: "ptx" }));
  }

  ofProgram() {
    const { texts, blocks } = this.kernel.data;
    const rows = [];
    for (const func of this.program.functions) {
      // Blocks keep their names at the virtual level, and machine code has blocks of its own.
      const level = func.form === "physical" || this.title === "selection" ? "machine" : "virtual";
      const space = `${this.program.notation} ${func.form} ${level}`;
      for (const text of func.head) rows.push({ kind: "head", text: texts[text], func, space });
      for (const id of func.blocks) {
        const block = blocks[id];
        rows.push({ kind: "block", text: `${block.name}:`, func, block, space, level });
        block.instructions.forEach((id, at) => {
          const of = (list) => (list.length === 1 ? list[0] : list[at]);
          rows.push({
            kind: "inst",
            id,
            text: texts[id],
            func,
            block,
            at,
            space,
            level,
            note: block.notes.length ? texts[block.notes[at]] : "",
            line: block.lines[at],
            pressure: block.pressure[at],
            warps: of(block.warps),
            threads: of(block.threads),
          });
        });
      }
    }
    return rows;
  }

  // How often each text is in each function, to see what came and what goes.
  get bag() {
    if (this.counted) return this.counted;
    this.counted = new Map();
    for (const func of this.program?.functions ?? []) {
      const { blocks } = this.kernel.data;
      for (const block of func.blocks) {
        for (const text of blocks[block].instructions) {
          const key = `${func.name} ${func.form} ${text}`;
          this.counted.set(key, (this.counted.get(key) ?? 0) + 1);
        }
      }
    }
    return this.counted;
  }

  // Whether lines can be held against those of another column: in other forms every line differs.
  isLike(other) {
    const form = (column) => column?.program && `${column.program.notation} ${column.program.functions[0]?.form}`;
    return other && form(this) === form(other) && form(this) !== undefined;
  }

  // By row: the changes that brought the line, and those that take it. A line that is there as often in the other
  // column has moved at most.
  get marks() {
    if (this.marked) return this.marked;
    const came = this.isLike(this.before) ? new Map(this.before.bag) : null;
    const goes = this.isLike(this.next) ? new Map(this.next.bag) : null;
    const added = causes(this.step, "added");
    const removed = causes(this.next?.step, "removed");
    const taken = (bag, key) => {
      const left = bag.get(key) ?? 0;
      bag.set(key, left - 1);
      return left <= 0;
    };
    const mark = (row) => {
      if (row.kind !== "inst") return null;
      const key = `${row.func.name} ${row.func.form} ${row.id}`;
      const isNew = came !== null && taken(came, key);
      const isGone = goes !== null && taken(goes, key);
      const why = (list) => list.get(`${row.func.name} ${row.id}`) ?? [];
      return isNew || isGone
        ? { isNew, isGone, by: isNew ? why(added) : [], takenBy: isGone ? why(removed) : [] }
        : null;
    };
    this.marked = this.rows.map(mark);
    return this.marked;
  }

  // The most that any instruction is executed, by threads.
  get hottest() {
    this.most ??= this.rows.reduce((most, row) => Math.max(most, row.threads ?? 0), 0);
    return this.most;
  }

  // The first row of a block of a function.
  rowOfBlock(name, func) {
    return this.rows.findIndex(
      (row) => row.kind === "block" && row.block.name === name && (!func || row.func.name === func),
    );
  }

  rowOfLine(line) {
    return this.rows.findIndex((row) => row.line === line);
  }
}

// By function and text: the changes of a step that have the line among those that come, or go.
function causes(step, side) {
  const causes = new Map();
  for (const change of step?.changes ?? []) {
    for (const text of change[side]) {
      const key = `${change.function} ${text}`;
      if (!causes.has(key)) causes.set(key, []);
      causes.get(key).push({ step, change });
    }
  }
  return causes;
}

// A kernel of the record.
class Kernel {
  constructor(data) {
    this.data = data;
    this.columns = [];
    if (data.source) this.columns.push(new Column(this, 0, null));
    let kept = null;
    for (const program of data.programs) {
      const column = new Column(this, this.columns.length, program);
      column.before = kept;
      if (kept && (program.kept || !kept.next)) kept.next = column;
      if (program.kept) kept = column;
      this.columns.push(column);
    }
  }

  columnOf(step) {
    return this.columns.find((column) => column.program?.step === step);
  }
}

const TOKENS =
  /(%[A-Za-z]+[0-9]+(?:x[0-9]+)?)|(\bbb[0-9]+\b)|(@!?%?[A-Za-z_$.][\w$.]*)|(\b0x[0-9a-fA-F]+\b|\b[0-9]+\b)/g;
const WORD_TOKENS = /(@?!?\b(?:U?R|U?P)[0-9]+\b)|(\bbb[0-9]+\b)|(`[^`]*`)|(\b0x[0-9a-fA-F]+\b|\b[0-9]+\b)/g;

// The parts of a text: `{ text, kind }` with the kinds value, block, symbol, number, and none.
function tokens(row) {
  if (row.text.trimStart().startsWith("//")) return [{ text: row.text }];
  const pattern = row.space.startsWith("words") ? WORD_TOKENS : TOKENS;
  const parts = [];
  let end = 0;
  for (const match of row.text.matchAll(pattern)) {
    if (match.index > end) parts.push({ text: row.text.slice(end, match.index) });
    const kind = match[1] ? "value" : match[2] ? "block" : match[3] ? "symbol" : "number";
    parts.push({ text: match[0], kind, name: kind === "value" ? match[0].replace(/^@?!?/, "") : match[0] });
    end = match.index + match[0].length;
  }
  if (end < row.text.length) parts.push({ text: row.text.slice(end) });
  return parts;
}

// What names are equal to: a value in its form, a block at its level.
function keyOf(row, token) {
  if (token.kind === "value") return `value ${row.space} ${row.func?.name ?? ""} ${token.name}`;
  if (token.kind === "block") return `block ${row.level} ${row.func?.name ?? ""} ${token.name}`;
  return null;
}

// The values that an instruction defines, and those that it reads.
function valuesOf(row) {
  if (row.kind !== "inst" || row.space.startsWith("words")) return { defined: [], read: [] };
  const at = row.text.indexOf(" = ");
  const names = (text) => text.match(/%[A-Za-z]+[0-9]+(?:x[0-9]+)?/g) ?? [];
  return {
    defined: at < 0 ? [] : names(row.text.slice(0, at)).filter((_, place) => place > 0 || !row.text.startsWith("@")),
    read: names(at < 0 ? row.text : row.text.slice(at)),
  };
}

// The rows of a column at which a value is live. Phis read at the ends of the blocks that they name.
function liveRows(column, name) {
  const { texts } = column.kernel.data;
  const live = new Set();
  const carries = (block) => block.live_in?.some((text) => texts[text] === name);
  const ofFunc = new Map();
  column.rows.forEach((row, at) => {
    if (row.kind !== "inst" || !row.block.live_in) return;
    const key = `${row.func.name} ${row.block.name}`;
    if (!ofFunc.has(key)) ofFunc.set(key, []);
    ofFunc.get(key).push(at);
  });
  const blocks = new Map(
    column.rows.filter((row) => row.kind === "block").map((row) => [`${row.func.name} ${row.block.name}`, row]),
  );
  for (const [key, places] of ofFunc) {
    const { func, block } = blocks.get(key);
    const behind = block.successors.map((name) => blocks.get(`${func.name} ${name}`)).filter(Boolean);
    const phi = (other) =>
      other.block.instructions.some(
        (id) => texts[id].includes(" = phi") && texts[id].includes(`[${block.name}: ${name}]`),
      );
    let isLive = behind.some((other) => carries(other.block) || phi(other));
    for (const place of [...places].reverse()) {
      const { defined, read } = valuesOf(column.rows[place]);
      if (isLive) live.add(place);
      if (defined.includes(name)) isLive = false;
      if (read.includes(name) && !column.rows[place].text.includes(" = phi")) {
        isLive = true;
        live.add(place);
      }
    }
  }
  return live;
}
