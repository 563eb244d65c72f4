/** Settles like the promise, or like `onTimeout` after the time limit. */
export function withTimeout<T>(work: Promise<T>, milliseconds: number, onTimeout: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)));
  return Promise.race([work, timeout.then(onTimeout)]).finally(() => clearTimeout(timer));
}

/** Returns the result, or the fallback if the promise fails or exceeds the time limit. */
export const resultWithin = <T>(work: Promise<T>, milliseconds: number, otherwise: T): Promise<T> =>
  withTimeout(work, milliseconds, () => otherwise).catch(() => otherwise);

/** Returns whether the promise resolved within the time limit. */
export const resolvesWithin = (work: Promise<unknown>, milliseconds: number): Promise<boolean> =>
  resultWithin(
    work.then(() => true),
    milliseconds,
    false,
  );
