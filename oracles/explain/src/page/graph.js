// The graph of blocks of a function, and the curve of register pressure along it.

const NODE = { width: 104, height: 36, right: 22, below: 30 };
const MOST_BLOCKS = 1500;

// Ranks and places of blocks: a block is below all that lead to it, but for edges back to the header of a loop.
function layout(blocks) {
  const names = new Map(blocks.map((block, at) => [block.name, at]));
  const successors = blocks.map((block) =>
    block.successors.map((name) => names.get(name)).filter((at) => at !== undefined),
  );
  const state = new Array(blocks.length).fill(0);
  const order = [];
  const back = new Set();
  // Depth-first, with a stack of its own: graphs may be as deep as they are large.
  for (let root = 0; root < blocks.length; root++) {
    if (state[root]) continue;
    const stack = [[root, 0]];
    state[root] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [at, place] = top;
      if (place < successors[at].length) {
        top[1] += 1;
        const to = successors[at][place];
        if (state[to] === 1) back.add(`${at} ${to}`);
        else if (!state[to]) {
          state[to] = 1;
          stack.push([to, 0]);
        }
      } else {
        state[at] = 2;
        order.push(at);
        stack.pop();
      }
    }
  }
  order.reverse();
  const rank = new Array(blocks.length).fill(0);
  for (const at of order) {
    for (const to of successors[at]) if (!back.has(`${at} ${to}`)) rank[to] = Math.max(rank[to], rank[at] + 1);
  }
  const ranks = [];
  for (const at of order) (ranks[rank[at]] ??= []).push(at);
  const place = new Array(blocks.length).fill(0);
  const number = () => ranks.forEach((row) => row.forEach((at, i) => (place[at] = i - (row.length - 1) / 2)));
  const predecessors = blocks.map(() => []);
  successors.forEach((list, at) => list.forEach((to) => predecessors[to].push(at)));
  number();
  // Blocks near those that lead to them; then near those that they lead to.
  for (const [rows, near] of [
    [ranks, predecessors],
    [[...ranks].reverse(), successors],
    [ranks, predecessors],
  ]) {
    for (const row of rows) {
      const mean = (at) =>
        near[at].length ? near[at].reduce((sum, other) => sum + place[other], 0) / near[at].length : place[at];
      const means = new Map(row.map((at) => [at, mean(at)]));
      row.sort((a, b) => means.get(a) - means.get(b) || a - b);
      row.forEach((at, i) => (place[at] = i - (row.length - 1) / 2));
    }
  }
  return {
    names,
    successors,
    back,
    rank,
    place,
    height: ranks.length,
    width: Math.max(...ranks.map((row) => row.length)),
  };
}

function graphOf(kernel, func, goTo) {
  const blocks = func.blocks.map((id) => kernel.data.blocks[id]);
  if (!blocks.length) return make("p", { text: "The function has no blocks." });
  if (blocks.length > MOST_BLOCKS) {
    return make("p", {
      text: `${number(blocks.length)} blocks are more than can be looked at; ${MOST_BLOCKS} are drawn at most.`,
    });
  }
  const { names, successors, back, rank, place, height, width } = layout(blocks);
  const lane = 14 * [...back].length;
  const step = { x: NODE.width + NODE.right, y: NODE.height + NODE.below };
  const size = { x: width * step.x + 60 + Math.min(lane, 160), y: height * step.y + 12 };
  const middle = (width * step.x) / 2 + 24;
  const corner = (at) => [middle + place[at] * step.x - NODE.width / 2, 6 + rank[at] * step.y];
  const svg = draw("svg", {
    class: "graph",
    viewBox: `0 0 ${size.x} ${size.y}`,
    width: size.x,
    height: size.y,
    role: "img",
  });
  svg.append(
    draw(
      "defs",
      {},
      draw(
        "marker",
        { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        draw("path", { d: "M0 0 8 4 0 8z", class: "arrow" }),
      ),
    ),
  );
  const loops = new Map();
  blocks.forEach((block, at) => {
    // A block in an inner loop is in those around it as well.
    for (let header = block.header, of = block; header;) {
      if (!loops.has(header)) loops.set(header, []);
      loops.get(header).push(at);
      const outer = of.depth > 1 ? outerHeader(blocks, names, header) : null;
      of = blocks[names.get(header)] ?? block;
      header = outer;
    }
  });
  const frames = [...loops].map(([header, members]) => {
    const xs = members.map((at) => corner(at)[0]);
    const ys = members.map((at) => corner(at)[1]);
    const depth = blocks[names.get(header)]?.depth ?? 1;
    const inset = 10 - Math.min(depth, 3) * 2;
    const [x, y] = [Math.min(...xs) - inset, Math.min(...ys) - inset / 2];
    return [
      depth,
      draw("rect", {
        class: "loop",
        x,
        y,
        width: Math.max(...xs) - x + NODE.width + inset,
        height: Math.max(...ys) - y + NODE.height + inset / 2,
        rx: 7,
      }),
    ];
  });
  frames.sort((a, b) => a[0] - b[0]).forEach(([, frame]) => svg.append(frame));
  // Edges back go around on the right, each a little further out; those that pass a block below go around on the left.
  let returns = 0;
  const around = (side, [x, y], [tx, ty]) =>
    `M${x} ${y + NODE.height / 2} C${side} ${y + NODE.height / 2} ${side} ${ty + NODE.height / 2} ${tx} ${ty + NODE.height / 2}`;
  const shape = (at, to) => {
    const [[x, y], [tx, ty]] = [corner(at), corner(to)];
    if (back.has(`${at} ${to}`)) {
      const side = middle + (width * step.x) / 2 + 8 + Math.min(returns++ * 14, 150);
      return around(side, [x + NODE.width, y], [tx + NODE.width, ty]);
    }
    if (rank[to] - rank[at] > 1 && Math.abs(x - tx) < 1) return around(x - 30, [x, y], [tx, ty]);
    const [from, into] = [x + NODE.width / 2, tx + NODE.width / 2];
    const bend = (ty - y - NODE.height) / 2;
    return `M${from} ${y + NODE.height} C${from} ${y + NODE.height + bend} ${into} ${ty - bend} ${into} ${ty}`;
  };
  successors.forEach((list, at) =>
    list.forEach((to) => {
      const className = back.has(`${at} ${to}`) ? "edge back" : "edge";
      svg.append(draw("path", { class: className, d: shape(at, to), "marker-end": "url(#arrow)" }));
    }),
  );
  const most = Math.max(0, ...blocks.map((block) => mostOf(block.threads)));
  blocks.forEach((block, at) => {
    const [x, y] = corner(at);
    const group = draw("g", { class: "node", tabindex: 0, role: "button", transform: `translate(${x} ${y})` });
    const kinds = ["block", block.branch === "varying" ? "varying" : "", block.header === block.name ? "header" : ""];
    const box = draw("rect", { class: kinds.join(" "), width: NODE.width, height: NODE.height, rx: 4 });
    const warm = draw("rect", { class: "warm", width: NODE.width, height: NODE.height, rx: 4 });
    warm.style.fill = heatOf(heat(mostOf(block.threads), most));
    const label = (text, y, kind) => {
      const label = draw("text", { x: 8, y, class: kind });
      label.textContent = text;
      return label;
    };
    const count = block.warps.length ? ` · ${number(mostOf(block.threads))}` : "";
    group.append(
      box,
      warm,
      label(block.name, 15, "name"),
      label(`${block.instructions.length} inst${count}`, 29, "count"),
    );
    const title = draw("title");
    title.textContent = `${block.name}: ${counted(block.instructions.length, "instruction")}, ${counted(block.live_in?.length ?? 0, "value")} live at its start`;
    group.append(title);
    group.addEventListener("click", () => goTo(block.name));
    group.addEventListener("keydown", (event) => event.key === "Enter" && goTo(block.name));
    svg.append(group);
  });
  return make("div", { className: "drawing" }, svg);
}

// The header of the loop around a loop: that of a block that is one level higher and leads to the header.
function outerHeader(blocks, names, header) {
  const inner = blocks[names.get(header)];
  const around = blocks.find((block) => block.successors.includes(header) && block.depth < (inner?.depth ?? 0));
  return around?.header ?? null;
}

// Live words along the function, the limit, and below them what is executed.
function curveOf(kernel, func, goTo) {
  const blocks = func.blocks.map((id) => kernel.data.blocks[id]);
  const points = blocks.flatMap((block) => block.pressure);
  if (!points.length) return make("p", { text: "Pressure is not known here." });
  const most = Math.max(...chunked(points));
  const limit = kernel.data.registers;
  const isNear = limit !== null && limit <= most * 4;
  const top = Math.max(most, isNear ? limit : 0) * 1.08 || 1;
  const [width, height] = [640, 120];
  const x = (at) => 34 + (at / Math.max(1, points.length - 1)) * (width - 44);
  const y = (words) => 8 + (1 - words / top) * (height - 30);
  // As many points as there are pixels; of each the most.
  const bin = Math.max(1, Math.floor(points.length / 1200));
  const corners = [];
  for (let at = 0; at < points.length; at += bin)
    corners.push(`${x(at).toFixed(1)} ${y(Math.max(...points.slice(at, at + bin))).toFixed(1)}`);
  const svg = draw("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img" });
  const label = (text, x, y, anchor = "end") => {
    const label = draw("text", { x, y, "text-anchor": anchor });
    label.textContent = text;
    return label;
  };
  svg.append(
    draw("path", { class: "area", d: `M${x(0)} ${y(0)} L${corners.join(" L")} L${x(points.length - 1)} ${y(0)}z` }),
  );
  svg.append(draw("path", { class: "line", d: `M${corners.join(" L")}` }));
  svg.append(label(most, 30, y(most) + 4), label(0, 30, y(0) + 4));
  if (isNear) {
    svg.append(draw("path", { class: "limit", d: `M34 ${y(limit)} H${width - 10}` }));
    svg.append(label(`limit ${limit}`, width - 12, y(limit) - 3));
  }
  const hottest = Math.max(0, ...blocks.map((block) => mostOf(block.threads)));
  let at = 0;
  for (const block of blocks) {
    const size = block.instructions.length;
    const strip = draw("rect", { x: x(at), y: height - 17, width: Math.max(0.5, x(at + size) - x(at)), height: 7 });
    strip.style.fill = heatOf(heat(mostOf(block.threads), hottest));
    svg.append(strip);
    at += size;
  }
  svg.append(label("executed", 34, height - 1, "start"));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    let place = Math.round(
      ((((event.clientX - box.left) / box.width) * width - 34) / (width - 44)) * (points.length - 1),
    );
    for (const block of blocks) {
      if (place < block.instructions.length) return goTo(block.name, Math.max(0, place));
      place -= block.instructions.length;
    }
  });
  const said =
    limit === null
      ? "The limit of registers is not known without a launch."
      : isNear
        ? ""
        : `A thread may have ${limit} registers on this launch; at most ${most} are live.`;
  return make("div", { className: "pressure-curve" }, svg, said ? make("p", { className: "quiet", text: said }) : null);
}

// How often a block is executed: as often as any of its instructions. Phis are not counted, and guards leave some out.
function mostOf(counts) {
  return counts.reduce((most, count) => Math.max(most, count), 0);
}

// Long lists are no arguments of one call.
function chunked(list) {
  const most = [];
  for (let at = 0; at < list.length; at += 10000) most.push(Math.max(...list.slice(at, at + 10000)));
  return most;
}
