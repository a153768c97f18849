//! The code of a launch on a GPU: what it leaves there, as a run of the original would have left it.

use std::ops::Range;

use oriole_gpu::{Gpu, Job, Parameter};
use oriole_interp::{Bytes, Executable, GlobalState, RunResult};
use oriole_ir::ops::{Completion, CopyTo, Flags, Matrix, Shape, Type};
use oriole_ir::{InstData, Module};
use oriole_launch::{ArgValue, Launch, Structure};
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
        let mut job = job(original, &self.launch)?;
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
    module.operations().any(|data| {
        let is_counted = data.is(Flags::ASYNC) && data.field() == Some(Completion::Barrier);
        is_counted && data.field() != Some(CopyTo::Cta)
    })
}

/// Whether a module has products of matrices of floats. PTX leaves open how their sums are rounded, and what sign a
/// zero among them has; tensor cores keep fewer bits than the interpreter.
pub(super) fn has_float_products(module: &Module) -> bool {
    let sum = |data: &InstData| data.opcode.row().shape_type(&data.fields, Shape::Matrix(Matrix::Sum));
    module.operations().any(|data| data.is(Flags::MATRIX) && sum(data).is_some_and(Type::is_float))
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

/// A launch of a program as a job for a GPU.
///
/// # Errors
///
/// If the launch does not fit the program, or has images, tensor maps or multicast memory.
pub(crate) fn job(original: &Executable<'_>, launch: &Launch) -> Result<Job, CodeError> {
    let bound = original.bound(launch)?;
    if !launch.images.is_empty() {
        return Err(CodeError::Images);
    }
    if launch.args.iter().any(|arg| matches!(arg.value, ArgValue::TensorMap(_))) {
        return Err(CodeError::TensorMaps);
    }
    if launch.args.iter().any(|arg| matches!(arg.value, ArgValue::Structure(_))) {
        return Err(CodeError::Pointers);
    }
    if launch.buffers().any(|(_, buffer)| buffer.replicas > 0) {
        return Err(CodeError::Multicast);
    }
    let address = |owner: usize, offset: u64| {
        let buffer = launch.buffers().position(|(index, _)| index == owner).unwrap_or(0);
        Parameter::Address { buffer, offset }
    };
    let parameters = launch.args.iter().enumerate().map(|(index, arg)| match &arg.value {
        ArgValue::Scalar(scalar) => Parameter::Bytes(scalar.to_bytes()),
        ArgValue::Bytes(bytes) | ArgValue::Structure(Structure { bytes, .. }) => Parameter::Bytes(bytes.clone()),
        ArgValue::Buffer(_) => address(index, 0),
        ArgValue::Alias { arg, offset } => address(*arg, *offset),
        // A launch without images has no handles, and one without replicas no multicast addresses.
        ArgValue::Null | ArgValue::Handle { .. } | ArgValue::Multicast { .. } | ArgValue::TensorMap(_) => {
            Parameter::Bytes(vec![0; 8])
        }
    });
    let mut job = Job::new(&bound.entry, launch.grid, launch.block);
    job.parameters = parameters.collect();
    // What goes to shared memory of the cluster is an illegal instruction for a grid that is launched without one.
    let needs_one = !bound.cluster.is_explicit && goes_to_cluster(original.module());
    job.cluster = launch.cluster.or(needs_one.then_some([1; 3]));
    job.dynamic_shared = launch.dynamic_shared;
    job.buffers = launch.buffers().map(|(_, buffer)| buffer.bytes.clone()).collect();
    Ok(job)
}

#[cfg(test)]
mod tests {
    use oriole_launch::{Arg, Buffer, Scalar, ScalarType};

    use super::*;
    use crate::input::read_ptx;

    fn module(head: &str, body: &str) -> Module {
        let text = format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 s[32];\n{head}\n.visible .entry \
             k(.param .u64 p, .param .u32 n, .param .u64 q)\n{{\n.reg .b64 %d<3>;\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"
        );
        read_ptx(&text).unwrap_or_else(|faults| panic!("{faults:?}"))
    }

    fn launch() -> Launch {
        let buffer = |byte| Buffer { bytes: vec![byte; 8], element: None, expect: None, tolerance: None, replicas: 0 };
        let values = [
            ArgValue::Buffer(buffer(7)),
            ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, 0x1234)),
            ArgValue::Alias { arg: 0, offset: 4 },
        ];
        let mut launch = Launch::new(None);
        launch.args.extend(values.into_iter().map(|value| Arg { name: None, value }));
        launch
    }

    fn made(body: &str, launch: &Launch) -> Job {
        let module = module("", body);
        job(&Executable::new(&module).unwrap(), launch).unwrap()
    }

    #[test]
    fn arguments_become_bytes_and_addresses_in_buffers() {
        let job = made("", &launch());
        assert_eq!((job.entry.as_str(), &job.buffers), ("k", &vec![vec![7; 8]]));
        let address = |offset| Parameter::Address { buffer: 0, offset };
        assert_eq!(job.parameters, [address(0), Parameter::Bytes(vec![0x34, 0x12, 0, 0]), address(4)]);
    }

    /// Replicas lie on several GPUs, of which a launch has one.
    #[test]
    fn launches_with_replicas_are_refused() {
        let mut launch = launch();
        let replicas = Buffer { bytes: vec![0; 32], replicas: 2, ..Buffer::default() };
        launch.args[0].value = ArgValue::Buffer(replicas);
        let module = module("", "");
        let refused = job(&Executable::new(&module).unwrap(), &launch);
        assert!(matches!(refused, Err(CodeError::Multicast)));
    }

    #[test]
    fn grids_have_clusters_where_something_goes_there() {
        let sends = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [s], 1, [s+8];";
        let stays = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d1], 16, [s+16];";
        assert_eq!(made(sends, &launch()).cluster, Some([1; 3]));
        assert_eq!(made(stays, &launch()).cluster, None);
        let pair = Launch { cluster: Some([2, 1, 1]), grid: [2, 1, 1], ..launch() };
        assert_eq!(made(sends, &pair).cluster, Some([2, 1, 1]));
    }

    #[test]
    fn products_of_floats_are_known_by_their_sums() {
        let product = |kind: &str, sum: &str| {
            let body = format!("mma.sync.aligned.{kind} {sum}, {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}}, {sum};");
            has_float_products(&module("", &format!(".reg .f32 %f<5>;\n{body}")))
        };
        assert!(product("m16n8k16.row.col.f32.f16.f16.f32", "{%f1, %f2, %f3, %f4}"));
        assert!(!product("m16n8k32.row.col.s32.s8.s8.s32", "{%r1, %r2, %r3, %r4}"));
    }

    #[test]
    fn addresses_that_variables_hold_have_their_places() {
        let module = module(".global .u32 a;\n.global .u64 b[3] = {1, generic(a), 2};", "");
        assert_eq!(addresses(&module).collect::<Vec<_>>(), [("b", 8..16)]);
    }
}
