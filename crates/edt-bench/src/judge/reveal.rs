//! Whether a text gives the answer of a task away. Pure.

use std::collections::BTreeSet;

use crate::task::{JudgeSpec, Task};
use edt_io::directory::FileTree;

/// The shortest line of an expected file that counts, in characters.
const SHORTEST_LINE: usize = 8;

/// Whether `text` has a number or a line of what is expected that the task itself does not have. A
/// judge that looks at the output of a program expects only its numbers.
#[must_use]
pub fn gives_away(text: &str, task: &Task) -> bool {
    let texts = |files: &FileTree| -> String {
        let text = |file: &edt_io::directory::FileContent| {
            String::from_utf8_lossy(&file.bytes).into_owned() + "\n"
        };
        files.values().map(text).collect()
    };
    let known = format!("{}\n{}", task.instruction, texts(&task.before));
    let expected = match &task.judge {
        JudgeSpec::Numeric { answer: Some(answer), .. } => answer.clone(),
        _ => task.expected_files().map_or_else(String::new, |files| texts(&files)),
    };
    let (known_numbers, numbers) = (numbers(&known), numbers(&expected));
    let is_new_line = |line: &&str| {
        line.chars().count() >= SHORTEST_LINE && text.contains(line) && !known.contains(line)
    };
    self::numbers(text).iter().any(|one| numbers.contains(one) && !known_numbers.contains(one))
        || expected.lines().map(str::trim).any(|line| is_new_line(&line))
}

/// The numbers in `text` with more than one digit, without zeros at the end.
fn numbers(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let is_long = |word: &&str| word.chars().filter(char::is_ascii_digit).count() > 1;
    let parts = parts.map(|word| word.trim_matches('.')).filter(is_long);
    parts.filter_map(|word| word.parse::<f64>().ok()).map(|number| number.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_io::directory::FileContent;

    #[test]
    fn a_text_with_the_expected_number_gives_it_away() {
        let toml = "schema = \"edt.task/1\"\ninstruction = \"The sum over 2024.\"\ndate = \"2026-01-31\"\n\
                    judge = { kind = \"llm\" }\n";
        let file = |text: &str| FileContent { bytes: text.as_bytes().to_vec(), executable: false };
        let files: FileTree = [
            ("task.toml".to_owned(), file(toml)),
            ("expected/answer.txt".to_owned(), file("417.5 in 2024\n")),
        ]
        .into();
        let task = Task::of_dir("t", &files, "s/t").unwrap();
        assert!(gives_away("It is 417.5.", &task) && gives_away("417.50", &task));
        assert!(gives_away("417.5 in 2024", &task) && gives_away("write 417.5 in 2024", &task));
        assert!(!gives_away("Use only rows of 2024, not 41.", &task));
    }
}
