/// Whether a call stops before it changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Checks everything and writes nothing.
    Yes,
    /// Checks everything, then writes.
    No,
}
