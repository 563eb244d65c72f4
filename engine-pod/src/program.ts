import { readFileSync } from 'node:fs';
import { engineSettings } from '@gwk/core/config/engine';
import { loadConfigOrExit, type ConfigOf } from '@gwk/core/config/load';
import { exitProcess } from './exit-process.js';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/process/lifecycle';
import { createLogger, synchronousStdout, type Logger } from '@gwk/core/process/log';
import { startProbeListener } from '@gwk/core/http/probes';
import { tracing } from '@gwk/core/tracing/tracing';
import { EngineClient } from '@gwk/core/protocol/internal-client';
import { Engine } from './engine.js';
import { EXIT_CODES } from './exit-codes.js';
import { acquireLease, AcquireRefused } from './internal-api/lease.js';

type Config = ConfigOf<typeof engineSettings>;

const CALL_TIMEOUT_MS = 10_000;

/** `gwk engine`: waits for the lease of its instance, runs it, and exits when the lease is lost. */
export async function runEngine(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfigOrExit('engine', engineSettings, environment, EXIT_CODES.configuration);
  const log = createLogger('engine', config.logLevel, synchronousStdout()).child({ pod: config.pod });
  exitOnUncaughtError(log, exitProcess);
  const stopping = new AbortController();
  let starting = Promise.resolve();
  let engine: Engine | undefined;
  const stop = async (cause: string): Promise<void> => {
    log.info({ cause }, 'stopping on request');
    stopping.abort();
    await starting;
    await engine?.stop();
    await tracing.stop();
  };
  onShutdown(stop, { exitWithParent: config.exitWithParent, exit: exitProcess });
  await tracing.start(config, 'gwk-engine', log);
  const { port } = await startProbeListener(config, {
    readiness: () => engine?.readiness ?? { ready: false, checks: { lease: 'not-held' } },
    metrics: async () => (await engine?.metrics.text()) ?? '',
  });
  log.info({ port }, 'waiting for the lease');
  starting = createEngine(config, log, stopping.signal).then((created) => {
    engine = created;
    // A stop was requested meanwhile: only release the lease.
    if (!stopping.signal.aborted) engine?.start();
  });
  await starting;
}

/** Undefined when stopped before the lease is acquired. */
async function createEngine(config: Config, log: Logger, signal: AbortSignal): Promise<Engine | undefined> {
  const { pod, internalUrl: baseUrl, internalCa: ca, token } = config;
  const client = new EngineClient({ baseUrl, token, ca, timeoutMs: CALL_TIMEOUT_MS });
  try {
    const lease = await acquireLease(client, { pod, version: readVersion() }, { log, signal });
    const { instance, epoch, lease_ms } = lease.acquired;
    const engineLog = log.child({ instance_id: instance.id, epoch });
    engineLog.info({ lease_ms }, 'lease acquired');
    return new Engine({ ...lease, config, client, log: engineLog, lost: exitProcess });
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!(error instanceof AcquireRefused)) throw error;
    log.error({ why: error.refusal }, 'lease refused');
    exitProcess(EXIT_CODES[error.refusal]);
  }
}

function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
