/** Stops a resource that the test files of a jest worker share. */
type End = () => Promise<void>;

const KEY = Symbol.for('gwk.test.shared');
const holder = globalThis as { [KEY]?: End[] };

/** Runs `end` once, after the last test file of this worker (jest's own process or a child process). */
export function endWithWorker(end: End): void {
  if (holder[KEY] === undefined) {
    holder[KEY] = [];
    // jest disconnects a child process after its last test file.
    process.once('disconnect', () => void endShared().finally(() => process.exit()));
  }
  holder[KEY].push(end);
}

/** Runs all `end` functions in reverse order. */
export async function endShared(): Promise<void> {
  for (const end of (holder[KEY] ?? []).splice(0).reverse()) await end();
}
