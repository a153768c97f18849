//! Ori at the machine level as a program: functions that were lifted from a cubin, whatever phases have made of them,
//! executed on launches.
//!
//! Physical form is executed by its words: they are put in the cubin's place ([`in_place`]), which has all that a
//! launch needs beside code (parameters, constant banks, variables, relocations), and run as the words of any cubin. So
//! there is one decoder of machine code, the text form and the words cannot come to mean different things, and code
//! runs as fast as before. Registers by arena number have no words: functions in virtual and SSA form are refused.
//!
//! No program is needed to bind a launch: the cubin says how many parameters a kernel has, and how large each is.

use oriole_interp::{Executable, LoadError, RunOptions, RunResult};
use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{Directive, Form, Function, FunctionKind, InstHead, Linkage, Module, Variable};
use oriole_launch::Launch;
use oriole_sass::cubin::{Cubin, Info};
use oriole_sass::ori::in_place::{self, InPlaceError};

use super::run::{Image, RunError};

/// Why machine-level Ori does not run.
#[derive(Debug, thiserror::Error)]
pub enum LiftedError {
    /// A function is in another form than the physical one.
    #[error("function `{function}` is in {form} form, and machine code is executed in physical form alone", form = .form.name())]
    Form {
        /// The function.
        function: String,
        /// Its form.
        form: Form,
    },
    /// It cannot be in the cubin.
    #[error(transparent)]
    InPlace(#[from] InPlaceError),
    /// A launch does not fit it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The words cannot be executed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Machine-level Ori in the cubin that it was lifted from.
#[derive(Clone, Debug)]
pub struct Lifted {
    cubin: Cubin,
    /// The kernels with their parameters and without code.
    shell: Module,
}

impl Lifted {
    /// Puts the functions of a module in a cubin's place.
    ///
    /// # Errors
    ///
    /// If the module was not lifted from the cubin, has changed in ways that have no place in it, or is not in physical
    /// form.
    pub fn new(cubin: &Cubin, module: &Module) -> Result<Lifted, LiftedError> {
        let other = |func: &&Function| func.is_definition() && func.form != Form::Physical;
        if let Some(func) = module.functions.values().find(other) {
            return Err(LiftedError::Form { function: func.name.clone(), form: func.form });
        }
        Ok(Lifted { cubin: in_place::replaced(cubin, module)?, shell: shell(cubin) })
    }

    /// The words.
    pub fn cubin(&self) -> &Cubin {
        &self.cubin
    }

    /// Runs a launch.
    ///
    /// # Errors
    ///
    /// If the launch does not fit, or an instruction is executed that the interpreter does not have.
    pub fn run(&self, launch: &Launch, options: &RunOptions) -> Result<RunResult, LiftedError> {
        let bound = Executable::new(&self.shell)?.bound(launch)?;
        Ok(Image::load(&self.cubin, &bound)?.run(launch, &bound, options)?)
    }
}

/// The kernels of a cubin as a launch sees them.
fn shell(cubin: &Cubin) -> Module {
    let mut shell = Module { target: cubin.target.to_string(), ..Module::default() };
    for entry in cubin.entries() {
        let mut func = Function::new(entry.name.as_str(), FunctionKind::Entry);
        func.linkage = Linkage::Visible;
        declare(&mut func, &entry.info);
        let block = func.new_block();
        let head = InstHead { opcode: Opcode::Ret, fields: Opcode::Ret.row().default_fields(), guard: None, line: 0 };
        let ret = func.new_inst(head, &[], &[], &[]);
        func.append_inst(block, ret);
        shell.functions.push(func);
    }
    shell
}

/// Gives a kernel its parameters, and the shape of clusters that it asks for.
fn declare(func: &mut Function, info: &Info) {
    let mut parameters = info.parameters.clone();
    parameters.sort_by_key(|parameter| parameter.ordinal);
    for parameter in parameters {
        let (ty, count) = match parameter.size {
            1 => (Type::B8, None),
            2 => (Type::B16, None),
            4 => (Type::B32, None),
            8 => (Type::B64, None),
            size => (Type::B8, Some(size.into())),
        };
        // As far as the offset tells: nothing is between two parameters but for the alignment of the second.
        let align = 1 << parameter.offset.trailing_zeros().min(7);
        let local = func.locals.push(Variable {
            name: format!("arg{}", parameter.ordinal),
            linkage: Linkage::Internal,
            space: Space::Param,
            align,
            ty,
            count,
            init: Vec::new(),
            relocations: Vec::new(),
        });
        func.params.push(local);
    }
    let mut say = |name: &str, values: Vec<u64>| func.directives.push(Directive { name: name.to_owned(), values });
    if let Some(extents) = info.cluster {
        say("reqnctapercluster", extents.map(u64::from).to_vec());
    } else if info.is_cluster {
        say("explicitcluster", Vec::new());
    }
}
