/** Ends what the test files of a worker share. */
type End = () => Promise<void>;

const KEY = Symbol.for('gwk.test.shared');
const holder = globalThis as { [KEY]?: End[] };

/** Runs `end` once, after the last test file of this worker: jest's own process, or a child process of it. */
export function endWithWorker(end: End): void {
  if (holder[KEY] === undefined) {
    holder[KEY] = [];
    // jest disconnects a child process that has run its last test file.
    process.once('disconnect', () => void endShared().finally(() => process.exit()));
  }
  holder[KEY].push(end);
}

/** Ends everything in reverse order of its start. */
export async function endShared(): Promise<void> {
  for (const end of (holder[KEY] ?? []).splice(0).reverse()) await end();
}
