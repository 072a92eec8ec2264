//! The layers of the modules, and who may touch Git and the disk: read from the source itself.

use std::path::Path;

/// Lowest first: a module imports only from layers before its own.
const LAYERS: &[&[&str]] = &[
    &["base"],
    &["io", "lang"],
    &["telemetry"],
    &["edit", "policy", "git", "sandbox"],
    &["guard", "find"],
    &["journal"],
    &["memory"],
    &["session"],
    &["txn"],
    &["proposal"],
    &["run"],
    &["hook", "agent", "mcp", "bench"],
    &["cli"],
];

/// Files outside `io` and `git` that touch the disk themselves. This list may only shrink.
const TOUCH_DISK: &[&str] = &["cli/context.rs"];

/// Layers that touch disk and processes besides `io`. `sandbox` does so in a supervisor's own namespaces, whose effects no journal
/// follows and no fault of edt's can tear: it names rustix, nix, landlock and seccompiler, and starts the programs of `edt run`.
const DOORS: &[&str] = &["git", "io", "sandbox"];

/// What changes something outside the process. Outside `io`, whose every such call is a step of `io::effect`, and `sandbox`, product
/// code has none.
const EFFECTS: &[&str] = &[
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
    "fs::hard_link(",
    "fs::remove_",
    "fs::create_dir",
    "fs::set_permissions(",
    "fs::DirBuilder",
    "fs::OpenOptions",
    "fs::File",
    "OpenOptions::new",
    "std::os::unix::fs::symlink",
    "rustix::",
];

/// Files of `io` that change files; each step there is announced to `io::effect` first. This list may only shrink.
const CHANGE_FILES: &[&str] = &["io/disk.rs", "io/file.rs", "io/scratch.rs", "io/whole.rs"];

/// Longest file, in lines before its tests.
const MAX_LINES: usize = 430;

/// What breaks the rules in the text of `file` (relative to `src`, such as `git/repo.rs`), its tests left out.
fn faults(file: &str, text: &str) -> Vec<String> {
    let code: Vec<&str> =
        text.lines().take_while(|line| !line.trim_start().starts_with("#[cfg(test)]")).collect();
    let mut faults = Vec::new();
    if code.len() > MAX_LINES {
        faults
            .push(format!("{file}: {} lines before its tests, more than {MAX_LINES}", code.len()));
    }
    let own = file.split('/').next().unwrap();
    for (number, line) in
        code.iter().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
    {
        let place = format!("{file}:{}", number + 1);
        for module in imports(line) {
            // `lib.rs` and `main.rs` belong to no layer: they only name the modules.
            let Some(mine) = layer(own) else { continue };
            match layer(&module) {
                Some(other) if module == own || other < mine => {}
                Some(_) => {
                    faults.push(format!("{place}: {own} imports {module}, which is not below it"))
                }
                None => faults.push(format!("{place}: {module} belongs to no layer")),
            }
        }
        if names(line, "gix") && own != "git" {
            faults.push(format!("{place}: only git names gix"));
        }
        if names(line, "gix_validate") && own != "git" && file != "base/path.rs" {
            faults.push(format!("{place}: only git and base/path.rs name gix_validate"));
        }
        if names_start(line, "tree_sitter") && own != "lang" {
            faults.push(format!("{place}: only lang names tree_sitter and its grammars"));
        }
        if (names_start(line, "grep") || names(line, "ignore") && !line.contains("::ignore"))
            && own != "find"
        {
            faults.push(format!("{place}: only find names ripgrep's crates"));
        }
        let effects =
            line.contains("File::options") || EFFECTS.iter().any(|effect| line.contains(effect));
        if effects && !["io", "sandbox"].contains(&own) {
            faults.push(format!("{place}: only io and sandbox change what is outside the process"));
        }
        let changes = EFFECTS.iter().filter(|effect| !matches!(**effect, "rustix::" | "fs::File"));
        if own == "io"
            && !CHANGE_FILES.contains(&file)
            && changes.into_iter().any(|effect| line.contains(effect))
        {
            faults.push(format!(
                "{place}: what changes files takes a step of io::effect, in {CHANGE_FILES:?}"
            ));
        }
        let disk = line.contains("std::fs") || line.contains("std::process::Command");
        if disk && !DOORS.contains(&own) && !TOUCH_DISK.contains(&file) {
            faults.push(format!("{place}: only {DOORS:?} touch the disk"));
        }
        if ["landlock", "seccompiler", "nix"].iter().any(|name| names(line, name))
            && own != "sandbox"
        {
            faults.push(format!("{place}: only sandbox names landlock, seccompiler and nix"));
        }
    }
    faults
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The modules that a line names by `crate::x` or `crate::{x, y::Z}`.
fn imports(line: &str) -> Vec<String> {
    let word = |text: &str| {
        text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let after = |rest: &str| match rest.strip_prefix('{') {
        Some(group) => group.split(['}', ';']).next().unwrap().split(',').map(word).collect(),
        None => vec![word(rest)],
    };
    line.split("crate::").skip(1).flat_map(after).filter(|module| !module.is_empty()).collect()
}

/// Whether `line` names `family`, or a crate whose name begins with it and goes on with `_`.
fn names_start(line: &str, family: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let longer =
        line.split(|c: char| !word(c)).filter(|name| name.starts_with(&format!("{family}_")));
    names(line, family) || longer.into_iter().any(|name| names(line, name))
}

/// Whether `line` names the crate `name`, as a path or in a `use`.
fn names(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let joined = |c: char| c.is_alphanumeric() || c == '_';
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !before.ends_with(joined)
            && (after.starts_with("::")
                || before.trim_start() == "use " && after.starts_with([';', ' ']))
    })
}

fn sources(dir: &Path, below: &str, out: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            sources(&entry.path(), &format!("{name}/"), out);
        } else if Path::new(&name).extension().is_some_and(|ext| ext == "rs") {
            out.push((name, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut all);
    assert!(all.len() > 40, "only {} source files were found", all.len());
    all
}

#[test]
fn every_source_file_keeps_to_its_layer() {
    let found: Vec<String> =
        all_sources().iter().flat_map(|(file, text)| faults(file, text)).collect();
    assert_eq!(found, Vec::<String>::new(), "\n{}", found.join("\n"));
}

#[test]
fn every_exception_is_still_needed() {
    let all = all_sources();
    let needed =
        |file: &&str| all.iter().any(|(name, text)| name == file && text.contains("std::fs"));
    let stale: Vec<&&str> = TOUCH_DISK.iter().filter(|file| !needed(file)).collect();
    assert!(stale.is_empty(), "take these off the list: {stale:?}");
}

#[test]
fn the_rules_can_be_broken() {
    let broken = |file: &str, text: &str| faults(file, text).len();
    assert_eq!(
        broken("git/x.rs", "use crate::base::Code;\nuse crate::io::disk;\nuse crate::git::Oid;\n"),
        0
    );
    assert_eq!(broken("git/x.rs", "use crate::journal::Journal;\n"), 1);
    assert_eq!(broken("edit/x.rs", "fn f() { crate::policy::g() }\n"), 1, "modules of one layer");
    assert_eq!(broken("guard/x.rs", "use crate::{base::Code, txn::Request, cli};\n"), 2);
    assert_eq!(broken("base/x.rs", "use crate::nowhere::X;\n"), 1);
    assert_eq!(broken("txn/x.rs", "let x = gix::ObjectId::null();\nuse gix;\n"), 2);
    assert_eq!(broken("txn/x.rs", "let gixen = my_gix::x;\n"), 0);
    assert_eq!(broken("txn/x.rs", "use gix_validate::path;\n"), 1);
    assert_eq!(broken("base/path.rs", "use gix_validate::path;\n"), 0);
    assert_eq!(
        broken("guard/x.rs", "let x = tree_sitter::Parser::new();\nuse tree_sitter_c::LANGUAGE;\n"),
        2
    );
    assert_eq!(broken("lang/x.rs", "use tree_sitter::Parser;\nuse crate::base::RepoPath;\n"), 0);
    assert_eq!(broken("cli/x.rs", "use grep_searcher::Searcher;\nuse ignore::Walk;\n"), 2);
    assert_eq!(
        broken(
            "find/x.rs",
            "use grep_searcher::Searcher;\nuse ignore::Walk;\nuse crate::git::Repo;\n"
        ),
        0
    );
    assert_eq!(broken("lang/x.rs", "use crate::io::disk;\n"), 1, "lang stands beside io");
    assert_eq!(broken("guard/x.rs", "let tree_sitters = my_tree_sitter::x;\n"), 0);
    assert_eq!(broken("txn/x.rs", "std::fs::read(x);\n"), 1);
    assert_eq!(broken("git/x.rs", "std::fs::read(x);\n"), 0);
    assert_eq!(
        broken("git/x.rs", "std::fs::write(x, y);\nuse std::fs::File;\nlet x = File::options();\n"),
        3
    );
    assert_eq!(broken("git/x.rs", "use rustix::fs::unlink;\n"), 1);
    assert_eq!(
        broken(
            "sandbox/x.rs",
            "use nix::sched::unshare;\nrustix::mount::mount(x);\nstd::fs::write(x, y);\n"
        ),
        0
    );
    assert_eq!(broken("io/x.rs", "use landlock::Ruleset;\nlet x = my_nix::x;\n"), 1);
    assert_eq!(broken("io/x.rs", "std::fs::remove_file(x);\n"), 1);
    assert_eq!(broken("io/whole.rs", "std::fs::remove_file(x);\n"), 0);
    assert_eq!(
        broken(
            "txn/x.rs",
            "// std::fs::read(x), crate::cli\n#[cfg(test)]\nmod t { use crate::cli; }\n"
        ),
        0
    );
    assert_eq!(broken("txn/x.rs", &"\n".repeat(MAX_LINES + 1)), 1);
}
