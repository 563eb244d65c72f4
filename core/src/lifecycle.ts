import { describeError, type Logger } from './log.js';

/** Why a program was asked to stop. */
type ShutdownCause = 'SIGTERM' | 'SIGINT' | 'parent-gone';

interface ShutdownOptions {
  /** The setting GWK_EXIT_WITH_PARENT: standard input is a pipe held by the parent, and its end means the parent is gone. */
  exitWithParent: boolean;
  /** After it the process exits with 1, whatever is still going on. */
  timeoutMs?: number;
  /** How it exits; `process.exit` where it is not given. */
  exit?: (code: number) => never;
}

const TIMEOUT_MS = 25_000;

/**
 * A Ctrl-C reaches every process of a terminal and is passed on by parents as well, so what arrives this soon after
 * the first signal is the same request, not a second one.
 */
const SAME_REQUEST_MS = 500;

/**
 * Runs `stop` once, at SIGTERM, SIGINT or the end of the parent, and exits: with 0 when it returned, with 1 when it
 * threw or took too long. A second signal exits at once. To be called once by a program, before it starts anything
 * that would have to be stopped.
 */
export function onShutdown(
  stop: (cause: ShutdownCause) => Promise<void> | void,
  options: ShutdownOptions,
): void {
  const { exit = (code: number): never => process.exit(code), timeoutMs = TIMEOUT_MS } = options;
  let requestedAt: number | undefined;

  const request = (cause: ShutdownCause): void => {
    const now = performance.now();
    if (requestedAt !== undefined) {
      if (cause !== 'parent-gone' && now - requestedAt > SAME_REQUEST_MS) exit(1);
      return;
    }
    requestedAt = now;
    setTimeout(() => exit(1), timeoutMs).unref();
    void finish(stop, cause).then(exit);
  };

  process.on('SIGTERM', request);
  process.on('SIGINT', request);
  if (options.exitWithParent) whenInputEnds(() => request('parent-gone'));
}

/**
 * At an error that nobody caught, thrown or rejected: one line on the log, made as errors may be told, and the end with 1.
 * Node itself would print it with all that it carries, which of a library's errors may be what people wrote.
 */
export function exitOnUncaughtError(
  log: Pick<Logger, 'fatal'>,
  exit: (code: number) => never = (code) => process.exit(code),
): void {
  const end = (error: unknown): void => {
    try {
      log.fatal({ err: error }, 'an error that nobody caught');
    } finally {
      exit(1);
    }
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/** @returns the exit code */
async function finish(
  stop: (cause: ShutdownCause) => Promise<void> | void,
  cause: ShutdownCause,
): Promise<0 | 1> {
  try {
    await stop(cause);
  } catch (error) {
    process.stderr.write(`stopping failed: ${JSON.stringify(describeError(error))}\n`);
    return 1;
  }
  return 0;
}

function whenInputEnds(ended: () => void): void {
  const input = process.stdin;
  // A killed parent ends the pipe in one way or another of these, depending on what the parent had open.
  for (const event of ['end', 'close', 'error']) input.once(event, ended);
  input.resume();
}
