//! The code of a launch on a GPU: what it leaves there, as a run of the original would have left it.

use std::ops::Range;

use oriole_gpu::{Gpu, Job, Parameter};
use oriole_interp::launch::{ArgValue, Launch};
use oriole_interp::{Bytes, Executable, GlobalState, RunResult};
use oriole_ir::ops::{Completion, CopyTo, Flags, Matrix, Shape, Type};
use oriole_ir::{InstData, Module};
use oriole_sass::cubin::Cubin;

use super::Judge;
use super::code::CodeError;

impl Judge<'_> {
    /// Runs the code of a cubin on a GPU. Not compared are variables of which the driver does not tell, and places in
    /// variables that hold an address from the start: it is another one there.
    pub(super) fn run_on_gpu(
        &self,
        original: &Executable<'_>,
        cubin: &Cubin,
        gpu: &Gpu,
    ) -> Result<RunResult, CodeError> {
        let bound = original.bound(&self.launch)?;
        let mut job = job(&bound.entry, &self.launch).ok_or(CodeError::Images)?;
        // What goes to shared memory of the cluster is an illegal instruction for a grid that is launched without one.
        if !bound.cluster.is_explicit && goes_to_cluster(original.module()) {
            job.cluster = Some([1; 3]);
        }
        let variables = self.before.memory.iter().filter(|state| state.argument.is_none());
        job.variables = variables.map(|state| state.name.clone()).collect();
        let left = gpu.run(cubin.shared_data(), &job)?;
        let mut result = self.before.clone();
        let (mut buffers, mut variables) = (left.buffers.into_iter(), left.variables.into_iter());
        for state in &mut result.memory {
            let bytes = if state.argument.is_some() { buffers.next() } else { variables.next().flatten() };
            if let Some(bytes) = bytes {
                state.bytes = Bytes::defined(bytes);
            }
        }
        for (name, place) in addresses(original.module()) {
            let is_it = |state: &&GlobalState| state.argument.is_none() && state.name == name;
            let before = self.before.memory.iter().find(is_it);
            let after = result.memory.iter_mut().find(|state| is_it(&&**state));
            if let Some((before, after)) = before.zip(after) {
                after.bytes.copy_from(place.start, &before.bytes, place);
            }
        }
        Ok(result)
    }
}

/// Whether a module has operations that bring something to shared memory of the cluster beside the threads.
fn goes_to_cluster(module: &Module) -> bool {
    let mut insts = module.functions.values().flat_map(|func| func.layout_insts().map(|inst| func.inst(inst)));
    insts.any(|data| {
        let is_counted = data.is(Flags::ASYNC) && data.field() == Some(Completion::Barrier);
        is_counted && data.field() != Some(CopyTo::Cta)
    })
}

/// Whether a module has products of matrices of floats. PTX leaves open how their sums are rounded, and what sign a
/// zero among them has; tensor cores keep fewer bits than the interpreter.
pub(super) fn has_float_products(module: &Module) -> bool {
    let mut insts = module.functions.values().flat_map(|func| func.layout_insts().map(|inst| func.inst(inst)));
    let sum = |data: &InstData| data.opcode.row().shape_type(&data.fields, Shape::Matrix(Matrix::Sum));
    insts.any(|data| data.is(Flags::MATRIX) && sum(data).is_some_and(Type::is_float))
}

/// The places of a module's variables that hold an address from the start, with the variables' names.
fn addresses(module: &Module) -> impl Iterator<Item = (&str, Range<usize>)> {
    module.globals.values().flat_map(|variable| {
        let places = variable.relocations.iter().map(|relocation| {
            let start = relocation.offset as usize;
            start..start + usize::from(relocation.width)
        });
        places.map(|place| (variable.name.as_str(), place))
    })
}

/// A launch of an entry as a job for a GPU; `None` for one with images.
fn job(entry: &str, launch: &Launch) -> Option<Job> {
    let buffers = || launch.buffers();
    let address = |owner: usize, offset: u64| {
        let buffer = buffers().position(|(index, _)| index == owner)?;
        Some(Parameter::Address { buffer, offset })
    };
    let parameters = launch.args.iter().enumerate().map(|(index, arg)| match &arg.value {
        ArgValue::Scalar(scalar) => Some(Parameter::Bytes(scalar.to_bytes())),
        ArgValue::Bytes(bytes) => Some(Parameter::Bytes(bytes.clone())),
        ArgValue::Buffer(_) => address(index, 0),
        ArgValue::Alias { arg, offset } => address(*arg, *offset),
        ArgValue::Null => Some(Parameter::Bytes(vec![0; 8])),
        ArgValue::Handle { .. } => None,
    });
    let mut job = Job::new(entry, launch.grid, launch.block);
    job.parameters = parameters.collect::<Option<_>>()?;
    job.cluster = launch.cluster;
    job.dynamic_shared = launch.dynamic_shared;
    job.buffers = buffers().map(|(_, buffer)| buffer.bytes.clone()).collect();
    launch.images.is_empty().then_some(job)
}
