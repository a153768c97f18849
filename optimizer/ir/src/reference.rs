//! What variables of textures and samplers say of fetches: PTX ISA 9.0, "Texture, Sampler and Surface Types".
//!
//! A variable keeps its settings in its initial bytes: one byte for each setting, which is one more than the value, or
//! zero where nothing is said.

use crate::ops::Type;

/// A field of a texture or a sampler that says how a fetch is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Setting {
    /// `filter_mode`
    Filter,
    /// `addr_mode_0`, of the first coordinate
    Address0,
    /// `addr_mode_1`
    Address1,
    /// `addr_mode_2`
    Address2,
    /// `normalized_coords`, of textures
    Normalized,
    /// `force_unnormalized_coords`, of samplers
    ForceUnnormalized,
}

/// The values of the filter, in order.
pub const FILTERS: [&str; 2] = ["nearest", "linear"];
/// The values of the address modes, in order.
pub const ADDRESS_MODES: [&str; 5] = ["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"];
const FLAGS: [&str; 2] = ["0", "1"];

impl Setting {
    /// Every setting, in the order of the bytes.
    pub const ALL: [Setting; 6] = [
        Setting::Filter,
        Setting::Address0,
        Setting::Address1,
        Setting::Address2,
        Setting::Normalized,
        Setting::ForceUnnormalized,
    ];

    /// The name of its field.
    pub const fn name(self) -> &'static str {
        match self {
            Setting::Filter => "filter_mode",
            Setting::Address0 => "addr_mode_0",
            Setting::Address1 => "addr_mode_1",
            Setting::Address2 => "addr_mode_2",
            Setting::Normalized => "normalized_coords",
            Setting::ForceUnnormalized => "force_unnormalized_coords",
        }
    }

    /// The setting with a name.
    pub fn named(name: &str) -> Option<Setting> {
        Setting::ALL.into_iter().find(|setting| setting.name() == name)
    }

    /// Whether variables of a type have it.
    pub fn is_of(self, ty: Type) -> bool {
        match self {
            Setting::Normalized => ty == Type::TexRef,
            Setting::ForceUnnormalized => ty == Type::SamplerRef,
            _ => matches!(ty, Type::TexRef | Type::SamplerRef),
        }
    }

    fn values(self) -> &'static [&'static str] {
        match self {
            Setting::Filter => &FILTERS,
            Setting::Address0 | Setting::Address1 | Setting::Address2 => &ADDRESS_MODES,
            Setting::Normalized | Setting::ForceUnnormalized => &FLAGS,
        }
    }

    /// The number of the value with a name; numbers stand for themselves.
    pub fn value(self, text: &str) -> Option<u8> {
        let named = self.values().iter().position(|name| *name == text).map(|at| at as u8);
        named.or_else(|| text.parse().ok().filter(|number| usize::from(*number) < self.values().len()))
    }

    /// The names of its values, for messages.
    pub fn known(self) -> String {
        self.values().join(", ")
    }
}

/// Fields that say what is bound to a variable, which the launch does.
pub fn is_ignored(name: &str, ty: Type) -> bool {
    match name {
        "width" | "height" | "depth" | "channel_data_type" | "channel_order" | "array_size" => ty != Type::SamplerRef,
        "num_mipmap_levels" | "num_samples" => ty == Type::TexRef,
        "memory_layout" => ty == Type::SurfRef,
        _ => false,
    }
}

/// The settings of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Settings([u8; Setting::ALL.len()]);

impl Settings {
    /// Those in a variable's initial bytes.
    pub fn of(bytes: &[u8]) -> Settings {
        let mut settings = Settings::default();
        for (slot, byte) in settings.0.iter_mut().zip(bytes) {
            *slot = *byte;
        }
        settings
    }

    /// The number of a setting's value, if it is said.
    pub fn get(self, setting: Setting) -> Option<u8> {
        let value = self.0[setting as usize].checked_sub(1)?;
        (usize::from(value) < setting.values().len()).then_some(value)
    }

    /// Says a setting.
    pub fn set(&mut self, setting: Setting, value: u8) {
        self.0[setting as usize] = value + 1;
    }

    /// These, and where they do not say a setting, what others say.
    pub fn or(self, others: Settings) -> Settings {
        Settings(std::array::from_fn(|at| if self.0[at] == 0 { others.0[at] } else { self.0[at] }))
    }

    /// The bytes without trailing zeros; none where nothing is said.
    pub fn to_bytes(self) -> Vec<u8> {
        let end = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.0[..end].to_vec()
    }

    /// Each setting that is said, with the name of its value.
    pub fn each(self) -> impl Iterator<Item = (Setting, &'static str)> {
        Setting::ALL
            .into_iter()
            .filter_map(move |setting| Some((setting, setting.values()[usize::from(self.get(setting)?)])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_in_bytes() {
        let mut settings = Settings::default();
        settings.set(Setting::Address0, 1);
        assert_eq!(settings.to_bytes(), [0, 2]);
        assert_eq!(Settings::of(&settings.to_bytes()), settings);
        assert_eq!(settings.each().collect::<Vec<_>>(), [(Setting::Address0, "mirror")]);
        assert_eq!(Settings::of(&[9, 0, 0]).get(Setting::Filter), None);
        assert_eq!(Setting::Filter.value("linear"), Setting::Filter.value("1"));
        assert_eq!(Setting::Filter.value("2"), None);
    }
}
