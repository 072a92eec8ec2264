fn f() -> &'static str {
    "text
}
