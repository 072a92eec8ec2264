//! Programs that remove and write files. The location of the files decides.

use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::matching::{Invocation, contains_listed};
use super::path_location::PathLocation;
use super::query::Restorable;
use super::shell_ast::is_unknown;
use super::{Decision, builtin, path_arguments};

const REMOVE: [&str; 4] = ["rm", "rmdir", "unlink", "grm"];
const COPY: [&str; 6] = ["cp", "ln", "install", "link", "gcp", "ditto"];
/// Options of `cp` and similar programs that take the next argument, which is not a file.
const VALUE_OPTIONS: [&str; 8] =
    ["-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"];
const MODE_PROGRAMS: [&str; 6] = ["chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"];

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let invocation = command.invocation;
    let open_ended = invocation.open_ended;
    let context = &CommandContext { open_ended, ..command.context.clone() };
    let args = invocation.args.as_slice();
    let operands = operands(args);
    if invocation.is(&["dd"]) {
        let target = args.iter().filter_map(|arg| arg.strip_prefix("of=").map(str::to_owned));
        return evaluator.in_place_change(&target.collect::<Vec<_>>(), context);
    }

    if invocation.is(&REMOVE) {
        let mut rule_matches = evaluator.removal(&operands, context);
        if args.iter().any(|arg| arg.starts_with("--no-p") || arg == "--no") {
            rule_matches.push(RuleMatch::new(
                Decision::Deny,
                "remove-vital",
                "--no-preserve-root permits the removal of everything. Name the files to remove.",
            ));
        }
        return rule_matches;
    }
    if invocation.is(&["mv", "gmv"]) || invocation.is(&COPY) {
        let rule_matches = evaluator.copies(invocation, context);
        let symbolic = has_letter(args, 's') || args.iter().any(|arg| arg.starts_with("--sy"));
        let hard = invocation.is(&["ln", "link"]) && !symbolic;
        if symbolic && invocation.is(&["ln", "cp", "gcp"])
            || hard && !operands.iter().all(|file| evaluator.is_no_link(file, context))
        {
            evaluator.makes_link(&operands, context);
        }
        return rule_matches;
    }
    let output = ["-o".to_owned(), "--output".to_owned()];
    let sorts = invocation.is(&["sort"]) && contains_listed(&output, &[], args);
    if sorts || invocation.is(builtin::names("programs-that-write")) {
        let mut rule_matches = evaluator.in_place_change(&operands, context);
        rule_matches.extend(path_arguments::evaluate_paths(evaluator, command));
        return rule_matches;
    }
    if invocation.is(&MODE_PROGRAMS) {
        let deep = args.iter().any(|arg| {
            arg.starts_with("--r")
                || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('R')
        });
        let mut rule_matches = evaluator.in_place_change(&operands, context);
        let special = |mode: &String| {
            let digits = mode.chars().all(|c| c.is_ascii_digit()) && mode.len() > 3;
            digits && !mode.starts_with('0') || mode.contains(['+', '=']) && mode.contains('s')
        };
        if operands.first().is_some_and(special) && invocation.is(&["chmod"]) {
            rule_matches.push(special_mode());
        }
        let worst = operands.iter().map(|file| evaluator.locate(file, context)).max();
        if deep && worst >= Some(PathLocation::Root) && worst != Some(PathLocation::Outside) {
            let (decision, what) = if worst == Some(PathLocation::Root) {
                (Decision::Ask, "the Git directory, too")
            } else {
                (Decision::Deny, "files outside the worktree")
            };
            rule_matches.push(RuleMatch::new(
                decision,
                "modes-vital",
                format!("It would change {what}. Name the files in the worktree to change."),
            ));
        }
        return rule_matches;
    }
    Vec::new()
}

/// Whether short options contain `letter`.
fn has_letter(args: &[String], letter: char) -> bool {
    args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
}

fn special_mode() -> RuleMatch {
    let reason = "It would make a program that runs as its owner or group. Ask the user.";
    RuleMatch::ask("modes-special", reason)
}

/// The arguments that are not options.
fn operands(args: &[String]) -> Vec<String> {
    let (mut out, mut options) = (Vec::new(), true);
    for arg in args {
        if options && arg == "--" {
            options = false;
        } else if !options || !arg.starts_with('-') || arg == "-" {
            out.push(arg.clone());
        }
    }
    out
}

impl Evaluator<'_> {
    /// Evaluates a file that a redirection writes.
    pub(super) fn evaluate_redirection(&mut self, file: &str, context: &CommandContext) {
        for rule_match in self.writing(&[file.to_owned()], context) {
            if rule_match.decision > Decision::Allow {
                self.record_step(context, &[format!("> {file}")], rule_match);
            }
        }
    }

    /// The location of a file that is removed: the worktree is worse than a file elsewhere.
    fn locate_removed(&self, file: &str, context: &CommandContext) -> PathLocation {
        let one = |dir: &std::path::PathBuf| {
            self.locate(file, &CommandContext { dirs: vec![dir.clone()], ..context.clone() })
        };
        let worst = self.locate(file, context);
        let is_root = worst == PathLocation::Outside
            && context.dirs.iter().any(|dir| one(dir) == PathLocation::Root);
        if is_root { PathLocation::Root } else { worst }
    }

    pub(super) fn removal(&self, files: &[String], context: &CommandContext) -> Vec<RuleMatch> {
        let rule_match = |file: &String| match self.locate_removed(file, context) {
            PathLocation::Inside => {
                let restorable = self.restorable(file, context);
                (restorable, inside_removal(file, restorable))
            }
            location => (Restorable::All, removal_match(file, location)),
        };
        let mut all: Vec<(Restorable, RuleMatch)> = files.iter().map(rule_match).collect();
        // The first reason is shown: it must not promise more than what follows.
        all.sort_by_key(|(restorable, _)| std::cmp::Reverse(*restorable));
        let mut rule_matches: Vec<RuleMatch> = all.into_iter().map(|(_, one)| one).collect();
        if context.open_ended {
            rule_matches.push(RuleMatch::ask(
                "remove",
                "It would remove files whose names are unknown before it runs. Name them.",
            ));
        }
        rule_matches
    }

    /// The removals of `find -delete`.
    pub(super) fn deletion(
        &self,
        starts: &[String],
        narrowed: bool,
        context: &CommandContext,
    ) -> Vec<RuleMatch> {
        let rule_match = |start: &String| match self.locate(start, context) {
            PathLocation::Root if narrowed => removal_match(start, PathLocation::Inside),
            PathLocation::Inside if !narrowed => {
                inside_removal(start, self.restorable(start, context))
            }
            location => removal_match(start, location),
        };
        starts.iter().map(rule_match).collect()
    }

    /// Whether `file` is in the worktree, and no symbolic link leads to it or is there.
    fn is_no_link(&self, file: &str, context: &CommandContext) -> bool {
        let one = |dir: &std::path::PathBuf| {
            let path = super::resolve::normalized(&self.expand_path(file, dir));
            self.resolve_path(&path).is_some_and(|real| real == path)
        };
        self.locate(file, context) == PathLocation::Inside && context.dirs.iter().all(one)
    }

    /// Remembers where `ln` makes symbolic links: later paths through them lead elsewhere.
    fn makes_link(&mut self, operands: &[String], context: &CommandContext) {
        for dir in &context.dirs {
            let path = |name: &str| super::resolve::normalized(&self.expand_path(name, dir));
            let mut made: Vec<_> = operands.iter().skip(1).map(|name| path(name)).collect();
            let base = |name: &String| name.trim_end_matches('/').rsplit('/').next().map(path);
            made.extend(operands.iter().filter_map(base));
            if let Some(into) = operands.last() {
                let below = |name: &String| Some(path(into).join(name.rsplit('/').next()?));
                made.extend(operands.iter().filter_map(below));
            }
            // `ln -t DIRECTORY TARGET`
            let first =
                operands.first().map(|into| path(into)).filter(|into| into.starts_with(dir));
            made.extend(first.filter(|_| operands.len() > 1));
            made.retain(|link| link != self.query.root && link.starts_with(self.query.root));
            self.made_links.extend(made);
        }
    }

    /// Writes of files, or into directories.
    pub(super) fn writing(&self, files: &[String], context: &CommandContext) -> Vec<RuleMatch> {
        let mut rule_matches: Vec<RuleMatch> =
            files.iter().map(|file| write_match(file, self.locate(file, context))).collect();
        if context.open_ended {
            rule_matches.push(RuleMatch::ask(
                "write-outside",
                "It would write files whose names are unknown before it runs. Name them.",
            ));
        }
        rule_matches
    }

    /// Changes of files in place. To change the worktree's root is to change its Git directory,
    /// too.
    pub(super) fn in_place_change(
        &self,
        files: &[String],
        context: &CommandContext,
    ) -> Vec<RuleMatch> {
        let mut rule_matches = self.writing(files, context);
        if files.iter().any(|file| self.locate(file, context) == PathLocation::Root) {
            let reason = "It would change the Git directory, too. Name the files to change.";
            rule_matches.push(RuleMatch::ask("write-root", reason));
        }
        rule_matches
    }

    /// `cp`, `mv`, `ln`, `install`. The target may precede options, be the value of an option, or
    /// look like one.
    fn copies(&self, invocation: &Invocation, context: &CommandContext) -> Vec<RuleMatch> {
        let args = invocation.args.as_slice();
        let short = |arg: &String, letter: char| {
            arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
        };
        let has =
            |letter, long: &str| args.iter().any(|arg| short(arg, letter) || arg.starts_with(long));
        let with_values = operands(args);
        let without: Vec<String> = (0..args.len())
            .filter(|at| *at == 0 || !VALUE_OPTIONS.contains(&args[at - 1].as_str()))
            .map(|at| args[at].clone())
            .collect();
        let without = operands(&without);
        let valued = args.iter().filter_map(|arg| match arg.strip_prefix("--") {
            Some(long) => Some(long.split_once('=')?.1.to_owned()),
            None => Some(arg.strip_prefix('-')?.split_once('t')?.1.to_owned())
                .filter(|value| !value.is_empty()),
        });
        let into = has('t', "--t");
        let makes_directories = invocation.is(&["install"]) && has('d', "--d");
        let links =
            invocation.is(&["ln", "link"]) || invocation.is(&["cp", "gcp"]) && has('l', "--l");
        let last = [with_values.last(), without.last()].into_iter().flatten().cloned().collect();
        let targets: Vec<String> = if into || makes_directories || links && !has('s', "--s") {
            with_values.clone()
        } else {
            last
        };
        let mut rule_matches =
            self.writing(&targets.into_iter().chain(valued).collect::<Vec<_>>(), context);
        let special = |arg: &String| {
            let mode = arg.trim_start_matches("--mode=").trim_start_matches("-m");
            let digits = mode.len() == 4 && mode.chars().all(|c| c.is_ascii_digit());
            digits && !mode.starts_with('0') || mode.ends_with("+s") || mode.ends_with("=s")
        };
        if invocation.is(&["install"]) && args.iter().any(special) {
            rule_matches.push(special_mode());
        }
        if invocation.is(&["mv", "gmv"]) {
            let sources = with_values.len().saturating_sub(usize::from(!into));
            let moved = |source: &String| removal_match(source, self.locate(source, context));
            rule_matches.extend(with_values[..sources].iter().map(moved));
        }
        rule_matches
    }
}

/// The removal of a file or directory in the worktree.
fn inside_removal(file: &str, restorable: Restorable) -> RuleMatch {
    match restorable {
        Restorable::All => removal_match(file, PathLocation::Inside),
        Restorable::NotBuildOutput => RuleMatch::new(
            Decision::Allow,
            "remove",
            format!(
                "{file} is or has an ignored directory with very many files, which is taken for \
                 build output. No copy of it is made, and `edt undo` cannot restore it."
            ),
        ),
        Restorable::NotAll => RuleMatch::ask(
            "remove-uncopied",
            format!(
                "{file} is too large for a copy, or has files that are: the limit is 1 MiB for an \
                 ignored file and 64 MiB for all of them. `edt undo` cannot restore it."
            ),
        ),
    }
}

fn outside(file: &str) -> String {
    let what = if is_unknown(file) { "may be any file" } else { "is outside the worktree" };
    format!("{file} {what}")
}

fn removal_match(file: &str, location: PathLocation) -> RuleMatch {
    let deny = |what: &str| {
        let reason = format!(
            "{file} is {what}. Name the files in the worktree to remove; `edt undo` restores those."
        );
        RuleMatch::new(Decision::Deny, "remove-vital", reason)
    };
    match location {
        PathLocation::Nowhere | PathLocation::Inside => RuleMatch::new(
            Decision::Allow,
            "remove",
            "Removed files are recorded or copied first; `edt undo` restores them.",
        ),
        PathLocation::Outside => {
            RuleMatch::ask("remove", format!("{}, where `edt undo` has no effect.", outside(file)))
        }
        PathLocation::Root => deny("the root of the worktree"),
        PathLocation::Git => deny("a Git directory, or in one"),
        PathLocation::Vital | PathLocation::System | PathLocation::Device => {
            deny("a system directory, a home directory, or a parent of the worktree")
        }
    }
}

fn write_match(file: &str, location: PathLocation) -> RuleMatch {
    let deny = |what: &str| {
        let reason = format!("{file} is {what}. Write to a file in the worktree.");
        RuleMatch::new(Decision::Deny, "write-vital", reason)
    };
    match location {
        PathLocation::Nowhere | PathLocation::Inside | PathLocation::Root => RuleMatch::new(
            Decision::Allow,
            "write",
            "The written files are in the worktree and are recorded.",
        ),
        PathLocation::Outside | PathLocation::Vital => RuleMatch::ask(
            "write-outside",
            format!(
                "{}. Write into the worktree, preferably to a path that Git ignores.",
                outside(file)
            ),
        ),
        PathLocation::Git => RuleMatch::new(
            Decision::Deny,
            "write-git",
            format!("{file} is in a Git directory, which only Git and edt may write."),
        ),
        PathLocation::System => deny("in a system directory"),
        PathLocation::Device => deny("a device"),
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{Machine, argv, verdict};

    #[test]
    fn removing_files_of_the_worktree_is_allowed() {
        assert_eq!(
            verdict(&argv("rm -rf src README.md")),
            "allow by remove: Removed files are recorded or copied first; `edt undo` restores them."
        );
    }

    #[test]
    fn removing_a_file_that_is_not_copied_is_asked_about() {
        let machine = Machine::with(&["data.log"]).uncopied("data.log");
        assert_eq!(
            machine.verdict(&argv("rm data.log")),
            "ask by remove-uncopied: data.log is too large for a copy, or has files that are: the \
             limit is 1 MiB for an ignored file and 64 MiB for all of them. `edt undo` cannot \
             restore it."
        );
        let find = machine.verdict(&argv("find data.log -delete"));
        assert!(find.starts_with("ask by remove-uncopied:"), "{find}");
        assert!(machine.verdict(&argv("rm src/a.c")).starts_with("allow by remove:"));
        assert!(machine.verdict(&argv("cp data.log x")).starts_with("allow by write:"));
    }

    #[test]
    fn nothing_promises_to_restore_build_output() {
        let machine = Machine::with(&["target/x.o"]).build_output("target");
        assert_eq!(
            machine.verdict(&argv("rm -rf README.md target src")),
            "allow by remove: target is or has an ignored directory with very many files, which is \
             taken for build output. No copy of it is made, and `edt undo` cannot restore it."
        );
    }

    #[test]
    fn the_host_receives_each_path_that_a_command_may_change() {
        let machine = Machine::with(&["data/1", "data/2"]);
        machine.verdict(&["sh", "-c", "rm data/1; echo x >data/2; cat data/3"]);
        let named = machine.named.borrow();
        let tree = std::path::Path::new("/home/user/tree");
        let is_named = |path: &str| named.contains(&tree.join(path));
        assert_eq!(["data/1", "data/2", "data/3"].map(is_named), [true, true, false]);
    }

    #[test]
    fn removing_a_file_elsewhere_is_asked_about() {
        assert_eq!(
            verdict(&argv("rm /srv/data/x")),
            "ask by remove: /srv/data/x is outside the worktree, where `edt undo` has no effect."
        );
    }

    #[test]
    fn removing_everything_in_the_worktree_is_denied() {
        assert_eq!(
            verdict(&argv("rm -rf *")),
            "deny by remove-vital: * is the root of the worktree. Name the files in the worktree to \
         remove; `edt undo` restores those."
        );
    }

    #[test]
    fn the_permission_to_remove_the_root_is_denied_whatever_it_removes() {
        assert_eq!(
            verdict(&argv("rm -r --no-preserve src")),
            "deny by remove-vital: --no-preserve-root permits the removal of everything. Name the files \
         to remove."
        );
    }

    #[test]
    fn a_file_after_two_dashes_is_no_option() {
        assert_eq!(
            verdict(&argv("rm -- -x .git")),
            "deny by remove-vital: .git is a Git directory, or in one. Name the files in the worktree \
         to remove; `edt undo` restores those."
        );
    }

    #[test]
    fn the_last_operand_of_a_copy_is_written() {
        assert_eq!(
            verdict(&argv("cp /etc/hosts .git/config")),
            "deny by write-git: .git/config is in a Git directory, which only Git and edt may write."
        );
    }

    #[test]
    fn a_copy_from_a_system_directory_is_allowed() {
        assert_eq!(
            verdict(&argv("cp /etc/hosts src/hosts")),
            "allow by write: The written files are in the worktree and are recorded."
        );
    }

    #[test]
    fn the_target_directory_of_an_option_is_written() {
        assert_eq!(
            verdict(&argv("cp --target-directory=/srv/x README.md")),
            "ask by write-outside: /srv/x is outside the worktree. Write into the worktree, preferably \
         to a path that Git ignores."
        );
    }

    #[test]
    fn a_hard_link_gives_the_source_another_name_so_it_counts_as_written() {
        assert_eq!(
            verdict(&argv("ln /srv/x y")),
            "ask by write-outside: /srv/x is outside the worktree. Write into the worktree, preferably \
         to a path that Git ignores."
        );
        assert_eq!(
            verdict(&argv("ln -s /srv/x y")),
            "allow by write: The written files are in the worktree and are recorded."
        );
    }

    #[test]
    fn a_move_removes_its_source() {
        assert_eq!(
            verdict(&argv("mv .git old")),
            "deny by remove-vital: .git is a Git directory, or in one. Name the files in the worktree \
         to remove; `edt undo` restores those."
        );
    }

    #[test]
    fn a_link_into_a_directory_elsewhere_is_followed() {
        let machine = Machine::with(&[]).link("out", "/srv/data");
        assert_eq!(
            machine.verdict(&argv("touch out/x")),
            "ask by write-outside: out/x is outside the worktree. Write into the worktree, preferably \
         to a path that Git ignores."
        );
    }

    #[test]
    fn a_link_that_the_same_line_makes_leads_elsewhere_at_permissive_too() {
        let mut machine =
            Machine { level: edt_types::Level::Permissive, ..Machine::with(&["src/a.c"]) };
        machine.policy.run.min_level = edt_types::Level::Permissive;
        for line in [
            "ln -s /srv/data out; echo x > out/y",
            "ln -s /srv/data out && rm -rf out/y",
            "ln -s /srv/data out && cp README.md out/y",
            "ln -s /srv/data out && sed -i s/a/b/ out/y",
            "cp -s /srv/data/x y && tee y",
            "ln -sr ../data out && mv README.md out/y",
            "cd src && ln -s /srv/data out; touch out/y",
        ] {
            let verdict = machine.verdict(&["sh", "-c", line]);
            assert!(verdict.starts_with("ask by"), "{line}: {verdict}");
        }
    }

    #[test]
    fn a_hard_link_to_a_file_leads_nowhere_else() {
        let machine = Machine::with(&["src/a.c"]).link("out", "src/b.c");
        let verdict = |line: &str| machine.verdict(&["sh", "-c", line]);
        for line in ["ln src/a.c b; rm src/a.c", "rm b; ln src/a.c b; echo x > b"] {
            assert!(verdict(line).starts_with("allow"), "{line}: {}", verdict(line));
        }
        for line in [
            "ln out b; echo x > b",
            "ln -s /srv/x l; ln l b; echo x > b",
            "ln --symbolic src/a.c b; echo x > b/y",
            "cp --symbolic-link src/a.c b; echo x > b",
        ] {
            assert!(verdict(line).starts_with("ask"), "{line}: {}", verdict(line));
        }
    }

    #[test]
    fn modes_of_the_whole_worktree_include_the_git_directory() {
        assert_eq!(
            verdict(&argv("chmod -R 755 .")),
            "ask by write-root: It would change the Git directory, too. Name the files to change."
        );
    }

    #[test]
    fn modes_of_system_directories_are_denied() {
        assert_eq!(
            verdict(&argv("chmod -R 755 /usr")),
            "deny by write-vital: /usr is in a system directory. Write to a file in the worktree."
        );
    }

    #[test]
    fn a_sort_into_a_file_is_a_write() {
        assert_eq!(
            verdict(&argv("sort -u src/a.c -o .git/index")),
            "deny by write-git: .git/index is in a Git directory, which only Git and edt may write."
        );
    }

    #[test]
    fn the_output_of_a_sort_may_be_attached_to_its_option() {
        for line in ["sort -o.git/x a", "sort --output=.git/x a", "shuf -uo.git/x a"] {
            assert!(verdict(&argv(line)).starts_with("deny by write-git"), "{line}");
        }
        for line in ["sort --o=../x a", "sort -uo../x a", "shuf --outp=../x a"] {
            assert!(verdict(&argv(line)).starts_with("ask by elsewhere"), "{line}");
        }
        assert!(verdict(&argv("sort -uosrc/x a")).starts_with("allow by write"));
        assert!(verdict(&argv("sort -t/ -k2 /etc/hosts")).starts_with("allow by read-files"));
    }

    #[test]
    fn sed_without_an_option_to_write_only_prints() {
        assert_eq!(
            verdict(&["sed", "-n", "1,5p", "/etc/hosts"]),
            "allow by sed: It prints and replaces text."
        );
    }

    #[test]
    fn sed_in_place_writes_its_files() {
        assert_eq!(
            verdict(&["sed", "-i", "s/a/b/", ".git/config"]),
            "deny by write-git: .git/config is in a Git directory, which only Git and edt may write."
        );
    }
}
