//! The cost of all guards on one edit, compared with one parse of the new text.
//!
//! `cargo bench --bench guard_cost [-- FILE…]` measures generated C of 1,000 and 10,000 lines, a
//! large JSON file, texts that parse badly, and one changed line in the middle of each FILE.
//! Figures are medians. The goals are 1.3 parses for an edit without findings, and 1 s for any
//! edit.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use edt_guard::guard::{GUARDS, GuardContext, GuardOutput, Reference, Subject};
use edt_guard::policy::Policy;
use edt_types::RepoPath;

fn main() {
    println!(
        "| text | bytes | one parse | all guards | parses | found |\n| --- | --- | --- | --- | --- | --- |"
    );
    for lines in [1_000, 10_000] {
        let old = c_text(lines);
        let place = old.len() / 2;
        let place = place + old[place..].find("return").expect("a function");
        let edited = format!("{}return 1 + {}", &old[..place], &old[place + 7..]);
        row(&format!("C, {lines} lines, one line changed"), "a.c", &old, &edited);
        let function = "static int added_by_the_edit(int a)\n{\n    if (a > 3) {\n        return a;\n    }\n    return 0;\n}\n\n";
        let place = old[..place].rfind("static int").expect("a function");
        row(
            &format!("C, {lines} lines, a function added"),
            "a.c",
            &old,
            &format!("{}{function}{}", &old[..place], &old[place..]),
        );
    }
    let json = json_text(5 << 20);
    row("JSON, 5 MB", "a.json", &json, &json.replacen("\"value\": 1", "\"value\": 2", 1));
    let json = json_text(2 << 20).replacen("\"value\": 1", "\"value\": 2", 1);
    row("JSON, nearly 2 MiB", "a.json", &json[..2_000_000], &json[..1_999_000]);
    row("100,000 open brackets", "a.json", "[]", &"[".repeat(100_000));
    row(
        "100,000 nested brackets",
        "a.c",
        "int x;\n",
        &format!("{}{}", "(".repeat(100_000), ")".repeat(100_000)),
    );
    row(
        "900 open brackets, 300 times",
        "a.json",
        "[]",
        &format!("{}]\n", "[".repeat(900)).repeat(300),
    );
    row("YAML, 300 nested dashes", "a.yaml", "a: 1\n", &format!("{}a\n", "- ".repeat(300)));
    row("2 MB of quotes and braces", "a.c", "int x;\n", &"\"{'} ".repeat(400_000));
    for file in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        let Ok(old) = std::fs::read_to_string(&file) else { continue };
        let middle = old[old.len() / 2..].find('\n').map_or(0, |at| old.len() / 2 + at + 1);
        row(
            &file,
            file.rsplit('/').next().unwrap_or(&file),
            &old,
            &format!("{}\n{}", &old[..middle], &old[middle..]),
        );
    }
}

fn row(name: &str, path: &str, old: &str, new: &str) {
    let path = RepoPath::parse(path.as_bytes()).expect("a path");
    let policy = Policy::of(None, None).expect("the defaults");
    let language = edt_lang::language_of(&path, new.as_bytes()).expect("a language");
    let (parse, _) = median(|| edt_lang::parse(language, new.as_bytes(), &|| false).is_ok());
    let (all, outputs) = median(|| {
        let (before, after) = (Some(old.as_bytes()), Some(new.as_bytes()));
        let references = vec![Reference { origin: "HEAD", text: old.as_bytes() }];
        let subject = Subject::new(&path, None, before, after, references, policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        let check = |guard: &&dyn edt_guard::guard::Guard| guard.check(&subject, &context);
        GUARDS.iter().flat_map(check).collect::<Vec<_>>()
    });
    let mut found = String::new();
    for output in outputs {
        match output {
            GuardOutput::Pass | GuardOutput::Limited { .. } | GuardOutput::Noted { .. } => {}
            GuardOutput::Found { word, .. } => write!(found, "{word} ").expect("memory"),
            GuardOutput::Unchecked { word, .. } => {
                write!(found, "{word} unchecked ").expect("memory");
            }
        }
    }
    let ratio = all.as_secs_f64() / parse.as_secs_f64();
    println!("| {name} | {} | {parse:.2?} | {all:.2?} | {ratio:.2} | {found}|", new.len());
}

/// The median time of up to 41 runs within three seconds, and the last result.
fn median<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let result = work();
        times.push(start.elapsed());
        if times.len() >= 41 || begun.elapsed() > Duration::from_secs(3) {
            times.sort();
            return (times[times.len() / 2], result);
        }
    }
}

fn c_text(lines: usize) -> String {
    let mut text = String::from("#include <stdio.h>\n\n");
    for n in 0.. {
        let _ = write!(
            text,
            "/* Number {n} of many. */\nstatic int number_{n}(struct item *item, const char *name)\n{{\n    int sum = {n};\n\n    \
             for (int i = 0; i < item->count; i++) {{\n        if (item->names[i] && !strcmp(item->names[i], name)) {{\n            \
             sum += item->values[i] * {n};\n        }} else {{\n            printf(\"%s: %d\\n\", item->names[i], sum);\n        }}\n    }}\n    \
             return sum;\n}}\n\n"
        );
        if text.lines().count() >= lines {
            return text;
        }
    }
    text
}

fn json_text(bytes: usize) -> String {
    let mut text = String::from("[\n");
    for n in 0.. {
        let _ = writeln!(
            text,
            "  {{\"name\": \"entry {n}\", \"value\": {n}, \"tags\": [\"a\", \"b\"], \"nested\": {{\"x\": 1.5}}}},"
        );
        if text.len() >= bytes {
            break;
        }
    }
    text.push_str("  {}\n]\n");
    text
}
