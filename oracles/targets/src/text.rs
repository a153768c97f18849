//! Text targets: the PTX front end, `.ori` parse after print, PTX read after emit.

use std::path::Path;

use oriole_check::input::{Language, parse_kernel, read_ptx, write_ptx};
use oriole_ir::diagnostics::SourceError;
use oriole_ir::verify::verify_module;
use oriole_ir::{Function, Local, Module, parse_module};

use super::canary;
use super::input::{assert_same, draw, execute, kernel_of_bytes, launches_for, module_of_text, text};
use oriole_check::input::NamedLaunch;
use oriole_check::trip;
use oriole_generate::Generated;

/// PTX text: reading gives a module that verifies, or diagnostics; never a panic. What verifies runs without one.
pub fn ptx(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    match read_ptx(text) {
        Ok(mut module) => {
            canary::cut(&mut module);
            if let Err(violations) = verify_module(&module) {
                panic!("the front end made a module that does not verify: {}", violations[0]);
            }
            execute(&module);
            true
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "a refusal names at least one fault");
            draw(SourceError::new("fuzz.ptx", text, faults));
            false
        }
    }
}

/// `.ori` text: what parses is printed to text that parses to the same module; what verifies runs without a panic.
pub fn ori_round_trip(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    let Ok(module) = parse_module(text) else {
        let refused = parse_kernel(Language::Ori, Path::new("fuzz.ori"), data);
        draw(refused.expect_err("what does not parse is refused"));
        return false;
    };
    through_ori(&module);
    if verify_module(&module).is_ok() {
        execute(&module);
    }
    true
}

/// A kernel, as `.ori` or PTX: both round trips.
pub fn ptx_round_trip(data: &[u8]) -> bool {
    let Some(module) = module_of_text(data) else { return false };
    through_ori(&module);
    let launches = launches_for(&module);
    through_ptx(&module, &launches, false)
}

/// A generated kernel: both round trips. Everything that is generated can be written as PTX, but for constant banks.
pub fn generated_text(data: &[u8]) -> bool {
    let (_, Generated { module, launches, .. }) = kernel_of_bytes(data, 0);
    through_ori(&module);
    let expressible = !trip::reads_banks(&module);
    through_ptx(&module, &launches, expressible)
}

/// Printing and parsing gives the same module.
pub(super) fn through_ori(module: &Module) {
    let printed = module.to_string();
    match parse_module(&printed) {
        Ok(mut again) => {
            canary::cut(&mut again);
            assert_eq!(*module, again, "printing and parsing changes the module:\n{printed}");
        }
        Err(error) => panic!("what was printed does not parse: {error}:\n{printed}"),
    }
}

/// Whether the module can be written as PTX. Then that is read as a module with the same interface that behaves the
/// same, and so is what that one is written as.
///
/// The instructions themselves are no fixed point, and need not be: PTX has no phis and no words of wide registers, so
/// each trip adds copies, which the optimizer takes away again.
fn through_ptx(module: &Module, launches: &[NamedLaunch], expressible: bool) -> bool {
    let text = match write_ptx(module) {
        Ok(text) => text,
        Err(error) => {
            assert!(!expressible, "a generated kernel cannot be written as PTX: {error}\n{module}");
            return false;
        }
    };
    let Some(once) = read_again(&text, expressible) else { return false };
    assert_same(module, &once, launches, || format!("{module}\nwritten as\n{text}"));
    let text =
        write_ptx(&once).unwrap_or_else(|error| panic!("what PTX made cannot be written as PTX: {error}\n{text}"));
    let Some(mut twice) = read_again(&text, true) else { return false };
    assert_same(module, &twice, launches, || format!("{module}\nwritten and read once, then written as\n{text}"));
    canary::cut(&mut twice);
    assert_eq!(once.globals, twice.globals, "the variables change when they are printed and read:\n{text}");
    for (func, again) in once.functions.values().zip(twice.functions.values()) {
        assert_eq!(interface(func), interface(again), "`{}` changes when it is printed and read:\n{text}", func.name);
    }
    assert_eq!(
        once.functions.len(),
        twice.functions.len(),
        "functions come or go when they are printed and read:\n{text}"
    );
    true
}

/// What PTX says about a function beside its instructions.
fn interface(func: &Function) -> impl PartialEq + std::fmt::Debug + '_ {
    let variables = |list: &[Local]| list.iter().map(|local| func.locals[*local].clone()).collect::<Vec<_>>();
    let (params, returns) = (variables(&func.params), variables(&func.returns));
    let ends = func.layout().iter().all(|block| func.terminator(*block).is_some());
    (&func.name, func.kind, func.linkage, &func.directives, params, returns, ends)
}

/// Reads PTX that the optimizer printed. `.ori` can say what is well-formed and yet no PTX, such as a copy of 5 bytes;
/// only what came from PTX must be readable.
fn read_again(text: &str, readable: bool) -> Option<Module> {
    let module = match read_ptx(text) {
        Ok(module) => module,
        Err(faults) => {
            let fault = faults.first().map_or(String::new(), |fault| {
                let line = fault.line_column(text).0;
                format!("{fault} at `{}`", text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim())
            });
            assert!(!readable, "printed PTX is refused: {fault}\n{text}");
            return None;
        }
    };
    if let Err(violations) = verify_module(&module) {
        panic!("printed PTX reads as a module that does not verify: {}\n{text}", violations[0]);
    }
    Some(module)
}
