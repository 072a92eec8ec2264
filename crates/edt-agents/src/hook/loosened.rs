//! Whether a change of `edt.toml` only tightens it. Whatever is not certainly stricter loosens it.

use toml::{Table, Value};

/// The place of the first setting of `new` that may be looser than in `old`; `None` if there is no
/// such setting. A file that does not exist is empty. Both files must have been read as a policy.
#[must_use]
pub(super) fn loosened(old: Option<&[u8]>, new: Option<&[u8]>) -> Option<String> {
    let read = |bytes: Option<&[u8]>| {
        let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        text.parse::<Table>().unwrap_or_default()
    };
    let (old, new) = (read(old), read(new));
    let none = Table::new();
    let table = |of: &Table, key: &str| of.get(key).and_then(Value::as_table).cloned();
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter().find_map(|key| {
        let (before, after) = (old.get(key), new.get(key));
        if before == after {
            return None;
        }
        match key.as_str() {
            "protect" if adds_only(before, after) => None,
            "refs" => {
                let (before, after) = (table(&old, key), table(&new, key));
                let list = |of: &Option<Table>| of.as_ref()?.get("protected").cloned();
                let adds = adds_only(list(&before).as_ref(), list(&after).as_ref());
                (!adds).then(|| "refs.protected".to_owned())
            }
            "guards" => {
                let (before, after) = (table(&old, key), table(&new, key));
                loosened_guard(before.as_ref().unwrap_or(&none), after.as_ref().unwrap_or(&none))
            }
            _ => Some(key.clone()),
        }
    })
}

/// Whether the list `new` has everything that `old` has.
fn adds_only(old: Option<&Value>, new: Option<&Value>) -> bool {
    let all = |of: Option<&Value>| of.and_then(Value::as_array).cloned().unwrap_or_default();
    let new = all(new);
    all(old).iter().all(|one| new.contains(one))
}

fn loosened_guard(old: &Table, new: &Table) -> Option<String> {
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let of = |all: &Table, name: &str, key: &str| all.get(name)?.as_table()?.get(key).cloned();
    names.into_iter().find_map(|name| {
        let keys = [old, new].into_iter().filter_map(|all| all.get(name)?.as_table());
        let keys: std::collections::BTreeSet<&String> = keys.flat_map(Table::keys).collect();
        let mut changed = keys.into_iter().filter(|key| of(old, name, key) != of(new, name, key));
        let looser = changed.find(|key| {
            // Refusing is the strictest mode of every guard.
            let refuses = of(new, name, key).is_some_and(|mode| mode.as_str() == Some("refuse"));
            !(key.as_str() == "mode" && refuses)
        });
        looser.map(|key| format!("guards.{name}.{key}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(old: &str, new: &str) -> Option<String> {
        loosened(Some(old.as_bytes()), Some(new.as_bytes()))
    }

    const OLD: &str = "[guards.secret]\nmode = \"warn\"\n[refs]\nprotected = [\"live\"]\n\
                       [[protect]]\npaths = [\"ci/**\"]\n";

    #[test]
    fn what_is_certainly_stricter_passes() {
        for new in [
            OLD.to_owned(),
            format!("# a comment\n{OLD}[[protect]]\npaths = [\"x\"]\n"),
            OLD.replace("\"live\"", "\"live\", \"beta\""),
            OLD.replace("warn", "refuse"),
            format!("{OLD}[guards.syntax]\nmode = \"refuse\"\n"),
        ] {
            assert_eq!(found(OLD, &new), None, "{new}");
        }
        assert_eq!(loosened(None, Some(OLD.replace("warn", "refuse").as_bytes())), None);
    }

    #[test]
    fn everything_else_is_named() {
        for (new, key) in [
            (String::new(), "guards.secret.mode"),
            (OLD.replace("warn", "off"), "guards.secret.mode"),
            (OLD.replace("\"live\"", ""), "refs.protected"),
            (OLD.replace("ci/**", "c/**"), "protect"),
            (format!("{OLD}[guards.syntax]\nmode = \"off\"\n"), "guards.syntax.mode"),
            (
                format!("{OLD}[guards.size_reduction]\nmax_lines_lost = 0.99\n"),
                "guards.size_reduction.max_lines_lost",
            ),
            (format!("{OLD}[[paths]]\nmatch = [\"**\"]\nguards.syntax.mode = \"off\"\n"), "paths"),
            (format!("{OLD}[session]\nland_user_changes = true\n"), "session"),
        ] {
            assert_eq!(found(OLD, &new).as_deref(), Some(key), "{new}");
        }
        assert_eq!(loosened(Some(OLD.as_bytes()), None).as_deref(), Some("guards.secret.mode"));
    }
}
