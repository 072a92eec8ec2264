use std::fmt;
use std::io;
use std::io;

fn f() {}
