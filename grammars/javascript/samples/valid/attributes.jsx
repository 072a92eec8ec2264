export const field = (
  <div class="field">
    <label for="name">Name</label>
    <input id="name" class={styles.input} />
  </div>
)
