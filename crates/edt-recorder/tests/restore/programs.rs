//! Whole programs.

use crate::scene::{Scene, assert_same, comes_back};
use crate::snapshot::snapshot;

fn has(program: &str) -> bool {
    let script = format!("command -v {program}");
    std::process::Command::new("sh").args(["-c", &script]).output().unwrap().status.success()
}

const REPOSITORY: &str = "git init -q -b main; git config user.name u; git config user.email u@e; \
    mkdir -p src/deep; for n in 1 2 3 4 5; do echo $n > src/$n.txt; echo $n > src/deep/$n; done; \
    git add .; git commit -qm one; git checkout -qb other; git mv src/deep src/low; \
    echo changed > src/1.txt; rm src/2.txt; echo new > src/new; git add -A; git commit -qm two; \
    git checkout -q main; echo dirty >> src/3.txt; echo untracked > notes";

#[test]
fn what_git_changes_is_as_before() {
    for script in [
        "git checkout -q -f other",
        "git mv src/deep src/moved",
        "git stash -q -u",
        "git clean -qfdx; git reset -q --hard",
        "git merge -q other -m merged",
        "git rm -qrf src",
        "git -c core.fsync=all checkout -q other -- src; git checkout -q main -- .",
    ] {
        comes_back(REPOSITORY, script);
    }
}

#[test]
fn an_ignored_tree_a_nested_repository_and_a_submodule_come_back() {
    let before = "git init -q; echo target > .gitignore; mkdir -p target/a target/b; \
        for n in $(seq 2000); do echo $n > target/a/$n; done; \
        git init -q nested; git -C nested -c user.name=u -c user.email=u@e commit -q \
        --allow-empty -m unpushed; echo w > nested/work; mkdir sub; echo gitdir: ../x > sub/.git; \
        echo uncommitted > sub/file; truncate -s 3G sparse; echo tail >> sparse; \
        dd if=/dev/zero of=big bs=1M count=110 status=none";
    let scene = comes_back(before, "rm -rf target nested sub sparse big");
    assert!(scene.root().join("sparse").metadata().unwrap().len() > 3 << 30);
    comes_back(before, "rm -rf target nested; mkdir target; mv sub target/; echo x >> sparse");
}

#[test]
fn a_database_is_as_before() {
    let made = "python3 -c 'import sqlite3; c=sqlite3.connect(\"db\"); \
        c.execute(\"create table t(x)\"); c.executemany(\"insert into t values(?)\", \
        [(i,) for i in range(1000)]); c.commit()'";
    let written = "python3 -c 'import sqlite3; c=sqlite3.connect(\"db\"); \
        c.execute(\"pragma journal_mode=wal\"); c.execute(\"update t set x=x+1\"); c.commit(); \
        c.execute(\"delete from t where x>10\"); c.commit(); c.execute(\"vacuum\")'";
    comes_back(made, written);
    if has("sqlite3") {
        comes_back(made, "sqlite3 db 'update t set x=0; drop table t'");
    }
}

#[test]
fn archives_compilers_and_copies_are_as_before() {
    let before = "mkdir p; echo 'int main(void){return 0;}' > p/m.c; echo one > p/a; \
        tar cf p.tar p; cp -r p q";
    for script in [
        "tar xf p.tar; rm -r q",
        "umask 022; tar xpf p.tar -C q; echo x > q/new",
        "cc -o p/m p/m.c && ./p/m; cc -c -o q/m.o p/m.c; strip p/m",
        "cp -r --preserve=all p q; rsync -a --delete p/ q/ 2>/dev/null || rm -r q",
        "python3 -m compileall -q . 2>/dev/null || true; python3 -c 'import shutil; \
         shutil.rmtree(\"p\"); shutil.copytree(\"q\", \"p\"); shutil.move(\"p\", \"r\")'",
    ] {
        comes_back(before, script);
    }
}

#[test]
fn nothing_that_is_only_read_is_in_the_log() {
    let scene = Scene::of(REPOSITORY);
    let was = snapshot(&scene.root());
    let done =
        scene.run("cat src/*.txt; git status; grep -r x . || true; ls -lR; echo > /dev/null");
    assert!(done.run.is_empty(), "{:?}", done.run.events().collect::<Vec<_>>());
    assert_same(&was, &scene.root(), "reading");
}

#[test]
fn a_tree_with_its_own_umask_is_made_as_without_the_recorder() {
    let script = "umask 027; mkdir -p x/y; echo a > x/y/f; mkfifo x/p; (umask 0; echo b > x/g; \
        mkdir -m 1777 x/t); install -m 4711 x/g x/s; echo c > x/h; touch -d 2001-01-01 x/*";
    let (recorded, unrecorded) = (Scene::new(), Scene::new());
    recorded.run(script);
    unrecorded.unrecorded(script);
    let modes = |scene: &Scene| -> Vec<String> {
        let found = snapshot(&scene.root());
        let mode = |line: &String| line.split(' ').next().unwrap().to_owned();
        found.iter().map(|(path, line)| format!("{} {}", path.display(), mode(line))).collect()
    };
    assert_eq!(modes(&recorded), modes(&unrecorded));
}
