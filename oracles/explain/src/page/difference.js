// Two columns side by side: equal lines beside each other, long runs of them folded.

const CONTEXT = 3;
const MOST_CELLS = 250_000;

// The pairs of equal lines of two lists of texts, in order. Lines that are once in both lists lead; between them the
// longest common subsequence, where that is not too much work.
function pairs(left, right) {
  const found = [];
  const work = [[0, left.length, 0, right.length]];
  while (work.length) {
    let [a, b, c, d] = work.pop();
    const tail = [];
    while (a < b && c < d && left[a] === right[c]) found.push([a++, c++]);
    while (a < b && c < d && left[b - 1] === right[d - 1]) tail.push([--b, --d]);
    found.push(...tail);
    if (a === b || c === d) continue;
    const anchors = unique(left, a, b, right, c, d);
    if (anchors.length) {
      let [from, to] = [a, c];
      for (const [x, y] of [...anchors, [b, d]]) {
        work.push([from, x, to, y]);
        if (x < b) found.push([x, y]);
        [from, to] = [x + 1, y + 1];
      }
    } else if ((b - a) * (d - c) <= MOST_CELLS) {
      found.push(...common(left, a, b, right, c, d));
    }
  }
  return found.sort((x, y) => x[0] - y[0]);
}

// Lines that are once on either side, in the longest order that both have.
function unique(left, a, b, right, c, d) {
  const once = (list, from, to) => {
    const places = new Map();
    for (let at = from; at < to; at++) places.set(list[at], places.has(list[at]) ? -1 : at);
    return places;
  };
  const [ofLeft, ofRight] = [once(left, a, b), once(right, c, d)];
  const both = [...ofLeft]
    .filter(([text, at]) => at >= 0 && (ofRight.get(text) ?? -1) >= 0)
    .map(([text, at]) => [at, ofRight.get(text)]);
  both.sort((x, y) => x[0] - y[0]);
  // Patience: piles by their last place on the right, each with the one it came from.
  const piles = [];
  const before = new Map();
  for (const pair of both) {
    let [low, high] = [0, piles.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (piles[middle][1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before.set(pair, piles[low - 1]);
    piles[low] = pair;
  }
  const chain = [];
  for (let pair = piles[piles.length - 1]; pair; pair = before.get(pair)) chain.push(pair);
  return chain.reverse();
}

function common(left, a, b, right, c, d) {
  const width = d - c + 1;
  const lengths = new Uint16Array((b - a + 1) * width);
  for (let i = b - a - 1; i >= 0; i--) {
    for (let j = d - c - 1; j >= 0; j--) {
      lengths[i * width + j] =
        left[a + i] === right[c + j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const found = [];
  for (let [i, j] = [0, 0]; i < b - a && j < d - c;) {
    if (left[a + i] === right[c + j]) found.push([a + i++, c + j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return found;
}

// The lines of a difference: a row on either side or on one, or a fold of so many equal ones.
function difference(left, right) {
  const texts = (column) => column.rows.map((row) => row.text);
  const lines = [];
  let [a, b] = [0, 0];
  const upTo = (x, y) => {
    const longest = Math.max(x - a, y - b);
    for (let at = 0; at < longest; at++) {
      lines.push({
        left: a + at < x ? left.rows[a + at] : null,
        right: b + at < y ? right.rows[b + at] : null,
        differs: true,
      });
    }
    [a, b] = [x, y];
  };
  for (const [x, y] of pairs(texts(left), texts(right))) {
    upTo(x, y);
    lines.push({ left: left.rows[a++], right: right.rows[b++], differs: false });
  }
  upTo(left.rows.length, right.rows.length);
  return lines;
}

// Equal runs become one line, but for what is next to a difference.
function folded(lines) {
  const shown = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.differs) shown.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const result = [];
  for (let at = 0; at < lines.length;) {
    if (shown[at]) {
      result.push(lines[at++]);
      continue;
    }
    const from = at;
    while (at < lines.length && !shown[at]) at++;
    result.push(at - from === 1 ? lines[from] : { fold: lines.slice(from, at) });
  }
  return result;
}

class DifferenceView {
  constructor(view) {
    this.view = view;
    const choice = (label) => make("select", { ariaLabel: label, on: { change: () => this.compute() } });
    [this.left, this.right] = [choice("the column on the left"), choice("the column on the right")];
    this.summary = make("span", { className: "quiet" });
    this.list = make("div", { className: "rows" });
    this.scroller = make("div", { className: "scroller", tabIndex: 0, on: { scroll: () => this.render() } }, this.list);
    this.dialog = make(
      "dialog",
      { className: "difference" },
      make(
        "header",
        {},
        this.left,
        make("span", { text: "→" }),
        this.right,
        this.summary,
        button("close", "Close (Escape)", () => this.dialog.close()),
      ),
      this.scroller,
    );
  }

  open(left, right) {
    for (const [select, chosen] of [
      [this.left, left],
      [this.right, right],
    ]) {
      select.replaceChildren(
        ...this.view.kernel.columns.map((column) =>
          make("option", {
            value: column.number,
            text: `${column.number} ${column.title}`,
            selected: column === chosen,
          }),
        ),
      );
    }
    if (!this.dialog.open) this.dialog.showModal();
    this.compute();
  }

  compute() {
    const column = (select) => this.view.kernel.columns[Number(select.value)];
    const lines = difference(column(this.left), column(this.right));
    const count = (side) => lines.filter((line) => line.differs && line[side]).length;
    this.summary.textContent = `−${number(count("left"))} +${number(count("right"))}`;
    this.lines = folded(lines);
    this.scroller.scrollTop = 0;
    this.render();
  }

  render() {
    this.list.style.height = `${this.lines.length * ROW}px`;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.lines.length, first + Math.ceil(this.scroller.clientHeight / ROW) + 2 * MARGIN);
    const elements = [];
    for (let at = first; at < last; at++) elements.push(this.row(at));
    this.list.replaceChildren(...elements);
  }

  row(at) {
    const line = this.lines[at];
    const element = make("div", { className: "row pair" });
    element.style.top = `${at * ROW}px`;
    if (line.fold) {
      element.classList.add("fold");
      element.append(
        button(`${number(line.fold.length)} equal lines`, "Show them", () => {
          this.lines.splice(at, 1, ...line.fold);
          this.render();
        }),
      );
      return element;
    }
    const half = (row, kind) =>
      make(
        "span",
        { className: row ? (line.differs ? kind : "") : "nothing" },
        make("span", { className: "number", text: row?.line || "" }),
        make("span", { className: `code ${row?.kind ?? ""}`, text: row?.text ?? "" }),
      );
    element.append(half(line.left, "gone"), half(line.right, "new"));
    return element;
  }
}
