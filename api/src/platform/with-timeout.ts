/** Returns the result, or the fallback if the promise fails or exceeds the time limit. */
export function inTime<T>(work: Promise<T>, milliseconds: number, otherwise: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(otherwise), milliseconds);
    work.then(resolve, () => resolve(otherwise)).finally(() => clearTimeout(timer));
  });
}

/** Returns whether the promise resolved within the time limit. */
export const within = (work: Promise<unknown>, milliseconds: number): Promise<boolean> =>
  inTime(
    work.then(() => true),
    milliseconds,
    false,
  );
