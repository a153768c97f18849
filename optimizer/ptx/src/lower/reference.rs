//! Variables of textures, samplers and surfaces: where they may stand, and what their initial values say (PTX ISA 9.0,
//! "Texture, Sampler and Surface Types").

use super::Context;
use crate::ast::{self, Initializer, InitializerKind, Name};
use oriole_ir::Global;
use oriole_ir::ops::Type;
use oriole_ir::reference::{self, Setting};

impl<'s> Context<'_, 's> {
    /// A variable of a texture, sampler or surface is in the module or among the parameters of an entry, one
    /// without type behind `.tex` in old modules, and samplers only where they are apart from textures: ptxas refuses
    /// all others.
    pub(super) fn check_reference(&mut self, declared: &ast::Variable<'s>, is_global: bool) -> Option<()> {
        use ast::{ScalarType, Space};
        let old = declared.space == Space::Tex;
        let named = declared.ty.name();
        let is_reference = matches!(declared.ty, ScalarType::TexRef | ScalarType::SamplerRef | ScalarType::SurfRef);
        let (message, help) = match declared.space {
            _ if old && matches!(declared.ty, ScalarType::U32 | ScalarType::U64) && is_global => return Some(()),
            _ if old => ("a variable in `.tex` is of `.u32` or `.u64`, in the module".to_owned(), "write `.tex .u32`"),
            _ if !is_reference => return Some(()),
            _ if !is_global || !matches!(declared.space, Space::Global | Space::Param) || declared.lanes > 1 => (
                format!("a variable of type `.{named}` cannot stand here"),
                "declare it in `.global` of the module, or as a parameter of an entry",
            ),
            _ if declared.ty == ScalarType::SamplerRef && !self.independent_samplers => (
                "textures have their own samplers in this module".to_owned(),
                "write `texmode_independent` behind the target, as in `.target sm_90, texmode_independent`",
            ),
            _ => return Some(()),
        };
        self.report(declared.span, message, format!("`.{named}`"), help);
        None
    }

    /// `{ addr_mode_0 = wrap, filter_mode = nearest }`. What a sampler does is kept; sizes and formats are what is
    /// bound to the variable.
    pub(super) fn initialise_reference(&mut self, initializer: &Initializer<'s>, id: Global) {
        let InitializerKind::List(list) = &initializer.kind else {
            let help = "write its fields in braces, as in `{ filter_mode = linear }`";
            return self.report(initializer.span, "this variable has fields".into(), "no list", help);
        };
        let mut settings = reference::Settings::default();
        for value in list {
            match &value.kind {
                InitializerKind::Field(field) => self.reference_field(&mut settings, self.module.globals[id].ty, field),
                _ => {
                    let help = "write `name = value`, as in `filter_mode = linear`";
                    self.report(value.span, "this variable has fields".into(), "no field", help);
                }
            }
        }
        self.module.globals[id].init = settings.to_bytes();
    }

    fn reference_field(&mut self, settings: &mut reference::Settings, ty: Type, field: &(Name<'s>, Name<'s>)) {
        let (name, value) = field;
        if reference::is_ignored(name.text, ty) {
            return;
        }
        let Some(setting) = Setting::named(name.text).filter(|setting| setting.is_of(ty)) else {
            let message = format!("a `.{}` has no field `{}`", oriole_ir::ops::FieldValue::name(ty), name.text);
            let help = "fields are filter_mode, addr_mode_0 to addr_mode_2, and of textures normalized_coords";
            return self.report(name.span, message, "unknown field", help);
        };
        match setting.value(value.text) {
            Some(number) => settings.set(setting, number),
            None => {
                let message = format!("`{}` is no value of `{}`", value.text, name.text);
                self.report(value.span, message, "unknown value", format!("it may be {}", setting.known()));
            }
        }
    }
}
