// The macro `try!` is of the edition 2015.
fn length(text: &str) -> Result<usize, Error> {
    let text = try!(check(text));
    retry(try!(parse(text)), |part| try!(part.len()))
}

unsafe extern "C" {
    pub safe fn add(a: i32, b: i32) -> i32;
}

fn shown() -> Text {
    show(str![[r#"a "quoted" text"#]])
}
