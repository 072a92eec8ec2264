//! The state of a repository as files and real Git have it.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::rc::Rc;

use super::texts::Text;
use crate::test_repo::{Snapshot, TestRepo, walk};

/// Paths and their texts.
pub(super) type Tree = BTreeMap<String, String>;

/// Everything that a refusal must not change, and what it means.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The worktree: modes and bytes.
    pub(super) files: Snapshot,
    /// The texts in it.
    pub(super) disk: Tree,
    pub(super) refs: BTreeMap<String, String>,
    /// The bytes of `HEAD` and of the index.
    pub(super) head: String,
    pub(super) index_bytes: Vec<u8>,
    pub(super) index: Rc<Tree>,
    /// HEAD's tree.
    pub(super) tip: Rc<Tree>,
}

impl Seen {
    /// The branch that HEAD is on, in full.
    pub(super) fn branch(&self) -> &str {
        self.head.trim().strip_prefix("ref: ").unwrap_or_default()
    }

    /// The session's name, if HEAD is on its branch.
    pub(super) fn session(&self) -> Option<&str> {
        self.branch().strip_prefix("refs/heads/edt/")
    }

    pub(super) fn head_commit(&self) -> &str {
        self.refs.get(self.branch()).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn on_disk(&self, path: &str) -> Text {
        self.disk.get(path).cloned()
    }

    pub(super) fn in_head(&self, path: &str) -> Text {
        self.tip.get(path).cloned()
    }

    pub(super) fn staged(&self, path: &str) -> Text {
        self.index.get(path).cloned()
    }

    /// What differs, if anything does.
    pub(super) fn differs(&self, other: &Seen) -> Option<String> {
        let files = crate::test_repo::changed(&self.files, &other.files);
        if !files.is_empty() {
            return Some(format!("files: {files:#?}"));
        }
        if self.head != other.head {
            return Some(format!("HEAD: {} -> {}", self.head.trim(), other.head.trim()));
        }
        if self.refs != other.refs {
            let new = other.refs.iter().filter(|(name, id)| self.refs.get(*name) != Some(id));
            let gone = self.refs.keys().filter(|name| !other.refs.contains_key(*name));
            return Some(format!(
                "refs: new or moved {:?}, gone {:?}",
                new.collect::<Vec<_>>(),
                gone.collect::<Vec<_>>()
            ));
        }
        (self.index_bytes != other.index_bytes).then(|| "the index".to_owned())
    }
}

/// Reads the state; remembers trees and blobs.
#[derive(Debug)]
pub(super) struct Reader {
    objects: ObjectReader,
    paths: &'static [&'static str],
    trees: HashMap<String, Rc<Tree>>,
    index: (Vec<u8>, Rc<Tree>),
}

impl Reader {
    /// Of `repo`, whose trees have only these paths.
    pub(super) fn new(repo: &TestRepo, paths: &'static [&'static str]) -> Reader {
        let objects = ObjectReader::start(repo);
        Reader { objects, paths, trees: HashMap::new(), index: Default::default() }
    }

    pub(super) fn seen(&mut self, repo: &TestRepo) -> Seen {
        let files = repo.files();
        let text = |bytes: &Vec<u8>| {
            let text = String::from_utf8_lossy(bytes);
            text.split_once(' ').map(|(_, text)| text.to_owned()).unwrap_or_default()
        };
        let is_file = |(_, bytes): &(&String, &Vec<u8>)| *bytes != b"a directory";
        let texts = files.iter().filter(is_file).map(|(path, bytes)| (path.clone(), text(bytes)));
        let disk = texts.collect();
        let git = repo.root.join(".git");
        let head = std::fs::read_to_string(git.join("HEAD")).unwrap();
        let index_bytes = std::fs::read(git.join("index")).unwrap_or_default();
        if index_bytes != self.index.0 {
            self.index = (index_bytes.clone(), Rc::new(self.staged(repo)));
        }
        let refs = refs(repo);
        let commit = refs.get(head.trim().strip_prefix("ref: ").unwrap_or_default());
        let tip = commit.map(|commit| self.tree(commit)).unwrap_or_default();
        Seen { files, disk, refs, head, index_bytes, index: Rc::clone(&self.index.1), tip }
    }

    /// The texts in the tree of a commit.
    pub(super) fn tree(&mut self, commit: &str) -> Rc<Tree> {
        if let Some(known) = self.trees.get(commit) {
            return Rc::clone(known);
        }
        let paths = self.paths;
        let text = |path: &&str| {
            let bytes = self.objects.read(&format!("{commit}:{path}"))?;
            Some(((*path).to_owned(), String::from_utf8_lossy(&bytes).into_owned()))
        };
        let tree = Rc::new(paths.iter().filter_map(text).collect::<Tree>());
        self.trees.insert(commit.to_owned(), Rc::clone(&tree));
        tree
    }

    /// The text of a blob.
    pub(super) fn text(&mut self, spec: &str) -> Text {
        self.objects.read(spec).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn staged(&mut self, repo: &TestRepo) -> Tree {
        let listed = repo.git(&["ls-files", "--format=%(objectname) %(stage) %(path)"]);
        let entry = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let (id, stage, path) = (words.next()?, words.next()?, words.next()?);
            assert_eq!(stage, "0", "unmerged: {path}");
            Some((path.to_owned(), self.text(id)?))
        };
        listed.lines().filter_map(entry).collect()
    }
}

/// `git cat-file --batch`, which stays.
#[derive(Debug)]
struct ObjectReader {
    child: Child,
    ask: Option<ChildStdin>,
    answer: BufReader<ChildStdout>,
}

impl ObjectReader {
    fn start(repo: &TestRepo) -> ObjectReader {
        let mut command = repo.command("git");
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (ask, answer) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        ObjectReader { child, ask, answer }
    }

    /// The bytes of an object; `None` if there is none.
    fn read(&mut self, spec: &str) -> Option<Vec<u8>> {
        let ask = self.ask.as_mut().unwrap();
        ask.write_all(format!("{spec}\n").as_bytes()).unwrap();
        ask.flush().unwrap();
        let mut header = String::new();
        self.answer.read_line(&mut header).unwrap();
        if header.trim().ends_with(" missing") {
            return None;
        }
        let size: usize = header.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let mut bytes = vec![0; size + 1];
        self.answer.read_exact(&mut bytes).unwrap();
        bytes.truncate(size);
        Some(bytes)
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        self.ask = None;
        let _ = self.child.wait();
    }
}

/// Every ref below `refs/`, as the files have them.
fn refs(repo: &TestRepo) -> BTreeMap<String, String> {
    let git = repo.root.join(".git");
    let mut refs = BTreeMap::new();
    let packed = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
    for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
        let (value, name) = line.split_once(' ').unwrap();
        refs.insert(name.to_owned(), value.to_owned());
    }
    let mut loose = Snapshot::new();
    walk(&git.join("refs"), "refs/", &mut loose);
    for (name, bytes) in loose {
        if let Some((_, value)) = String::from_utf8_lossy(&bytes).split_once(' ')
            && bytes != b"a directory"
        {
            refs.insert(name, value.trim().to_owned());
        }
    }
    refs
}
