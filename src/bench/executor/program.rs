//! An agent as a program: JSON lines on its standard streams. One process works on a task in a session, over all its attempts;
//! one that ended, or had to be ended, is started anew for the next attempt.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Attempted, Executor, Kind};
use crate::base::text::shell_word;
use crate::base::{Code, Finding, Level, Result};
use crate::bench::protocol::{self, Brief, Said, Told};
use crate::bench::record::Ended;
use crate::bench::scene::Scene;
use crate::io::dialogue::{Dialogue, Heard, Most};
use crate::io::{clock, failed};
use crate::sandbox::{self, How, NotStarted, Plan, Running};

/// A program.
pub const KIND: Kind = Kind {
    name: "program",
    about: "a command line for sh, which speaks edt.bench/1 on its standard streams",
    fits: |agent| !agent.trim().is_empty(),
    make: |setting| {
        let suite = shell_word(setting.suite.as_os_str().as_encoded_bytes());
        Ok(Box::new(Program {
            command: setting.agent.replace("{suite}", &suite),
            start: setting.start.to_owned(),
            limit: setting.limit,
            talk: None,
        }))
    },
};

/// How much an agent may say in an attempt.
const MOST: Most = Most { line: 16 * 1024 * 1024, all: 64 * 1024 * 1024 };
/// How many lines that are no message end an attempt.
const MOST_MALFORMED: u32 = 100;
/// How long an agent may take to end once nothing more comes.
const FAREWELL: Duration = Duration::from_secs(2);

struct Program {
    command: String,
    start: PathBuf,
    limit: Duration,
    talk: Option<Talk>,
}

/// An agent that runs. Dropping it ends it, with all that it started.
struct Talk {
    running: Running,
    dialogue: Dialogue,
}

impl Executor for Program {
    fn attempt(&mut self, scene: &mut Scene<'_>, brief: &Brief) -> Result<Attempted> {
        let until = clock::now() + self.limit;
        let mut done = Attempted::default();
        if self.talk.is_none() {
            match start(&self.command, &self.start, scene.root())? {
                Ok(talk) => self.talk = Some(talk),
                Err(why) => {
                    return Ok(Attempted { ended: Ended::NotStarted, complaint: Some(why), ..done });
                }
            }
        }
        let Some(talk) = &mut self.talk else { return Ok(done) };
        talk.dialogue.anew();
        done.ended = match talk.tell(&Told::Task(brief), until)? {
            Some(ended) => ended,
            None => talk.converse(scene, &mut done, until)?,
        };
        if done.ended != Ended::Done {
            let talk = self.talk.take();
            done.complaint = talk.map(|talk| talk.cut(done.ended)).transpose()?;
        }
        Ok(done)
    }

    fn end(&mut self) {
        let Some(mut talk) = self.talk.take() else { return };
        let until = clock::now() + FAREWELL;
        let _ = talk.tell(&Told::End, until);
        talk.dialogue.close();
        while matches!(talk.dialogue.hear(talk.running.watch(), until), Ok(Heard::Line(_))) {}
    }
}

/// Starts the agent; the words are why it could not be.
fn start(command: &str, dir: &Path, worktree: &Path) -> Result<std::result::Result<Talk, String>> {
    let shell = Path::new("/bin/sh");
    let mut plan = Plan::new(Level::Permissive, shell, worktree);
    plan.args = vec!["-c".into(), command.into()];
    dir.clone_into(&mut plan.dir);
    plan.env = std::env::vars_os().collect();
    let io = |error: std::io::Error| failed("start the agent", shell, &error);
    let (dialogue, [stdin, stdout, stderr]) = Dialogue::new(MOST).map_err(io)?;
    match sandbox::start(&plan, stdin, stdout, stderr) {
        Ok(running) => Ok(Ok(Talk { running, dialogue })),
        Err(NotStarted::Program(error)) => Ok(Err(error.to_string())),
        Err(NotStarted::Unavailable { why, .. }) => Ok(Err(why)),
        Err(NotStarted::System(error)) => Err(io(error).into()),
    }
}

impl Talk {
    /// Says something; `Some` if the talk is over with that.
    fn tell(&mut self, told: &Told<'_>, until: Instant) -> Result<Option<Ended>> {
        let mut line = serde_json::to_vec(told).map_err(|error| {
            Finding::new(
                Code::Internal,
                format!("A message could not be written: {error}."),
                "Report this message.",
            )
        })?;
        line.push(b'\n');
        let said = self.dialogue.say(&line, self.running.watch(), until);
        Ok(match said.map_err(|error| failed("write to", Path::new("the agent"), &error))? {
            Heard::Late => Some(Ended::TimedOut),
            Heard::Flood => Some(Ended::Flooded),
            Heard::Over => Some(Ended::Died),
            Heard::Said | Heard::Line(_) => None,
        })
    }

    /// Answers whatever the agent says, until it is done.
    fn converse(
        &mut self,
        scene: &mut Scene<'_>,
        done: &mut Attempted,
        until: Instant,
    ) -> Result<Ended> {
        loop {
            let heard = self.dialogue.hear(self.running.watch(), until);
            let line =
                match heard.map_err(|error| failed("read from", Path::new("the agent"), &error))? {
                    Heard::Line(line) => line,
                    Heard::Late => return Ok(Ended::TimedOut),
                    Heard::Flood => return Ok(Ended::Flooded),
                    Heard::Over | Heard::Said => return Ok(Ended::Died),
                };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let said = match protocol::read(&line) {
                Ok(said) => {
                    done.said.push(String::from_utf8_lossy(&line).into_owned());
                    said
                }
                Err(message) => {
                    done.malformed += 1;
                    if done.malformed >= MOST_MALFORMED {
                        return Ok(Ended::Babbled);
                    }
                    if let Some(ended) = self.tell(&Told::Error { message }, until)? {
                        return Ok(ended);
                    }
                    continue;
                }
            };
            if let Said::Done { usage } = said {
                done.usage = usage.unwrap_or_default();
                return Ok(Ended::Done);
            }
            if let Some(ended) = self.answer(scene, &said, until)? {
                return Ok(ended);
            }
        }
    }

    fn answer(
        &mut self,
        scene: &mut Scene<'_>,
        said: &Said,
        until: Instant,
    ) -> Result<Option<Ended>> {
        match said {
            Said::Apply { request } => {
                let outcome = scene.apply(request);
                self.tell(&Told::Outcome { outcome }, until)
            }
            Said::Read { path } => match scene.read(path) {
                Ok((text, hash)) => self.tell(&Told::File { path, text, hash }, until),
                Err(outcome) => self.tell(&Told::Outcome { outcome }, until),
            },
            Said::Run { argv, timeout } => {
                // A program must not outlive the attempt.
                let left = until.saturating_duration_since(clock::now()).as_secs_f64().max(0.1);
                let answer = scene.run(argv, Some(timeout.unwrap_or(120.0).min(left)));
                self.tell(&Told::Ran { answer }, until)
            }
            Said::Undo {} => {
                let outcome = scene.undo();
                self.tell(&Told::Outcome { outcome }, until)
            }
            Said::Say { .. } | Said::Done { .. } => self.tell(&Told::Heard, until),
        }
    }

    /// Ends it, and tells what it complained of.
    fn cut(self, why: Ended) -> Result<String> {
        let Talk { running, mut dialogue } = self;
        dialogue.close();
        let ended = if why == Ended::Died { running.wait() } else { running.end() };
        let ended = ended.map_err(|error| failed("end", Path::new("the agent"), &error))?;
        dialogue.hear_out();
        let how = match ended.how {
            _ if why != Ended::Died => "it was ended".to_owned(),
            How::Exit(status) => format!("exit status {status}"),
            How::Signal(signal) => format!("signal {signal}"),
            How::Lost => "its end was not seen".to_owned(),
        };
        let said = String::from_utf8_lossy(dialogue.complaint()).into_owned();
        let from = said.char_indices().rev().nth(499).map_or(0, |(at, _)| at);
        Ok(format!("{how}. {}", said[from..].trim()).trim().to_owned())
    }
}
