//! Every construct that the queries of Rust name.
#![warn(missing_docs)]

extern crate alloc;

use std::fmt;
use std::{
    collections::BTreeMap,
    io,
};

mod other;

const LIMIT: u32 = 10;
static NAME: &str = "name \"quoted\"";
static RAW: &str = r#"raw "text" ("#;
static MARK: char = '{';
type Map = BTreeMap<String, u32>;

const _: () = assert!(LIMIT > 1);
const _: () = assert!(LIMIT < 100);

/* A struct and a function may share a name. */
pub struct Store {
    values: Map,
    #[cfg(unix)]
    mode: u32,
    #[cfg(not(unix))]
    mode: u8,
}

fn Store() {}

struct Unit;

union Word {
    number: u32,
    bytes: [u8; 4],
}

enum Colour {
    Red,
    Green { depth: u8 },
    Blue(u8),
}

trait Shape {
    type Unit;
    fn area(&self) -> u32;
    fn name(&self) -> String {
        String::new()
    }
}

macro_rules! pair {
    ($x:expr) => { ($x, $x) };
    ($x:expr, $y:expr) => { ($x, $y) };
}

extern "C" {
    fn getpid() -> i32;
}

#[cfg(unix)]
fn page() -> u32 {
    4096
}

/// The other half.
#[cfg(not(unix))]
// With a comment, and one more attribute.
#[inline]
fn page() -> u32 {
    8192
}

impl Store {
    fn new(mode: u32) -> Self {
        let values = Map::new();
        Store { values, mode: 1 }
    }
}

impl fmt::Display for Unit {
    fn new() {}
}

#[inline]
fn walk(store: &mut Store, mut node: Node, out: &mut Vec<u8>) -> u32 {
    let limit = LIMIT;
    let mut it = next();
    let mut it = next();
    fn inner() {}
    store.mode = 1;
    store.rate = 0.5;
    store.open = true;
    store.name = "a";
    store.mark = 'x';
    store.last = node;
    store.kind = Colour::Red;
    store.next = node.next;
    node = node.next;
    node = node.next;
    out.push(1);
    out.push(1);
    it += 1;
    it += 1;
    if limit > 3 {
        return 1;
    }
    for x in 0..limit {
        if x == 1 {
            continue;
        }
        break;
    }
    while it > 3 {
        it -= 1;
    }
    loop {
        break;
    }
    match limit {
        1 => out.clear(),
        2 if it > 1 => {}
        _ => {}
    }
    {
        fn inner() {}
    }
    limit
}

#[cfg(test)]
mod tests {
    #[test]
    fn one() {}

    #[test]
    fn two() {}
}
