//! What a run touched, and what a restoration did.

use crate::event::{Attributes, Kept, Place};

/// What was at a path before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    Missing,
    File {
        attributes: Attributes,
        kept: Kept,
    },
    Directory(Attributes),
    /// A symbolic link with this target.
    Link(Vec<u8>),
    /// A FIFO, a socket or a device.
    Special,
    /// What is there now, or at this place if it was moved. `attributes`: those before, if they
    /// were changed.
    Same {
        now: Place,
        attributes: Option<Attributes>,
    },
}

/// A path that the run touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedPath {
    pub before: Before,
    /// Somebody else wrote it as well.
    pub foreign: bool,
    /// The file has further names, which are not below the root.
    pub named_elsewhere: bool,
}

/// What a restoration did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restoration {
    /// How many events were reverted.
    pub reverted: usize,
    /// What was at these places before, under these names in the store.
    pub saved: Vec<(Place, String)>,
    /// Places that were left as they are, with the reason: others changed them.
    pub left: Vec<(Place, String)>,
    /// Places whose earlier content was not kept.
    pub lost: Vec<(Place, String)>,
}
