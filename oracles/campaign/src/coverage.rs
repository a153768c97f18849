//! Which rows of the opcode table, and which values of their fields, a campaign has generated and executed.
//!
//! Counted are kernels whose run finishes. A value of a field counts as *executed* where its instruction is in the
//! entry block of a kernel, without a guard: such an instruction runs whatever the data. What is elsewhere is
//! *generated*, and may lie on a path that nothing takes. Cost: a few bit operations an instruction.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use oriole_ir::ops::{FieldValues, MAX_FIELDS, OpRow, Opcode, ROWS};
use oriole_ir::{Function, FunctionKind, Inst, Level, Module};

/// The values of a row's fields that have been seen, a bit each, by the field's place in the row.
type Seen = [u64; MAX_FIELDS];

/// The rows that kernels can hold: those of the machine level are for ptxas's code.
fn rows() -> impl Iterator<Item = &'static OpRow> {
    ROWS.iter().filter(|row| Level::Virtual.has(row))
}

/// What has been generated, and what of it has been executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// How many kernels hold an opcode, by its place in the table.
    kernels: Vec<u64>,
    generated: Vec<Seen>,
    executed: Vec<Seen>,
}

impl Default for Coverage {
    fn default() -> Coverage {
        let none = vec![Seen::default(); ROWS.len()];
        Coverage { kernels: vec![0; ROWS.len()], generated: none.clone(), executed: none }
    }
}

/// How much has been seen, for people and machines.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Summary {
    /// Rows of the table that some kernel holds.
    pub rows: usize,
    /// Rows of the table.
    pub all_rows: usize,
    /// Legal values of fields that were executed, over all rows.
    pub values: usize,
    /// Legal values of fields, over all rows.
    pub all_values: usize,
    /// Rows that no kernel holds.
    pub missing_rows: Vec<&'static str>,
    /// Values that were not executed, as `row.field=value`.
    pub holes: Vec<String>,
    /// The rows that kernels can hold, one by one.
    pub opcodes: Vec<RowSummary>,
}

/// How much of a row has been seen.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct RowSummary {
    /// Its name.
    pub name: &'static str,
    /// Kernels that hold it.
    pub kernels: u64,
    /// Legal values of its fields that were executed.
    pub values: usize,
    /// Legal values of its fields.
    pub all_values: usize,
}

impl Coverage {
    /// Counts the instructions of a module whose run finishes.
    pub fn count(&mut self, module: &Module) {
        let mut held = vec![false; ROWS.len()];
        for func in module.functions.values() {
            for (at, block) in func.layout().iter().enumerate() {
                let certain = at == 0 && func.kind == FunctionKind::Entry;
                for inst in func.block_insts(*block) {
                    held[func.inst(inst).opcode as usize] = true;
                    self.see(func, inst, certain);
                }
            }
        }
        self.kernels.iter_mut().zip(held).for_each(|(count, held)| *count += u64::from(held));
    }

    fn see(&mut self, func: &Function, inst: Inst, certain: bool) {
        let data = func.inst(inst);
        let FieldValues(values) = data.fields;
        let row = data.opcode as usize;
        let executed = certain && data.guard.is_none();
        let count = data.opcode.row().fields.len();
        for (slot, value) in values.iter().enumerate().take(count) {
            self.generated[row][slot] |= 1 << value;
            self.executed[row][slot] |= u64::from(executed) << value;
        }
    }

    /// The values of fields that have been generated, and those that have been executed, each by a name of its own.
    pub fn seen(&self) -> Vec<String> {
        let mut seen = Vec::new();
        for row in ROWS.iter().filter(|row| self.kernels_with(row.opcode) > 0) {
            seen.push(format!("row {}", row.name));
            let at = row.opcode as usize;
            for (what, bits) in [("generated", &self.generated[at]), ("executed", &self.executed[at])] {
                for (slot, spec) in row.fields.iter().enumerate() {
                    let values = (0..64u8).filter(|value| bits[slot] >> value & 1 == 1);
                    let name = |value| format!("{what} {}.{}={value}", row.name, spec.field.name());
                    seen.extend(values.map(name));
                }
            }
        }
        seen
    }

    /// Adds what another worker has seen.
    pub fn add(&mut self, other: &Coverage) {
        self.kernels.iter_mut().zip(&other.kernels).for_each(|(all, more)| *all += more);
        let sets = [(&mut self.generated, &other.generated), (&mut self.executed, &other.executed)];
        for (all, more) in sets {
            let all = all.iter_mut().flatten();
            all.zip(more.iter().flatten()).for_each(|(all, more)| *all |= more);
        }
    }

    /// How many kernels hold an opcode.
    pub fn kernels_with(&self, opcode: Opcode) -> u64 {
        self.kernels[opcode as usize]
    }

    /// Whether some kernel has executed every legal value of every field, and holds every row.
    pub fn is_complete(&self) -> bool {
        self.missing_rows().is_empty() && self.holes().is_empty()
    }

    /// Rows that no kernel holds.
    pub fn missing_rows(&self) -> Vec<&'static str> {
        rows().filter(|row| self.kernels_with(row.opcode) == 0).map(|row| row.name).collect()
    }

    /// Values of fields that no kernel has executed, as `row.field=value`; a value that is written with nothing is
    /// called `default`.
    pub fn holes(&self) -> Vec<String> {
        ROWS.iter().flat_map(|row| row_holes(row, &self.executed[row.opcode as usize])).collect()
    }

    /// The report's figures.
    pub fn summary(&self) -> Summary {
        let (missing_rows, holes) = (self.missing_rows(), self.holes());
        let all_values = ROWS.iter().flat_map(|row| row.fields).map(|spec| spec.legal.count_ones() as usize).sum();
        Summary {
            rows: rows().count() - missing_rows.len(),
            all_rows: rows().count(),
            values: all_values - holes.len(),
            all_values,
            missing_rows,
            holes,
            opcodes: rows().map(|row| self.row(row)).collect(),
        }
    }

    fn row(&self, row: &'static OpRow) -> RowSummary {
        let all_values = row.fields.iter().map(|spec| spec.legal.count_ones() as usize).sum();
        let holes = row_holes(row, &self.executed[row.opcode as usize]).len();
        let kernels = self.kernels_with(row.opcode);
        RowSummary { name: row.name, kernels, values: all_values - holes, all_values }
    }
}

/// A row as it is kept: kernels, then the bits of each field that were generated and executed.
type Kept = (u64, Vec<u64>, Vec<u64>);

/// Rows are kept by name, since one that is added moves the others.
impl Serialize for Coverage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = |row: &OpRow| -> Kept {
            let at = row.opcode as usize;
            let bits = |seen: &Seen| seen[..row.fields.len()].to_vec();
            (self.kernels[at], bits(&self.generated[at]), bits(&self.executed[at]))
        };
        let rows = ROWS.iter().map(|row| (row.name, kept(row)));
        serializer.collect_map(rows.filter(|(_, kept)| kept.0 > 0))
    }
}

impl<'de> Deserialize<'de> for Coverage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Coverage, D::Error> {
        let rows = BTreeMap::<String, Kept>::deserialize(deserializer)?;
        let mut coverage = Coverage::default();
        for row in ROWS {
            let Some((kernels, generated, executed)) = rows.get(row.name) else { continue };
            let at = row.opcode as usize;
            coverage.kernels[at] = *kernels;
            for (to, from) in [(&mut coverage.generated[at], generated), (&mut coverage.executed[at], executed)] {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(coverage)
    }
}

fn row_holes(row: &OpRow, seen: &Seen) -> Vec<String> {
    let mut holes = Vec::new();
    for (slot, spec) in row.fields.iter().enumerate() {
        for value in spec.values().filter(|value| seen[slot] >> value & 1 == 0) {
            let text = spec.field.value_name(value);
            let text = if text.is_empty() { "default" } else { text };
            holes.push(format!("{}.{}={text}", row.name, spec.field.name()));
        }
    }
    holes
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_module;

    use super::*;

    const MODULE: &str = "target sm_90 ptx 9.0

entry @k visible virtual {
  param $out: u64 param align 8
bb0:
  %r1 = iadd.u32 1, 2
  %p2 = setp.lt.u32 %r1, 3
  @%p2 %r1 = iadd.sat.s32 %r1, 2
  cbra %p2, bb1, bb2
bb1:
  %r1 = isub.u64 1, 2
  bra bb2
bb2:
  ret
}
";

    #[test]
    fn what_stands_in_the_entry_block_is_executed() {
        let text = MODULE.replace("%r1 = isub.u64 1, 2", "%d3 = isub.u64 1, 2");
        let module = parse_module(&text).expect("the module parses");
        let mut coverage = Coverage::default();
        coverage.count(&module);
        let holes = coverage.holes();
        let has = |hole: &str| holes.iter().any(|name| name == hole);
        assert!(!has("iadd.Type=u32") && !has("iadd.Saturate=default") && !has("setp.Compare=lt"), "{holes:?}");
        // Behind a guard, or in a block that may not run.
        assert!(has("iadd.Saturate=sat") && has("iadd.Type=s32") && has("isub.Type=u64"), "{holes:?}");
        assert!(coverage.kernels_with(Opcode::ISub) == 1 && !coverage.missing_rows().contains(&"isub"));
        assert!(coverage.missing_rows().contains(&"ld"));
        let mut twice = coverage.clone();
        twice.add(&coverage);
        assert_eq!((twice.kernels_with(Opcode::IAdd), twice.holes()), (2, holes));
        let summary = coverage.summary();
        assert_eq!(summary.values + summary.holes.len(), summary.all_values);
    }
}
