//! Questions about textures, samplers and surfaces: PTX ISA 9.0, "txq", "suq", "istypep", and the numbers of formats in
//! "Channel Data Type and Channel Order Fields".

use oriole_ir::ops::ImageQuery;
use oriole_ir::reference::Setting;

use super::texture::CLAMP_TO_EDGE;
use super::{Fault, Frame, HandleKind, Image, ImageOp, Images, View, bad, lanes_bit, pair, word};
use crate::program::Place;
use oriole_launch::ScalarType;

impl Images {
    /// Answers a question.
    pub(super) fn query(
        &self,
        frame: &mut Frame,
        op: &ImageOp,
        (query, view): (ImageQuery, View),
        lane: usize,
    ) -> Result<(), Fault> {
        let image = &self.images[view.image].image;
        let level = match op.levels.first() {
            Some(slot) => word(frame, *slot, lane)?.min(image.levels - 1),
            None => 0,
        };
        if view.kind == HandleKind::Sampler && !is_of_sampler(query) {
            return Err(bad(lane, "a sampler has neither extents nor a format"));
        }
        let answer = answer(image, view, query, level);
        if let Some(slot) = op.values.first() {
            frame.put(*slot, lane, answer, 0);
        }
        Ok(())
    }

    /// The answer about the first level of the image of a handle; `None` where there is none, or it has none.
    pub fn answer(&self, handle: u64, query: ImageQuery) -> Option<u32> {
        let view = *self.views.get(&handle)?;
        let image = &self.images[view.image].image;
        (view.kind != HandleKind::Sampler || is_of_sampler(query)).then(|| answer(image, view, query, 0))
    }

    /// Whether a number is a handle of a kind.
    pub(super) fn test(&self, frame: &mut Frame, op: &ImageOp, kind: HandleKind, lane: usize) {
        let Place::Pair(slot) = op.handle else { return };
        let undefined = frame.pair_undefined(slot) >> lane & 1 == 1;
        let found = self.views.get(&pair(frame, slot, lane)).is_some_and(|view| view.kind == kind);
        if let Place::Pred(slot) = op.predicate {
            frame.set_pred(slot, lanes_bit(lane, found), lanes_bit(lane, undefined), 1 << lane);
        }
    }
}

fn is_of_sampler(query: ImageQuery) -> bool {
    use ImageQuery::*;
    matches!(query, ForceUnnormalizedCoords | FilterMode | AddrMode0 | AddrMode1 | AddrMode2)
}

fn answer(image: &Image, view: View, query: ImageQuery, level: u32) -> u32 {
    let [width, height, depth] = image.level_extents(level);
    let dimensions = image.extents.len();
    let normalized = view.settings.get(Setting::Normalized) == Some(1);
    match query {
        ImageQuery::Width => width,
        ImageQuery::Height => {
            if dimensions > 1 {
                height
            } else {
                0
            }
        }
        ImageQuery::Depth => {
            if dimensions > 2 {
                depth
            } else {
                0
            }
        }
        ImageQuery::ChannelDataType => data_type(image),
        ImageQuery::ChannelOrder => match image.channels {
            1 => 0x10B0,
            2 => 0x10B2,
            _ => 0x10B5,
        },
        ImageQuery::ArraySize => image.layers.unwrap_or(0),
        ImageQuery::NormalizedCoords => normalized.into(),
        ImageQuery::NumMipmapLevels => image.levels,
        ImageQuery::NumSamples => 1,
        // The layout is none that PTX names.
        ImageQuery::MemoryLayout => 0,
        ImageQuery::ForceUnnormalizedCoords => {
            (view.settings.get(Setting::ForceUnnormalized) == Some(1) || !normalized).into()
        }
        ImageQuery::FilterMode => view.settings.get(Setting::Filter).unwrap_or(0).into(),
        ImageQuery::AddrMode0 => driver_mode(view.settings.get(Setting::Address0)),
        ImageQuery::AddrMode1 => driver_mode(view.settings.get(Setting::Address1)),
        ImageQuery::AddrMode2 => driver_mode(view.settings.get(Setting::Address2)),
    }
}

/// The number of an address mode in the CUDA driver's `CUaddress_mode`.
fn driver_mode(mode: Option<u8>) -> u32 {
    match oriole_ir::reference::ADDRESS_MODES[usize::from(mode.unwrap_or(CLAMP_TO_EDGE))] {
        "wrap" => 0,
        "mirror" => 2,
        "clamp_to_border" => 3,
        _ => 1,
    }
}

fn data_type(image: &Image) -> u32 {
    match (image.format, image.normalized_float) {
        (ScalarType::S8, true) => 0x10D0,
        (ScalarType::S16, true) => 0x10D1,
        (ScalarType::U8, true) => 0x10D2,
        (ScalarType::U16, true) => 0x10D3,
        (ScalarType::S8, false) => 0x10D7,
        (ScalarType::S16, false) => 0x10D8,
        (ScalarType::S32, _) => 0x10D9,
        (ScalarType::U8, false) => 0x10DA,
        (ScalarType::U16, false) => 0x10DB,
        (ScalarType::U32, _) => 0x10DC,
        (ScalarType::F16, _) => 0x10DD,
        _ => 0x10DE,
    }
}
