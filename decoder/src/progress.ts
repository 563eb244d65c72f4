const EVERY_MS = 10_000;
/** A line of the output of a job before its answer. */
const LINE = /^progress (\d{1,6}) (\d{1,6})$/;

let reportedAt = Date.now();

/** Writes the state of a long conversion for the log of the program that started this process. */
export function reportProgress(timemark: string, seconds: number | null): void {
  if (Date.now() - reportedAt < EVERY_MS) return;
  const [hours = 0, minutes = 0, rest = 0] = timemark.split(':').map(Number);
  const done = Math.round(hours * 3_600 + minutes * 60 + rest);
  if (!(done >= 0)) return;
  reportedAt = Date.now();
  process.stdout.write(`progress ${done} ${Math.round(seconds ?? 0)}\n`);
}

export interface Progress {
  done_s: number;
  /** Null: unknown. */
  of_s: number | null;
}

export function parseProgress(line: string): Progress | null {
  const [, done, all] = LINE.exec(line) ?? [];
  return done === undefined ? null : { done_s: Number(done), of_s: Number(all) || null };
}
