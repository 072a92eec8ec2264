//! A program that embeds the library sets everything with the names that it exports: this file uses
//! no other name of edt, which the last test holds.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use edt_core::types::{
    Cache, CallingAgent, ChosenLines, CommentReader, Configuration, ConfinedOutput,
    ConfinedProgram, ConfinedStreams, Confinement, FilePart, GuardMode, Landing, MemoryUse, Oid,
    ProcessEnd, ProposalState, RefusedCall, RepositoryView, RestoreTarget, TriedEdit, TrustStore,
    UndoLanding, UserDecision, Variables, WorktreeAccess,
};
use edt_core::{
    Code, Durability, Environment, Finding, Guard, GuardContext, GuardOutput, Land, Observer,
    Options, Refusal, RepoPath, Request, Status, Subject, Workspace,
};
use edt_testkit::ScratchRepo;

/// Writes down what it sees.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn opened(&self, repository: RepositoryView<'_>) {
        assert!(repository.common_dir().exists() && repository.git_dir().exists());
    }

    fn session(&self, name: &str) {
        self.add(format!("session {name}"));
    }

    fn refused(
        &self,
        repository: RepositoryView<'_>,
        memory: MemoryUse,
        request: Option<&Request>,
        call: &RefusedCall,
        findings: Refusal,
    ) -> Refusal {
        assert!(repository.root().exists() && request.is_some());
        self.add(format!("refused {}: {} {memory:?}", call.call, call.findings[0].code));
        findings
    }

    fn followed(
        &self,
        _: RepositoryView<'_>,
        _: MemoryUse,
        refused: &RefusedCall,
        edits: &[TriedEdit],
        _: &Landing<'_>,
    ) -> Option<String> {
        self.add(format!("{} edit after {}", edits.len(), refused.findings[0].code));
        Some("other".to_owned())
    }

    fn landed(&self, _: RepositoryView<'_>, _: Option<&Request>, landing: &Landing<'_>) {
        self.add(format!("landed {:?}", landing.paths));
    }

    fn undone(&self, _: RepositoryView<'_>, from: Oid, to: Oid) {
        self.add(format!("undone {}", from != to));
    }

    fn found(&self, _: &[&str]) {}

    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Starts no program of the repository and says so.
#[derive(Debug)]
struct NoPrograms(Arc<Notes>);

impl Confinement for NoPrograms {
    fn applies(&self, repository: RepositoryView<'_>) -> Result<bool, Refusal> {
        Ok(repository.root().exists())
    }

    fn run(
        &self,
        _: RepositoryView<'_>,
        program: &ConfinedProgram<'_>,
    ) -> Result<ConfinedOutput, Refusal> {
        assert_eq!(
            (program.access, program.variables),
            (WorktreeAccess::Write, Variables::Passing)
        );
        assert_eq!(program.output, ConfinedStreams::Separate);
        self.0.add(format!("not run in {}", program.root.display()));
        Ok(ConfinedOutput {
            end: ProcessEnd::Exit(0),
            stdout: Vec::new(),
            stderr: Vec::new(),
            written: 0,
            findings: Vec::new(),
        })
    }
}

/// Refuses a new line that says so.
#[derive(Debug)]
struct NoLater;

impl Guard for NoLater {
    fn name(&self) -> &'static str {
        "no_later"
    }

    fn rule(&self) -> &'static str {
        "Refuses an edit that adds a line with LATER."
    }

    fn default_mode(&self) -> GuardMode {
        GuardMode::Refuse
    }

    fn check(&self, file: &Subject<'_>, context: &GuardContext<'_>) -> Vec<GuardOutput> {
        assert!(context.site.is_none_or(|site| site.root.exists()));
        let found = file.added_lines().find(|(_, line)| line.starts_with(b"LATER"));
        GuardOutput::of(
            self.name(),
            found.map(|_| Finding::new(Code::CustomGuard, "It says LATER.", "Write it now.")),
        )
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

#[test]
fn every_setting_has_an_exported_type() {
    let scratch = ScratchRepo::with(&[("a.txt", "one\n")]);
    let home = edt_testkit::tempdir().unwrap();
    let notes = Arc::new(Notes::default());
    let caller = CallingAgent { agent: Some("mine".to_owned()), ..CallingAgent::default() };
    let options = Options::default()
        .command("embedding")
        .lock_wait(Duration::from_secs(5))
        .user_policy("[guards.syntax]\nmode = \"warn\"\n", Some(PathBuf::from("/home/me")))
        .trust(TrustStore::new(home.path().to_owned()))
        .configuration(Configuration::Callers { is_agent: || true, files: true })
        .confinement(Arc::new(NoPrograms(notes.clone())))
        .environment(Environment::Isolated)
        .durability(Durability::Off)
        .caller(caller)
        .cache(Arc::new(Cache::default()))
        .observer(notes.clone())
        .guard(Arc::new(NoLater));
    let mut ws = Workspace::open(scratch.path(), options).unwrap();

    let refused = ws.apply(&Request::new("x").append("a.txt", "LATER\n")).unwrap_err();
    let error: &dyn std::error::Error = &refused;
    assert!(error.to_string().contains("It says LATER."), "{error}");
    let applied = ws.apply(&Request::new("x").overwrite("a.txt", "two\n")).unwrap();
    let session = applied.session.unwrap().name;
    let log = ws.log().unwrap();
    let trailers = log[0].commit.trailers.as_ref().unwrap();
    assert_eq!(trailers.agent.as_deref(), Some("mine"));
    ws.undo(1).unwrap();
    assert_eq!(
        notes.taken(),
        [
            format!("session {session}"),
            "refused apply: CUSTOM_GUARD On".to_owned(),
            format!("session {session}"),
            "1 edit after CUSTOM_GUARD".to_owned(),
            r#"landed [("a.txt", None)]"#.to_owned(),
            "undone true".to_owned(),
        ]
    );
}

#[test]
fn a_confinement_is_asked_for_the_programs_of_the_repository() {
    let scratch = ScratchRepo::with(&[("a.txt", "one\n")]);
    let hook = scratch.path().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let notes = Arc::new(Notes::default());
    let options = Options::default().confinement(Arc::new(NoPrograms(notes.clone())));
    let mut ws = Workspace::open(scratch.path(), options).unwrap();
    ws.apply(&Request::new("x").edit("a.txt", "one", "two")).unwrap();
    // The hook that would refuse did not run: its confinement answered for it.
    let landed = ws.land(Land::default());
    assert!(notes.taken().iter().any(|note| note.starts_with("not run in ")), "{landed:?}");
}

#[test]
fn what_the_user_decides_is_stated_by_the_program() {
    let scratch = ScratchRepo::with(&[("ci/a.yml", "one\n"), ("edt.toml", PROTECTED)]);
    let mut ws = Workspace::open(scratch.path(), Options::default()).unwrap();
    fs::write(scratch.path().join("mine.txt"), "mine\n").unwrap();
    let saved = ws.checkpoint(Some("mine"), &[path("mine.txt")], UserDecision::made_by_user());
    assert_eq!(saved.unwrap().files[0].path, "mine.txt");

    let request = Request::new("ci").edit("ci/a.yml", "one", "two");
    let held = ws.apply(&request).unwrap_err();
    assert!(held.any(|finding| finding.code == Code::ApprovalRequired));
    let proposal = ws.proposals().unwrap().pop().unwrap();
    assert_eq!((proposal.id, &proposal.state), (1, &ProposalState::Open));
    ws.approve(&proposal, UserDecision::made_by_user()).unwrap();
    assert_eq!(ws.apply_proposal(1).unwrap().status, Status::Applied);

    let landed = ws.land(Land::default().message("ci").by_user(UserDecision::made_by_user()));
    let landed = landed.unwrap().commit;
    let refused = ws.undo_landing(UndoLanding::default()).unwrap_err();
    assert_eq!(refused.codes(), ["APPROVAL_REQUIRED"]);
    let by_user = UndoLanding::default().by_user(UserDecision::made_by_user());
    assert_eq!(ws.undo_landing(by_user).unwrap().parent, landed);
}

const PROTECTED: &str = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";

#[test]
fn parts_of_edits_are_reverted_and_files_restored() {
    let scratch = ScratchRepo::with(&[("a.txt", "1\n2\n3\n")]);
    let mut ws = Workspace::open(scratch.path(), Options::default()).unwrap();
    ws.apply(&Request::new("x").edit("a.txt", "1", "one").edit("a.txt", "3", "three")).unwrap();
    let lines = Some(ChosenLines { added: vec![1..=1], removed: vec![1..=1] });
    ws.revert_part(&FilePart { edit: Some(1), path: path("a.txt"), lines }).unwrap();
    let text = || fs::read_to_string(scratch.path().join("a.txt")).unwrap();
    assert_eq!(text(), "1\n2\nthree\n");
    ws.restore(&path("a.txt"), &RestoreTarget::Revision(1)).unwrap();
    assert_eq!(text(), "1\n2\n3\n");
    let status = ws.status().unwrap();
    let tip: Option<Oid> = status.tip;
    assert_eq!(tip, ws.log().unwrap().first().map(|entry| entry.commit.oid));
    assert_eq!(ws.comments(CommentReader::Agent).unwrap(), []);
}

#[test]
fn this_file_uses_exported_names_alone() {
    let code = include_str!("embedding.rs").split("#[test]\nfn this_file").next().unwrap();
    let named: Vec<&str> = code.split("edt_").skip(1).collect();
    let exported = |rest: &&&str| {
        ["core::types::{", "core::{", "testkit::"].iter().any(|start| rest.starts_with(start))
    };
    let others: Vec<&&str> = named.iter().filter(|rest| !exported(rest)).collect();
    assert!(others.is_empty(), "{others:?}");
}
