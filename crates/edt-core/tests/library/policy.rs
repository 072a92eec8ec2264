//! The two files of a policy: which keys there are, and how the user's file and the repository's are
//! merged.

use edt_guard::policy::{
    DeletionLimits, GuardMode, GuardRule, Override, Policy, SizeLimits, Trust,
};
use edt_types::{Durability, RepoPath};

fn policy(user: &str, repository: &str) -> Policy {
    Policy::of(Some(user), Some(repository)).unwrap()
}

fn repository(text: &str) -> Policy {
    Policy::of(None, Some(text)).unwrap()
}

/// Why a repository's file is refused.
fn reason(text: &str) -> String {
    let finding = Policy::of(None, Some(text)).unwrap_err().into_vec().remove(0);
    finding.evidence["reason"].as_str().unwrap().to_owned()
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

#[test]
fn without_a_file_every_default_applies() {
    let policy = Policy::of(None, None).unwrap();
    let deletions = DeletionLimits { max_files: 10, max_lines: 2000 };
    assert_eq!((policy.deletion_limits, policy.time_limit.as_millis()), (deletions, 1000));
    assert_eq!((policy.durability, policy.memory, policy.require_trust), (None, true, false));
    assert_eq!(policy.validators.len(), 0);
    let rule = GuardRule { mode: GuardMode::Refuse, overriding: Override::Allow };
    assert_eq!(policy.rule("syntax", Some(&path("a.c"))), rule);
    assert!(!policy.protects(&path("a.c")));
}

#[test]
fn the_repository_decides_whether_head_switches() {
    let switch = |value: bool| format!("[session]\nswitch = {value}\n");
    assert!(policy(&switch(false), &switch(true)).switch);
    assert!(!policy(&switch(true), &switch(false)).switch);
    assert!(!policy(&switch(false), "").switch);
}

#[test]
fn either_file_may_switch_the_memory_off() {
    let (on, off) = ("[memory]\nenabled = true\n", "[memory]\nenabled = false\n");
    assert!(!policy(on, off).memory && !policy(off, on).memory && policy(on, on).memory);
}

#[test]
fn the_stronger_durability_applies() {
    let level = |name: &str| format!("[session]\ndurability = \"{name}\"\n");
    let on = Some(Durability::On);
    assert_eq!(policy(&level("on"), &level("off")).durability, on);
    assert_eq!(policy(&level("off"), &level("on")).durability, on);
    assert_eq!(policy(&level("off"), "").durability, Some(Durability::Off));
}

#[test]
fn each_limit_of_a_shrinking_file_is_the_smaller_one() {
    let limits = |bytes: f64, min: u64, lines: f64, min_lines: u64| {
        format!(
            "[guards.size_reduction]\nmax_bytes_lost = {bytes}\nmin_bytes = {min}\n\
             max_lines_lost = {lines}\nmin_lines = {min_lines}\n"
        )
    };
    let policy = policy(&limits(0.5, 900, 0.25, 40), &limits(0.75, 100, 0.125, 60));
    let expected =
        SizeLimits { max_bytes_lost: 0.5, min_bytes: 100, max_lines_lost: 0.125, min_lines: 40 };
    assert_eq!(policy.size_limits, expected);
}

#[test]
fn each_limit_of_deletions_is_the_smaller_one() {
    let limits = |files: u64, lines: u64| {
        format!("[guards.mass_deletion]\nmax_files = {files}\nmax_lines = {lines}\n")
    };
    let expected = DeletionLimits { max_files: 3, max_lines: 40 };
    assert_eq!(policy(&limits(3, 50), &limits(4, 40)).deletion_limits, expected);
}

#[test]
fn a_repository_may_loosen_a_default_that_the_user_leaves_open() {
    let loose = repository("[guards.mass_deletion]\nmax_files = 500\n");
    assert_eq!(loose.deletion_limits.max_files, 500);
}

#[test]
fn the_longer_time_to_parse_applies() {
    let limit = |ms: u64| format!("[guards.syntax]\ntime_limit_ms = {ms}\n");
    assert_eq!(policy(&limit(500), &limit(2000)).time_limit.as_millis(), 2000);
    assert_eq!(policy(&limit(2000), &limit(500)).time_limit.as_millis(), 2000);
}

#[test]
fn a_time_to_parse_of_more_than_a_minute_is_refused() {
    assert_eq!(
        reason("[guards.syntax]\ntime_limit_ms = 60001\n"),
        "time_limit_ms is at most 60000; it is 60001"
    );
}

#[test]
fn a_share_is_between_zero_and_one() {
    assert_eq!(
        reason("[guards.size_reduction]\nmax_lines_lost = 1.5\n"),
        "1.5 is not between 0 and 1"
    );
    assert_eq!(
        reason("[guards.size_reduction]\nmax_bytes_lost = -0.5\n"),
        "-0.5 is not between 0 and 1"
    );
}

#[test]
fn a_protected_path_needs_an_approval_or_cannot_be_changed_at_all() {
    let text = "[[protect]]\npaths = [\"never/**\"]\n[[protect]]\npaths = [\"ask/**\"]\n\
                override = \"approval\"\n";
    let policy = repository(text);
    let overriding = |named: &str| policy.rule("protected_path", Some(&path(named))).overriding;
    assert_eq!((overriding("never/x"), overriding("ask/x")), (Override::Never, Override::Approval));
    assert!(policy.protects(&path("never/x")) && policy.protects(&path("ask/x")));
}

#[test]
fn a_path_that_both_files_protect_gets_the_stricter_rule() {
    let approval = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";
    let never = "[[protect]]\npaths = [\"ci/a\"]\n";
    let policy = policy(approval, never);
    let overriding = |named: &str| policy.rule("protected_path", Some(&path(named))).overriding;
    assert_eq!((overriding("ci/a"), overriding("ci/b")), (Override::Never, Override::Approval));
}

#[test]
fn a_protected_path_cannot_be_opened_to_requests() {
    assert_eq!(
        reason("[[protect]]\npaths = [\"a\"]\noverride = \"allow\"\n"),
        "[[protect]] is for paths that only the user may change: its override is \"approval\" \
         or \"never\""
    );
}

#[test]
fn protected_paths_are_not_set_as_a_guard() {
    assert!(reason("[guards.protected_path]\nmode = \"off\"\n").starts_with(
        "there is no guard protected_path; the guards are size_reduction, mass_deletion, "
    ));
}

#[test]
fn both_files_add_to_the_protected_branches() {
    let branch = |name: &str| format!("[refs]\nprotected = [\"{name}\"]\n");
    let policy = policy(&branch("user/*"), &branch("staging"));
    for name in ["main", "master", "trunk", "develop", "release/1", "user/x", "staging"] {
        assert!(policy.protects_branch(name), "{name}");
    }
    assert!(!policy.protects_branch("release/1/x") && !policy.protects_branch("mainline"));
}

#[test]
fn the_stricter_rule_of_both_files_applies_key_by_key() {
    let user = "[guards.encoding]\nmode = \"warn\"\noverride = \"never\"\n";
    let repo = "[guards.encoding]\nmode = \"refuse\"\noverride = \"allow\"\n";
    let rule = GuardRule { mode: GuardMode::Refuse, overriding: Override::Never };
    assert_eq!(policy(user, repo).rule("encoding", None), rule);
}

#[test]
fn a_table_of_paths_sets_only_the_keys_that_it_has() {
    let text = "[guards.encoding]\nmode = \"warn\"\noverride = \"never\"\n\
                [[paths]]\nmatch = [\"*.bin\"]\nguards.encoding.mode = \"off\"\n";
    let rule = |named: &str| repository(text).rule("encoding", Some(&path(named)));
    let never = |mode| GuardRule { mode, overriding: Override::Never };
    assert_eq!(rule("a.bin"), never(GuardMode::Off));
    assert_eq!(rule("dir/a.bin"), never(GuardMode::Warn));
}

#[test]
fn a_whole_transaction_has_no_rule_of_a_path() {
    let text = "[[paths]]\nmatch = [\"**\"]\nguards.encoding.mode = \"off\"\n";
    assert_eq!(repository(text).rule("encoding", None).mode, GuardMode::Refuse);
}

#[test]
fn a_repository_does_not_switch_off_the_users_validators() {
    let validator =
        "[[validator]]\nname = \"v\"\npaths = [\"*.c\"]\ncommand = [\"cc\", \"{file}\"]\n";
    let off = "[guards.validator]\nmode = \"off\"\n";
    assert_eq!(policy(validator, off).rule("validator", None).mode, GuardMode::Refuse);
    assert_eq!(repository(off).rule("validator", None).mode, GuardMode::Off);
}

#[test]
fn validators_of_both_files_are_listed_with_their_trust() {
    let validator = |name: &str| {
        format!(
            "[[validator]]\nname = \"{name}\"\npaths = [\"*\"]\ncommand = [\"x\", \"{{file}}\"]\n"
        )
    };
    let policy = policy(&validator("mine"), &validator("theirs"));
    let all: Vec<_> = policy.validators.iter().map(|one| (one.name.as_str(), one.trust)).collect();
    assert_eq!(all, [("mine", Trust::User), ("theirs", Trust::Untrusted)]);
}

#[test]
fn an_unknown_key_is_an_error_that_names_its_line() {
    let reason = reason("[session]\nswich = true\n");
    assert!(reason.contains("line 2") && reason.contains("unknown field `swich`"), "{reason}");
}

#[test]
fn a_glob_that_cannot_be_parsed_is_an_error() {
    let reason = reason("[[protect]]\npaths = [\"a[\"]\n");
    assert!(reason.contains("a["), "{reason}");
}

#[test]
fn an_error_names_the_users_own_file() {
    let finding = Policy::of(Some("x"), None).unwrap_err().into_vec().remove(0);
    assert!(finding.summary.starts_with("Could not read your own edt.toml: "), "{finding:?}");
    assert_eq!(
        finding.remedy,
        "The user must correct that file; for the repository's, commit the correction and \
         begin a new session."
    );
}
