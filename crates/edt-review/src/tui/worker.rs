//! The thread that reads the session and runs the commands.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::action::{Acted, Action};
use crate::hunks::{LineSource, ReviewFile};
use crate::marks::{Mark, Reviewed};
use crate::model::{Extent, SessionReview};
use crate::source::Source;
use edt_io::clock;
use edt_types::{Finding, Refusal, Result};

/// How often the state of the repository is read, as the server of the page does.
const PERIOD: Duration = Duration::from_secs(1);

const OUTDATED: &str = "The session changed since it was shown. Nothing was done: look again.";

/// What the thread is asked for.
#[derive(Debug)]
pub(super) enum Job {
    /// The article with this id, with its hunks: from now on, whenever the session changes.
    Show(String),
    /// A file with all its hunks: of the step with this commit, or of the session as a whole.
    Whole {
        commit: Option<String>,
        path: String,
    },
    Mark(Mark, Reviewed),
    /// An action on the session whose newest commit is the first field: the one that the user sees.
    Act(String, Action),
}

/// What the thread found or did.
#[derive(Debug)]
pub(super) enum News {
    /// Who wrote the lines of a file at the session's tip, which is the first field.
    Sources(String, String, Arc<Vec<LineSource>>),
    Read(std::result::Result<Box<SessionReview>, String>),
    Whole {
        commit: Option<String>,
        file: Box<ReviewFile>,
    },
    Acted(Acted),
    /// A job that has no other answer has ended, with what went wrong.
    Done(Option<String>),
}

/// The thread, seen from the view.
pub(super) struct Worker {
    jobs: Option<Sender<Job>>,
    news: Receiver<News>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// How many jobs are not done.
    open: AtomicUsize,
    /// Whether nobody needs the session any more.
    ends: AtomicBool,
}

impl Worker {
    pub(super) fn start(source: Arc<dyn Source>) -> Worker {
        let (jobs, asked) = channel();
        let (found, news) = channel();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            // The view is gone if nobody receives.
            let _ = Thread::new(source, found, own).serve(&asked);
        });
        Worker { jobs: Some(jobs), news, thread: Some(thread), shared }
    }

    pub(super) fn send(&self, job: Job) {
        self.shared.open.fetch_add(1, Ordering::SeqCst);
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    /// Says whether a job is not done.
    pub(super) fn busy(&self) -> impl Fn() -> bool + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.open.load(Ordering::SeqCst) > 0
    }

    /// # Errors
    /// If the thread has ended, which it does by a panic alone.
    pub(super) fn news(&self) -> io::Result<Option<News>> {
        match self.news.try_recv() {
            Ok(news) => Ok(Some(news)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(io::Error::other("the session was not read")),
        }
    }

    /// Waits until every job is done. What is only read is not waited for.
    pub(super) fn finish(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        drop(self.jobs.take());
        if self.shared.open.load(Ordering::SeqCst) > 0 {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

struct Thread {
    source: Arc<dyn Source>,
    found: Sender<News>,
    shared: Arc<Shared>,
    /// The article that is shown.
    article: String,
    /// Whether it is to be read.
    is_stale: bool,
    /// The state of the repository at the last read, and when it is read again.
    known: String,
    next: Instant,
    /// The newest commit of the session, and who wrote the lines of its files.
    tip: String,
    sources: BTreeMap<String, Arc<Vec<LineSource>>>,
    /// Files of which that is to be read.
    wanted: VecDeque<String>,
    /// Whether the files of every step are known.
    is_complete: bool,
}

type Sent = std::result::Result<(), std::sync::mpsc::SendError<News>>;

impl Thread {
    fn new(source: Arc<dyn Source>, found: Sender<News>, shared: Arc<Shared>) -> Thread {
        Thread {
            source,
            found,
            shared,
            article: "all".to_owned(),
            is_stale: true,
            known: String::new(),
            next: clock::now() + PERIOD,
            tip: String::new(),
            sources: BTreeMap::new(),
            wanted: VecDeque::new(),
            is_complete: false,
        }
    }

    /// Answers jobs; while there are none, reads what the view does not have yet.
    fn serve(&mut self, asked: &Receiver<Job>) -> Sent {
        loop {
            let has_work = self.is_stale || !self.is_complete || !self.wanted.is_empty();
            let patience = if has_work { Duration::ZERO } else { PERIOD };
            match asked.recv_timeout(patience) {
                Ok(job) => {
                    let news = self.answer(job);
                    self.shared.open.fetch_sub(1, Ordering::SeqCst);
                    news.map_or(Ok(()), |news| self.found.send(news))?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if self.shared.ends.load(Ordering::SeqCst) => {
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => self.work()?,
            }
            if clock::now() >= self.next {
                self.next = clock::now() + PERIOD;
                self.is_stale |= self.source.state() != self.known;
            }
        }
    }

    /// One piece of what is to be read.
    fn work(&mut self) -> Sent {
        if self.is_stale {
            self.is_stale = false;
            return self.read();
        }
        if let Some(path) = self.wanted.pop_front() {
            let Ok((tip, lines)) = self.source.line_sources(&path) else { return Ok(()) };
            if tip != self.tip {
                return Ok(());
            }
            let lines = Arc::new(lines);
            self.sources.insert(path.clone(), Arc::clone(&lines));
            return self.found.send(News::Sources(tip, path, lines));
        }
        if !self.is_complete {
            let ahead = self.source.read_ahead();
            self.is_complete = ahead.as_ref().map_or(true, |ahead| ahead.complete);
            self.is_stale = ahead.is_ok_and(|ahead| ahead.read > 0);
        }
        Ok(())
    }

    fn read(&mut self) -> Sent {
        self.known = self.source.state();
        let mut review = match self.source.read(Extent::Article(&self.article)) {
            Ok(review) => review,
            Err(refusal) => return self.found.send(News::Read(Err(text(&refusal)))),
        };
        if review.tip != self.tip {
            self.tip.clone_from(&review.tip);
            (self.sources, self.is_complete) = (BTreeMap::new(), false);
        }
        self.wanted.clear();
        if self.article == "all" {
            for file in review.files.iter_mut().filter(|file| !file.hunks.is_empty()) {
                match self.sources.get(&file.path) {
                    Some(lines) => add_sources(file, lines),
                    None => self.wanted.push_back(file.path.clone()),
                }
            }
        }
        self.found.send(News::Read(Ok(Box::new(review))))
    }

    fn show(&mut self, article: String) {
        self.is_stale = true;
        self.article = article;
    }

    fn answer(&mut self, job: Job) -> Option<News> {
        Some(match job {
            Job::Show(article) => {
                self.show(article);
                return None;
            }
            Job::Whole { commit, path } => match self.source.whole(commit.as_deref(), &path) {
                Ok(Some(file)) => News::Whole { commit, file: Box::new(file) },
                other => News::Done(Some(failure(other.map(|_| ())))),
            },
            Job::Mark(mark, reviewed) => {
                let marked = self.source.mark(mark, reviewed);
                self.is_stale = true;
                News::Done(marked.is_err().then(|| failure(marked)))
            }
            Job::Act(tip, action) => {
                self.is_stale = true;
                News::Acted(self.act(&tip, &action))
            }
        })
    }

    /// What the user saw is what the action is about.
    fn act(&self, tip: &str, action: &Action) -> Acted {
        match self.source.read(Extent::Article("")) {
            Ok(review) if review.tip == tip => self.source.act(action),
            Ok(_) => not_done(OUTDATED.to_owned()),
            Err(refusal) => not_done(text(&refusal)),
        }
    }
}

/// Says of the added lines of a file who wrote them.
pub(super) fn add_sources(file: &mut ReviewFile, sources: &[LineSource]) {
    let lines = file.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines);
    for line in lines.filter(|line| line.old.is_none()) {
        let number = line.new.and_then(|number| usize::try_from(number).ok());
        let source = number.and_then(|number| sources.get(number.checked_sub(1)?));
        line.source = source.cloned();
    }
}

fn not_done(text: String) -> Acted {
    Acted { command: String::new(), done: false, text }
}

fn failure(result: Result<()>) -> String {
    match result {
        Err(refusal) => text(&refusal),
        Ok(()) => "The file does not differ there any more.".to_owned(),
    }
}

fn text(refusal: &Refusal) -> String {
    let message = |finding: &Finding| format!("{} {}", finding.message(), finding.hint());
    refusal.as_slice().iter().map(message).collect::<Vec<_>>().join("\n")
}
