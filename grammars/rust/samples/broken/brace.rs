fn f(x: u32) -> u32 {
    if x > 0 {
        return 1;
    0
}
