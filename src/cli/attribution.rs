//! `edt attribution`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::blame::Lines;
use super::context::Context;
use super::value::one_of;
use edt_core::session::files::diff_report;
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::revision;
use edt_core::session::views::blame::{self, LineAuthor};
use edt_git::{Repo, sha256};
use edt_io::clock;
use edt_types::{Result, Status};

/// Export who wrote the lines of a commit, for other tools.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt attribution export --format agent-trace HEAD")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Export(ExportArgs),
}

/// Print the lines that edits of agents wrote in the files that a commit changed.
///
/// The output is a note of Git in the format that a tool reads.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt attribution export --format agent-trace HEAD\n  edt attribution export --format git-ai HEAD | git notes --ref=ai add -f -F - HEAD"
)]
struct ExportArgs {
    /// The commit; HEAD if omitted.
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
    /// The format: Agent Trace 0.1.0, or the authorship log 3.0.0 of git-ai.
    #[arg(long, value_parser = one_of(Format::ALL))]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    AgentTrace,
    GitAi,
}

impl Format {
    const ALL: [(&'static str, Format); 2] =
        [("agent-trace", Format::AgentTrace), ("git-ai", Format::GitAi)];
}

/// The agent's lines of one file of a commit.
struct File {
    path: String,
    lines: Vec<Lines>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let Command::Export(args) = &self.command;
        let (repo, _) = context.repo()?;
        let commit = Commit::read(&repo, revision::resolve(&repo, None, &args.revision)?)?;
        let files = files(&repo, &commit)?;
        Ok(context.text(&match args.format {
            Format::AgentTrace => format!("{:#}\n", agent_trace(&commit, &files)?),
            Format::GitAi => git_ai(&commit, &files)?,
        }))
    }
}

fn files(repo: &Repo, commit: &Commit) -> Result<Vec<File>> {
    let changed = diff_report::changed_paths(repo, commit.parent_tree(repo)?, commit.tree)?;
    let mut files = Vec::new();
    for one in changed.iter().filter(|one| one.new.is_some()) {
        let Some((_, authored)) = blame::at(repo, commit.oid, &one.path)? else { continue };
        let mut lines = Vec::new();
        for part in authored {
            // Other lines are in the notes of other commits.
            if !matches!(part.author, LineAuthor::Edit { from, .. } if from == Some(commit.oid)) {
                continue;
            }
            let (first, last) = (part.lines.start as u64 + 1, part.lines.end as u64);
            lines.push(Lines::of(repo, first, last, &part.author)?);
        }
        if !lines.is_empty() {
            files.push(File { path: one.path.text(), lines });
        }
    }
    Ok(files)
}

/// What wrote lines: an agent with its model, in a conversation or else in a session.
type Writer = (Option<String>, Option<String>, String);

fn by_writer(lines: &[Lines]) -> BTreeMap<Writer, Vec<(u64, u64)>> {
    let mut all: BTreeMap<Writer, Vec<(u64, u64)>> = BTreeMap::new();
    for one in lines {
        let session = one.session.clone().unwrap_or_default();
        let conversation = one.conversation.clone().unwrap_or(session);
        let ranges = all.entry((one.agent.clone(), one.model.clone(), conversation)).or_default();
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == one.first => *last = one.last,
            _ => ranges.push((one.first, one.last)),
        }
    }
    all
}

fn agent_trace(commit: &Commit, files: &[File]) -> Result<Value> {
    let files: Vec<Value> = files
        .iter()
        .map(|file| {
            let conversations = by_writer(&file.lines).into_iter().map(|(writer, ranges)| {
                let (agent, model, conversation) = writer;
                let mut contributor = json!({"type": "ai"});
                if let Some(model) = model {
                    contributor["model_id"] = json!(model);
                }
                let ranges: Vec<Value> = ranges
                    .into_iter()
                    .map(|(first, last)| json!({"start_line": first, "end_line": last}))
                    .collect();
                json!({
                    "contributor": contributor,
                    "ranges": ranges,
                    "metadata": {"agent": agent, "conversation": conversation},
                })
            });
            json!({"path": file.path, "conversations": conversations.collect::<Vec<Value>>()})
        })
        .collect();
    Ok(json!({
        "version": "0.1.0",
        "id": uuid(&format!("{} {}", commit.oid, json!(files)))?,
        "timestamp": clock::utc_at(commit.committed_at),
        "vcs": {"type": "git", "revision": commit.oid.to_string()},
        "tool": {"name": "edt", "version": env!("CARGO_PKG_VERSION")},
        "files": files,
    }))
}

/// A UUID of version 8, made of `of`: the same trace has the same.
fn uuid(of: &str) -> Result<String> {
    let hex = sha256(of.as_bytes())?;
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().to_owned();
    Ok([
        part(0..8),
        part(8..12),
        format!("8{}", part(13..16)),
        format!("8{}", part(17..20)),
        part(20..32),
    ]
    .join("-"))
}

fn git_ai(commit: &Commit, files: &[File]) -> Result<String> {
    let (mut out, mut prompts) = (String::new(), serde_json::Map::new());
    for file in files {
        let quoted = if file.path.contains(char::is_whitespace) {
            format!("{:?}", file.path)
        } else {
            file.path.clone()
        };
        out += &format!("{quoted}\n");
        for ((agent, model, conversation), ranges) in by_writer(&file.lines) {
            let agent = agent.unwrap_or_else(|| "unknown".to_owned());
            let hash = sha256(format!("{agent}:{conversation}").as_bytes())?;
            let id = hash.get(..16).unwrap_or(&hash).to_owned();
            let written = ranges.iter().map(|(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            });
            let written: Vec<String> = written.collect();
            out += &format!("  {id} {}\n", written.join(","));
            let count: u64 = ranges.iter().map(|(first, last)| last + 1 - first).sum();
            let prompt = prompts.entry(id).or_insert_with(|| {
                json!({
                    "agent_id": {"tool": agent, "id": conversation, "model": model.unwrap_or_else(|| "unknown".to_owned())},
                    "messages": [], "total_additions": 0, "total_deletions": 0,
                    "accepted_lines": 0, "overriden_lines": 0,
                })
            });
            let accepted = prompt["accepted_lines"].as_u64().unwrap_or(0) + count;
            prompt["accepted_lines"] = json!(accepted);
            prompt["total_additions"] = json!(accepted);
        }
    }
    let metadata = json!({
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": commit.oid.to_string(),
        "prompts": prompts,
    });
    Ok(format!("{out}---\n{metadata:#}\n"))
}
