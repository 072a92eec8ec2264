//! `pre-receive`: the same rules on the server. The server cannot know who pushes, so no push
//! counts as the user's.

use std::collections::BTreeSet;

use super::call::{Hook, HookCall, Site, allows_shadow_push, for_git, override_words};
use super::changes::{self, ComparedState};
use super::loosened::loosened;
use super::plumbing::Object;
use super::policies;
use super::policies::Committed;
use super::pre_push::{shadow_push, unreadable_input};
use super::refs::{
    Protection, RefAction, RefKind, RefUpdate, is_null, kind_of_name, ref_action, updates,
};
use super::similar::folded;
use edt_guard::policy::Policy;
use edt_guard::policy::file::PROTECTED;
use edt_types::{Code, Effect, Finding, Refusal, Result, Warning};

const EFFECT: Effect = Effect::RefUnchanged;

/// The server's setting with the words of the `Edt-Allowed` trailers that it accepts.
const ACCEPT_ALLOWED: &str = "edt.acceptAllowed";
/// The server's setting that lets pushes loosen `edt.toml`.
const ACCEPT_POLICY: &str = "edt.acceptPolicy";
const HEADS: &str = "refs/heads/";
/// The most refs that one call of Git is asked for.
const MOST_ARGS: usize = 500;

/// The hook `pre-receive`.
#[derive(Debug)]
pub struct PreReceive;

impl Hook for PreReceive {
    fn name(&self) -> &'static str {
        "pre-receive"
    }

    fn site(&self) -> Site {
        Site::Server
    }

    fn stops(&self) -> &'static str {
        "pushes of shadow branches, rewinding or deletion of protected ones, and changes of \
         protected ones that the guards refuse"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/pre-receive")
    }

    fn judge(&self, call: &HookCall<'_>) -> Result<Vec<Warning>> {
        let updates = updates(call.input).ok_or_else(|| unreadable_input("pre-receive"))?;
        let (shadows, branches): (Vec<&RefUpdate>, Vec<&RefUpdate>) =
            updates.iter().partition(|one| kind_of_name(&one.name) != RefKind::Free);
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        if !shadows.is_empty() && !allows_shadow_push(&call.git) {
            found.extend(shadows.iter().map(|one| shadow_push(&one.name, "this server")));
        }
        let (branches, others): (Vec<&RefUpdate>, Vec<&RefUpdate>) =
            branches.into_iter().partition(|one| one.name.starts_with(HEADS));
        let branches = with_targets(call, branches)?;
        let branches: Vec<&RefUpdate> = branches.iter().collect();
        let server = Server::of(call, &branches)?;
        for update in others.into_iter().filter(|one| !is_null(&one.new)) {
            found.extend(server.other(call, update)?);
        }
        for (update, files) in branches.into_iter().zip(&server.files) {
            found.extend(server.branch(call, update, files, &mut warnings)?);
        }
        Refusal::check(found)?;
        Ok(warnings)
    }
}

/// The same updates of the branches that are written: a pushed branch may be a symbolic ref.
fn with_targets(call: &HookCall<'_>, updates: Vec<&RefUpdate>) -> Result<Vec<RefUpdate>> {
    let mut all: Vec<RefUpdate> = updates.into_iter().cloned().collect();
    for some in all.chunks_mut(MOST_ARGS) {
        let mut args = vec!["for-each-ref", "--format=%(refname) %(symref)"];
        let names: Vec<String> = some.iter().map(|one| one.name.clone()).collect();
        args.extend(names.iter().map(String::as_str));
        let listed = call.git.output(&args, b"")?;
        for line in String::from_utf8_lossy(&listed).lines() {
            let Some((name, target)) = line.split_once(' ') else { continue };
            for one in some.iter_mut().filter(|one| one.name == name && !target.is_empty()) {
                target.clone_into(&mut one.name);
            }
        }
    }
    Ok(all)
}

/// The server's state, read once for all pushed refs.
struct Server {
    /// The default branch.
    default: Option<String>,
    /// What new branches are compared with: HEAD, or a branch while HEAD is unborn.
    base: String,
    /// Its commit; `None` before the first push.
    head: Option<Object>,
    /// Its `edt.toml`.
    policy: Option<Object>,
    /// The branches that exist, if the push creates one.
    branches: Vec<String>,
    /// The `edt.toml` of each branch, before and after.
    files: Vec<[Option<Object>; 2]>,
}

impl Server {
    fn of(call: &HookCall<'_>, branches: &[&RefUpdate]) -> Result<Server> {
        let base = base_of_new_branches(call)?;
        let mut specs = vec![base.clone(), format!("{base}:edt.toml")];
        specs.extend(
            branches.iter().flat_map(|one| [&one.old, &one.new].map(|id| format!("{id}:edt.toml"))),
        );
        let mut objects = call.git.objects(&specs)?.into_iter();
        let (head, policy) = (objects.next().flatten(), objects.next().flatten());
        let files =
            branches.iter().map(|_| [objects.next().flatten(), objects.next().flatten()]).collect();
        let creates = branches.iter().any(|one| is_null(&one.old));
        let existing = if creates {
            call.git.output(&["for-each-ref", "--format=%(refname)", "refs/heads/"], b"")?
        } else {
            Vec::new()
        };
        Ok(Server {
            base,
            branches: String::from_utf8_lossy(&existing).lines().map(str::to_owned).collect(),
            default: call.git.line(&["symbolic-ref", "--quiet", "HEAD"])?,
            head,
            policy,
            files,
        })
    }

    /// Refuses a ref that is no branch, and that Git reads in the place of a protected branch or of
    /// other objects.
    fn other(&self, call: &HookCall<'_>, update: &RefUpdate) -> Result<Option<Finding>> {
        if update.name.starts_with("refs/replace/") {
            return Ok(Some(disguise(update, "other objects")));
        }
        let policies = self.policy.iter().map(|file| file.bytes.as_slice());
        let protection = Protection::readable(call.user_policy_text()?, policies)?;
        let name = update.name.strip_prefix("refs/").unwrap_or(&update.name);
        let name = name.strip_prefix("tags/").unwrap_or(name);
        let branch = format!("{HEADS}{}", folded(name));
        let is_protected = protection.kind(&branch) != RefKind::Free
            || self.default.as_ref().is_some_and(|default| *default == branch);
        Ok(is_protected.then(|| disguise(update, &branch)))
    }

    fn branch(
        &self,
        call: &HookCall<'_>,
        update: &RefUpdate,
        [before, after]: &[Option<Object>; 2],
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Finding>> {
        let git = &call.git;
        let policies = self.policy.iter().chain(before).map(|file| file.bytes.as_slice());
        let protection = Protection::readable(call.user_policy_text()?, policies)?;
        let is_protected = |name: &str| {
            protection.kind(name) != RefKind::Free || self.default.as_deref() == Some(name)
        };
        let similar = if is_null(&update.old) {
            self.branches.iter().find(|other| can_be_taken_for(other, &update.name))
        } else {
            None
        };
        if let Some(similar) = similar.filter(|similar| is_protected(similar)) {
            return Ok(vec![disguise(update, similar)]);
        }
        // Where no branch has the plain name, another spelling of it is judged as that one.
        let plain = format!("{HEADS}{}", folded(short(&update.name)));
        if !is_protected(&update.name) && !is_protected(&plain) {
            return Ok(Vec::new());
        }
        let current = Some(update.old.as_str()).filter(|old| !is_null(old));
        match ref_action(RefKind::Protected, current, &update.new, || {
            git.is_ancestor(&update.old, &update.new)
        })? {
            RefAction::Allowed if is_null(&update.new) => return Ok(Vec::new()),
            RefAction::Allowed => {}
            RefAction::Deleted => return Ok(vec![destruction(update, "delete")]),
            RefAction::Rewound | RefAction::MadeSymbolic => {
                return Ok(vec![destruction(update, "rewind")]);
            }
        }
        // A first push has nothing to compare with.
        if current.is_none() && self.head.is_none() {
            return Ok(Vec::new());
        }
        let from = match current {
            Some(old) => Some(old.to_owned()),
            None => git.line(&["merge-base", &self.base, &update.new])?,
        };
        let (label, old) = if current.is_some() {
            ("the server's branch", before)
        } else {
            ("the server's HEAD", &self.policy)
        };
        let bytes = |file: &Option<Object>| file.as_ref().map(|file| file.bytes.clone());
        let changed = loosened(bytes(old).as_deref(), bytes(after).as_deref());
        let (old, new) = (
            Committed::of(label, old.as_ref()),
            Committed::of("the pushed commit", after.as_ref()),
        );
        let policy = policies::policy_for(call, old, new, EFFECT)?.for_users();
        // A file that cannot be read protects nothing.
        let is_readable = Policy::of_recorded(call.user_policy_text()?, old.bytes).is_ok();
        if let Some(key) = changed.filter(|_| is_readable && !git.config_flag(ACCEPT_POLICY)) {
            return Ok(vec![policy_loosened(update, &key)]);
        }
        // A new branch is compared with its merge base with the default branch, or with the empty
        // tree.
        let base = from.clone().map_or_else(|| git.empty_tree(), Ok)?;
        let args = ["diff-tree", "-r", "--raw", "-z", "-M", "--no-abbrev", &base, &update.new];
        let parents = [ComparedState { label: "the branch", changes: changes::diff(git, &args)? }];
        let accepted = git.config_values(ACCEPT_ALLOWED)?;
        let mut allow = if accepted.is_empty() {
            Vec::new()
        } else {
            allowed(call, from.as_deref(), &update.new)?
        };
        allow.retain(|word| accepted.contains(word));
        let mut findings = changes::judge(git, &parents, &[], &policy, &allow)?;
        // Proposals are not pushed, so the server cannot see the user's approval.
        findings.refused.append(&mut findings.held);
        warnings.extend(findings.warnings);
        let trailers = override_words(&findings.refused, "Edt-Allowed:")
            .replace(" Edt-Allowed:", "` and `Edt-Allowed:");
        let override_remedy = |allow: Option<&str>| match allow {
            Some(word) if accepted.iter().any(|one| one == word) => format!(
                "If this change is intended, push a commit whose message has the trailer \
                 `{trailers}`."
            ),
            Some(word) => format!(
                "If this change is intended, the server's administrator can accept it: \
                 `git config --add {ACCEPT_ALLOWED} {word}` on the server; then push a commit whose \
                 message has the trailer `{trailers}`."
            ),
            None => "No push to this server can override it.".to_owned(),
        };
        Ok(findings.refused.into_iter().map(|one| for_git(one, EFFECT, override_remedy)).collect())
    }
}

/// HEAD if it has a commit, else a branch that exists: a protected one first.
fn base_of_new_branches(call: &HookCall<'_>) -> Result<String> {
    let git = &call.git;
    if git.line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.is_none() {
        let usual = PROTECTED.map(|name| format!("{HEADS}{name}"));
        let usual: Vec<&str> = usual.iter().map(String::as_str).collect();
        let any = ["for-each-ref", "--count=1", "--format=%(refname)"];
        for patterns in [&usual[..], &[HEADS]] {
            if let Some(branch) = git.line(&[&any[..], patterns].concat())? {
                return Ok(branch);
            }
        }
    }
    Ok("HEAD".to_owned())
}

/// The overrides that trailers of the pushed commits record. The rest of a message decides nothing.
fn allowed(call: &HookCall<'_>, from: Option<&str>, to: &str) -> Result<Vec<String>> {
    let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
    let format = "--format=%(trailers:key=Edt-Allowed,valueonly,unfold)";
    let log = call.git.output(&["log", "--no-show-signature", format, &range, "--"], b"")?;
    let text = String::from_utf8_lossy(&log).into_owned();
    let words: BTreeSet<String> =
        text.lines().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Ok(words.into_iter().collect())
}

fn short(name: &str) -> &str {
    name.strip_prefix(HEADS).unwrap_or(name)
}

/// Whether two names are spellings of one branch.
fn can_be_taken_for(one: &str, other: &str) -> bool {
    one != other && folded(short(one)) == folded(short(other))
}

fn disguise(update: &RefUpdate, similar: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!("This push would create {}, which can be taken for {similar}.", update.name),
        "Give the branch another name. No push to this server can override it.",
    )
    .with_effect(EFFECT)
    .with("ref", update.name.as_str())
    .with("protected", similar)
    .with("rule", "disguise")
}

fn policy_loosened(update: &RefUpdate, key: &str) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        format!("This push may loosen edt.toml on the protected branch {}: {key}.", update.name),
        format!(
            "Push without that change. Only the server's administrator can accept it: \
             `git config {ACCEPT_POLICY} true` on the server, for the time of the push."
        ),
    )
    .with_effect(EFFECT)
    .with("ref", update.name.as_str())
    .with("key", key)
}

fn destruction(update: &RefUpdate, verb: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!(
            "This push would {verb} the protected branch {}, which is at {}.",
            update.name,
            update.old.get(..12).unwrap_or(&update.old)
        ),
        "Run `git fetch`, merge or rebase onto the server's branch, and push without --force; no \
         push to this server can override it.",
    )
    .with_effect(EFFECT)
    .with("ref", update.name.as_str())
    .with("current", update.old.as_str())
    .with("rule", verb)
}
