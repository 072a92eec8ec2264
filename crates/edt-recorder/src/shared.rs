//! Inodes with several names: what a program writes under one of them, all have.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use crate::event::{Inode, Place};
use crate::inode::Sight;
use crate::locate::Locator;
use crate::record::{RecordedRun, names_below};
use crate::store::name;

/// An inode with several names.
pub(crate) struct SharedInode {
    /// Those below the root.
    pub(crate) names: BTreeSet<Vec<u8>>,
    /// Whether there are further ones.
    pub(crate) further: bool,
}

impl RecordedRun {
    /// The inodes at `paths` that the programs changed in place and that have further names.
    pub(crate) fn shared(
        &self,
        locator: &Locator,
        paths: &BTreeSet<Vec<u8>>,
    ) -> io::Result<HashMap<u64, SharedInode>> {
        let mut shared: HashMap<u64, SharedInode> = HashMap::new();
        let mut device = None;
        for path in paths {
            let Some(sight) = locator.sight(&Place::Tree(path.clone()))? else { continue };
            if sight.is_file() && sight.names > 1 && self.firsts.contains_key(&sight.inode) {
                device = Some(sight.inode.device);
                let one = SharedInode { names: BTreeSet::new(), further: sight.names > 1 };
                shared.entry(sight.inode.number).or_insert(one);
            }
        }
        let Some(device) = device else { return Ok(shared) };
        // Only a look at all names finds the others.
        let numbers: HashSet<u64> = shared.keys().copied().collect();
        for path in names_below(locator, &Place::Tree(Vec::new()), Some(&numbers))? {
            let Some(sight) = locator.sight(&Place::Tree(path.clone()))? else { continue };
            if let Some(one) = shared.get_mut(&sight.inode.number)
                && sight.inode.device == device
            {
                one.names.insert(path);
                let stored = self.stored_names(locator, sight.inode);
                one.further = (one.names.len() + stored) < sight.names as usize;
            }
        }
        Ok(shared)
    }

    /// How many names in the store an inode has.
    fn stored_names(&self, locator: &Locator, inode: Inode) -> usize {
        let numbers = self.copied_links.keys();
        let is_same = |number: &&u64| {
            Sight::at(&locator.store, &name(**number)).is_ok_and(|sight| sight.inode == inode)
        };
        numbers.filter(is_same).count()
    }
}
