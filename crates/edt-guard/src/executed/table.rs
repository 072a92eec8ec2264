//! The table of programs, which is a file of lines.

use super::names::{Executor, When};

const LINES: &str = include_str!("programs.txt");

/// The programs of the table. A line that is none is left out; a test finds it.
pub(super) fn programs() -> Vec<Executor> {
    rows().filter_map(executor).collect()
}

fn rows() -> impl Iterator<Item = &'static str> {
    LINES.lines().filter(|line| !line.starts_with('#'))
}

fn executor(line: &'static str) -> Option<Executor> {
    let mut cells = line.split('\t');
    let mut cell = || cells.next();
    let (program, when, source, names) = (cell()?, cell()?, cell()?, cell()?);
    let when = match when {
        "here" => When::Here,
        "later" => When::Later,
        _ => return None,
    };
    Some(Executor { program, source, when, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_program() {
        let broken: Vec<&str> = rows().filter(|row| executor(row).is_none()).collect();
        assert_eq!(broken, [""; 0]);
        assert!(programs().len() > 90);
    }
}
