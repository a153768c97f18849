//! Entity references: u32 indices into the arenas of a function or module.

use cranelift_entity::entity_impl;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);
        entity_impl!($name, $prefix);
    };
}

entity! {
    /// A register of a function. Its text name also says its file and width; see [`crate::RegInfo`].
    Reg, "%"
}
entity! {
    /// A basic block of a function.
    Block, "bb"
}
entity! {
    /// An instruction of a function.
    Inst, "inst"
}
entity! {
    /// A variable of a function: a parameter, a result, a call's argument, a local array.
    Local, "local"
}
entity! {
    /// A variable of a module.
    Global, "global"
}
entity! {
    /// A function of a module.
    FuncId, "func"
}
