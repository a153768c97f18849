// What each step did, on one page: executed instructions first, since that is what a kernel is slow by.

// A step that makes a kernel execute this much more is shown in red.
const NOTICEABLE = 1.01;

// The steps behind which the program is another one, each with its columns before and after.
function changes(kernel) {
  return kernel.columns.filter((column) => column.program && column.before && column.program.kept);
}

function sentence(kernel) {
  const executed = kernel.columns.filter((column) => column.program?.kept && column.program.executed !== null);
  const known = executed.filter((column) => !column.isMachine);
  const words = executed.filter((column) => column.isMachine);
  const line = make("p", { className: "sentence" });
  if (!executed.length) {
    line.textContent = "No case says what the kernel does, so nothing was executed.";
    return line;
  }
  const shown = known.length ? known : words;
  const [first, last] = [shown[0].program.executed, shown[shown.length - 1].program.executed];
  const figures = shown.length > 1 ? `${number(first)} → ${number(last)}` : number(first);
  line.append(make("strong", { text: figures }), " instructions executed by threads");
  if (first !== last)
    line.append(" ", make("span", { className: last > first ? "worse" : "better", text: share(first, last) }));
  if (words.length && known.length)
    line.append(`, as ${number(words[words.length - 1].program.executed)} words of the machine`);
  line.append(". ");
  const grew = changes(kernel).filter(
    (column) => column.executedBefore !== null && column.program.executed > column.executedBefore,
  );
  const growth = (column) => column.program.executed - column.executedBefore;
  grew.sort((a, b) => growth(b) - growth(a));
  if (!grew.length) line.append("No step made the kernel execute more.");
  else line.append("More is executed behind ");
  grew.slice(0, 4).forEach((column, at) => {
    if (at) line.append(", ");
    line.append(
      make("a", {
        href: `#column-${column.number}`,
        className: "worse",
        text: column.title,
        on: {
          click: (event) => {
            event.preventDefault();
            kernel.view.reveal(column);
          },
        },
      }),
      ` (${share(column.executedBefore, column.program.executed)})`,
    );
  });
  if (grew.length) line.append(grew.length > 4 ? ` and ${grew.length - 4} more.` : ".");
  return line;
}

// A table with a row for each program.
function stepTable(kernel) {
  const columns = kernel.columns.filter((column) => column.program);
  const most = (of) => Math.max(1, ...columns.map((column) => of(column.program) ?? 0));
  const [mostExecuted, mostPressure] = [most((program) => program.executed), most((program) => program.pressure)];
  const head = ["step", "verdict", "executed", "", "loads", "live", "instructions", "changes", "rules", "ms"];
  const body = make("tbody");
  for (const column of columns) {
    const { program, step } = column;
    // Code generation leaves several programs: its verdict is on the last.
    const isLast = columns.findLast((other) => other.step === step) === column;
    const row = make("tr", {
      id: `step-${column.number}`,
      tabIndex: 0,
      on: {
        click: () => kernel.view.reveal(column),
        keydown: (event) => event.key === "Enter" && kernel.view.reveal(column),
      },
    });
    if (!program.kept) row.className = "dropped";
    const cell = (content, className) => row.append(make("td", { className }, content ?? ""));
    cell(make("span", { className: "name", text: column.title, title: step?.doc ?? "" }));
    cell(step?.verdict && isLast ? verdict(step.verdict, step.wrong) : "");
    cell(program.executed === null ? "" : number(program.executed), "figure");
    const bar = make("span", { className: "executed-bar" });
    const before = column.executedBefore;
    const change = share(before, program.executed);
    if (program.executed !== null) {
      const isWorse = program.kept && before !== null && program.executed > before * NOTICEABLE;
      const fill = make("span", { className: isWorse ? "fill worse" : "fill" });
      fill.style.width = `${(program.executed / mostExecuted) * 100}%`;
      bar.append(fill);
    }
    const kind = !program.kept ? "quiet" : change.startsWith("+") ? "worse" : "better";
    const label = make("span", { className: `change ${kind}`, text: change });
    row.append(make("td", { className: "bar-cell" }, bar, label));
    cell(program.loads === null ? "" : number(program.loads), "figure");
    const pressure = make("span", { className: "figure", text: program.pressure ?? "" });
    if (kernel.data.registers && program.pressure > kernel.data.registers) pressure.classList.add("worse");
    pressure.style.opacity = 0.55 + 0.45 * ((program.pressure ?? 0) / mostPressure);
    row.append(make("td", { className: "figure" }, pressure));
    cell(
      number(
        program.functions.reduce(
          (sum, func) => sum + func.blocks.reduce((sum, id) => sum + kernel.data.blocks[id].instructions.length, 0),
          0,
        ),
      ),
      "figure",
    );
    cell(step && isLast && step.rewrites ? number(step.rewrites) : "", "figure");
    const rules = step && isLast && step.rewrites ? step.rules : [];
    const names = rules.slice(0, 3).map((rule) => (rule.count > 1 ? `${rule.name} ×${rule.count}` : rule.name));
    if (rules.length > 3) names.push(`and ${rules.length - 3} more`);
    cell(
      make("span", {
        className: "rules",
        text: names.join(", "),
        title: rules.map((rule) => `${rule.name} ×${rule.count}`).join("\n"),
      }),
    );
    cell(step && isLast ? (step.microseconds / 1000).toFixed(1) : "", "figure");
    body.append(row);
  }
  const titles = make(
    "tr",
    {},
    ...head.map((text, at) => make("th", { text, className: [2, 4, 5, 6, 7, 9].includes(at) ? "figure" : "" })),
  );
  return make("div", { className: "table" }, make("table", {}, make("thead", {}, titles), body));
}

// Steps that changed nothing, and those that were not taken, with the reason.
function otherSteps(kernel) {
  const { steps } = kernel.data;
  const skipped = new Map();
  const idle = [];
  for (const step of steps) {
    if (step.skipped) skipped.set(step.skipped, [...(skipped.get(step.skipped) ?? []), step]);
    else if (!step.changed && !step.wrong && !kernel.data.programs.some((program) => steps[program.step] === step))
      idle.push(step);
  }
  const list = (steps) =>
    make(
      "ul",
      {},
      ...steps.map((step) =>
        make(
          "li",
          {},
          make("code", { text: step.name }),
          step.document ? make("span", { className: "quiet", text: ` ${step.document}` }) : null,
          step.doc ? make("span", { className: "doc", text: ` ${step.doc}` }) : null,
        ),
      ),
    );
  const count = [...skipped.values()].reduce((sum, list) => sum + list.length, 0);
  return make(
    "div",
    { className: "others" },
    make(
      "details",
      {},
      make("summary", { text: `${counted(idle.length, "step")} ran and changed nothing` }),
      list(idle),
    ),
    make(
      "details",
      { id: "skipped" },
      make("summary", { text: `${counted(count, "step")} not taken, by reason` }),
      ...[...skipped].map(([reason, steps]) =>
        make("div", {}, make("h4", { text: `${reason} (${steps.length})` }), list(steps)),
      ),
    ),
  );
}

function findingsOf(kernel) {
  return kernel.data.findings.map((finding) =>
    make(
      "article",
      { className: "finding" },
      make("h3", {}, verdict(finding.verdict, true), ` in ${finding.step}`),
      make("p", { text: finding.detail }),
      finding.case ? make("p", { className: "quiet", text: `case: ${finding.case}` }) : null,
      finding.store_before ? make("p", { text: `stored before the step: ${finding.store_before}` }) : null,
      finding.store_after ? make("p", { text: `stored after the step: ${finding.store_after}` }) : null,
      finding.rewrite !== null
        ? make("p", { text: `guilty change: number ${finding.rewrite}${finding.rule ? ` (${finding.rule})` : ""}` })
        : null,
      finding.diff ? unified(finding.diff) : null,
      make("p", {}, make("code", { text: finding.replay })),
    ),
  );
}

// A unified diff with its lines coloured.
function unified(text) {
  return make(
    "pre",
    { className: "unified" },
    ...text.split("\n").map((line) =>
      make("span", {
        className: line.startsWith("+") ? "new" : line.startsWith("-") ? "gone" : line.startsWith("@") ? "quiet" : "",
        text: `${line}\n`,
      }),
    ),
  );
}

function casesOf(kernel) {
  const { cases } = kernel.data;
  const open = cases.filter((one) => one.outcome !== "finished");
  return make(
    "details",
    { className: "cases" },
    make("summary", { text: `${counted(cases.length, "case")}${open.length ? `, ${open.length} say nothing` : ""}` }),
    make(
      "ul",
      {},
      ...cases.map((one) =>
        make(
          "li",
          {},
          make("code", { text: one.name }),
          ` ${one.outcome}`,
          one.detail ? make("span", { className: "quiet", text: `: ${one.detail}` }) : null,
        ),
      ),
    ),
  );
}

function overview(kernel) {
  return [sentence(kernel), ...findingsOf(kernel), stepTable(kernel), otherSteps(kernel), casesOf(kernel)];
}
