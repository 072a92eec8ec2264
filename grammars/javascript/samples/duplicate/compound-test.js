describe("store", () => {
  it("walks", () => {
    expect(walk()).toBe(1);
  });
  it("walks", () => {
    expect(walk()).toBe(1);
  });
});
