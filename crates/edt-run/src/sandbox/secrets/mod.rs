//! What a confined program must not read: files and directories by path, variables by name or
//! value.

mod home;
mod kept;
mod names;
mod places;
mod variables;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::SandboxPlan;
use home::Visible;
use places::{MOVED, MOVED_PROGRAMS, PATH_VARIABLES, RUNTIME, SYSTEM};

pub use variables::VariableRules;

/// All paths that a program must not read; some may not exist.
pub(super) fn secret_paths(plan: &SandboxPlan) -> Vec<PathBuf> {
    let mut paths = plan.secrets.clone();
    // The program's variables, and edt's own.
    let variables = |name: &str| {
        let of_plan =
            plan.env.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone());
        of_plan.chain(edt_io::environment::variable(name)).collect::<Vec<OsString>>()
    };
    let directories = |name: &str| {
        let paths = variables(name).into_iter().map(PathBuf::from);
        paths.filter(|path| path.is_absolute()).collect::<Vec<_>>()
    };
    let visible = visible(plan);
    let table = edt_io::account::table();
    let homes = homes(directories("HOME"), &table, rustix::process::geteuid());
    for home in &homes {
        paths.extend(visible.credentials_in(home, ""));
        paths.extend(visible.others_in(home, ""));
    }
    for (name, part) in MOVED {
        for base in directories(name) {
            paths.extend(visible.credentials_in(&base, part));
            let contains = |path: &&PathBuf| path.starts_with(&base);
            // `/etc` would be no directory of the user's own.
            if base.components().count() > 2
                && !homes.iter().chain([&plan.root]).any(|path| contains(&path))
            {
                paths.extend(visible.others_in(&base, part));
            }
        }
    }
    for (name, part) in MOVED_PROGRAMS {
        paths.extend(directories(name).iter().flat_map(|base| visible.credentials_in(base, part)));
    }
    let user = rustix::process::geteuid().as_raw();
    let mut runtime = directories("XDG_RUNTIME_DIR");
    runtime.push(format!("/run/user/{user}").into());
    paths.extend(runtime.iter().flat_map(|base| RUNTIME.iter().map(|name| base.join(name))));
    // Some variables, such as `KUBECONFIG`, list several paths.
    let named = PATH_VARIABLES.iter().flat_map(|name| variables(name));
    paths.extend(
        named
            .flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>())
            .filter(|path| path.is_absolute()),
    );
    paths.extend(SYSTEM.iter().map(PathBuf::from));
    paths
}

/// What stays visible. The request's own variables cannot extend it.
fn visible(plan: &SandboxPlan) -> Visible {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let moved =
        MOVED.iter().filter_map(|(name, _)| edt_io::environment::variable(name)).map(PathBuf::from);
    let needed = [&plan.root, &plan.program].into_iter().chain(&plan.git).map(real);
    let programs = edt_io::environment::variable("PATH").unwrap_or_default();
    Visible {
        root: real(&plan.root),
        named: plan.readable.iter().chain(&plan.writable).map(real).collect(),
        needed: needed.chain(moved.filter(|path| path.is_absolute())).collect(),
        programs: std::env::split_paths(&programs)
            .filter(|path| path.is_absolute())
            .map(|path| real(&path))
            .collect(),
    }
}

/// The home directories whose secrets this user could read: its own, from the environment and
/// `/etc/passwd`; for root, those of all users.
fn homes(named: Vec<PathBuf>, table: &str, me: rustix::process::Uid) -> Vec<PathBuf> {
    let mut homes = named;
    for (user, home) in edt_io::account::homes(table) {
        let of_a_user = (1000..60_000).contains(&user) || home.starts_with("/home");
        if user == me.as_raw() || me.is_root() && (of_a_user || home == Path::new("/root")) {
            homes.push(home.into());
        }
    }
    homes.retain(|home| home.is_absolute() && home != Path::new("/"));
    homes.sort();
    homes.dedup();
    homes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::Uid;

    #[test]
    fn files_that_variables_name_are_secret() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".config/gh")).unwrap();
        std::fs::create_dir_all(home.path().join("xdg/config/gh")).unwrap();
        std::fs::create_dir_all(home.path().join(".ssh")).unwrap();
        let real = home.path().canonicalize().unwrap();
        let mut plan =
            SandboxPlan::new(edt_types::Level::Standard, Path::new("/x"), Path::new("/w"));
        let xdg = real.join("xdg/config");
        plan.env = [
            ("KUBECONFIG", "/k/one:/k/two"),
            ("NETRC", "relative"),
            ("HOME", real.to_str().unwrap()),
            ("XDG_CONFIG_HOME", xdg.to_str().unwrap()),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .to_vec();
        plan.secrets = vec!["/own".into()];
        let paths = secret_paths(&plan);
        for path in ["/own", "/k/one", "/k/two", "/etc/shadow"].map(PathBuf::from) {
            assert!(paths.contains(&path), "{path:?}");
        }
        for name in [".ssh", ".config/gh", "xdg/config/gh"] {
            assert!(paths.contains(&real.join(name)), "{name}");
        }
        assert!(!paths.contains(&PathBuf::from("relative")));
    }

    #[test]
    fn the_root_directory_is_nobodys_home() {
        let named = vec!["/".into(), "relative".into(), "/h".into(), "/h".into()];
        assert_eq!(homes(named, "", Uid::from_raw(7)), [PathBuf::from("/h")]);
    }

    #[test]
    fn a_user_has_the_homes_of_the_account_and_root_those_of_all_users() {
        let table = "root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/usr/sbin:/bin/no\n\
                     me:x:1000:1000::/data/me:/bin/sh\nnobody:x:65534:1::/nonexistent:/bin/no\n";
        let of = |user| homes(vec!["/h".into()], table, Uid::from_raw(user));
        assert_eq!(of(1000), ["/data/me", "/h"].map(PathBuf::from));
        assert_eq!(of(0), ["/data/me", "/h", "/root"].map(PathBuf::from));
    }
}
