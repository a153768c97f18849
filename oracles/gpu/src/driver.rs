//! The CUDA driver API, as far as a launch needs it. All that is unsafe is here.
//!
//! The functions are those of [`cudarc`], which loads the driver's library when the first is called. A [`Driver`]
//! exists only where that library was found and the context of the first GPU is that of this thread, so each call below
//! has what it needs.

use std::ffi::{CString, NulError, c_void};
use std::marker::PhantomData;

use cudarc::driver::result::{DriverError, ctx, device, function, init, malloc_sync, module, primary_ctx};
use cudarc::driver::result::{free_sync, memcpy_dtoh_sync, memcpy_htod_sync, stream};
use cudarc::driver::sys;

use crate::{Device, Job};

/// Bytes of a thread's stack. The driver finds out how much code needs, except where functions call themselves.
const STACK: usize = 16 << 10;

/// Why the driver does not do something.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Its library is not there.
    #[error("the CUDA driver (libcuda) is not installed")]
    NotInstalled,
    /// It says so.
    #[error("{}", said(*.0))]
    Driver(#[from] DriverError),
    /// A name has a zero in it.
    #[error(transparent)]
    Name(#[from] NulError),
    /// More dynamic shared memory than any launch can have.
    #[error("it asks for {0} bytes of dynamic shared memory")]
    Shared(u32),
    /// A parameter is an address in a buffer that there is none of.
    #[error("a parameter leads to buffer {0}, which there is none of")]
    Buffer(usize),
}

/// What the driver says of an error.
fn said(error: DriverError) -> String {
    let text = error.error_string().ok().map(|text| text.to_string_lossy().into_owned());
    text.unwrap_or_else(|| format!("{:?}", error.0))
}

/// The first GPU, which this thread uses.
pub struct Driver {
    /// What it is.
    pub device: Device,
}

impl Driver {
    /// Loads the driver and takes the first GPU.
    pub fn start() -> Result<Driver, Fault> {
        // SAFETY: it opens the driver's library, whose initialization any CUDA program trusts.
        if !unsafe { sys::is_culib_present() } {
            return Err(Fault::NotInstalled);
        }
        use sys::CUdevice_attribute::{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, *};
        init()?;
        let gpu = device::get(0)?;
        // SAFETY: the device is there, and its context stays: nothing releases it before the process ends.
        let (major, minor) = unsafe {
            ctx::set_current(primary_ctx::retain(gpu)?)?;
            ctx::set_limit(sys::CUlimit::CU_LIMIT_STACK_SIZE, STACK)?;
            let minor = device::get_attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
            (device::get_attribute(gpu, MAJOR)?, minor)
        };
        let sm = u32::try_from(major * 10 + minor).unwrap_or_default();
        Ok(Driver { device: Device { name: device::get_name(gpu)?, sm } })
    }

    /// Loads a cubin.
    pub fn load(&self, code: &[u8]) -> Result<Loaded, Fault> {
        // SAFETY: the driver reads as much as the file's headers say, which were checked when the cubin was read. What
        // is no ELF file it takes for text, which ends with the zero.
        let module = unsafe { module::load_data([code, &[0]].concat().as_ptr().cast()) };
        Ok(Loaded(module?))
    }

    /// Memory with a content.
    pub fn memory(&self, content: &[u8]) -> Result<Memory, Fault> {
        // SAFETY: it is not empty.
        let address = unsafe { malloc_sync(content.len().max(1)) }?;
        let memory = Memory(Region { address, len: content.len(), owner: PhantomData });
        memory.0.fill(content)?;
        Ok(memory)
    }

    /// Launches a kernel; it has begun when this returns, if not ended.
    pub fn launch(&self, loaded: &Loaded, job: &Job, mut parameters: Vec<Vec<u8>>) -> Result<(), Fault> {
        use sys::CUfunction_attribute::{
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        };
        let name = CString::new(job.entry.as_str())?;
        let shared = i32::try_from(job.dynamic_shared).map_err(|_| Fault::Shared(job.dynamic_shared))?;
        // SAFETY: the module is loaded.
        let kernel = unsafe { module::get_function(loaded.0, name) }?;
        // SAFETY: the function is of that module.
        unsafe {
            function::set_function_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)?;
            if job.cluster.is_some() {
                function::set_function_attribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
            }
        }
        let mut places = Vec::new();
        for parameter in &mut parameters {
            places.push(parameter.as_mut_ptr().cast::<c_void>());
        }
        let mut attributes: Vec<sys::CUlaunchAttribute> = job.cluster.map(cluster_attribute).into_iter().collect();
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (job.grid, job.block);
        let config = sys::CUlaunchConfig {
            gridDimX: grid_x,
            gridDimY: grid_y,
            gridDimZ: grid_z,
            blockDimX: block_x,
            blockDimY: block_y,
            blockDimZ: block_z,
            sharedMemBytes: job.dynamic_shared,
            hStream: stream::null(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        // SAFETY: the driver copies parameters and attributes before it returns. That each parameter has as many bytes
        // as the kernel reads is what whoever made the job has checked.
        unsafe { sys::cuLaunchKernelEx(&raw const config, kernel, places.as_mut_ptr(), std::ptr::null_mut()) }
            .result()?;
        Ok(())
    }

    /// Whether what was launched has ended.
    pub fn has_ended(&self) -> Result<bool, Fault> {
        // SAFETY: the stream that is always there.
        match unsafe { sys::cuStreamQuery(stream::null()) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => Ok(result.result().map(|()| true)?),
        }
    }
}

fn cluster_attribute([x, y, z]: [u32; 3]) -> sys::CUlaunchAttribute {
    let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
    value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
    let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    sys::CUlaunchAttribute { id, pad: [0; 4], value }
}

/// A cubin that is loaded.
pub struct Loaded(sys::CUmodule);

impl Loaded {
    /// The memory of a variable, where the driver knows its name.
    pub fn variable(&self, name: &str) -> Option<Region<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is loaded.
        let (address, len) = unsafe { module::get_global(self.0, name) }.ok()?;
        Some(Region { address, len, owner: PhantomData })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: it was loaded and nothing else unloads it. An error says that a kernel failed, which was told.
        let _ = unsafe { module::unload(self.0) };
    }
}

/// Memory of the GPU that something owns.
pub struct Region<'a> {
    address: sys::CUdeviceptr,
    len: usize,
    owner: PhantomData<&'a ()>,
}

impl Region<'_> {
    /// What it holds.
    pub fn bytes(&self) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; self.len];
        if self.len > 0 {
            // SAFETY: it is so long, and its owner has not given it back.
            unsafe { memcpy_dtoh_sync(&mut bytes, self.address) }?;
        }
        Ok(bytes)
    }

    /// Fills it with as many bytes as it has.
    pub fn fill(&self, content: &[u8]) -> Result<(), Fault> {
        let content = &content[..content.len().min(self.len)];
        if content.is_empty() {
            return Ok(());
        }
        // SAFETY: it is at least so long, and its owner has not given it back.
        unsafe { memcpy_htod_sync(self.address, content) }?;
        Ok(())
    }
}

/// Memory of the GPU.
pub struct Memory(Region<'static>);

impl Memory {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.0.address
    }

    /// What it holds.
    pub fn bytes(&self) -> Result<Vec<u8>, Fault> {
        self.0.bytes()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated and nothing else frees it. An error says that a kernel failed, which was told.
        let _ = unsafe { free_sync(self.0.address) };
    }
}
