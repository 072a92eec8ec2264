//! A file as it is: on the branch, in the index and on disk; and how it differs.

pub mod diff_report;
pub(crate) mod file_copy;
pub mod near_path;
pub mod new_name;
pub mod path_findings;
pub mod path_state;
