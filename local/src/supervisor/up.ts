import { ConfigError } from '@gwk/core/config/load';
import { Folder } from './folder.js';
import { LocalGateway } from './gateway.js';
import { GwkFailed } from './gwk.js';
import { AlreadyRunning, takeLock } from './lock.js';
import { PartFailed } from './part.js';
import { portFaults } from './ports.js';
import { Progress } from './progress.js';
import { loadLocalConfig } from './settings.js';

/** What a killed run has left behind is gone within this time. */
const ABANDONED_PATIENCE_MS = 30_000;
/** Ctrl-C may arrive twice: from the terminal and from make. */
const SAME_REQUEST_MS = 1000;

class PortsTaken extends Error {
  override name = 'PortsTaken';
}

/** `make run`: starts everything, keeps it running until SIGINT, SIGTERM or SIGHUP, and stops everything. */
export async function up(): Promise<void> {
  const asked = askedToStop();
  // Whoever read the output may be gone.
  process.stdout.on('error', () => undefined);
  try {
    await runUntil(asked);
  } catch (error) {
    if (asked.aborted) return;
    const expected = [ConfigError, AlreadyRunning, PartFailed, PortsTaken, GwkFailed].some(
      (kind) => error instanceof kind,
    );
    const text = expected ? (error as Error).message : ((error as Error).stack ?? String(error));
    process.stderr.write(`\ngwk: ${text}\n`);
    process.exitCode = 1;
  }
}

/** Aborted at the first signal. A second one ends this process, and with it all that it started. */
function askedToStop(): AbortSignal {
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

async function runUntil(asked: AbortSignal): Promise<void> {
  const progress = new Progress((text) => process.stdout.write(`${text}\n`));
  const config = loadLocalConfig(process.env);
  const folder = new Folder(config.folder);
  const lock = takeLock(folder.lock);
  const over = new Promise<void>((resolve) =>
    asked.addEventListener('abort', () => resolve(), { once: true }),
  );
  const gateway = new LocalGateway(config, folder, progress);
  try {
    const faults = await portFaults(config, lock.wasAbandoned ? ABANDONED_PATIENCE_MS : 0);
    if (faults !== undefined) throw new PortsTaken(faults);
    await Promise.race([gateway.start(asked), over]);
    await over;
  } finally {
    await gateway.stop();
    lock.release();
  }
}
