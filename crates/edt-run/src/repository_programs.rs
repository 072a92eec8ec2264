//! Confines hooks, filters and validators of a repository that someone other than the user causes to
//! run: they, or what they start, may be files that an agent wrote.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use edt_command::{RepositoryProgramsRun, RunRules};
use edt_core::session::worktree::options::Options;
use edt_core::session::worktree::workspace;
use edt_git::confinement::{
    ConfinedOutput, ConfinedProgram, ConfinedStreams, Confinement, Variables, WorktreeAccess,
};
use edt_git::{Repo, RepositoryView};
use edt_guard::policy::Policy;
use edt_io::bounded::ProcessEnd;
use edt_io::streams::{self, Follow, FollowEnd};
use edt_io::{clock, failed};
use edt_types::Result;

use crate::execute;
use crate::permit::expand_home;
use crate::planted::Executed;
use crate::sandbox::{
    self, NamespaceBackend, ResourceLimits, SandboxPlan, Termination, VariableRules,
};

/// The sandbox for programs of a repository.
pub struct RepositoryPrograms {
    options: Options,
    is_user: fn() -> bool,
}

impl std::fmt::Debug for RepositoryPrograms {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RepositoryPrograms").finish_non_exhaustive()
    }
}

impl RepositoryPrograms {
    /// `options` has the user's policy. `is_user`: whether the caller is the user; it is asked only
    /// when there is a program to run.
    #[must_use]
    pub fn new(options: Options, is_user: fn() -> bool) -> RepositoryPrograms {
        RepositoryPrograms { options, is_user }
    }

    fn policy(&self, repo: &Repo) -> Result<Policy> {
        workspace::current_policy(repo, &self.options).map(|(_, policy)| policy)
    }
}

impl Confinement for RepositoryPrograms {
    fn applies(&self, repository: RepositoryView<'_>) -> Result<bool> {
        let is_confined = |policy: &Policy| {
            policy.commands.run.repository_programs == RepositoryProgramsRun::Sandbox
        };
        Ok(!(self.is_user)() && is_confined(&self.policy(repository.repo())?))
    }

    fn run(
        &self,
        repository: RepositoryView<'_>,
        program: &ConfinedProgram<'_>,
    ) -> Result<ConfinedOutput> {
        let repo = repository.repo();
        let policy = self.policy(repo)?;
        if program.access == WorktreeAccess::Read {
            return run(repo, &policy, program, &[]);
        }
        // A hook after a landing runs in the worktree that has the branch.
        let other = (repo.real_root()? != program.root)
            .then(|| Repo::open_worktree(repo.environment(), program.root))
            .transpose()?;
        let place = other.as_ref().unwrap_or(repo);
        let level = policy.commands.run.min_level;
        let executed = Executed::before(place, &policy, &place.ignored()?, level)?;
        let mut done = run(repo, &policy, program, &executed.read_only())?;
        let mut planted = executed.after(place, &policy);
        planted.move_git(place);
        done.findings = planted.finish(place);
        Ok(done)
    }
}

fn run(
    repo: &Repo,
    policy: &Policy,
    program: &ConfinedProgram<'_>,
    read_only: &[PathBuf],
) -> Result<ConfinedOutput> {
    let rules = &policy.commands.run;
    let io =
        |what: &'static str| move |error: std::io::Error| failed(what, program.program, &error);
    let plan = plan(repo, rules, program, read_only)?;
    let (out, stdout) = streams::pipe().map_err(io("run"))?;
    let (err, stderr) = streams::pipe().map_err(io("run"))?;
    let stderr = match program.output {
        ConfinedStreams::Separate => stderr,
        ConfinedStreams::Joined => stdout.try_clone().map_err(io("run"))?,
    };
    let input = streams::memory_file(program.input).map_err(io("run"))?;
    let running = sandbox::start(&plan, input, stdout, stderr)
        .map_err(|why| execute::not_started(program.program, why))?;
    let mut outputs = Outputs { kept: Default::default(), written: 0, max: program.max_output };
    let mut readers = [out, err];
    let until = clock::now() + program.limit.unwrap_or(rules.max_timeout);
    let followed =
        streams::follow(&mut readers, running.watch(), until, &mut outputs).map_err(io("watch"))?;
    let timed_out = followed != FollowEnd::Ended;
    let ended = if timed_out { running.end() } else { running.wait() }.map_err(io("watch"))?;
    streams::drain(&mut readers, Duration::from_secs(10), |stream, bytes| {
        outputs.take(stream, bytes);
    });
    let end = match ended.how {
        _ if timed_out => ProcessEnd::TimedOut,
        Termination::Exit(status) => ProcessEnd::Exit(status),
        Termination::Signal(signal) => ProcessEnd::Signal(signal),
        Termination::Lost => ProcessEnd::Signal(rustix::process::Signal::KILL.as_raw()),
    };
    let Outputs { kept: [stdout, stderr], written, .. } = outputs;
    Ok(ConfinedOutput { end, stdout, stderr, written, findings: Vec::new() })
}

fn plan(
    repo: &Repo,
    rules: &RunRules,
    program: &ConfinedProgram<'_>,
    read_only: &[PathBuf],
) -> Result<SandboxPlan> {
    let passes = |name: &OsString| {
        program.variables == Variables::Passing
            || ["PATH", "HOME", "LANG"].iter().any(|basic| name == basic)
    };
    let mut env: Vec<(OsString, OsString)> =
        edt_io::environment::variables().into_iter().filter(|(name, _)| passes(name)).collect();
    for (name, value) in program.env {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.clone()));
    }
    let paths =
        |paths: &[PathBuf]| -> Vec<_> { paths.iter().map(|path| expand_home(path)).collect() };
    let (root, mut writable, shown) = match (program.access, program.scratch) {
        (WorktreeAccess::Read, Some(scratch)) => (scratch, Vec::new(), Some(program.root)),
        (WorktreeAccess::Read | WorktreeAccess::Write, scratch) => {
            (program.root, scratch.map(Path::to_owned).into_iter().collect(), None)
        }
    };
    writable.extend(paths(&rules.writable));
    let real = |path: &Path| edt_io::fs::real_path(path);
    let shown: Vec<PathBuf> = shown.into_iter().chain([repo.common_dir()]).map(real).collect();
    let shown: Vec<PathBuf> =
        shown.into_iter().filter(|path| !path.starts_with(real(root))).collect();
    let git = [program.root.join(".git"), repo.git_dir().to_owned(), repo.common_dir().to_owned()];
    Ok(SandboxPlan {
        recorded: None,
        level: rules.min_level,
        program: program.program.to_owned(),
        args: program.args.to_vec(),
        dir: program.dir.to_owned(),
        env,
        variables: VariableRules {
            allowed: rules.environment.clone(),
            requested: program.env.iter().map(|(name, _)| name.into()).collect(),
        },
        root: root.to_owned(),
        git: git.into(),
        read_only: read_only.iter().chain(program.read_only).cloned().collect(),
        writable,
        readable: paths(&rules.readable).into_iter().chain(shown.iter().cloned()).collect(),
        shown,
        secrets: [repo.state_path(), &repo.common_dir().join("edt")]
            .map(Path::to_owned)
            .into_iter()
            .chain(paths(&rules.secrets))
            .collect(),
        limits: ResourceLimits::of(rules.min_level),
        backend: NamespaceBackend::Any,
        edt: edt_io::fs::current_program()
            .map_err(|error| failed("find", Path::new("edt"), &error))?,
    })
}

/// The last bytes of both streams.
struct Outputs {
    kept: [Vec<u8>; 2],
    /// How many bytes the first stream had.
    written: u64,
    max: usize,
}

impl Follow for Outputs {
    fn take(&mut self, reader: usize, bytes: &[u8]) {
        let kept = &mut self.kept[reader];
        kept.extend_from_slice(bytes);
        let surplus = kept.len().saturating_sub(self.max);
        kept.drain(..surplus);
        if reader == 0 {
            self.written += bytes.len() as u64;
        }
    }

    fn stop(&self) -> Option<bool> {
        None
    }
}
