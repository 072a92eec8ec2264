class Quote {
    String f() {
        return "text;
    }
}
