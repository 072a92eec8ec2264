//! Benchmarks of single Python files in JSON lines: `CanItEdit` and `HumanEvalFix`.

use super::{ImportSource, ImportedTask, date_of, each_line, file, id_of, text};
use edt_types::Result;

type ParsedTasks = std::result::Result<Vec<ImportedTask>, (&'static str, String)>;

/// Runs the program and its hidden tests as one script.
const RUN_WITH_TESTS: &str = "import pathlib\nsource = pathlib.Path('main.py').read_text() + '\\n\\n' + pathlib.Path('.hidden_tests.py').read_text()\n\
                        exec(compile(source, 'main.py', 'exec'), {'__name__': '__main__'})\n";

/// `CanItEdit`: two tasks per line, one for each instruction.
pub(super) fn canitedit(source: &ImportSource) -> Result<Vec<ImportedTask>> {
    let date = date_of(source)?;
    each_line(source, |line| -> ParsedTasks {
        let name = line["full_name"]
            .as_str()
            .or_else(|| line["name"].as_str())
            .ok_or(("full_name", "it is missing".to_owned()))?;
        let (before, after, tests) =
            (text(line, "before")?, text(line, "after")?, text(line, "tests")?);
        let class = line["taxonomy"]["change_kind"].as_str().map(str::to_owned);
        let kinds = [("instruction_descriptive", "descriptive"), ("instruction_lazy", "lazy")];
        let task = |(key, kind): (&'static str, &str)| {
            let id = id_of(&format!("{name}-{kind}")).map_err(|why| ("full_name", why))?;
            let instruction = format!("{}\n\nThe program is `main.py`.\n", text(line, key)?.trim());
            Ok(ImportedTask {
                id,
                instruction,
                class: class.clone(),
                ..single(&date, &before, &after, &tests, &source.test)
            })
        };
        kinds.into_iter().map(task).collect()
    })
}

/// `HumanEvalFix`, the bugs of `HumanEvalPack`: only Python.
pub(super) fn humanevalfix(source: &ImportSource) -> Result<Vec<ImportedTask>> {
    let date = date_of(source)?;
    each_line(source, |line| -> ParsedTasks {
        let name = text(line, "task_id")?;
        if !name.starts_with("Python/") {
            return Err((
                "task_id",
                format!("{name:?} is not a Python task; only Python is imported"),
            ));
        }
        let (prompt, entry) = (text(line, "prompt")?, text(line, "entry_point")?);
        let (buggy, right) = (
            prompt.clone() + &text(line, "buggy_solution")?,
            prompt + &text(line, "canonical_solution")?,
        );
        let instruction = format!(
            "`{entry}` in `main.py` has a bug. Correct it, so that the function does what its documentation says.\n"
        );
        let class = line["bug_type"].as_str().map(str::to_owned);
        let id = id_of(&name).map_err(|why| ("task_id", why))?;
        Ok(vec![ImportedTask {
            id,
            instruction,
            class,
            ..single(&date, &buggy, &right, &text(line, "test")?, &source.test)
        }])
    })
}

fn single(date: &str, before: &str, after: &str, tests: &str, test: &[String]) -> ImportedTask {
    let default = ["python3", "-S", ".hidden_together.py"].map(str::to_owned).to_vec();
    ImportedTask {
        date: date.to_owned(),
        before: [file("main.py", before)].into(),
        expected: Some([file("main.py", after)].into()),
        tests: [file(".hidden_tests.py", tests), file(".hidden_together.py", RUN_WITH_TESTS)]
            .into(),
        commands: vec![if test.is_empty() { default } else { test.to_vec() }],
        ..ImportedTask::default()
    }
}
