struct Box;

impl Box {
    fn size(&self) {}

    /// The area of the box.
}
