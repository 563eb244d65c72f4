/**
 * Reports the processor time in milliseconds between two runs of a timer. A turn of the event loop that takes long
 * delays the timer, so that the time is that of the turn. Time in which other processes had the processor is not part
 * of it, unlike in the delay of the loop.
 */
export function watchTurns(everyMs: number, report: (ms: number) => void): NodeJS.Timeout {
  let last = processorTime();
  return setInterval(() => {
    const now = processorTime();
    report(now - last);
    last = now;
  }, everyMs);
}

/** Processor time of this thread in milliseconds. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
