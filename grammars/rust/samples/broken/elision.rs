struct S;

impl S {
    ... existing methods ...

    fn f(&self) {}
}
