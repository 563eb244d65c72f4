/** What it brings, or the other where it fails or takes longer. */
export function inTime<T>(work: Promise<T>, milliseconds: number, otherwise: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(otherwise), milliseconds);
    work.then(resolve, () => resolve(otherwise)).finally(() => clearTimeout(timer));
  });
}

/** Whether it is done well, and in time. */
export const within = (work: Promise<unknown>, milliseconds: number): Promise<boolean> =>
  inTime(
    work.then(() => true),
    milliseconds,
    false,
  );
