// The page of a report: the JSON of a command, as tables, bars and curves.

// A table with a row for each item. A column has a title, and says what to show of an item: a text, a number or an
// element. A click on a title sorts by it.
function tableOf(items, columns) {
  const body = make("tbody");
  const rows = items.map((item) => {
    const cells = columns.map(({ show }) => show(item));
    const shown = (cell) => (typeof cell === "number" ? number(cell) : (cell ?? ""));
    const row = make(
      "tr",
      {},
      ...cells.map((cell) => make("td", { className: typeof cell === "number" ? "figure" : "" }, shown(cell))),
    );
    return { cells, row };
  });
  const key = (cell) => (cell instanceof Node ? (cell.dataset?.sort ?? cell.textContent) : (cell ?? ""));
  const order = (at) => {
    const compare = ([a, b]) => (typeof a === "number" && typeof b === "number" ? b - a : String(a).localeCompare(b));
    rows.sort((a, b) => compare([key(a.cells[at]), key(b.cells[at])]));
    body.replaceChildren(...rows.map(({ row }) => row));
  };
  const isFigure = (at) => typeof rows[0]?.cells[at] === "number";
  const titles = columns.map(({ title }, at) =>
    make(
      "th",
      { className: isFigure(at) ? "figure" : "" },
      make("button", { type: "button", text: title, on: { click: () => order(at) } }),
    ),
  );
  body.append(...rows.map(({ row }) => row));
  return make("div", { className: "table" }, make("table", {}, make("thead", {}, make("tr", {}, ...titles)), body));
}

// A bar of parts, each `[count, kind, name]`.
function partsOf(parts) {
  const all = parts.reduce((sum, [count]) => sum + count, 0);
  const bar = make("span", {
    className: "parts",
    title: parts.map(([count, , name]) => `${name} ${count}`).join(", "),
  });
  for (const [count, kind] of parts.filter(([count]) => count > 0)) {
    const part = make("span", { className: `part ${kind}` });
    part.style.width = `${(count / all) * 100}%`;
    bar.append(part);
  }
  bar.dataset.sort = all ? parts[0][0] / all : 0;
  return bar;
}

// A curve through points `[x, y]`, with what its axes are.
function curve(points, acrossName, upName) {
  if (points.length < 2) return null;
  const [width, height] = [640, 130];
  const most = (of) => points.reduce((most, point) => Math.max(most, of(point)), 0) || 1;
  const [right, top] = [most(([x]) => x), most(([, y]) => y)];
  const x = (value) => 54 + (value / right) * (width - 66);
  const y = (value) => 8 + (1 - value / top) * (height - 34);
  const label = (text, x, y, anchor) => {
    const label = draw("text", { x, y, "text-anchor": anchor });
    label.textContent = text;
    return label;
  };
  const line = points.map(([across, up]) => `${x(across).toFixed(1)} ${y(up).toFixed(1)}`).join(" L");
  const svg = draw("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(
    draw("path", {
      class: "area",
      d: `M${x(points[0][0])} ${y(0)} L${line} L${x(points[points.length - 1][0])} ${y(0)}z`,
    }),
    draw("path", { class: "line", d: `M${line}` }),
    label(number(Math.round(top)), 50, y(top) + 4, "end"),
    label("0", 50, y(0) + 4, "end"),
    label(acrossName, 54, height - 8, "start"),
    label(number(Math.round(right * 10) / 10), width - 10, height - 8, "end"),
  );
  return make("figure", {}, make("figcaption", { text: upName }), svg);
}

function section(title, ...children) {
  const parts = children.filter((child) => child !== null && child !== undefined);
  return parts.length ? make("section", {}, make("h2", { text: title }), ...parts) : null;
}

function listed(title, texts) {
  if (!texts.length) return null;
  return make(
    "details",
    {},
    make("summary", { text: `${title} (${texts.length})` }),
    make("p", { className: "values", text: texts.join(", ") }),
  );
}

function unified(text) {
  const kind = (line) => (line.startsWith("+") ? "new" : line.startsWith("-") ? "gone" : "");
  return make(
    "pre",
    { className: "unified" },
    ...text.split("\n").map((line) => make("span", { className: kind(line), text: `${line}\n` })),
  );
}

// Findings by state, each with its reduced kernel.
function findingsOf(findings, kernels) {
  const groups = new Map();
  for (const finding of findings) {
    const state = finding.known ? "known" : finding.life.state;
    groups.set(state, [...(groups.get(state) ?? []), finding]);
  }
  const order = ["regressed", "open", "known", "closed", "fixed"];
  const states = [...groups.keys()].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  return states.map((state) => {
    const counts = state === "open" || state === "regressed";
    const articles = groups.get(state).map((finding) => {
      const done = finding.reduction?.done;
      const size = done ? `, reduced from ${done.from} to ${done.to} instructions` : "";
      const hits = finding.hits.bisected + finding.hits.recognised;
      return make(
        "details",
        { className: "finding", open: counts && findings.length <= 6 },
        make(
          "summary",
          {},
          verdict(finding.verdict, counts),
          ` ${finding.phase}, ${finding.rule || "no named rule"}: ${finding.shape} `,
          make("span", { className: "quiet", text: `${counted(hits, "hit")}${size}` }),
        ),
        make("p", { text: finding.detail }),
        finding.diff ? unified(finding.diff) : null,
        finding.store_before ? make("p", { text: `stored before the step: ${finding.store_before}` }) : null,
        finding.store_after ? make("p", { text: `stored after the step: ${finding.store_after}` }) : null,
        kernels[finding.id] ? make("pre", { className: "kernel", text: kernels[finding.id] }) : null,
        make("p", {}, make("code", { text: `oriole findings show ${finding.id}` })),
      );
    });
    return section(`${state} (${articles.length})`, ...articles);
  });
}

// How phases did: kernels that each changed, and findings by verdict.
function phasesOf(phases, findings) {
  const names = new Map(phases.map(([name, changed]) => [name, { name, changed, verdicts: new Map() }]));
  for (const { phase, verdict, hits } of findings) {
    if (!names.has(phase)) names.set(phase, { name: phase, changed: 0, verdicts: new Map() });
    const { verdicts } = names.get(phase);
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + hits.bisected + hits.recognised);
  }
  const said = ({ verdicts }) =>
    make("span", {
      className: verdicts.size ? "worse" : "quiet",
      text: [...verdicts].map(([name, count]) => `${name} ${count}`).join(", ") || "none",
    });
  return tableOf(
    [...names.values()],
    [
      { title: "phase", show: ({ name }) => name },
      { title: "kernels changed", show: ({ changed }) => changed },
      { title: "hits of findings, by verdict", show: said },
    ],
  );
}

function figures(pairs) {
  return make(
    "dl",
    { className: "figures" },
    ...pairs.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))),
  );
}

function campaign(report, kernels) {
  const { coverage, samples, findings } = report;
  const counts = findings.filter((finding) => ["open", "regressed"].includes(finding.life.state) && !finding.known);
  const percent = ((100 * coverage.values) / Math.max(1, coverage.all_values)).toFixed(1);
  return [
    figures([
      ["cases", number(report.cases)],
      ["a second", number(Math.round(report.cases_per_second))],
      ["valid", `${report.valid_percent.toFixed(2)} %`],
      ["opcodes", `${coverage.rows} of ${coverage.all_rows}`],
      ["values of fields", `${percent} %`],
      ["findings that count", number(counts.length)],
    ]),
    ...findingsOf(findings, kernels),
    section(
      "course",
      curve(
        samples.map(({ seconds, cases }) => [seconds, cases]),
        "seconds",
        "cases",
      ),
      findings.length
        ? curve(
            samples.map(({ seconds, findings }) => [seconds, findings]),
            "seconds",
            "findings met",
          )
        : null,
    ),
    section("phases", phasesOf(report.phases, findings)),
    section(
      "opcodes, by the values of their fields that were executed",
      tableOf(coverage.opcodes, [
        { title: "opcode", show: ({ name }) => name },
        { title: "kernels", show: ({ kernels }) => kernels },
        { title: "values", show: ({ values, all_values }) => `${values} of ${all_values}` },
        {
          title: "share",
          show: ({ values, all_values, kernels }) =>
            all_values
              ? partsOf([
                  [values, "right", "executed"],
                  [all_values - values, "wrong", "not executed"],
                ])
              : partsOf([
                  [kernels ? 1 : 0, "right", "executed"],
                  [kernels ? 0 : 1, "wrong", "not generated"],
                ]),
        },
      ]),
      listed("values never executed", coverage.holes),
    ),
    section(
      "rules",
      tableOf(report.rules, [
        { title: "rule", show: ({ name }) => name },
        { title: "matched", show: ({ matched }) => matched },
        { title: "applied", show: ({ applied }) => applied },
      ]),
    ),
    section(
      "inconclusive",
      report.silent.length
        ? tableOf(report.silent, [
            { title: "why", show: ([, why]) => why },
            { title: "case", show: ([command]) => make("code", { text: command }) },
          ])
        : null,
    ),
  ];
}

// The thread that went wrong, the PTX beside the code.
function traces({ steps, detail, case: name, ptx, code }) {
  const value = (step) => (step?.value == null ? "" : `0x${BigInt(step.value).toString(16)}`);
  const rows = steps.map((line) =>
    make(
      "tr",
      { className: line.same ? "same" : "" },
      make("td", {}, make("code", { text: line.ptx?.text ?? "" })),
      make("td", { className: "figure" }, make("code", { text: value(line.ptx) })),
      make("td", { text: line.same ? "=" : "" }),
      make("td", { className: "figure" }, make("code", { text: value(line.code) })),
      make("td", {}, make("code", { text: line.code?.text ?? "" })),
    ),
  );
  return make(
    "div",
    {},
    make("p", { text: `${name}: ${detail}` }),
    ptx ? make("p", { text: `the PTX stores it last by ${ptx}` }) : null,
    code ? make("p", { text: `the code stores it last by ${code}` }) : null,
    rows.length ? make("div", { className: "table traces" }, make("table", {}, make("tbody", {}, ...rows))) : null,
  );
}

function judged(report) {
  const isWrong = (answer) => ["different", "crashed", "refused here"].includes(answer);
  return [
    figures([
      ["axes", number(report.axes.length)],
      ["that differ", number(report.axes.filter(({ answer }) => isWrong(answer)).length)],
      ["cases", number(report.cases.length)],
      ["different data", number(report.data)],
    ]),
    section(
      "axes",
      tableOf(report.axes, [
        { title: "axis", show: ({ axis }) => axis },
        { title: "answer", show: ({ answer }) => verdict(answer, isWrong(answer)) },
        { title: "cases compared", show: ({ compared }) => compared },
        { title: "data", show: ({ data }) => data },
        { title: "uncovered by scheduling", show: ({ hazards }) => hazards.length },
        { title: "reason", show: ({ reason }) => reason },
      ]),
    ),
    ...report.axes.map((axis) =>
      section(
        axis.axis,
        axis.difference ? traces(axis.difference) : null,
        ...axis.hazards.map((hazard) => make("p", { text: `scheduling: ${hazard}` })),
      ),
    ),
    section(
      "cases of the PTX",
      tableOf(report.cases, [
        { title: "case", show: ({ name }) => name },
        { title: "outcome", show: (one) => one.inconclusive },
        { title: "why", show: ({ detail }) => detail },
      ]),
    ),
  ];
}

function rules(report) {
  const right = ["proved", "exhaustive", "tested"];
  const counts = new Map();
  report.rules.forEach(({ verdict }) => counts.set(verdict, (counts.get(verdict) ?? 0) + 1));
  const wrong = report.rules.filter((rule) => !right.includes(rule.verdict));
  return [
    figures([["rules", number(report.rules.length)], ...[...counts].map(([name, count]) => [name, number(count)])]),
    ...wrong.map((rule) =>
      section(
        `${rule.name}: ${rule.verdict}`,
        make("p", { className: "quiet", text: rule.place }),
        rule.counterexample ? make("pre", { text: rule.counterexample }) : null,
        ...rule.not_shown.slice(0, 6).map((text) => make("p", { text })),
        rule.replay ? make("p", {}, make("code", { text: rule.replay })) : null,
      ),
    ),
    section(
      "all rules",
      tableOf(report.rules, [
        { title: "rule", show: ({ name }) => name },
        { title: "place", show: ({ place }) => place },
        { title: "verdict", show: (rule) => verdict(rule.verdict, !right.includes(rule.verdict)) },
        { title: "instances", show: ({ instances }) => instances },
        {
          title: "evidence",
          show: (rule) =>
            partsOf([
              [rule.equal_terms + rule.solved, "right", "proved"],
              [rule.exhausted, "some", "every input"],
              [rule.kernels_only.length, "open", "executed"],
            ]),
        },
        { title: "inputs", show: ({ tried }) => tried },
        { title: "guards", show: ({ guards }) => guards.map(({ guard, need }) => `${guard} (${need})`).join(", ") },
        { title: "ms", show: ({ ms }) => ms },
      ]),
    ),
    section(
      "rules over instructions of the machine",
      report.machine.length
        ? tableOf(
            report.machine,
            Object.keys(report.machine[0]).map((title) => ({
              title,
              show: (line) => (typeof line[title] === "number" ? line[title] : shortText(line[title])),
            })),
          )
        : null,
    ),
  ];
}

function shortText(value) {
  return typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);
}

function selfTest(report) {
  const { kinds } = report;
  const firsts = kinds.map((kind) => kind.first_case).filter((first) => first !== null);
  firsts.sort((a, b) => a - b);
  const steps = firsts.flatMap((first, at) => [
    [first, at],
    [first, at + 1],
  ]);
  const shown = kinds.flatMap(({ kind, shown }) => shown.map((missed) => ({ kind, ...missed })));
  return [
    figures([
      ["kinds", number(kinds.length)],
      ["faults", number(kinds.reduce((sum, kind) => sum + kind.injected, 0))],
      ["caught, of those that are not neutral", report.percent === null ? "" : `${report.percent.toFixed(2)} %`],
      ["escaped", number(kinds.reduce((sum, kind) => sum + kind.escaped, 0))],
    ]),
    section("detection", curve([[0, 0], ...steps], "cases until the first that was caught", "kinds of faults caught")),
    section(
      "kinds",
      tableOf(kinds, [
        { title: "kind", show: ({ kind }) => kind },
        { title: "injected", show: ({ injected }) => injected },
        {
          title: "caught, neutral, escaped",
          show: (kind) =>
            partsOf([
              [kind.caught, "right", "caught"],
              [kind.neutral + kind.probably_neutral, "some", "neutral"],
              [kind.escaped, "wrong", "escaped"],
            ]),
        },
        { title: "escaped", show: ({ escaped }) => escaped },
        { title: "first case", show: ({ first_case }) => first_case },
        { title: "seconds", show: ({ first_seconds }) => first_seconds?.toFixed(3) },
      ]),
    ),
    ...shown.map((missed) =>
      section(
        `${missed.kind}, case ${missed.case}: ${missed.escaped ? "escaped" : "probably neutral"}`,
        make("p", { text: missed.why }),
        unified(missed.diff),
        make("p", {}, make("code", { text: missed.replay })),
      ),
    ),
  ];
}

const PAGES = {
  fuzz: campaign,
  "findings list": (report, kernels) =>
    report.findings.length ? findingsOf(report.findings, kernels) : [make("p", { text: "No findings." })],
  judge: judged,
  "rules check": rules,
  selftest: selfTest,
};

const { report, kernels } = JSON.parse(document.getElementById("data").textContent);
document.body.classList.add("report");
document.body.append(
  make("h1", { text: `oriole ${report.command}` }),
  ...PAGES[report.command](report, kernels).filter((part) => part !== null),
);
