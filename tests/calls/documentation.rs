//! The pages of the repository: their commands run, their links and names exist.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test_repo::{EDT, TestRepo};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Markdown page that people read, with its path relative to the repository's root.
fn pages() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for directory in [
        "",
        "benches",
        "docs",
        "docs/how-to",
        "docs/guide",
        "docs/reference",
        "docs/design",
        "docs/dev",
    ] {
        let entries = std::fs::read_dir(root().join(directory)).unwrap();
        paths.extend(entries.map(|entry| entry.unwrap().path()));
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    assert!(paths.len() > 25, "only {} pages", paths.len());
    let named = |path: &PathBuf| {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    paths.iter().map(named).collect()
}

/// A fenced block: its language, and its lines without the indentation of the fence.
struct Block {
    language: String,
    /// The number of the first line inside, 0-based.
    first: usize,
    indent: usize,
    lines: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(String, Block)> = None;
    for (number, line) in page.lines().enumerate() {
        let text = line.trim_start();
        let ticks = text.len() - text.trim_start_matches('`').len();
        match &mut open {
            None if ticks >= 3 => {
                let language = text[ticks..].trim().to_owned();
                let (first, indent) = (number + 1, line.len() - text.len());
                let block = Block { language, first, indent, lines: Vec::new() };
                open = Some(("`".repeat(ticks), block));
            }
            Some((fence, _)) if text.trim_end() == fence.as_str() => {
                blocks.push(open.take().unwrap().1);
            }
            Some((_, block)) => {
                block.lines.push(line.get(block.indent..).unwrap_or_default().to_owned());
            }
            None => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    blocks
}

/// A command of a console block, and what the page says that it prints.
struct Step {
    command: String,
    /// The first line of the expected output, 0-based, and how many lines there are.
    output: (usize, usize),
    indent: usize,
    expected: Vec<String>,
}

/// The commands after `$`, continued after `>`, in every console block of `page`.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(page).into_iter().filter(|block| block.language == "console") {
        let mut fresh = false;
        for (number, line) in block.lines.iter().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                let output = (block.first + number + 1, 0);
                let indent = block.indent;
                steps.push(Step { command: command.into(), output, indent, expected: Vec::new() });
                fresh = true;
            } else {
                let step = steps.last_mut().expect("a block begins with a command");
                let more = line.strip_prefix("> ").or_else(|| (line == ">").then_some(""));
                match more {
                    Some(more) if fresh => {
                        let _ = write!(step.command, "\n{more}");
                        step.output.0 += 1;
                    }
                    _ => {
                        fresh = false;
                        step.output.1 += 1;
                        step.expected.push(line.clone());
                    }
                }
            }
        }
    }
    steps
}

/// `text` without white space at the ends of lines, every object id, date and duration replaced: they
/// differ in each run.
fn comparable(lines: &[String]) -> Vec<String> {
    let word = |word: &str| {
        let (word, mark) = word.split_at(word.trim_end_matches([',', ')']).len());
        let id = word.len() >= 7
            && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let digits: String =
            word.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect();
        match digits.as_str() {
            "0000-00-00" | "00:00" => digits,
            _ if id => format!("ID{mark}"),
            _ => format!("{word}{mark}"),
        }
    };
    let line = |line: &String| {
        let mut words: Vec<String> = line.trim_end().split(' ').map(word).collect();
        for at in (1..words.len()).filter(|at| line.split(' ').nth(at - 1) == Some("took")) {
            "DURATION".clone_into(&mut words[at]);
        }
        words.join(" ")
    };
    lines.iter().map(line).collect()
}

const MARK: &str = "\u{1e}";

/// What each command prints, all of them in one shell that begins in a directory with the files of
/// `start`. Pages call the directory `/home/you`.
fn played(steps: &[Step], start: Option<&Path>) -> Vec<Vec<String>> {
    let scratch = TestRepo::bare_directory();
    if let Some(start) = start {
        let copied = Command::new("cp").arg("-r").arg(start.join(".")).arg(&scratch.root).status();
        assert!(copied.unwrap().success(), "{}", start.display());
    }
    let config = "[user]\n\tname = A User\n\temail = user@example.com\n";
    std::fs::write(scratch.home.join("gitconfig"), config).unwrap();
    let mut script = String::new();
    for step in steps {
        let _ = write!(script, "{}\nstatus=$?; printf '{MARK}'; (exit $status)\n", step.command);
    }
    let path = std::env::var_os("PATH").unwrap();
    let program = Path::new(EDT).parent().unwrap().to_owned();
    let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path)));
    let done = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(&scratch.root)
        .env_clear()
        .env("PATH", path.unwrap())
        .env("HOME", &scratch.home)
        .env("GIT_CONFIG_GLOBAL", scratch.home.join("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("NO_COLOR", "1")
        .envs(std::env::var_os("EDT_PLATFORM").map(|named| ("EDT_PLATFORM", named)))
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let text = text.replace(scratch.root.to_str().unwrap(), "/home/you");
    let mut outputs: Vec<&str> = text.split(MARK).collect();
    assert_eq!(outputs.pop(), Some(""), "the shell ended early: {text}");
    outputs.iter().map(|output| output.lines().map(str::to_owned).collect()).collect()
}

/// Runs the console blocks of a page; `EDT_BLESS=1` writes what they print into the page. The files
/// in the directory with the page's name and the extension `in` are there at the beginning.
fn run_page(name: &str) {
    let path = root().join(name);
    let page = std::fs::read_to_string(&path).unwrap();
    let steps = steps(&page);
    let start = Some(path.with_extension("in")).filter(|start| start.is_dir());
    let outputs = played(&steps, start.as_deref());
    assert_eq!(outputs.len(), steps.len(), "{name}");
    let pairs: Vec<_> = steps.iter().zip(outputs).collect();
    let wrong =
        |(step, output): &&(&Step, Vec<String>)| comparable(&step.expected) != comparable(output);
    if std::env::var_os("EDT_BLESS").is_some() {
        let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
        for (step, output) in pairs.iter().filter(wrong).rev() {
            let (from, count) = step.output;
            let shown = output.iter().map(|line| format!("{:1$}{line}", "", step.indent));
            lines.splice(from..from + count, shown.map(|line| line.trim_end().to_owned()));
        }
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        return;
    }
    for (step, output) in &pairs {
        assert_eq!(
            comparable(&step.expected),
            comparable(output),
            "{name}: $ {}\n`cargo xtask bless -p edt-cli` writes what it prints",
            step.command
        );
    }
}

#[test]
fn the_console_blocks_of_the_readme_print_what_the_page_shows() {
    run_page("README.md");
}

#[test]
fn the_transcripts_print_what_they_show() {
    for name in ["picture", "reading", "refusal", "undo"] {
        run_page(&format!("tests/transcripts/{name}.md"));
    }
}

#[test]
fn the_tutorial_prints_what_it_shows() {
    run_page("docs/tutorial.md");
}

#[test]
fn the_how_to_pages_print_what_they_show() {
    let pages = pages().into_iter().filter(|(name, _)| name.starts_with("docs/how-to/"));
    let mut tried = 0;
    for (name, page) in pages {
        if !steps(&page).is_empty() {
            run_page(&name);
            tried += 1;
        }
    }
    assert!(tried > 6, "only {tried} pages have console blocks");
}

#[test]
fn the_picture_of_the_readme_shows_its_transcript() {
    let page = std::fs::read_to_string(root().join("tests/transcripts/picture.md")).unwrap();
    let picture = std::fs::read_to_string(root().join("docs/images/session.svg")).unwrap();
    let shown = blocks(&page).into_iter().rfind(|block| block.language == "console").unwrap();
    let texts = picture.split("</tspan>").filter_map(|part| part.rsplit_once('>'));
    let drawn: String = texts.map(|(_, text)| text).collect();
    let drawn = drawn.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let is_comment = |line: &String| line.strip_prefix("$ #").map(|line| format!("#{line}"));
    let lines = shown.lines.iter().map(|line| is_comment(line).unwrap_or_else(|| line.clone()));
    let expected = dense(&lines.collect::<Vec<_>>().join("\n"));
    assert_eq!(dense(&drawn), expected, "`cargo xtask picture` draws it again");
}

#[test]
fn the_book_has_every_page_once() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed = links(&summary);
    let unique: std::collections::BTreeSet<&String> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
    let missing: Vec<String> = pages()
        .into_iter()
        .filter_map(|(name, _)| Some(name.strip_prefix("docs/")?.to_owned()))
        .filter(|name| name != "SUMMARY.md" && !listed.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

fn help(command: &str) -> Option<String> {
    let done = Command::new(EDT).args([command, "--help"]).output().unwrap();
    done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
}

/// Why a line of a shell names something that does not exist.
fn unknown(line: &str) -> Option<String> {
    let line = line.split(" #").next().unwrap().trim();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let is_variable = |word: &&str| word.starts_with("EDT_") && word.contains('=');
    let words: Vec<&str> = line.split_whitespace().skip_while(is_variable).collect();
    match words.as_slice() {
        ["edt", command, rest @ ..]
            if !command.starts_with('-') && !command.contains("COMMAND") =>
        {
            let Some(help) = help(command) else { return Some(format!("edt {command}")) };
            let own =
                rest.iter().take_while(|word| !["--", "|", "<", "&&", "||", ";"].contains(word));
            let flags =
                own.filter_map(|word| word.strip_prefix("--")).filter(|flag| !flag.is_empty());
            let mut names = flags.map(|flag| flag.split(['=', ';', ')']).next().unwrap());
            // `edt memory list --code`: the flags of a command below a command are in its own help.
            let below =
                rest.first().filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
            let below = below.map_or_else(String::new, |word| {
                let done = Command::new(EDT).args([command, word, "--help"]).output().unwrap();
                String::from_utf8_lossy(&done.stdout).into_owned()
            });
            let known = |name: &str| {
                let flag = format!("--{name}");
                [&help, &below].iter().any(|text| text.contains(&flag))
            };
            names.find(|name| !known(name)).map(|name| format!("edt {command} --{name}"))
        }
        ["cargo", "xtask", task, ..] => {
            let tasks = std::fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
            let known = tasks.contains(&format!("name: \"{task}\""));
            (!known).then(|| format!("cargo xtask {task}"))
        }
        ["cargo", "run", "--", command, ..] => {
            help(command).is_none().then(|| format!("cargo run -- {command}"))
        }
        ["cargo", "test", .., "--test", target] | ["cargo", "test", "--test", target, ..] => {
            let of = |tests: PathBuf| {
                tests.join(format!("{target}.rs")).exists() || tests.join(target).is_dir()
            };
            let mut crates = std::fs::read_dir(root().join("crates")).unwrap();
            let known = of(root().join("tests"))
                || crates.any(|entry| of(entry.unwrap().path().join("tests")));
            (!known).then(|| format!("cargo test --test {target}"))
        }
        _ => None,
    }
}

#[test]
fn every_command_on_a_page_exists() {
    let mut wrong = Vec::new();
    for (name, page) in pages() {
        let shell = |block: &Block| ["sh", "console"].contains(&block.language.as_str());
        for block in blocks(&page).iter().filter(|block| shell(block)) {
            let found = block.lines.iter().filter_map(|line| unknown(line));
            wrong.extend(found.map(|what| format!("{name}: {what}")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn an_unknown_command_would_be_noticed() {
    assert_eq!(unknown("$ edt aply a.c"), Some("edt aply".to_owned()));
    assert_eq!(unknown("edt undo --forever  # no"), Some("edt undo --forever".to_owned()));
    assert_eq!(unknown("edt memory list --code X"), None);
    assert_eq!(unknown("edt run --timeout 600 -- cargo --frozen"), None);
    assert_eq!(unknown("cargo xtask blss"), Some("cargo xtask blss".to_owned()));
    assert_eq!(unknown("cargo test --test nowhere"), Some("cargo test --test nowhere".to_owned()));
}

/// The targets of the inline links of a page, without anchors.
fn links(page: &str) -> Vec<String> {
    let outside = |number: usize, blocks: &[Block]| {
        let inside =
            |block: &Block| (block.first..block.first + block.lines.len()).contains(&number);
        !blocks.iter().any(inside)
    };
    let blocks = blocks(page);
    let mut links = Vec::new();
    for (_, line) in page.lines().enumerate().filter(|(number, _)| outside(*number, &blocks)) {
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap().split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                links.push(target.to_owned());
            }
        }
    }
    links
}

#[test]
fn every_link_to_a_file_leads_to_one() {
    let mut broken = Vec::new();
    for (name, page) in pages() {
        let directory = root().join(&name);
        let directory = directory.parent().unwrap();
        let missing = links(&page).into_iter().filter(|link| !directory.join(link).exists());
        broken.extend(missing.map(|link| format!("{name}: {link}")));
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// The anchors that a heading of `page` has on a forge and in the book.
fn anchors(page: &str) -> Vec<String> {
    let blocks = blocks(page);
    let inside = |number: usize| {
        let holds =
            |block: &Block| (block.first..block.first + block.lines.len()).contains(&number);
        blocks.iter().any(holds)
    };
    let headings =
        page.lines().enumerate().filter(|(number, line)| line.starts_with('#') && !inside(*number));
    let kept = |one: &char| one.is_alphanumeric() || [' ', '-', '_'].contains(one);
    let anchor = |line: &str| -> String {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    headings.map(|(_, line)| anchor(line)).collect()
}

#[test]
fn every_link_to_a_heading_leads_to_one() {
    let pages = pages();
    let mut broken = Vec::new();
    for (name, page) in &pages {
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let Some((path, heading)) = link.split_once('#') else { continue };
            let directory = Path::new(name).parent().unwrap();
            let target =
                if path.is_empty() { root().join(name) } else { root().join(directory).join(path) };
            let Ok(target) = target.canonicalize() else { continue };
            let found = pages.iter().find(|(name, _)| root().join(name) == target);
            if found.is_some_and(|(_, page)| !anchors(page).iter().any(|one| one == heading)) {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn the_index_links_to_every_page() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    let linked = links(&index);
    let missing: Vec<String> = pages()
        .into_iter()
        .filter_map(|(name, _)| Some(name.strip_prefix("docs/")?.to_owned()))
        .filter(|name| name != "README.md" && name != "SUMMARY.md" && !linked.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn prose_is_wrapped_at_100_columns() {
    let mut long = Vec::new();
    let generated = ["docs/reference/errors.md", "docs/reference/agents-seen.md"];
    for (name, page) in pages().into_iter().filter(|(name, _)| !generated.contains(&name.as_str()))
    {
        let blocks = blocks(&page);
        let inside = |number: usize| {
            blocks
                .iter()
                .any(|block| (block.first..block.first + block.lines.len()).contains(&number))
        };
        for (number, line) in page.lines().enumerate() {
            let table = line.trim_start().starts_with('|');
            if line.chars().count() > 100 && !table && !inside(number) {
                long.push(format!("{name}:{}", number + 1));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn every_json_block_is_json() {
    for (name, page) in pages() {
        for block in blocks(&page).iter().filter(|block| block.language == "json") {
            let text = block.lines.join("\n");
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&text);
            assert!(parsed.is_ok(), "{name}:{}: {parsed:?}\n{text}", block.first);
        }
    }
}

#[test]
fn every_policy_on_a_page_is_accepted() {
    let names = [
        "docs/reference/policy.md",
        "docs/reference/command-policy.md",
        "docs/guide/proposals.md",
        "docs/guide/hooks.md",
        "docs/troubleshooting.md",
        "docs/how-to/protect-a-path.md",
        "docs/how-to/write-a-guard.md",
        "docs/how-to/run-programs.md",
    ];
    let policies: Vec<String> = names
        .iter()
        .flat_map(|name| blocks(&std::fs::read_to_string(root().join(name)).unwrap()))
        .filter(|block| block.language == "toml")
        .map(|block| block.lines.join("\n") + "\n")
        .collect();
    assert!(policies.len() > 4, "only {} policies", policies.len());
    for policy in policies {
        // A key that only the user's own file may have.
        let is_users = ["writable = ", "signing_key = "].iter().any(|key| policy.contains(key));
        let workspace = if is_users {
            let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
            let directory = workspace.home.join(".config/edt");
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("edt.toml"), &policy).unwrap();
            workspace
        } else {
            TestRepo::with(&[("edt.toml", policy.as_bytes())])
        };
        let answer = workspace.edt(&["guards"]);
        assert_eq!(answer.exit, 0, "{policy}\n{}", answer.json);
    }
}

#[test]
fn the_snippets_of_the_architecture_are_lines_of_the_source() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let snippets = blocks(&page).into_iter().filter(|block| block.language == "rust");
    let mut lines: Vec<String> = snippets.flat_map(|block| block.lines).collect();
    lines.retain(|line| !line.trim().is_empty());
    assert!(lines.len() > 5, "{lines:?}");
    let source = std::fs::read_to_string(root().join("crates/edt-core/src/txn/mod.rs")).unwrap();
    let source: Vec<&str> = source.lines().map(str::trim).collect();
    let missing = lines.iter().filter(|line| !source.contains(&line.trim()));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_url_of_the_repository_is_written_once() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("repository = ")).unwrap();
    let url = line.split('"').nth(1).unwrap();
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let holds = |name: &&str| {
        let text = std::fs::read(root().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&text).contains(url)
    };
    let found: Vec<&str> =
        names.split('\0').filter(|name| !name.is_empty()).filter(holds).collect();
    assert!(found.is_empty() || found == ["Cargo.toml"], "{found:?}");
}
