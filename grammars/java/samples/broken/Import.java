class Import {
    void open() {
        close();
        import java.util.List;
    }
}
