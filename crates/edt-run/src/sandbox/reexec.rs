//! What every start of edt as its own supervisor needs.

/// The argument with which edt starts itself as a supervisor.
pub(super) const SUPERVISOR_ARGUMENT: &str = "__sandbox";

/// Closes all inherited descriptors except the standard streams, so that the program does not get
/// them.
pub(super) fn close_others() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in open.into_iter().filter(|number| *number > 2) {
        let _ = nix::unistd::close(number);
    }
}
