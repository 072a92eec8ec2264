//! Approvals that count only with a signature of the user's key: `[approvals] signing_key`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::test_repo::{Answer, TestRepo};

const POLICY: &str = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";
const ASK: &str = "[[command]]\nname = \"echo\"\nargv = [\"echo\"]\ndecision = \"ask\"\nreason = \"It speaks.\"\nmatch = [\"echo x\"]\n";

/// Whether `ssh-keygen` is installed; prints that the test is skipped if it is not.
fn has_ssh_keygen() -> bool {
    let installed = Command::new("ssh-keygen").arg("-V").output().is_ok();
    if !installed {
        println!("skipped: ssh-keygen is not installed");
    }
    installed
}

fn workspace() -> TestRepo {
    let policy = [POLICY, ASK].concat();
    TestRepo::with(&[
        ("edt.toml", policy.as_bytes()),
        ("ci/run", b"cargo test\n"),
        ("ci/more", b"cargo doc\n"),
    ])
}

/// Makes a key of the user's; the path of its public part.
fn key(workspace: &TestRepo, name: &str) -> PathBuf {
    let private = workspace.home.join(".ssh").join(name);
    std::fs::create_dir_all(private.parent().unwrap()).unwrap();
    let mut make = workspace.command("ssh-keygen");
    let made = make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&private).status().unwrap();
    assert!(made.success());
    private.with_extension("pub")
}

fn settings(workspace: &TestRepo, text: &str) {
    let file = workspace.home.join(".config/edt/edt.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Requires signatures by a new key.
fn sign_with_new_key(workspace: &TestRepo) {
    key(workspace, "id_edt");
    settings(workspace, "[approvals]\nsigning_key = \"~/.ssh/id_edt.pub\"\n");
}

fn propose(workspace: &TestRepo, path: &str, content: &str) -> Value {
    let edit = json!({"path": path, "mode": "overwrite", "content": content});
    let held = workspace.apply(&edit);
    assert_eq!((held.exit, held.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", held.json);
    held.json["proposal"].clone()
}

#[track_caller]
fn approve(workspace: &TestRepo, id: &str) {
    let (status, screen) = workspace.at_terminal(&format!("approve {id}"), "yes\n");
    assert_eq!(status, Some(0), "{screen}");
}

#[track_caller]
fn applies(workspace: &TestRepo, id: &str) {
    let applied = workspace.edt(&["apply", "--proposal", id]);
    assert_eq!(applied.exit, 0, "{:#}", applied.json);
}

fn signature(workspace: &TestRepo, id: u32) -> String {
    let name = format!("refs/edt/proposals/{id}");
    workspace.git(&["log", "-1", "--format=%(trailers:key=Edt-Signature,valueonly)", &name])
}

/// Adds a decision to the proposal, as a program could that may write the Git directory.
fn forge(workspace: &TestRepo, id: u32, decision: &str) {
    let name = format!("refs/edt/proposals/{id}");
    let tree = format!("{name}^{{tree}}");
    let text = format!(
        "forged\n\nEdt-Session: s\nEdt-Kind: decision\nEdt-Edit: 0\nEdt-Decision: {decision}"
    );
    let commit = workspace.git(&["commit-tree", &tree, "-p", &name, "-m", &text]);
    workspace.git(&["update-ref", &name, commit.trim()]);
}

#[track_caller]
fn waits_for_a_signature(answer: &Answer, id: u32) {
    assert_eq!((answer.exit, answer.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", answer.json);
    assert!(answer.message().contains("signature"), "{}", answer.message());
    assert!(answer.hint().contains(&format!("`edt approve p{id}`")), "{}", answer.hint());
}

#[test]
fn a_signed_approval_is_applied_and_lands() {
    if !has_ssh_keygen() {
        return;
    }
    let workspace = workspace();
    sign_with_new_key(&workspace);
    propose(&workspace, "ci/run", "cargo test --all\n");
    approve(&workspace, "p1");
    assert!(signature(&workspace, 1).len() > 100);
    applies(&workspace, "p1");
    let landed = workspace.edt(&["land"]);
    assert_eq!(landed.exit, 0, "{:#}", landed.json);
    assert_eq!(workspace.git(&["show", "main:ci/run"]), "cargo test --all\n");
}

#[test]
fn an_approval_without_a_signature_waits_until_the_user_signs() {
    if !has_ssh_keygen() {
        return;
    }
    let workspace = workspace();
    propose(&workspace, "ci/run", "cargo test --all\n");
    approve(&workspace, "p1");
    assert_eq!(signature(&workspace, 1), "\n", "nothing is signed without the setting");
    sign_with_new_key(&workspace);
    waits_for_a_signature(&workspace.edt(&["apply", "--proposal", "p1"]), 1);
    approve(&workspace, "p1");
    applies(&workspace, "p1");
}

#[test]
fn a_signature_counts_for_its_own_proposal_and_state() {
    if !has_ssh_keygen() {
        return;
    }
    let workspace = workspace();
    sign_with_new_key(&workspace);
    propose(&workspace, "ci/run", "cargo test --all\n");
    propose(&workspace, "ci/more", "cargo doc --all\n");
    approve(&workspace, "p1");
    let signed = format!("approved me\nEdt-Signature: {}", signature(&workspace, 1).trim());
    for decision in ["approved me", "approved me\nEdt-Signature: AAAA", &signed] {
        forge(&workspace, 2, decision);
        waits_for_a_signature(&workspace.edt(&["apply", "--proposal", "p2"]), 2);
    }
    // What was rejected since is not approved by the same signature.
    assert_eq!(workspace.at_terminal("reject p1 -m no", "").0, Some(0));
    forge(&workspace, 1, &signed);
    waits_for_a_signature(&workspace.edt(&["apply", "--proposal", "p1"]), 1);
    approve(&workspace, "p1");
    // Another key of the user's setting is another user.
    key(&workspace, "other");
    settings(&workspace, "[approvals]\nsigning_key = \"~/.ssh/other\"\n");
    waits_for_a_signature(&workspace.edt(&["apply", "--proposal", "p1"]), 1);
    approve(&workspace, "p1");
    applies(&workspace, "p1");
}

#[test]
fn a_command_needs_a_signed_approval_of_what_the_user_saw() {
    if !has_ssh_keygen() {
        return;
    }
    let workspace = workspace();
    sign_with_new_key(&workspace);
    let run = || workspace.runs(&[], &["echo", "hello"]);
    assert_eq!(run().codes(), ["APPROVAL_REQUIRED"]);
    forge(&workspace, 1, "approved me");
    waits_for_a_signature(&run(), 1);
    approve(&workspace, "p1");
    assert_eq!(run().exit, 0);
    assert_eq!(run().codes(), ["APPROVAL_REQUIRED"], "once");
    // A proposal that shows another command than the one whose digest it has.
    let name = "refs/edt/proposals/2";
    let text = workspace.git(&["log", "-1", "--format=%B", name]).replace("echo hello", "true");
    let tree = format!("{name}^{{tree}}");
    let commit = workspace.git(&["commit-tree", &tree, "-p", "HEAD", "-m", text.trim()]);
    workspace.git(&["update-ref", name, commit.trim()]);
    approve(&workspace, "p2");
    assert_eq!(run().codes(), ["APPROVAL_REQUIRED"]);
}

#[test]
fn a_landing_counts_only_signed_approvals_of_exactly_its_changes() {
    if !has_ssh_keygen() {
        return;
    }
    let workspace = workspace();
    sign_with_new_key(&workspace);
    propose(&workspace, "ci/run", "cargo test --all\n");
    workspace.edt(&["begin"]);
    workspace.write("ci/run", "curl evil\n");
    workspace.git(&["add", "ci/run"]);
    let text = "ci\n\nEdt-Session: s\nEdt-Kind: edit\nEdt-Edit: 1\nEdt-Proposal: 1";
    workspace.git(&["commit", "--quiet", "--no-verify", "-m", text]);
    forge(&workspace, 1, &format!("done {}", workspace.rev("HEAD")));
    assert_eq!(workspace.edt(&["land"]).codes(), ["APPROVAL_REQUIRED"]);
    // Not even if the user approved another change under that number.
    workspace.git(&["update-ref", "refs/edt/proposals/1", "refs/edt/proposals/1~1"]);
    approve(&workspace, "p1");
    forge(&workspace, 1, &format!("done {}", workspace.rev("HEAD")));
    let held = workspace.edt(&["land"]);
    assert_eq!(held.codes(), ["APPROVAL_REQUIRED"], "{:#}", held.json);
}

#[test]
fn the_pre_commit_hook_counts_only_signed_approvals() {
    if !has_ssh_keygen() {
        return;
    }
    let workspace = workspace();
    let setting = "[approvals]\nsigning_key = \"~/.ssh/id_edt.pub\"\n";
    key(&workspace, "id_edt");
    for is_signed in [false, true] {
        settings(&workspace, if is_signed { setting } else { "" });
        let id = propose(&workspace, "ci/run", &format!("cargo test --signed={is_signed}\n"));
        approve(&workspace, &format!("p{id}"));
        applies(&workspace, &format!("p{id}"));
        // The same change, to be committed with Git.
        workspace.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
        settings(&workspace, setting);
        for is_pruned in [false, true] {
            if is_pruned {
                workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
                workspace.git(&["prune", "--expire=now"]);
            }
            let judged = workspace.edt(&["hook", "pre-commit"]);
            assert_eq!(judged.exit == 0, is_signed, "{is_pruned}: {:#}", judged.json);
            if !is_signed {
                assert_eq!(judged.codes(), ["APPROVAL_REQUIRED"], "{is_pruned}");
            }
        }
        if !is_signed {
            workspace.git(&["reset", "--quiet", "--hard"]);
        }
    }
}

#[test]
fn only_the_users_own_file_names_a_key_and_it_must_exist() {
    let workspace = workspace();
    propose(&workspace, "ci/run", "cargo test --all\n");
    for (setting, named) in [
        ("signing_key = \"id\"\n", "absolute"),
        ("signing_key = \"/none/id.pub\"\n", "/none/id.pub"),
    ] {
        settings(&workspace, &format!("[approvals]\n{setting}"));
        let (status, screen) = workspace.at_terminal("approve p1", "yes\n");
        assert!(status != Some(0) && screen.contains(named), "{screen}");
    }
    let theirs = TestRepo::with(&[("edt.toml", b"[approvals]\nsigning_key = \"/x\"\n")]);
    let refused = theirs.edt(&["apply", "a", "--mode", "create", "--content", "x"]);
    assert_eq!(refused.codes(), ["BAD_REQUEST"]);
    assert!(refused.message().contains("[approvals] belongs in the user's own edt.toml"));
}
