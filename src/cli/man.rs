//! Manual pages, from what the parser of the command line knows of a command.

use clap::{Arg, ArgAction, Command};

/// The manual page of a command that was built, for `man -l -`.
pub(super) fn page(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map_or_else(String::new, |about| format!(" - {about}"));
    let mut page = Page(format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH {name} 1\n.SH NAME\n{}\n.SH SYNOPSIS\n{}\n",
        escaped(&format!("{name}{about}")),
        synopsis(command),
    ));
    page.0.push_str(".SH DESCRIPTION\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        page.text(&about.to_string(), ".PP");
    }
    let (places, mut flags): (Vec<&Arg>, Vec<&Arg>) =
        shown(command).partition(|arg| arg.is_positional());
    flags.sort_by_key(|arg| arg.get_display_order());
    if !places.is_empty() || !flags.is_empty() {
        page.0.push_str(".SH OPTIONS\n");
        flags.into_iter().chain(places).for_each(|arg| page.argument(arg));
    }
    if command.has_subcommands() {
        page.0.push_str(".SH SUBCOMMANDS\n");
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            page.item(&escaped(&format!("{name}-{}(1)", below.get_name())), &about);
        }
    }
    if let Some(more) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        page.0.push_str(".SH EXTRA\n");
        page.text(&more.to_string(), ".PP");
    }
    if let Some(version) = command.get_version() {
        page.0.push_str(&format!(".SH VERSION\nv{}\n", escaped(version)));
    }
    page.0
}

struct Page(String);

impl Page {
    /// An empty line becomes the request `paragraph`.
    fn text(&mut self, text: &str, paragraph: &str) {
        for line in text.lines() {
            let is_empty = line.trim().is_empty();
            self.0.push_str(&if is_empty { paragraph.to_owned() } else { escaped(line) });
            self.0.push('\n');
        }
    }

    /// `header` is escaped already.
    fn item(&mut self, header: &str, text: &str) {
        self.0.push_str(&format!(".TP\n{header}\n"));
        self.text(text, ".IP");
    }

    fn argument(&mut self, arg: &Arg) {
        let mut header = if arg.is_positional() {
            marked(arg, &format!("\\fI{}\\fR", values(arg)))
        } else {
            [flag(arg, ", "), value(arg)].concat()
        };
        if takes_values(arg) && !arg.get_default_values().is_empty() {
            let values: Vec<_> =
                arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            header.push_str(&escaped(&format!(" [default: {}]", values.join(","))));
        }
        let help = arg.get_long_help().or_else(|| arg.get_help());
        self.item(&header, &help.map(ToString::to_string).unwrap_or_default());
        let possible = arg.get_possible_values();
        let mut possible = possible.iter().filter(|value| !value.is_hide_set()).peekable();
        if possible.peek().is_none() || !takes_values(arg) {
            return;
        }
        self.0.push_str(".br\n\\fIPossible values:\\fR\n.RS 14\n");
        for value in possible {
            let help = value.get_help().map_or_else(String::new, |help| format!(": {help}"));
            let text = escaped(&format!("{}{help}", value.get_name()));
            self.0.push_str(&format!(".IP \\(bu 2\n{text}\n"));
        }
        self.0.push_str(".RE\n");
    }
}

fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let (places, mut flags): (Vec<&Arg>, Vec<&Arg>) =
        shown(command).partition(|arg| arg.is_positional());
    flags.sort_by_key(|arg| (arg.is_required_set(), arg.get_display_order()));
    let mut words = vec![format!("\\fB{}\\fR", escaped(name))];
    words.extend(flags.into_iter().map(|arg| marked(arg, &[flag(arg, "|"), value(arg)].concat())));
    words.extend(places.into_iter().map(|arg| marked(arg, &format!("\\fI{}\\fR", values(arg)))));
    if command.has_subcommands() {
        let required = command.is_subcommand_required_set();
        words.push(
            if required { "<\\fIsubcommand\\fR>" } else { "[\\fIsubcommand\\fR]" }.to_owned(),
        );
    }
    words.join(" ")
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set())
}

fn flag(arg: &Arg, between: &str) -> String {
    let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
    let long = arg.get_long().map(|long| format!("\\fB\\-\\-{}\\fR", escaped(long)));
    short.into_iter().chain(long).collect::<Vec<_>>().join(between)
}

/// The value of a flag.
fn value(arg: &Arg) -> String {
    if takes_values(arg) { format!(" \\fI<{}>\\fR", values(arg)) } else { String::new() }
}

fn takes_values(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn values(arg: &Arg) -> String {
    let names: Vec<&str> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| &**name).collect();
    escaped(&if names.is_empty() { arg.get_id().to_string() } else { names.join(" ") })
}

fn marked(arg: &Arg, text: &str) -> String {
    if arg.is_required_set() { format!("<{text}>") } else { format!("[{text}]") }
}

/// A backslash, a hyphen and an apostrophe mean something else, and so does a line that begins with
/// a period.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-").replace('\'', "\\*(Aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_parts_of_the_command() {
        let mut command = Command::new("tool")
            .about("Does it")
            .long_about("Does it.\n\n.config isn't read.")
            .arg(
                Arg::new("n")
                    .short('n')
                    .long("dry-run")
                    .action(ArgAction::SetTrue)
                    .help("Only say"),
            )
            .arg(Arg::new("how").long("how").value_parser(["a", "b"]).default_value("a"))
            .arg(Arg::new("PATH").required(true))
            .subcommand(Command::new("sub-one").about("Below"))
            .disable_help_flag(true)
            .disable_help_subcommand(true)
            .after_help("C:\\x");
        command.build();
        assert_eq!(
            page(&command),
            r".ie \n(.g .ds Aq \(aq
.el .ds Aq '
.TH tool 1
.SH NAME
tool \- Does it
.SH SYNOPSIS
\fBtool\fR [\fB\-n\fR|\fB\-\-dry\-run\fR] [\fB\-\-how\fR \fI<how>\fR] <\fIPATH\fR> [\fIsubcommand\fR]
.SH DESCRIPTION
Does it.
.PP
\&.config isn\*(Aqt read.
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-dry\-run\fR
Only say
.TP
\fB\-\-how\fR \fI<how>\fR [default: a]
.br
\fIPossible values:\fR
.RS 14
.IP \(bu 2
a
.IP \(bu 2
b
.RE
.TP
<\fIPATH\fR>
.SH SUBCOMMANDS
.TP
tool\-sub\-one(1)
Below
.SH EXTRA
C:\\x
"
        );
    }
}
