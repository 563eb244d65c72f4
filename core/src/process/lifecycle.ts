import { describeError, type Logger } from './log.js';

/** The cause of a shutdown. */
type ShutdownCause = 'SIGTERM' | 'SIGINT' | 'parent-exited';

interface ShutdownOptions {
  /** GWK_EXIT_WITH_PARENT: the parent holds standard input, so its end means that the parent exited. */
  exitWithParent: boolean;
  /** After this time the process exits with 1. */
  timeoutMs?: number;
  /** `process.exit` by default. */
  exit?: (code: number) => never;
}

const TIMEOUT_MS = 25_000;

/**
 * A Ctrl-C reaches every process of the terminal, and parents forward it as well. A signal that follows the first one
 * within this time is the same request.
 */
const SAME_REQUEST_MS = 500;

/**
 * Runs `stop` once, at SIGTERM, SIGINT or the exit of the parent, and exits the process: with 0 when `stop` returns,
 * with 1 when it throws or times out. A second signal exits at once. A program calls this once, before it starts
 * anything that needs stopping.
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
      if (cause !== 'parent-exited' && now - requestedAt > SAME_REQUEST_MS) exit(1);
      return;
    }
    requestedAt = now;
    setTimeout(() => exit(1), timeoutMs).unref();
    void finish(stop, cause).then(exit);
  };

  process.on('SIGTERM', request);
  process.on('SIGINT', request);
  if (options.exitWithParent) whenInputEnds(() => request('parent-exited'));
}

/**
 * At an uncaught error or rejection, logs one redacted line and exits with 1. Node would print the whole error, and
 * errors of libraries may quote message content.
 */
export function exitOnUncaughtError(
  log: Pick<Logger, 'fatal'>,
  exit: (code: number) => never = (code) => process.exit(code),
): void {
  const end = (error: unknown): void => {
    try {
      log.fatal({ err: error }, 'uncaught error');
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
    process.stderr.write(`shutdown failed: ${JSON.stringify(describeError(error))}\n`);
    return 1;
  }
  return 0;
}

function whenInputEnds(ended: () => void): void {
  const input = process.stdin;
  // The event after a killed parent depends on the kind of pipe.
  for (const event of ['end', 'close', 'error']) input.once(event, ended);
  input.resume();
}
