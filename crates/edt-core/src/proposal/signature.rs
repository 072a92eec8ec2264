//! Signatures of approvals, if the user's own `edt.toml` names a key.
//!
//! Who can write the Git directory can write decisions. With a key, an approval counts only with a
//! signature of exactly what was shown: the proposal, and the state on which the user decided.

use std::path::{Path, PathBuf};

use super::store::Proposal;
use crate::session::refs::commit::Commit;
use crate::session::worktree::options::Options;
use edt_git::Oid;
use edt_git::sha256;
use edt_guard::policy::Policy;
use edt_io::{Environment, failed, fs, ssh_keygen};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// The namespace of the signatures (`ssh-keygen -Y sign -n`).
const NAMESPACE: &str = "edt-approval";
/// The most bytes of a file with a public key.
const MAX_KEY: u64 = 64 * 1024;
/// The lines around the Base64 of a signature, and the length of its lines.
const ARMOR: [&str; 2] = ["-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"];
const ARMOR_WIDTH: usize = 70;

/// The key with which the user signs approvals.
#[derive(Debug, Clone)]
pub struct ApprovalKey {
    path: PathBuf,
    environment: Environment,
}

/// What the signature of an approval covers.
#[derive(Debug, Clone, Copy)]
pub struct SignedParts<'a> {
    /// The number of the proposal.
    pub id: u64,
    /// The proposed commit.
    pub commit: &'a str,
    /// Its tree.
    pub tree: &'a str,
    /// Its parent, if it has one.
    pub parent: Option<&'a str>,
    /// Its message, which has the digest, the command and the grants.
    pub message: &'a str,
    /// The value of the proposal's ref when the user decided.
    pub state: &'a str,
}

impl SignedParts<'_> {
    fn text(&self) -> Result<String> {
        let SignedParts { id, commit, tree, parent, message, state } = self;
        let (parent, message) = (parent.unwrap_or("-"), sha256(message.as_bytes())?);
        Ok(format!(
            "edt approval 1\nproposal {id}\ncommit {commit}\ntree {tree}\nparent {parent}\nmessage \
             {message}\nstate {state}\n"
        ))
    }
}

impl ApprovalKey {
    /// The key that the options' policy of the user names, if any.
    ///
    /// # Errors
    /// As [`ApprovalKey::named`].
    pub fn of(options: &Options) -> Result<Option<ApprovalKey>> {
        let (user, home) = (options.user_policy.as_deref(), options.user_home.as_deref());
        ApprovalKey::named(user, home, options.environment)
    }

    /// The key that the text of the user's `edt.toml` names, if any. `~` is `home`.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the text cannot be read, or if the path is not absolute.
    pub fn named(
        user: Option<&str>,
        home: Option<&Path>,
        environment: Environment,
    ) -> Result<Option<ApprovalKey>> {
        let Some(user) = user else { return Ok(None) };
        let Some(named) = Policy::of(Some(user), None)?.signing_key else { return Ok(None) };
        let path = match (named.strip_prefix("~"), home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => named,
        };
        if !path.is_absolute() {
            return Err(unusable(&path, "is not an absolute path").into());
        }
        Ok(Some(ApprovalKey { path, environment }))
    }

    /// The signature of an approval, for its trailer.
    ///
    /// # Errors
    /// `APPROVAL_REQUIRED` if `ssh-keygen` made none; `PROGRAM_NOT_FOUND`; `BAD_REQUEST` if the key
    /// cannot be read; `IO_ERROR`.
    pub fn sign(&self, parts: &SignedParts<'_>) -> Result<String> {
        self.public()?;
        let signed = ssh_keygen::sign(self.environment, &self.path, NAMESPACE, &parts.text()?)?;
        let armored = signed.ok_or_else(|| not_signed(parts.id, &self.path))?;
        Ok(armored.lines().filter(|line| !line.starts_with("-----")).collect())
    }

    /// Whether `signature`, the trailer of an approval, is this key's.
    ///
    /// # Errors
    /// As [`ApprovalKey::sign`].
    pub fn verifies(&self, parts: &SignedParts<'_>, signature: &str) -> Result<bool> {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let public = self.public()?;
        if signature.is_empty() || !signature.bytes().all(is_base64) {
            return Ok(false);
        }
        let lines = signature.as_bytes().chunks(ARMOR_WIDTH).map(String::from_utf8_lossy);
        let text = lines.fold(format!("{}\n", ARMOR[0]), |text, line| text + &line + "\n");
        let armored = format!("{text}{}\n", ARMOR[1]);
        ssh_keygen::verifies(&public, NAMESPACE, &parts.text()?, &armored)
    }

    /// Whether this key signed the approval that `proposal` has, or had when it was applied.
    ///
    /// # Errors
    /// As [`ApprovalKey::verifies`].
    pub fn signed(&self, proposal: &Proposal) -> Result<bool> {
        let Some(approval) = &proposal.approval else { return Ok(false) };
        let Some(signature) = &approval.signature else { return Ok(false) };
        proposal.with_signed_parts(approval.state, |parts| self.verifies(&parts, signature))
    }

    /// The type and the Base64 of the public key.
    fn public(&self) -> Result<String> {
        let is_public = self.path.extension().is_some_and(|ending| ending == "pub");
        let beside = PathBuf::from([self.path.as_os_str(), ".pub".as_ref()].join("".as_ref()));
        let file = if is_public || !beside.is_file() { &self.path } else { &beside };
        if !file.exists() {
            let error = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(failed("read the key that signs approvals,", file, &error).into());
        }
        let text = fs::read_small(file, MAX_KEY).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let words: Vec<&str> = text.split_whitespace().take(2).collect();
        match words[..] {
            [kind, key] if !kind.starts_with('-') => Ok(format!("{kind} {key}")),
            _ => Err(unusable(file, "has no public key").into()),
        }
    }
}

impl Proposal {
    /// What the user's signature of an approval in `state` covers.
    pub(super) fn with_signed_parts<T>(
        &self,
        state: Oid,
        act: impl FnOnce(SignedParts<'_>) -> T,
    ) -> T {
        let Commit { oid, tree, parent, message, .. } = &self.commit;
        act(SignedParts {
            id: self.id,
            commit: &oid.to_string(),
            tree: &tree.to_string(),
            parent: parent.map(|parent| parent.to_string()).as_deref(),
            message,
            state: &state.to_string(),
        })
    }
}

/// Refuses a `proposal` that is marked as approved without a signature of the user's key, if the
/// user's `edt.toml` names one.
///
/// # Errors
/// `APPROVAL_REQUIRED`; as [`ApprovalKey::verifies`].
pub fn require(options: &Options, proposal: &Proposal) -> Result<()> {
    let Some(key) = ApprovalKey::of(options)? else { return Ok(()) };
    if key.signed(proposal)? {
        return Ok(());
    }
    let id = proposal.id;
    let message = format!(
        "Proposal p{id} ({}) is marked as approved, but without a valid signature of the user's \
         key {}.",
        proposal.subject(),
        key.path.shown()
    );
    let remedy = format!(
        "Ask the user to type `edt approve p{id}` in their own terminal: it shows the proposal and \
         signs the approval."
    );
    Err(Finding::new(Code::ApprovalRequired, message, remedy)
        .nothing_changed()
        .with("proposal", id)
        .into())
}

fn not_signed(id: u64, key: &Path) -> Finding {
    let message = format!(
        "ssh-keygen made no signature with {}. Proposal p{id} is not approved.",
        key.shown()
    );
    let remedy = format!("Type `edt approve p{id}` again, with the passphrase or the key's touch.");
    Finding::new(Code::ApprovalRequired, message, remedy).nothing_changed()
}

fn unusable(path: &Path, why: &str) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!("[approvals] signing_key in the user's own edt.toml: {} {why}.", path.shown()),
        "The user must name the file of a key there, such as ~/.ssh/id_ed25519_sk.pub. `ssh-keygen \
         -y -f KEY > KEY.pub` writes the public key of a private one.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(setting: &str) -> Result<Option<ApprovalKey>> {
        let home = Path::new("/home/me");
        ApprovalKey::named(Some(setting), Some(home), Environment::Isolated)
    }

    #[test]
    fn without_the_setting_there_is_no_key() {
        assert!(named("").unwrap().is_none());
        assert!(ApprovalKey::named(None, None, Environment::Isolated).unwrap().is_none());
    }

    #[test]
    fn a_key_is_named_from_the_home_directory_or_the_root() {
        let path = |setting: &str| {
            let named = named(&format!("[approvals]\nsigning_key = \"{setting}\"\n"));
            named.map(|key| key.unwrap().path)
        };
        assert_eq!(path("~/.ssh/id.pub").unwrap(), Path::new("/home/me/.ssh/id.pub"));
        assert_eq!(path("/k/id").unwrap(), Path::new("/k/id"));
        assert_eq!(path("id").unwrap_err().into_vec()[0].code, Code::BadRequest);
    }

    #[test]
    fn each_part_changes_what_is_signed() {
        let parts =
            SignedParts { id: 1, commit: "c", tree: "t", parent: None, message: "m", state: "s" };
        let others = [
            SignedParts { id: 2, ..parts },
            SignedParts { commit: "x", ..parts },
            SignedParts { tree: "x", ..parts },
            SignedParts { parent: Some("x"), ..parts },
            SignedParts { message: "x", ..parts },
            SignedParts { state: "x", ..parts },
        ];
        let text = parts.text().unwrap();
        assert!(others.iter().all(|other| other.text().unwrap() != text));
    }
}
