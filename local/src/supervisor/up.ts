import { ConfigError } from '@gwk/core/config/load';
import { LockHeldError, acquireProcessLock } from '@gwk/core/process/process-lock';
import { checkLayout, FormerLayout, prepareFolder } from './folder.js';
import { LocalGateway } from './gateway.js';
import { ComponentFailed } from './component.js';
import { findPortConflicts } from './ports.js';
import { GwkFailed } from './programs.js';
import { Progress } from './progress.js';
import { loadLocalConfig } from './settings.js';

/** Maximum time until the processes of a killed run have exited. */
const ABANDONED_TIMEOUT_MS = 30_000;
/** Ctrl-C may arrive twice: from the terminal and from make. */
const SAME_REQUEST_MS = 1000;

class PortsTaken extends Error {
  override name = 'PortsTaken';
}

/** `make run`: starts everything, runs until SIGINT, SIGTERM or SIGHUP, and stops everything. */
export async function up(): Promise<void> {
  const stopping = onStopSignal();
  // The reader of the output may have exited.
  process.stdout.on('error', () => undefined);
  try {
    await runUntil(stopping);
  } catch (error) {
    if (stopping.aborted) return;
    const expected = [ConfigError, LockHeldError, ComponentFailed, PortsTaken, GwkFailed, FormerLayout].some(
      (kind) => error instanceof kind,
    );
    const text = expected ? (error as Error).message : ((error as Error).stack ?? String(error));
    process.stderr.write(`\ngwk: ${text}\n`);
    process.exitCode = 1;
  }
}

/** Aborted at the first signal. A second one exits this process and with it all that it started. */
function onStopSignal(): AbortSignal {
  const controller = new AbortController();
  let since: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (since !== undefined && Date.now() - since > SAME_REQUEST_MS) process.exit(1);
      since ??= Date.now();
      controller.abort();
    });
  }
  return controller.signal;
}

async function runUntil(stopping: AbortSignal): Promise<void> {
  const progress = new Progress((text) => process.stdout.write(`${text}\n`));
  const config = loadLocalConfig(process.env);
  checkLayout(config.folder);
  const folder = prepareFolder(config.folder);
  const lock = acquireProcessLock(
    folder.lock,
    (pid) => `make run is already running (pid ${pid}). Stop it first, or use its gateway.`,
  );
  const stopped = new Promise<void>((resolve) =>
    stopping.addEventListener('abort', () => resolve(), { once: true }),
  );
  const gateway = new LocalGateway(config, folder, progress);
  try {
    const conflicts = await findPortConflicts(config, lock.wasAbandoned ? ABANDONED_TIMEOUT_MS : 0);
    if (conflicts !== undefined) throw new PortsTaken(conflicts);
    await Promise.race([gateway.start(stopping), stopped]);
    await stopped;
  } finally {
    await gateway.stop();
    lock.release();
  }
}
