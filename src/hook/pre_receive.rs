//! `pre-receive`: the server's side of the same rules. Nobody is a person here: what is pushed is what counts.

use std::collections::BTreeSet;

use super::changes::{self, Parent};
use super::plumbing::Object;
use super::policies::Committed;
use super::pre_push::{shadow_push, unread};
use super::refs::{Fate, Kind, Protection, Update, fate, is_null, shadow, updates};
use super::{Call, Hook, Site, for_git, policies, shadow_may_pass, words};
use crate::base::{Code, Finding, Findings, Result, Warning};

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
        "pushes of shadow branches, rewinding or deletion of protected ones, and on these what the guards refuse"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/pre-receive")
    }

    fn judge(&self, call: &Call<'_>) -> Result<Vec<Warning>> {
        let updates = updates(call.input).ok_or_else(|| unread("pre-receive"))?;
        let (shadows, branches): (Vec<&Update>, Vec<&Update>) =
            updates.iter().partition(|one| shadow(&one.name) != Kind::Free);
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        if !shadows.is_empty() && !shadow_may_pass(&call.git) {
            found.extend(shadows.iter().map(|one| shadow_push(&one.name, "this server")));
        }
        let branches: Vec<&Update> =
            branches.into_iter().filter(|one| one.name.starts_with("refs/heads/")).collect();
        let server = Server::of(call, &branches)?;
        for (update, files) in branches.into_iter().zip(&server.files) {
            found.extend(server.branch(call, update, files, &mut warnings)?);
        }
        Findings::check(found)?;
        Ok(warnings)
    }
}

/// What the server has, asked once for all that is pushed.
struct Server {
    /// The branch that it calls its own.
    default: Option<String>,
    /// HEAD's commit; `None` if nothing was ever pushed to it.
    head: Option<Object>,
    /// HEAD's `edt.toml`.
    policy: Option<Object>,
    /// The `edt.toml` of each branch, before and after.
    files: Vec<[Option<Object>; 2]>,
}

impl Server {
    fn of(call: &Call<'_>, branches: &[&Update]) -> Result<Server> {
        let mut specs = ["HEAD", "HEAD:edt.toml"].map(str::to_owned).to_vec();
        specs.extend(
            branches.iter().flat_map(|one| [&one.old, &one.new].map(|id| format!("{id}:edt.toml"))),
        );
        let mut objects = call.git.objects(&specs)?.into_iter();
        let (head, policy) = (objects.next().flatten(), objects.next().flatten());
        let files =
            branches.iter().map(|_| [objects.next().flatten(), objects.next().flatten()]).collect();
        Ok(Server {
            default: call.git.line(&["symbolic-ref", "--quiet", "HEAD"])?,
            head,
            policy,
            files,
        })
    }

    fn branch(
        &self,
        call: &Call<'_>,
        update: &Update,
        [before, after]: &[Option<Object>; 2],
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Finding>> {
        let git = &call.git;
        let said = self.policy.iter().chain(before).map(|file| file.bytes.as_slice());
        let kind = Protection::readable(call.person()?, said)?.kind(&update.name);
        if kind == Kind::Free && self.default.as_ref() != Some(&update.name) {
            return Ok(Vec::new());
        }
        let stands = Some(update.old.as_str()).filter(|old| !is_null(old));
        match fate(Kind::Protected, stands, &update.new, || {
            git.is_ancestor(&update.old, &update.new)
        })? {
            Fate::Kept if is_null(&update.new) => return Ok(Vec::new()),
            Fate::Kept => {}
            Fate::Deleted => return Ok(vec![destroyed(update, "delete")]),
            Fate::Rewound | Fate::Pointed => return Ok(vec![destroyed(update, "rewind")]),
        }
        // A first push has nothing to be measured against.
        if stands.is_none() && self.head.is_none() {
            return Ok(Vec::new());
        }
        let from = match stands {
            Some(old) => Some(old.to_owned()),
            None => git.line(&["merge-base", "HEAD", &update.new])?,
        };
        let done = format!("{} was not changed.", update.name);
        let (whose, old) = if stands.is_some() {
            ("the branch here", before)
        } else {
            ("the server's HEAD", &self.policy)
        };
        let (old, new) =
            (Committed::of(whose, old.as_ref()), Committed::of("what is pushed", after.as_ref()));
        let policy = policies::ruling(call, old, new, &done)?;
        // A new branch is judged from where it left the default one, and one that never left it from nothing.
        let base = from.clone().map_or_else(|| git.empty_tree(), Ok)?;
        let args = ["diff-tree", "-r", "--raw", "-z", "-M", "--no-abbrev", &base, &update.new];
        let parents = [Parent { whose: "the branch", changes: changes::between(git, &args)? }];
        let allow = allowed(call, from.as_deref(), &update.new)?;
        let mut verdict = changes::judge(git, &parents, &[], &policy, &allow)?;
        // Proposals are not pushed: here nobody can see that a person said yes.
        verdict.refused.append(&mut verdict.held);
        warnings.extend(verdict.warnings);
        let trailers =
            words(&verdict.refused, "Edt-Allowed:").replace(" Edt-Allowed:", "` and `Edt-Allowed:");
        let way_out = |allow: Option<&str>| match allow {
            Some(_) => format!(
                "If it is meant so, push a commit whose message has the trailer `{trailers}`."
            ),
            None => "This server lets nobody override it by a push.".to_owned(),
        };
        Ok(verdict.refused.into_iter().map(|one| for_git(one, &done, way_out)).collect())
    }
}

/// The overrides that the pushed commits record, as trailers: what stands elsewhere in a message decides nothing.
fn allowed(call: &Call<'_>, from: Option<&str>, to: &str) -> Result<Vec<String>> {
    let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
    let format = "--format=%(trailers:key=Edt-Allowed,valueonly,unfold)";
    let said = call.git.output(&["log", "--no-show-signature", format, &range, "--"], b"")?;
    let text = String::from_utf8_lossy(&said).into_owned();
    let words: BTreeSet<String> =
        text.lines().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Ok(words.into_iter().collect())
}

fn destroyed(update: &Update, what: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!(
            "This push would {what} the protected branch {}, which is at {}. It was not changed.",
            update.name,
            update.old.get(..12).unwrap_or(&update.old)
        ),
        "`git fetch` and merge or rebase onto what stands there, then push without --force; on this server nobody passes by a push.",
    )
    .with("ref", update.name.as_str())
    .with("stands", update.old.as_str())
    .with("rule", what)
}
