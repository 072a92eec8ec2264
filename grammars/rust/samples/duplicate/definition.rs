impl Store {
    fn get(&self) -> u32 {
        self.value
    }

    fn set(&mut self, value: u32) {
        self.value = value;
    }

    #[inline]
    fn get(&self) -> u32 {
        self.value + 1
    }
}
