//! The steps of a check that are no phases: SSA construction before them, the PTX round trip behind them.
//!
//! Each is one change of a whole module, and cannot be asked for less. The check, the reducer and replay commands take them
//! by the same function, with the same planted faults.

use oriole_optimizer::ir::{Form, Module};
use oriole_optimizer::verify::verify_module;

use super::catch::catch;
use super::{trip, watch};
use crate::inject::FaultSpec;
use crate::input::into_ssa;

/// A step that is no phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    /// What came in virtual form is brought into SSA form.
    Construction,
    /// What the phases made is printed as PTX and read again.
    RoundTrip,
}

impl Border {
    /// Both, in the order in which a check takes them.
    pub const ALL: [Border; 2] = [Border::Construction, Border::RoundTrip];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Border::Construction => "SSA construction",
            Border::RoundTrip => "PTX round trip",
        }
    }

    /// Its name on the command line.
    pub fn token(self) -> &'static str {
        match self {
            Border::Construction => "ssa-construction",
            Border::RoundTrip => "ptx-round-trip",
        }
    }

    /// The step that a name of either kind means.
    pub fn named(name: &str) -> Option<Border> {
        Border::ALL.into_iter().find(|border| border.token().eq_ignore_ascii_case(name) || border.name() == name)
    }

    /// What the step makes of a module, with the faults planted in it; or why that is no module.
    ///
    /// # Errors
    ///
    /// A panic, a text that is refused, a rule that is broken.
    pub fn cross(self, module: &Module, faults: &[FaultSpec]) -> Result<Module, String> {
        let _under_way = watch::enter(self.name());
        let crossed = catch(|| match self {
            Border::Construction => {
                let mut after = module.clone();
                into_ssa(&mut after);
                Ok(after)
            }
            Border::RoundTrip => trip::print_and_read(module),
        });
        let panics = |message: String| match self {
            Border::Construction => format!("SSA construction panics: {message}"),
            Border::RoundTrip => format!("printing or reading panics: {message}"),
        };
        let mut after = crossed.map_err(panics)??;
        faults.iter().filter(|fault| fault.border() == Some(self)).for_each(|fault| fault.make(&mut after));
        let violation = |found: Vec<_>| found.first().map_or(String::new(), ToString::to_string);
        verify_module(&after).map_err(violation)?;
        Ok(after)
    }
}

/// Whether a module has a body in virtual form.
pub fn is_virtual(module: &Module) -> bool {
    module.functions.values().any(|func| func.form == Form::Virtual && func.is_definition())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_are_read() {
        for border in Border::ALL {
            assert_eq!(Border::named(border.name()), Some(border));
            assert_eq!(Border::named(&border.token().to_uppercase()), Some(border));
        }
        assert_eq!(Border::named("GeneralOptimize"), None);
    }
}
