//! The user's own files outside of every repository: their `edt.toml` and their decisions on trust.
//!
//! An agent sets the environment of the programs that it starts. `HOME` and `XDG_*` in an agent's
//! call may therefore lead to files of the agent's own. Such files give it no rights: they come from
//! the home directory of the account.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use edt_agents::hook::who::Who;
use edt_git::trust::Configuration;
use edt_guard::policy::Policy;
use edt_guard::policy::trust::TrustStore;
use edt_io::disk::Stat;
use edt_io::{account, environment};
use edt_types::text::{Shown as _, shell_word};
use edt_types::{Code, Finding, Result};

/// What a call may take from the user's files.
#[derive(Debug)]
pub(super) struct UserFiles {
    /// The text of the user's `edt.toml`.
    pub(super) policy: Option<String>,
    /// The home directory that `~` means in it.
    pub(super) home: Option<PathBuf>,
    /// The user's decisions on trust.
    pub(super) trust: Option<TrustStore>,
    /// Whose the part of Git's configuration is that lies outside of the repository.
    pub(super) configuration: Configuration,
}

impl UserFiles {
    /// Reads the user's files.
    ///
    /// # Errors
    /// `IO_ERROR` if there is an `edt.toml` that cannot be read; `TRUST_REQUIRED` if an agent's
    /// environment leads to another `edt.toml` than that of the account.
    pub(super) fn read() -> Result<UserFiles> {
        let config = user_directory("XDG_CONFIG_HOME", ".config");
        let policy = config.as_deref().map(policy_in).transpose()?.flatten();
        let data = user_directory("XDG_DATA_HOME", ".local/share");
        let trust = data.map(|data| TrustStore::new(data.join("edt")));
        let is_agent: fn() -> bool = Who::is_agent_here;
        let home = account::home().filter(|home| Stat::of_target(home).is_some());
        let is_set = |name: &str| environment::variable(name).is_some();
        let configuration = match home {
            Some(home) if !reads_configuration_of(home) => {
                Configuration::Callers { is_agent, files: true }
            }
            _ if is_set("GIT_CONFIG_COUNT") => Configuration::Callers { is_agent, files: false },
            _ => Configuration::Users,
        };
        let named = absolute("HOME").or_else(|| home.map(Path::to_owned));
        let Some(home) = home.filter(|home| !is_of(home)) else {
            return Ok(UserFiles { policy, home: named, trust, configuration });
        };
        let own = policy_in(&home.join(".config"))?;
        let decides = policy.is_some()
            || own.is_some()
            || trust.as_ref().is_some_and(|store| Stat::of_target(&store.file()).is_some());
        // A user who signs approvals trusts no environment. To look for an agent costs the most.
        if !decides || !signs_approvals(own.as_deref())? && !is_agent() {
            return Ok(UserFiles { policy, home: named, trust, configuration });
        }
        match (&config, &policy) {
            (Some(place), Some(_)) if policy != own => Err(foreign(place, home).into()),
            _ => {
                let trust = Some(TrustStore::new(home.join(".local/share/edt")));
                Ok(UserFiles { policy: own, home: Some(home.to_owned()), trust, configuration })
            }
        }
    }
}

/// Where `edt trust` records decisions, the first one for the user's own calls. Calls of agents read
/// the account's directory, whatever `XDG_DATA_HOME` says.
pub(super) fn trust_stores() -> Vec<TrustStore> {
    let data = user_directory("XDG_DATA_HOME", ".local/share");
    let places = trust_places(data, absolute("HOME").as_deref(), account::home());
    places.into_iter().map(|data| TrustStore::new(data.join("edt"))).collect()
}

/// The directories of data in which trust is recorded. Under another `HOME` the user works apart
/// from the account, so that nothing is written there.
fn trust_places(
    data: Option<PathBuf>,
    home: Option<&Path>,
    account: Option<&Path>,
) -> Vec<PathBuf> {
    let is_accounts = |account: &&Path| is_at(home.map(Path::to_owned), account, "");
    let is_another = |account: &&Path| !is_at(data.clone(), account, ".local/share");
    let own = account.filter(is_accounts).filter(is_another);
    let own = own.map(|account| account.join(".local/share"));
    data.into_iter().chain(own).collect()
}

/// The user's directory that the environment variable names, else `below_home` in their home
/// directory. A relative path is ignored: its meaning would depend on the current directory.
pub(super) fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    environment::variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Whether the environment leads to edt's files of the account with this home directory.
fn is_of(home: &Path) -> bool {
    is_at(absolute("HOME"), home, "")
        && is_at(absolute("XDG_CONFIG_HOME"), home, ".config")
        && is_at(absolute("XDG_DATA_HOME"), home, ".local/share")
}

/// Whether Git reads the configuration of the account with this home directory.
fn reads_configuration_of(home: &Path) -> bool {
    let global = || absolute("GIT_CONFIG_GLOBAL");
    is_at(absolute("HOME"), home, "")
        && is_at(absolute("XDG_CONFIG_HOME"), home, ".config")
        && (is_at(global(), home, ".gitconfig") || is_at(global(), home, ".config/git/config"))
        && environment::variable("GIT_CONFIG_SYSTEM").is_none()
}

/// Whether `named` is `below` the home directory, if it is set.
fn is_at(named: Option<PathBuf>, home: &Path, below: &str) -> bool {
    let inode = |path: &Path| Stat::of_target(path).map(|stat| stat.inode());
    named.is_none_or(|named| {
        let own = home.join(below);
        named == own || inode(&named).is_some_and(|named| Some(named) == inode(&own))
    })
}

/// Whether the user's policy names a key that signs approvals.
fn signs_approvals(policy: Option<&str>) -> Result<bool> {
    Ok(policy.is_some() && Policy::of(policy, None)?.signing_key.is_some())
}

fn policy_in(config: &Path) -> Result<Option<String>> {
    let file = config.join("edt/edt.toml");
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        // A policy file that exists but cannot be read must not be ignored.
        Err(error) => Err(edt_io::failed("read your policy", &file, &error).into()),
    }
}

fn foreign(place: &Path, home: &Path) -> Finding {
    let (named, own) = (place.join("edt/edt.toml"), home.join(".config/edt/edt.toml"));
    let (directory, link) = (home.join(".config/edt"), own.symlink_metadata().is_ok());
    let link = if link {
        "If both files are the user's, ask them to give both the same content.".to_owned()
    } else {
        format!(
            "If the first file is the user's, ask them to link it once: `mkdir -p {} && ln -s {} \
             {}`.",
            shell_word(directory.shown().as_bytes()),
            shell_word(named.shown().as_bytes()),
            shell_word(own.shown().as_bytes())
        )
    };
    Finding::new(
        Code::TrustRequired,
        format!(
            "The environment of this call names {} as the user's policy. An agent can set that, so \
             it counts only if {} has the same content.",
            named.shown(),
            own.shown()
        ),
        format!("Repeat the call without changing HOME and XDG_CONFIG_HOME. {link}"),
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_with_a_key_counts_whatever_the_environment_says() {
        let key = "[approvals]\nsigning_key = \"~/.ssh/id.pub\"\n";
        assert!(signs_approvals(Some(key)).unwrap());
        assert!(!signs_approvals(Some("")).unwrap());
        assert!(!signs_approvals(None).unwrap());
        signs_approvals(Some("no policy")).unwrap_err();
    }

    #[test]
    fn trust_is_recorded_where_the_user_and_their_agents_read_it() {
        let account = tempfile::tempdir().unwrap();
        let (account, own) = (account.path(), account.path().join(".local/share"));
        let places = |data: &str, home| {
            let places = trust_places(Some(PathBuf::from(data)), home, Some(account));
            places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>()
        };
        let own = own.to_str().unwrap();
        assert_eq!(places(own, Some(account)), [own]);
        assert_eq!(places("/data", Some(account)), ["/data", own]);
        assert_eq!(places("/data", None), ["/data", own]);
        assert_eq!(places("/data", Some(Path::new("/scratch"))), ["/data"]);
        assert!(trust_places(None, None, None).is_empty());
    }
}
