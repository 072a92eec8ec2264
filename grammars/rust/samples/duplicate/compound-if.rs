fn f(x: u32) -> u32 {
    if x > 3 {
        return 3;
    }
    if x > 3 {
        return 3;
    }
    x
}
