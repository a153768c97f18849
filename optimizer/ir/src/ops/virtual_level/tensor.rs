//! Tensor maps: PTX ISA 9.0, "Data Movement and Conversion Instructions: Tensor copy".

macro_rules! tensor_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Brings a tensor map into the cache that operations with it read.
    PrefetchMap "prefetch.tensormap" "prefetch.tensormap": [] <- [Base, Offset], HINT,
        fields &[opt_of(Field::Space, bits!(Space: Const | Param))], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Memory, undef Nothing;
    } } };
}
pub(in crate::ops) use tensor_rows;
